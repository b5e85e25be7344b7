package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/schema"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

// countsAreScanned compares the counts of every list with a scan of its records, as Check does.
func countsAreScanned(n *storetest.Seeder, after string) {
	n.Helper()
	var rows []struct {
		ListID string `db:"list_id"`
		core.ListCounts
	}
	n.AllRows(&rows, tenants.ScannedCounts)
	for _, r := range rows {
		got, err := n.ListCounts(n.Context(), []string{r.ListID})
		n.Must(err)
		if got[r.ListID] != r.ListCounts {
			n.Fatalf("after %s: counted %+v, there are %+v", after, got[r.ListID], r.ListCounts)
		}
	}
	if wrong := n.CountFaults(); len(wrong) != 0 {
		n.Fatalf("after %s: check finds %s", after, wrong)
	}
}

// After any sequence of changes to subscriptions and subscribers, the counts match a scan.
func TestCountsAreThoseOfAScan(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			n, random := storetest.SeedList(t, now0), rand.New(rand.NewPCG(seed, 1))
			lists := []string{n.ListID, n.NewList().ID}
			at, tokens, left := now0, []string{}, []people.UndoRequest{}
			for range 400 {
				at += core.Instant(random.IntN(1000 * 60 * 60))
				n.ListID = lists[random.IntN(2)]
				email := core.Email(fmt.Sprintf("r%d@example.org", random.IntN(12)))
				means := []string{core.ProofMailed, core.ProofResponse}[random.IntN(2)]
				what := []string{
					"subscribe", "subscribe", "confirm", "confirm", "leave", "undo", "import", "deliver", "report",
					"suppress", "lift", "erase", "clean", "sync",
				}[random.IntN(14)]
				switch what {
				case "subscribe":
					_, row, err := n.Subscribe(t.Context(), members.SubscribeRequest{ListID: n.ListID, Email: email}, at)
					n.Must(err)
					tokens = append(tokens, n.Token(row, means))
				case "confirm":
					if len(tokens) > 0 { // some tokens are no longer valid
						_, _ = n.Confirm(t.Context(), tokens[random.IntN(len(tokens))], core.Origin{}, at)
					}
				case "leave":
					id := n.SubscriptionID(n.ListID, email.Key())
					sub, _ := n.Unsubscribe(t.Context(),
						members.UnsubscribeRequest{ListID: n.ListID, SubscriptionID: id, Email: email, Proof: means}, at)
					left = append(left, people.UndoRequest{ListID: n.ListID, SubscriptionID: id, LeftAt: sub.ChangedAt})
				case "undo":
					if len(left) > 0 {
						_, _ = n.Undo(t.Context(), left[random.IntN(len(left))], at)
					}
				case "import":
					status := []string{core.SubscriptionActive, core.SubscriptionPending}[random.IntN(2)]
					im, err := n.NewImport(t.Context(), n.ListID, status, "file.csv")
					n.Must(err)
					im.DryRun = random.IntN(3) == 0
					n.Must(im.Put(imports.ImportRow{Email: email}))
					n.Must(im.Put(imports.ImportRow{Email: "also-" + email}))
					n.Must(im.Write(t.Context(), func() core.Instant { return at }, nil))
					im.Close()
				case "deliver":
					n.At(at.Add(time.Minute)).Deliver()
				case "report":
					effect := [][2]string{
						{"bounce", "hard"}, {"bounce", "soft"}, {"complaint"}, {"suppression"}, {"delivery"},
					}[random.IntN(5)]
					n.Must(n.ApplyReports(t.Context(), []core.ProviderReport{{
						Provider: "p", Key: []byte(core.NewID()), Event: core.ProviderEvent{
							Type: effect[0], BounceType: effect[1], MessageID: "m", TenantID: n.TenantID,
							Email: email, OccurredAt: at,
						},
					}}, at))
				case "suppress":
					_, err := n.Suppress(t.Context(), members.DisableRequest{Email: email, TenantID: n.TenantID, OccurredAt: at},
						"test", at)
					n.Must(err)
				case "lift":
					_, _ = n.Lift(t.Context(), email, n.TenantID, "test", at)
				case "erase":
					_, err := n.ErasePerson(t.Context(), core.Person{Email: email, TenantID: n.TenantID}, "test", at)
					n.Must(err)
				case "clean":
					_, err := n.Housekeeping(t.Context(), people.Retention{Pending: 24 * time.Hour}, at)
					n.Must(err)
				case "sync":
					n.At(at).Synced(core.List{ID: n.ListID, TenantID: n.TenantID}, core.LoopClientID,
						core.EventSubscriber{ID: core.NewID(), Email: email, Status: "active"})
				}
				countsAreScanned(n, what)
			}
			n.Must(n.DeleteList(t.Context(), lists[1], "test", at))
			countsAreScanned(n, "the deletion of a list")
		})
	}
}

