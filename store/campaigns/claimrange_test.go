package campaigns

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
)

// rangeHouse creates a list and a job to it. Of the 1,000 subscribers, about odd are not as expected or have changed
// since the job started.
func rangeHouse(t *testing.T, seed uint64, odd int) (*Store, *ClaimKey) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	k := &ClaimKey{JobNo: 7, TenantID: "acme", ListID: "letter"}
	must(t, s.Update(t.Context(), func(tx *db.Tx) error {
		exec := func(query string, args ...any) {
			_, err := tx.Exec(query, args...)
			must(t, err)
		}
		const (
			subscriber = "INSERT INTO subscriber (list_id, id, email_key, email, word, word_at, block, " +
				"preferences, created_at, changed_at) VALUES ('letter', ?, ?, ?, ?, 0, ?, ?, 0, 0)"
			subscription = "INSERT INTO subscription (list_id, id, email, email_key, status, means, created_at, " +
				"changed_at) VALUES ('letter', ?, ?, ?, ?, ?, 0, 0)"
			recipient = "INSERT INTO recipient (job_no, seq, subscriber_id, email_key, state, tries, ambiguous) " +
				"VALUES (7, ?, ?, ?, ?, ?, ?)"
			suppression = "INSERT OR IGNORE INTO suppression (tenant_id, email_key, kind, created_at) VALUES (?, " +
				"?, 'complaint', 0)"
			disabled = "INSERT OR IGNORE INTO disabled (email_key, tenant_id, reason, disabled_by, occurred_at, " +
				"created_at) VALUES (?, ?, 'r', 'b', 0, 0)"
		)
		for i := range 900 {
			id, key := fmt.Sprintf("s%05d", i), fmt.Sprintf("r%d@example.org", i)
			word, block, status, state := "active", "", "active", core.RecipientQueued
			means := []string{"mailed", "response"}[random.IntN(2)]
			present, subscribed, asked := true, random.IntN(10) > 0, true
			now := key
			if random.IntN(1000) < odd {
				switch random.IntN(12) {
				case 0:
					word = "unsubscribed"
				case 1:
					block = "bounced"
				case 2:
					status = "unsubscribed"
				case 3:
					status = "pending"
				case 4:
					present = false
				case 5:
					asked = false // joined after the job started
				case 6:
					state = core.RecipientSent
				case 7:
					exec(suppression, []string{"acme", "bolt"}[random.IntN(2)], key)
				case 8:
					exec(disabled, key, []string{"", "acme", "bolt"}[random.IntN(3)])
				case 9:
					exec(disabled, key, "")
					exec(disabled, key, "acme")
				case 10:
					now = "new-" + key
					exec(suppression, "acme", []string{key, now}[random.IntN(2)])
				case 11:
					means = ""
				}
			}
			if present {
				exec(subscriber, id, now, now, word, block, fmt.Sprintf(`{"n":%d}`, i))
			}
			if subscribed {
				exec(subscription, id, now, now, status, means)
			}
			if asked {
				exec(recipient, i+1, id, key, state, random.IntN(2), random.IntN(2))
			}
		}
		return nil
	}))
	return s, k
}

// Claiming a range gives the same result as claiming its recipients one by one, for all kinds of recipients.
func TestAStretchIsClaimedAsItsRecipientsAre(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		for _, odd := range []int{0, 60, 600} {
			s, k := rangeHouse(t, seed, odd)
			stretches := 0
			for after := int64(0); ; {
				want, err := claim(t.Context(), s.DB, nil, claimQueued, k.JobNo, k.TenantID, k.ListID, false, after,
					100)
				must(t, err)
				got, ok, err := k.claimRange(t.Context(), s.DB, nil, after, 100)
				must(t, err)
				if ok {
					stretches++
					if !slices.Equal(got, want) {
						t.Fatalf("seed %d, %d odd: behind %d\n%v\n%v", seed, odd, after, got, want)
					}
				}
				if len(want) == 0 {
					break
				}
				after = want[len(want)-1].Seq
			}
			if odd < 100 && stretches < 8 || odd > 500 && stretches > 0 {
				t.Errorf("%d odd: %d stretches", odd, stretches)
			}
		}
	}
}

// Recipients are looked up one by one if they are not in the order of the subscribers, or if there are many more
// subscribers.
func TestNoRange(t *testing.T) {
	for name, change := range map[string]string{
		"not in order": "UPDATE recipient SET subscriber_id = 's00000' WHERE seq = 50",
		"few of many":  "UPDATE recipient SET state = 2 WHERE seq % 5 > 0",
	} {
		s, k := rangeHouse(t, 1, 0)
		must(t, s.Update(t.Context(), func(tx *db.Tx) error { _, err := tx.Exec(change); return err }))
		want, err := claim(t.Context(), s.DB, nil, claimQueued, k.JobNo, k.TenantID, k.ListID, false, 0, 100)
		must(t, err)
		got, err := s.ClaimRecipients(t.Context(), nil, k, 0, 100)
		must(t, err)
		if !slices.Equal(got, want) || k.scattered == 0 {
			t.Errorf("%s: %d claims of %d, scattered %d", name, len(got), len(want), k.scattered)
		}
	}
}

// A person who is blocked when a job starts does not become a recipient.
func TestTheBarredBecomeNoRecipients(t *testing.T) {
	s, k := rangeHouse(t, 3, 700)
	must(t, s.Update(t.Context(), func(tx *db.Tx) error {
		return db.Numbered(0, func(counter int64) error {
			_, err := tx.Exec("INSERT INTO recipient (job_no, seq, subscriber_id, email_key) "+recipientsOfList, 8,
				counter, k.ListID, "", "t", k.TenantID)
			return err
		})
	}))
	var got, want []string
	must(t, s.All(t.Context(), &got, "SELECT subscriber_id FROM recipient WHERE job_no = 8 ORDER BY seq"))
	must(t,
		s.All(t.Context(), &want, `SELECT id FROM subscriber WHERE list_id = 'letter' AND word = 'active' AND block = ''
		AND email_key NOT IN (SELECT email_key FROM suppression WHERE tenant_id = 'acme')
		AND email_key NOT IN (SELECT email_key FROM disabled WHERE tenant_id IN ('', 'acme')) ORDER BY id`))
	if !slices.Equal(got, want) || len(want) < 300 || len(want) > 800 {
		t.Errorf("%d recipients of %d", len(got), len(want))
	}
}
