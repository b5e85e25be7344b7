package store_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// fileRows maps a letter to the row that a file has for an address.
var fileRows = map[byte]func(core.Email) imports.ImportRow{
	'F': joins,
	'L': func(email core.Email) imports.ImportRow { return leaves(email, 0) },
	'B': func(email core.Email) imports.ImportRow { return blocks(email, core.StatusBounced) },
	'C': func(email core.Email) imports.ImportRow { return blocks(email, core.StatusComplaint) },
}

// beforeFiles maps a name to the state of a person before the files.
var beforeFiles = map[string]func(n *storetest.Seeder, email core.Email){
	"":             func(*storetest.Seeder, core.Email) {},
	"pending":      func(n *storetest.Seeder, email core.Email) { n.Pending(n.ListID, email) },
	"active":       func(n *storetest.Seeder, email core.Email) { n.Active(n.ListID, email) },
	"imported":     func(n *storetest.Seeder, email core.Email) { imported(n, n.Now, joins(email)) },
	"unsubscribed": func(n *storetest.Seeder, email core.Email) { n.Active(n.ListID, email); n.Leave(n.ListID, email) },
}

// TestUndoTakesBackOneFile imports files that mark people as joined, unsubscribed, bounced or complained. Whatever the
// number of files and the order in which they are undone, the remaining files still apply. After the last undo,
// everything is as before the first file.
func TestUndoTakesBackOneFile(t *testing.T) {
	n := storetest.SeedList(t, now0)
	for no, files := range fileOrders() {
		for _, undo := range orders(len(files)) {
			n = n.At(n.Now + 1000)
			people, ids, left := map[string]core.Email{}, make([]string, len(files)), []byte(files)
			for was, begin := range beforeFiles {
				people[was] = core.Email(fmt.Sprintf("p%d-%v-%s@example.org", no, undo, was))
				people[was] = core.Email(strings.NewReplacer("[", "", "]", "", " ", "").Replace(string(people[was])))
				begin(n, people[was])
			}
			before := map[string]string{}
			for was, email := range people {
				before[was] = statusOf(n, email)
			}
			for i := range files {
				n = n.At(n.Now + 1000)
				var rows []imports.ImportRow
				for _, email := range people {
					rows = append(rows, fileRows[files[i]](email))
				}
				ids[i] = imported(n, n.Now, rows...).ID
			}
			for done, i := range undo {
				n = n.At(n.Now + 1000)
				if j, err := n.ImportJob(t.Context(), ids[i]); err != nil || j.UndoUntil > 0 {
					undone(n, ids[i], n.Now)
				}
				left[i] = ' '
				for was, email := range people {
					what := fmt.Sprintf("%s, undone %v: %q", files, undo[:done+1], was)
					wantStanding(n, what, string(left), was, email)
					if done == len(undo)-1 && statusOf(n, email) != before[was] {
						t.Errorf("%s: %q, was %q", what, statusOf(n, email), before[was])
					}
				}
			}
		}
	}
	if got := n.Count("SELECT count(*) FROM import_word WHERE kind <> 'resumed'"); got != 0 {
		t.Errorf("%d words are left", got)
	}
	consistent(n)
}

// wantStanding checks that the files that were not undone still apply to a person.
func wantStanding(n *storetest.Seeder, what, left, was string, email core.Email) {
	n.Helper()
	block := ""
	switch {
	case strings.Contains(left, "C"):
		block = "complaint"
	case strings.Contains(left, "B") && was != "active": // the mailbox existed then
		block = "bounced"
	}
	if got := blockOf(n, email); got != block {
		n.Errorf("%s: blocked as %q, want %q", what, got, block)
	}
	if !strings.Contains(left, "L") || was == "active" {
		return
	}
	if sub, err := n.Subscription(n.Context(), n.ListID, email); err != nil || !sub.Left() {
		n.Errorf("%s: %q %q, %v", what, sub.Status, sub.Proof, err)
	}
}

// fileOrders returns sequences of files: all sequences of length one and two, and those of length three that repeat a
// letter. The long tests use all sequences of length three.
func fileOrders() (all []string) {
	if os.Getenv("NEWSLETTERD_TORTURE") == "" {
		all = strings.Fields("LLL FLL LFL LLF BBC BCB CBB BCC CBC")
	}
	last := []string{""}
	for n := 1; n <= 2 || n == 3 && len(all) == len(last)+4; n++ {
		var next []string
		for _, files := range last {
			for _, f := range "BCFL" {
				next = append(next, files+string(f))
			}
		}
		last = next
		all = append(all, next...)
	}
	return all
}

// orders returns the permutations of the numbers below n.
func orders(n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, order := range orders(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(order), i, n-1))
		}
	}
	return all
}