// A batch of an import updates the row of its list once. The changes of a failed operation in a batch don't count.
func TestCountsCostOneRowACommit(t *testing.T) {
	n := storetest.SeedList(t, now0)
	rows := make([]imports.ImportRow, imports.ImportBatch)
	for i := range rows {
		rows[i].Email = core.Email(fmt.Sprintf("r%d@example.org", i))
	}
	n.SQL(`CREATE TABLE written (list_id TEXT)`)
	n.SQL(`CREATE TRIGGER counted_insert AFTER INSERT ON list_count BEGIN INSERT INTO written VALUES (NEW.list_id);
		END`)
	n.SQL(`CREATE TRIGGER counted_update AFTER UPDATE ON list_count BEGIN INSERT INTO written VALUES (NEW.list_id);
		END`)
	im, err := n.NewImport(t.Context(), n.ListID, core.SubscriptionActive, "file.csv")
	n.Must(err)
	n.Must(im.Add(t.Context(), rows, now0))
	if written := n.Count("SELECT count(*) FROM written"); written != 1 {
		t.Errorf("the row was written %d times", written)
	}
	counts, err := n.ListCounts(t.Context(), []string{n.ListID})
	if err != nil || counts[n.ListID].Active != imports.ImportBatch {
		t.Errorf("%+v, %v", counts, err)
	}
}

// A migration counts the existing rows.
func TestMigrationCounts(t *testing.T) {
	n := storetest.SeedList(t, now0)
	for i, status := range []string{"active", "active", "pending", "unsubscribed"} {
		n.SQL(`INSERT INTO subscription (list_id, id, email, email_key, status, created_at, changed_at) VALUES (?, ?,
			'a', 'a', ?, 1, 1)`, n.ListID, fmt.Sprint(i), status)
	}
	for i, block := range []string{"", "bounced", "bounced", "complaint", "suppressed", ""} {
		word := []string{"active", "unsubscribed"}[i/5]
		n.SQL(`INSERT INTO subscriber (list_id, id, email, email_key, word, word_at, block, created_at, changed_at)
			VALUES (?, ?, 'a', 'a', ?, 1, ?, 1, 1)`, n.ListID, fmt.Sprint(i), word, block)
	}
	found, err := n.Check(t.Context())
	want := "the counts of list " + n.ListID + " differ from its records: active is 0, not 2, pending is 0, not 1, " +
		"unsubscribed is 0, not 1, bounced is 0, not 2, complaint is 0, not 1, suppressed is 0, not 1, mailable is 0, not 1"
	if err != nil || !slices.Contains(found, want) {
		t.Errorf("check of rows that came by no operation: %q, %v", found, err)
	}
	n.SQL("DELETE FROM list_count")
	for _, m := range schema.Migrations() {
		if m.Number == 32 {
			_, fill, _ := strings.Cut(m.SQL, ";\n\n")
			n.SQL(fill)
		}
	}
	countsAreScanned(n, "the migration")
	counts, err := n.ListCounts(t.Context(), []string{n.ListID})
	if filled := (core.ListCounts{
		Active: 2, Pending: 1, Unsubscribed: 1, Bounced: 2, Complaint: 1, Suppressed: 1,
		Mailable: 1,
	}); err != nil || counts[n.ListID] != filled {
		t.Errorf("%+v, %v", counts, err)
	}
}

// Check recounts the numbers that rows store about other rows. At first, it finds nothing. After a number was changed,
// it reports the kind of number.
func TestCheckCountsAgain(t *testing.T) {
	s := storetest.Seed(t, storetest.Open(t))
	l := s.NewList()
	s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/all")})
	s.Active(l.ID, storetest.Reader(0))
	s.NewImportJob(l.ID, "email\na@example.org\n")
	s.NewModel(s.NewUser("o@example.org", "").ID, "boat", core.Private, "a file")
	for _, c := range []struct{ wrong, right, named string }{
		{"", "", ""},
		{
			"UPDATE webhook_endpoint SET waiting = waiting + 1", "UPDATE webhook_endpoint SET waiting = waiting - 1",
			"endpoints whose stored count",
		},
		{
			"UPDATE webhook_endpoint SET waiting_bytes = waiting_bytes - 1",
			"UPDATE webhook_endpoint SET waiting_bytes = waiting_bytes + 1", "endpoints whose stored size",
		},
		{"UPDATE import_job SET bytes = bytes + 1", "UPDATE import_job SET bytes = bytes - 1", "imports whose stored size"},
		{"UPDATE model_file SET chunks = chunks + 1", "UPDATE model_file SET chunks = chunks - 1", "model files whose parts"},
		{"UPDATE model_usage SET bytes = bytes + 1", "UPDATE model_usage SET bytes = bytes - 1", "model owners whose stored size"},
		{"UPDATE model_total SET bytes = bytes + 1", "UPDATE model_total SET bytes = bytes - 1", "totals of model files"},
		{"UPDATE list_count SET active = active + 1", "UPDATE list_count SET active = active - 1", "the counts of list"},
	} {
		if c.wrong != "" {
			s.SQL(c.wrong)
		}
		found, err := s.Check(t.Context())
		if err != nil || (len(found) == 0) != (c.named == "") || !strings.Contains(strings.Join(found, "\n"), c.named) {
			t.Errorf("%s: %v, %v", c.wrong, found, err)
		}
		if c.right != "" {
			s.SQL(c.right)
		}
	}
}
