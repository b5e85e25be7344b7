package store

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/schema"
)

// scanned compares the counts of every list with a scan of its records, as Check does.
func (n newsletter) scanned(after string) {
	n.Helper()
	var rows []struct {
		ListID string `db:"list_id"`
		core.ListCounts
	}
	must(n.T, n.all(n.Context(), &rows, scannedCounts))
	for _, r := range rows {
		got, err := n.ListCounts(n.Context(), []string{r.ListID})
		must(n.T, err)
		if got[r.ListID] != r.ListCounts {
			n.Fatalf("after %s: counted %+v, there are %+v", after, got[r.ListID], r.ListCounts)
		}
	}
	if wrong, err := n.wrongCounts(n.Context()); err != nil || len(wrong) != 0 {
		n.Fatalf("after %s: check finds %s %v", after, wrong, err)
	}
}

// Whatever happens to subscriptions and subscribers, in whatever order, the counts are those that a scan finds.
func TestCountsAreThoseOfAScan(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			n, random := testNewsletter(t), rand.New(rand.NewPCG(seed, 1))
			lists := []string{n.list, n.addList(n.tenant)}
			at, tokens, left := now0, []string{}, []UndoRequest{}
			for range 400 {
				at += core.Instant(random.IntN(1000 * 60 * 60))
				n.list = lists[random.IntN(2)]
				email := core.Email(fmt.Sprintf("r%d@example.org", random.IntN(12)))
				means := []string{core.ProofMailed, core.ProofResponse}[random.IntN(2)]
				what := []string{
					"subscribe", "subscribe", "confirm", "confirm", "leave", "undo", "import", "deliver", "report",
					"suppress", "lift", "erase", "clean", "sync",
				}[random.IntN(14)]
				switch what {
				case "subscribe":
					_, row, err := n.Subscribe(t.Context(), SubscribeRequest{ListID: n.list, Email: email}, at)
					must(t, err)
					tokens = append(tokens, n.token(row, means))
				case "confirm":
					if len(tokens) > 0 { // some are of no use any more
						_, _ = n.Confirm(t.Context(), tokens[random.IntN(len(tokens))], core.Origin{}, at)
					}
				case "leave":
					id := n.SubscriptionID(n.list, email.Key())
					sub, _ := n.Unsubscribe(t.Context(),
						UnsubscribeRequest{ListID: n.list, SubscriptionID: id, Email: email, Proof: means}, at)
					left = append(left, UndoRequest{ListID: n.list, SubscriptionID: id, LeftAt: sub.ChangedAt})
				case "undo":
					if len(left) > 0 {
						_, _ = n.Undo(t.Context(), left[random.IntN(len(left))], at)
					}
				case "import":
					status := []string{core.SubscriptionActive, core.SubscriptionPending}[random.IntN(2)]
					im, err := n.NewImport(t.Context(), n.list, status, "file.csv")
					must(t, err)
					im.DryRun = random.IntN(3) == 0
					must(t, im.Put(ImportRow{Email: email}))
					must(t, im.Put(ImportRow{Email: "also-" + email}))
					must(t, im.Write(t.Context(), func() core.Instant { return at }, nil))
					im.Close()
				case "deliver":
					n.deliver(at + core.Instant(time.Minute/time.Millisecond))
				case "report":
					effect := []string{
						core.HardBounce, core.SoftBounce, core.Complaint, core.Suppression,
						core.Delivery,
					}[random.IntN(5)]
					must(t, n.update(t.Context(), func(tx *Tx) error {
						_, err := tx.report(n.tenant, email.Key(), effect, at, at)
						return err
					}))
				case "suppress":
					_, err := n.Suppress(t.Context(), DisableRequest{Email: email, TenantID: n.tenant, OccurredAt: at},
						"test", at)
					must(t, err)
				case "lift":
					_, _ = n.Lift(t.Context(), email, n.tenant, "test", at)
				case "erase":
					_, err := n.ErasePerson(t.Context(), core.Person{Email: email, TenantID: n.tenant}, "test", at)
					must(t, err)
				case "clean":
					_, err := n.Housekeeping(t.Context(), Retention{Pending: 24 * time.Hour}, at)
					must(t, err)
				case "sync":
					n.batch(core.LoopClientID, at, core.EventSubscriber{Email: email, Status: "active"})
				}
				n.scanned(what)
			}
			must(t, n.DeleteList(t.Context(), lists[1], "test", at))
			n.scanned("the deletion of a list")
		})
	}
}

