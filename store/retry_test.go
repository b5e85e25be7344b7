package store_test

import (
	"fmt"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// If a job ended before all its recipients were created, a retry sends to the recipients who got no email and to the
// rest of the list.
func TestRetryOfAJobThatEndedEarly(t *testing.T) {
	for _, steps := range []int{0, 1, 2} {
		s := storetest.Seed(t, nil).At(sendNow)
		l := s.NewList()
		ctx := t.Context()
		s.Readers(l, 1200)
		j := s.NewJob(l.ID)
		_, err := s.StartDueJobs(ctx, sendNow)
		s.Must(err)
		for range steps {
			_, err = s.ExpandJob(ctx, j.No, sendNow)
			s.Must(err)
		}
		want := int64(1200)
		if steps > 0 {
			s.Must(s.FinishRecipients(ctx,
				[]core.Outcome{{JobNo: j.No, Seq: 7, State: core.RecipientSent, Tried: true}}, sendNow))
			want--
		}
		_, err = s.CancelSendJob(ctx, j.ID, sendNow)
		s.Must(err)
		for after, more := int64(0), true; more; {
			after, more, err = s.SettleJob(ctx, j.No, after, sendNow)
			s.Must(err)
		}
		again, err := s.RetryFailed(ctx, j.ID, "test", sendNow)
		s.Must(err)
		trail, _, err := s.Audit(ctx, core.AuditFilter{}, core.Page{Limit: 1})
		s.Must(err)
		if want := (core.AuditEntry{
			At: sendNow, Actor: "test", Action: "job.retry", TenantID: j.TenantID, ID: trail[0].ID,
			Object: again.ID, Changes: trail[0].Changes,
		}); len(trail) != 1 || trail[0] != want {
			t.Errorf("trail %+v, want %+v", trail, want)
		}
		again = s.Start(again)
		rows, err := s.Recipients(ctx, &again, campaigns.RecipientFilter{}, core.Page{Limit: 2000})
		s.Must(err)
		seen := map[string]bool{}
		for _, r := range rows {
			seen[r.Email] = true
		}
		if again.Recipients != want || !again.Expanded || int64(len(seen)) != want || int64(len(rows)) != want {
			t.Errorf("after %d steps: %d recipients, %d rows, %d addresses; want %d", steps, again.Recipients,
				len(rows), len(seen), want)
		}
	}
}

// A campaign that was sent stays sent, even if a retry is canceled before it has recipients. If the job had no
// recipients, the campaign becomes a draft again, and a retry is refused after the draft is edited.
func TestRetriesAndTheirCampaigns(t *testing.T) {
	for _, found := range []bool{true, false} {
		s := storetest.Seed(t, nil).At(sendNow)
		l := s.NewList()
		ctx := t.Context()
		s.Readers(l, 3)
		j := s.NewJob(l.ID)
		_, err := s.StartDueJobs(ctx, sendNow)
		s.Must(err)
		if found {
			_, err = s.ExpandJob(ctx, j.No, sendNow)
			s.Must(err)
		}
		cancel := func(j core.SendJob, want core.CampaignState) {
			t.Helper()
			_, err := s.CancelSendJob(ctx, j.ID, sendNow)
			s.Must(err)
			for after, more := int64(0), true; more; {
				after, more, err = s.SettleJob(ctx, j.No, after, sendNow)
				s.Must(err)
			}
			if c, err := s.Campaign(ctx, j.CampaignID); err != nil || c.State != want ||
				(c.ApprovedVersion == 0) != (want == core.CampaignDraft) {
				t.Errorf("recipients %v: the campaign is %s, approved %d, %v", found, c.State, c.ApprovedVersion, err)
			}
		}
		want := core.CampaignSent
		if !found {
			want = core.CampaignDraft
		}
		cancel(j, want)
		again, err := s.RetryFailed(ctx, j.ID, "test", sendNow)
		s.Must(err)
		cancel(again, want)
		e := campaigns.CampaignEdit{ID: j.CampaignID, Actor: "ann", Now: sendNow}
		_, err = s.EditCampaign(ctx, e, func(f *core.CampaignFields) error { f.Subject = "Another"; return nil })
		if (core.KindOf(err) == core.Conflict) != found {
			t.Errorf("recipients %v: an edit: %v", found, err)
		}
		if found {
			continue
		}
		if _, err := s.RetryFailed(ctx, again.ID, "test", sendNow); core.KindOf(err) != core.Conflict {
			t.Errorf("what was written on is retried: %v", err)
		}
	}
}

// A retry that can reach no one is refused with the reason.
func TestRetriesOfNobodyAreRefused(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	ctx := t.Context()
	s.Readers(l, 3)
	refused := func(j core.SendJob, word string) {
		t.Helper()
		if _, err := s.RetryFailed(ctx, j.ID, "test",
			sendNow); core.KindOf(err) != core.Conflict || !strings.Contains(fmt.Sprint(err), word) {
			t.Errorf("%v, want %q", err, word)
		}
	}
	j := s.NewJob(l.ID)
	refused(j, "has not ended")
	_, err := s.CancelSendJob(ctx, j.ID, sendNow)
	s.Must(err)
	refused(j, "before it started")
	j = s.Start(s.NewJob(l.ID))
	var all []core.Outcome
	for seq := int64(1); seq <= 3; seq++ {
		all = append(all, core.Outcome{JobNo: j.No, Seq: seq, State: core.RecipientSent, Tried: true})
	}
	s.Must(s.FinishRecipients(ctx, all, sendNow))
	refused(j, "reached every recipient")
}