// TestWordsOfCommandsAndDeletedImports checks that the rows of files that can't be undone still apply.
func TestWordsOfCommandsAndDeletedImports(t *testing.T) {
	const bob, cid, pia = core.Email("bob@example.org"), core.Email("cid@example.org"), core.Email("pia@example.org")
	rows := []imports.ImportRow{leaves(bob, 0), blocks(cid, core.StatusBounced), leaves(pia, 0)}
	for name, again := range map[string]func(n *storetest.Seeder){
		"command": func(n *storetest.Seeder) {
			im, err := n.NewImport(t.Context(), n.ListID, core.SubscriptionActive, "file")
			n.Must(err)
			defer im.Close()
			im.MayEnd, im.MaySuppress = true, true
			n.Must(im.Add(t.Context(), slices.Clone(rows), now0+2000))
		},
		"deleted": func(n *storetest.Seeder) {
			j := imported(n, now0+2000, rows...)
			n.Must(n.DeleteImport(t.Context(), j.ID, "user:1", now0+3000))
		},
	} {
		n := storetest.SeedList(t, now0)
		n.Pending(n.ListID, pia)
		first := imported(n, now0+1000, rows...)
		again(n)
		plan, err := n.ImportUndoPlan(t.Context(), first.ID, now0+4000)
		if n.Must(err); plan.Said != 2 || plan.Remove+plan.Pending+plan.Resume != 0 {
			t.Errorf("%s: %+v", name, plan)
		}
		undone(n, first.ID, now0+4000)
		imported(n, now0+5000, joins(bob), joins(cid), joins(pia))
		if a, b, c := statusOf(n, bob), blockOf(n, cid), statusOf(n, pia); a != "unsubscribed" || b != "bounced" ||
			c != "pending" {
			t.Errorf("%s: %q %q %q", name, a, b, c)
		}
		consistent(n)
	}
}

// TestOwnWordBeatsWordsOfFiles checks that a person who confirms after two files have marked them as unsubscribed stays
// active, whichever file is undone. Rows of files are kept only as long as imports can be undone.
func TestOwnWordBeatsWordsOfFiles(t *testing.T) {
	const bob = core.Email("bob@example.org")
	n := storetest.SeedList(t, now0)
	first, second := imported(n, now0, leaves(bob, 0)), imported(n, now0+1000, leaves(bob, 0))
	n.At(now0+2000).Active(n.ListID, bob)
	undone(n, first.ID, now0+3000)
	undone(n, second.ID, now0+4000)
	if got := statusOf(n, bob); got != core.SubscriptionActive {
		t.Errorf("%q", got)
	}
	imported(n, now0+5000, leaves("cid@example.org", 0))
	imported(n, now0+6000, leaves("cid@example.org", 0))
	later := now0 + core.Instant(31*24*time.Hour/time.Millisecond)
	_, err := n.Housekeeping(t.Context(), people.Retention{}, later)
	if n.Must(err); n.Count("SELECT count(*) FROM import_word") != 0 {
		t.Error("words are kept for ever")
	}
}

// TestRepeatedFileKeepsNoWords checks that repeated rows are not kept if no other import can be undone.
func TestRepeatedFileKeepsNoWords(t *testing.T) {
	n := storetest.SeedList(t, now0)
	rows := []imports.ImportRow{leaves("bob@example.org", 0), blocks("cid@example.org", core.StatusBounced)}
	imported(n, now0, rows...)
	later := now0 + core.Instant(8*24*time.Hour/time.Millisecond)
	j := imported(n, later, rows...)
	if got := n.Count("SELECT count(*) FROM import_word"); got != 0 || j.UndoUntil != 0 {
		t.Errorf("%d words, %+v", got, j)
	}
}

// Times at which people unsubscribed according to the files. They joined in May.
const (
	inMarch = core.Instant(1_614_556_800_000)
	inJune  = core.Instant(1_622_505_600_000)
)

// datedFile imports the file for a letter: J joined in May, F joined without a time, M left in March, N left in June, K
// like M but by a command, P like M but by a publisher. It returns the id of the import, or an empty string for a
// command.
func datedFile(n *storetest.Seeder, file byte, email core.Email) (id string) {
	n.Helper()
	join := joins(email)
	join.Evidence = "opted in 2021-05-01T00:00:00Z"
	switch file {
	case 'J':
		return imported(n, n.Now, join).ID
	case 'F':
		return imported(n, n.Now, joins(email)).ID
	case 'M':
		return imported(n, n.Now, leaves(email, inMarch)).ID
	case 'N':
		return imported(n, n.Now, leaves(email, inJune)).ID
	case 'P':
		return importedBy(n, core.ImportInput{}, n.Now, leaves(email, inMarch)).ID
	}
	im, err := n.NewImport(n.Context(), n.ListID, core.SubscriptionActive, "file")
	n.Must(err)
	defer im.Close()
	im.MayEnd = true
	n.Must(im.Add(n.Context(), []imports.ImportRow{leaves(email, inMarch)}, n.Now))
	return ""
}