// A whole batch of an import writes the row of its list once, and what an operation of a batch has changed does not
// count where it fails.
func TestCountsCostOneRowACommit(t *testing.T) {
	n := testNewsletter(t)
	rows := make([]ImportRow, importBatch)
	for i := range rows {
		rows[i].Email = core.Email(fmt.Sprintf("r%d@example.org", i))
	}
	n.sql(`CREATE TABLE written (list_id TEXT)`)
	n.sql(`CREATE TRIGGER counted_insert AFTER INSERT ON list_count BEGIN INSERT INTO written VALUES (NEW.list_id);
		END`)
	n.sql(`CREATE TRIGGER counted_update AFTER UPDATE ON list_count BEGIN INSERT INTO written VALUES (NEW.list_id);
		END`)
	im, err := n.NewImport(t.Context(), n.list, core.SubscriptionActive, "file.csv")
	must(t, err)
	must(t, im.Add(t.Context(), rows, now0))
	if written := n.count("SELECT count(*) FROM written"); written != 1 {
		t.Errorf("the row was written %d times", written)
	}
	counts, err := n.ListCounts(t.Context(), []string{n.list})
	if err != nil || counts[n.list].Active != importBatch {
		t.Errorf("%+v, %v", counts, err)
	}
	failing := n.update(t.Context(), func(tx *Tx) error {
		tx.moved(n.list, core.NotCounted, core.CountActive)
		return core.ErrConflict
	})
	if failing == nil {
		t.Fatal("it did not fail")
	}
	n.scanned("an operation that failed")
}

// A migration counts what is there.
func TestMigrationCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	n := newsletter{T: t, Store: testOpen(t, path, Daemon), tenant: core.NewID()}
	n.sql("INSERT INTO tenant (id, name, created_at, updated_at) VALUES (?, 'T', 1, 1)", n.tenant)
	n.list = n.addList(n.tenant)
	for i, status := range []string{"active", "active", "pending", "unsubscribed"} {
		n.sql(`INSERT INTO subscription (list_id, id, email, email_key, status, created_at, changed_at) VALUES (?, ?,
			'a', 'a', ?, 1, 1)`, n.list, fmt.Sprint(i), status)
	}
	for i, block := range []string{"", "bounced", "bounced", "complaint", "suppressed", ""} {
		word := []string{"active", "unsubscribed"}[i/5]
		n.sql(`INSERT INTO subscriber (list_id, id, email, email_key, word, word_at, block, created_at, changed_at)
			VALUES (?, ?, 'a', 'a', ?, 1, ?, 1, 1)`, n.list, fmt.Sprint(i), word, block)
	}
	found, err := n.Check(t.Context())
	want := "the counts of list " + n.list + " differ from its records: active is 0, not 2, pending is 0, not 1, " +
		"unsubscribed is 0, not 1, bounced is 0, not 2, complaint is 0, not 1, suppressed is 0, not 1, mailable is 0, not 1"
	if err != nil || !slices.Contains(found, want) {
		t.Errorf("check of rows that came by no operation: %q, %v", found, err)
	}
	n.sql("DELETE FROM list_count")
	for _, m := range schema.Migrations() {
		if m.Number == 32 {
			_, fill, _ := strings.Cut(m.SQL, ";\n\n")
			n.sql(fill)
		}
	}
	n.scanned("the migration")
	counts, err := n.ListCounts(t.Context(), []string{n.list})
	if filled := (core.ListCounts{
		Active: 2, Pending: 1, Unsubscribed: 1, Bounced: 2, Complaint: 1, Suppressed: 1,
		Mailable: 1,
	}); err != nil || counts[n.list] != filled {
		t.Errorf("%+v, %v", counts, err)
	}
}

// Each day keeps the counts of its end; a clock that goes back changes the latest.
func TestCountsOfDays(t *testing.T) {
	n := testNewsletter(t)
	write := func(day int64, active int64) {
		must(t, n.update(t.Context(), func(tx *Tx) error {
			_, err := tx.exec(countsOfDay, n.list, day, active, 0, 0, 0, 0, 0, 0)
			return err
		}))
	}
	write(20000, 5)
	write(20001, 2)
	write(20000, 1)
	var days []struct {
		Day    int64 `db:"day"`
		Active int64 `db:"active"`
	}
	must(t, n.all(t.Context(), &days, "SELECT day, active FROM list_count WHERE list_id = ? ORDER BY day", n.list))
	if len(days) != 2 || days[0].Active != 5 || days[1].Active != 8 {
		t.Errorf("%+v", days)
	}
}
