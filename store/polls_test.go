package store_test

import (
	"errors"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// asked is a campaign with a poll, whose fields are those of its draft.
type asked struct {
	*storetest.Seeder
	campaign core.Campaign
}

func newAsked(t *testing.T, closesAt core.Instant) *asked {
	t.Helper()
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	s.Readers(l, 2)
	return &asked{s, s.NewCampaign(l, func(f *core.CampaignFields) {
		f.Polls = []core.Poll{{Question: "Which fruit?", Options: core.Strings{"Apples", "Pears"}, ClosesAt: closesAt}}
	})}
}

func (a *asked) send(undo core.Instant) (core.SendJob, error) {
	a.Helper()
	d, err := a.Draft(a.Context(), &a.campaign, 0, plainParts, a.Now)
	a.Must(err)
	return a.SendCampaign(a.Context(), campaigns.CampaignSending{
		CampaignEdit: campaigns.CampaignEdit{ID: a.campaign.ID, Actor: "test", Now: a.Now},
		Version:      d.Version.Version, Fields: &d.Fields, Copy: &d.Content.Copy,
	}, campaigns.JobRequest{}, undo)
}

// asks changes the question of the draft.
func (a *asked) asks(question string) {
	a.Helper()
	c, err := a.EditCampaign(a.Context(), campaigns.CampaignEdit{ID: a.campaign.ID, Actor: "test", Now: a.Now},
		func(f *core.CampaignFields) error { f.Polls[0].Question = question; return nil })
	a.Must(err)
	a.campaign = c
}

// A job that started and had no recipients sent nothing. The next send has the polls that the campaign has now.
func TestPollsOfAJobWithoutRecipients(t *testing.T) {
	a := newAsked(t, 0)
	j, err := a.send(0)
	a.Must(err)
	a.Must(a.StartDueJobs(t.Context(), a.Now))
	a.Must(a.CancelSendJob(t.Context(), j.ID, a.Now))
	if j = a.Reload(j); j.StartedAt == 0 || j.Recipients != 0 {
		t.Fatalf("%+v", j)
	}
	a.asks("Which color?")
	j, err = a.send(0)
	a.Must(err)
	a.Start(j)
	polls, err := a.PollResults(t.Context(), a.campaign.ID, a.Now)
	if a.Must(err); len(polls) != 1 || polls[0].Question != "Which color?" {
		t.Errorf("%+v", polls)
	}
}

// The check of the database compares the counts of options with the answers.
func TestCheckComparesAnswers(t *testing.T) {
	a := newAsked(t, 0)
	j, err := a.send(0)
	a.Must(err)
	j = a.Start(j)
	for seq := range j.Recipients {
		v, err := a.Voting(t.Context(), people.Ballot{JobNo: j.No, Seq: seq + 1, Poll: 1}, a.Now)
		a.Must(err)
		a.Must(a.Vote(t.Context(), &v, 1, a.Now))
	}
	if found, err := a.Check(t.Context()); err != nil || len(found) != 0 {
		t.Fatal(found, err)
	}
	a.SQL("UPDATE poll_option SET answers = answers + 1")
	if found, err := a.Check(t.Context()); err != nil || len(found) != 1 || !strings.HasPrefix(found[0], "2 options") {
		t.Error(found, err)
	}
}

// A campaign isn't sent, and its send isn't moved, to a time at which a poll is closed.
func TestPollsOutlastTheSend(t *testing.T) {
	closes := sendNow + 300
	a := newAsked(t, closes)
	fault := func(what, field string, err error) {
		t.Helper()
		e, ok := errors.AsType[*core.Error](err)
		if !ok || e.Kind != core.Invalid || e.Field != field {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := a.send(closes)
	fault("send", "polls[0].closes_at", err)
	if c, err := a.Store.Campaign(t.Context(), a.campaign.ID); err != nil || c.State != core.CampaignDraft {
		t.Errorf("%v, %v", c.State, err)
	}
	j, err := a.send(closes - 1)
	a.Must(err)
	_, err = a.MoveSendJob(t.Context(), j.ID, "test", core.JobTimes{ScheduledAt: &closes}, a.Now)
	fault("move", "scheduled_at", err)
	if got := a.Reload(j); got.DueAt != j.DueAt {
		t.Errorf("due at %d, was %d", got.DueAt, j.DueAt)
	}
	a.Must(a.MoveSendJob(t.Context(), j.ID, "test", core.JobTimes{ScheduledAt: new(closes - 1)}, a.Now))
}