// TestOverruledWordsAreKept imports files with the times at which people joined and unsubscribed. The latest time
// applies. If the file with the time of joining is undone, the files with the unsubscribe apply again, and later files
// don't change that.
func TestOverruledWordsAreKept(t *testing.T) {
	n := storetest.SeedList(t, now0)
	no := 0
	for _, files := range strings.Fields("JM JK JP FJM JFM JMN JMK JKN JNM MJ FN") {
		for _, undo := range orders(len(files)) {
			for before, begin := range map[string]func(*storetest.Seeder, core.Email){
				"": beforeFiles[""], "pending": beforeFiles["pending"],
			} {
				no++
				email := core.Email(fmt.Sprintf("p%d@example.org", no))
				begin(n, email)
				ids, stand := make([]string, len(files)), []byte(files)
				for i := range files {
					n = n.At(n.Now + 1000)
					ids[i] = datedFile(n, files[i], email)
				}
				for _, i := range undo[:len(undo)-1] {
					if j, err := n.ImportJob(t.Context(), ids[i]); err != nil || j.UndoUntil == 0 {
						continue
					}
					n = n.At(n.Now + 1000)
					undone(n, ids[i], n.Now)
					stand[i] = ' '
				}
				n = n.At(n.Now + 1000)
				imported(n, n.Now, joins(email))
				says := func(letters string) bool { return strings.ContainsAny(string(stand), letters) }
				left := says("N") || says("MKP") && !says("J")
				if got := statusOf(n, email); left && got == core.SubscriptionActive {
					t.Errorf("%s of %q, undone %v: a plain file makes them active", files, before, undo[:len(undo)-1])
				}
			}
		}
	}
	consistent(n)
}

// TestNobodyIsRevived runs sequences of steps for one person, one letter per step: the files of datedFile, L a file
// without a time that they left, 1 to 9 undo of the step with that number, S subscribe, C confirm, X unsubscribe, E
// erase, A added by an operator. If the last known state is unsubscribed, a plain file must not make the person active.
func TestNobodyIsRevived(t *testing.T) {
	const bob = core.Email("bob@example.org")
	for life, want := range map[string]string{
		"JM1F": "unsubscribed", "JM1AF": "unsubscribed", "JM12F": "active", "JMN13F": "unsubscribed",
		"JMN31F": "unsubscribed",
		"FJM1F":  "unsubscribed", "SJM2F": "pending", "SJM2C": "active", "JL2X1F": "unsubscribed", "JM1SF": "pending",
		"JM1SCF": "active", "JM1E": "", "JM1EF": "", "FEF": "", "FESF": "pending", "FESCF": "active",
		"FESCXF": "unsubscribed",
		"LEF":    "", "FXEF": "", "JMK12F": "unsubscribed", "JK1F": "unsubscribed", "JP1F": "unsubscribed",
		"JKN3M1F": "unsubscribed",
		"LAF":     "unsubscribed", "FAL1": "active", "FAX1F": "unsubscribed", "JMA1F": "active", "JMAX12F": "unsubscribed",
		"MJ1F": "active", "ML1F": "unsubscribed", "ML2F": "unsubscribed", "SLCX2F": "unsubscribed",
	} {
		n := storetest.SeedList(t, now0)
		ids, token := make([]string, len(life)), ""
		for i := range len(life) {
			n = n.At(n.Now + 1000)
			switch step := life[i]; step {
			case 'L':
				ids[i] = imported(n, n.Now, leaves(bob, 0)).ID
			case 'S':
				token = n.Pending(n.ListID, bob)
			case 'C':
				n.Must(n.Confirm(t.Context(), token, core.Origin{}, n.Now))
			case 'X':
				n.Leave(n.ListID, bob)
			case 'E':
				_, err := n.ErasePerson(t.Context(), core.Person{Email: bob, TenantID: n.TenantID}, "ops", n.Now)
				n.Must(err)
			case 'A':
				_, _, _ = added(n, bob, core.SubscriptionActive, n.Now)
			default:
				if step > '9' {
					ids[i] = datedFile(n, step, bob)
				} else if j, err := n.ImportJob(t.Context(), ids[step-'1']); err == nil && j.UndoUntil > 0 {
					undone(n, j.ID, n.Now)
				}
			}
		}
		if got := statusOf(n, bob); got != want {
			t.Errorf("%s: %q, want %q", life, got, want)
		}
		consistent(n)
	}
}
