package store_test

import (
	"testing"

	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

func TestMailsAreFinishedManyAtOnce(t *testing.T) {
	n := storetest.SeedList(t, now0)
	for _, many := range []int{1, tenants.SentMailsAtOnce, tenants.SentMailsAtOnce + 1, 3*tenants.SentMailsAtOnce - 1} {
		n.SQL("DELETE FROM mail")
		var results []tenants.MailResult
		for i := range many {
			n.SQL("INSERT INTO mail (kind, email, email_key, due_at, created_at) VALUES ('confirm', 'a@b.co', " +
				"'a@b.co', 1, 1)")
			results = append(results, tenants.MailResult{
				ID: int64(n.Count("SELECT max(id) FROM mail")), Sent: i != 1,
				Reason: map[bool]string{true: "no"}[i == 1],
			})
		}
		n.SQL("INSERT INTO mail (kind, email, email_key, due_at, created_at) VALUES ('confirm', 'a@b.co', 'a@b.co', " +
			"1, 1)")
		if err := n.FinishMails(n.Context(), results, 7); err != nil {
			t.Fatal(err)
		}
		failed := min(many-1, 1)
		if sent := n.Count("SELECT count(*) FROM mail WHERE state = 1 AND tries = 1 AND finished_at = 7 AND reason " +
			"= ''"); sent != many-failed {
			t.Errorf("%d of %d are sent", sent, many-failed)
		}
		if queued := n.Count("SELECT count(*) FROM mail WHERE state = 0 AND tries = 0"); queued != 1 {
			t.Errorf("%d are queued, want the one without a result", queued)
		}
		if n.Count("SELECT count(*) FROM mail WHERE state = 2 AND reason = 'no'") != failed {
			t.Error("the failed one")
		}
	}
}
