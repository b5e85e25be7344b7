package store_test

import (
	"slices"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// silentList is a list of ten subscribers who joined more than a year ago and have since got four tracked emails.
// Subscriber 0 clicked a link and subscriber 1 opened an email. A proxy opened an email for subscriber 2, and a scanner
// for subscriber 3. The others showed no activity.
func silentList(t *testing.T) (n *storetest.Seeder, now core.Instant) {
	n = storetest.SeedList(t, now0)
	for k := range 10 {
		n.Active(n.ListID, storetest.Reader(k))
	}
	n.Deliver()
	for i := range 4 {
		now = now0.Add(time.Duration(60+90*i) * 24 * time.Hour)
		n.Now = now
		j := n.Finish(n.NewJob(n.ListID, func(r *campaigns.JobRequest) {
			r.TrackOpen, r.TrackClick = true, true
		}))
		_, err := n.KeepLinks(t.Context(), j.No, []string{"https://example.org/"})
		n.Must(err)
		if i > 0 {
			continue
		}
		all, err := n.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 100})
		n.Must(err)
		for _, r := range all {
			g := core.Engagement{JobNo: j.No, Seq: r.Seq, At: now.Add(time.Hour), Last: now.Add(time.Hour), Times: 1}
			switch core.Email(r.Email) {
			case storetest.Reader(0):
				g.LinkNo = 1
			case storetest.Reader(1):
			case storetest.Reader(2):
				g.Program = core.ProgramPrivacy
			case storetest.Reader(3):
				g.Program = core.ProgramScanner
			default:
				continue
			}
			_, err := n.AddEngagements(t.Context(), []core.Engagement{g})
			n.Must(err)
		}
	}
	now = now0.Add(400 * 24 * time.Hour)
	n.Now = now
	return n, now
}

// askedBy returns the addresses of the emails of a kind, sorted.
func askedBy(n *storetest.Seeder, kind string) (to []string) {
	n.Helper()
	mails, err := n.DueMails(n.Context(), n.Time().Add(time.Hour), 1000)
	n.Must(err)
	for _, m := range mails {
		if m.Kind == kind {
			to = append(to, string(m.Email))
		}
	}
	slices.Sort(to)
	return to
}

// TestAgreeingShowsActivity checks that a campaign that identifies only subscribers who agreed counts as activity, but
// not as a campaign that someone ignored.
func TestAgreeingShowsActivity(t *testing.T) {
	n, now := silentList(t)
	j := n.Finish(n.NewJob(n.ListID, func(r *campaigns.JobRequest) { r.TrackOpen = true }))
	all, err := n.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 100})
	n.Must(err)
	for _, r := range all {
		if core.Email(r.Email) == storetest.Reader(5) {
			at := now.Add(time.Hour)
			_, err := n.AddEngagements(t.Context(), []core.Engagement{{JobNo: j.No, Seq: r.Seq, At: at, Last: at, Times: 1}})
			n.Must(err)
		}
	}
	n.SQL("UPDATE send_job SET tracked = tracked | ? WHERE no = ?", core.TrackedTotals|core.TrackedConsent, j.No)
	h, err := n.ListHygiene(t.Context(), n.ListID, 12, now.Add(2*time.Hour))
	n.Must(err)
	if s := h.Silence; !s.Known || s.Mailings != 4 || s.Silent != 6 { // subscribers 3, 4 and 6 to 9
		t.Errorf("%+v; want 6 silent", s)
	}
}

// TestSilentAreAskedOnce checks that subscribers without activity for a year are asked once. Those who answer or show
// activity stay, and the others can be unsubscribed two weeks later.
func TestSilentAreAskedOnce(t *testing.T) {
	n, now := silentList(t)
	n.Leave(n.ListID, storetest.Reader(9))
	n.Must(n.Disable(t.Context(), members.DisableRequest{Email: storetest.Reader(8)}, now))
	n.Deliver()
	h, err := n.ListHygiene(t.Context(), n.ListID, 12, now)
	n.Must(err)
	if s := h.Silence; !s.Known || s.Mailings != 4 || s.Looked != 8 || s.Silent != 5 || s.Ask != 5 {
		t.Fatalf("%+v; want 5 of 8 silent", s)
	}
	ask := people.AskAgain{ListID: n.ListID, Who: core.AskSilent, Months: 12, Actor: "user:ann"}
	asked, next, err := n.AskAgain(t.Context(), ask, now)
	n.Must(err)
	want := []string{
		string(storetest.Reader(3)), string(storetest.Reader(4)),
		string(storetest.Reader(5)), string(storetest.Reader(6)),
		string(storetest.Reader(7)),
	}
	if got := askedBy(n, core.MailAskAgain); asked != 5 || next != "" || !slices.Equal(got, want) {
		t.Fatalf("%d asked, next %q, mails to %q; want %q", asked, next, got, want)
	}
	if again, _, err := n.AskAgain(t.Context(), ask, now); err != nil || again != 0 {
		t.Errorf("asked %d once more, %v", again, err)
	}
	if got := n.Audited("list.ask_again"); got != 1 {
		t.Errorf("%d entries in the audit trail", got)
	}

	mails, err := n.DueMails(t.Context(), now.Add(time.Hour), 100)
	n.Must(err)
	for _, m := range mails { // subscriber 4 answers
		if m.Kind == core.MailAskAgain && m.Email == storetest.Reader(4) {
			_, err := n.Confirm(t.Context(), n.Token(m.TokenID, core.ProofMailed), core.Origin{}, now.Add(time.Hour))
			n.Must(err)
		}
	}
	later := now.Add(24 * time.Hour)
	n.Now = later
	j := n.Finish(n.NewJob(n.ListID, func(r *campaigns.JobRequest) { r.TrackClick = true }))
	all, err := n.Recipients(t.Context(), &j, campaigns.RecipientFilter{Email: storetest.Reader(5)}, core.Page{Limit: 1})
	n.Must(err) // subscriber 5 clicks a link in the next email
	_, err = n.KeepLinks(t.Context(), j.No, []string{"https://example.org/"})
	n.Must(err)
	_, err = n.AddEngagements(t.Context(), []core.Engagement{{
		JobNo: j.No, Seq: all[0].Seq, LinkNo: 1, At: later.Add(time.Hour), Last: later.Add(time.Hour), Times: 1,
	}})
	n.Must(err)
	n.Leave(n.ListID, storetest.Reader(6)) // subscriber 6 unsubscribes
	n.Deliver()

	if left, more, err := n.UnsubscribeSilent(t.Context(), n.ListID, "user:ann", 0, later); left != 0 ||
		more || err != nil {
		t.Errorf("%d were unsubscribed before they could answer, %v", left, err)
	}
	end := now.Add(core.AnswerWithin + time.Hour)
	n.Now = end
	h, err = n.ListHygiene(t.Context(), n.ListID, 12, end)
	n.Must(err)
	if h.Asked != (core.Asked{Answered: 2, NoAnswer: 2}) || h.Silence.Ask != 0 {
		t.Errorf("%+v; want two answers, and two without", h)
	}
	left, more, err := n.UnsubscribeSilent(t.Context(), n.ListID, "user:ann", 0, end)
	if left != 2 || more || err != nil {
		t.Errorf("%d left, %t, %v; want 2", left, more, err)
	}
	for k, want := range []string{
		core.SubscriptionActive, core.SubscriptionActive, core.SubscriptionActive, core.SubscriptionUnsubscribed,
		core.SubscriptionActive, core.SubscriptionActive, core.SubscriptionUnsubscribed, core.SubscriptionUnsubscribed,
	} {
		if got := n.MemberStatus(n.ListID, storetest.Reader(k)); got != want {
			t.Errorf("reader %d is %s, want %s", k, got, want)
		}
	}
	reasons, err := n.LeaveReasons(t.Context(), n.ListID)
	n.Must(err)
	i := slices.IndexFunc(reasons, func(r members.LeaveReason) bool { return r.Reason == core.ReasonNoAnswer })
	if i < 0 || reasons[i].Leavers != 2 {
		t.Errorf("%+v", reasons)
	}
	if got := n.Audited("list.unsubscribe_silent"); got != 1 {
		t.Errorf("%d entries in the audit trail", got)
	}
}

// TestUnconfirmedAreAskedOnce checks that people who have never confirmed get one more email with a confirmation link,
// but not on the day of the request and not if they unsubscribed before.
func TestUnconfirmedAreAskedOnce(t *testing.T) {
	n := storetest.SeedList(t, now0)
	for k := range 3 {
		n.Pending(n.ListID, storetest.Reader(k))
	}
	n.Active(n.ListID, "back@example.org")
	n.Leave(n.ListID, "back@example.org")
	n.Request(n.ListID, "back@example.org", "") // anyone could have requested this
	ask := people.AskAgain{ListID: n.ListID, Who: core.AskUnconfirmed, Actor: "user:ann"}
	if asked, _, err := n.AskAgain(t.Context(), ask, now0.Add(time.Hour)); asked != 0 || err != nil {
		t.Errorf("asked %d on the same day, %v", asked, err)
	}
	now := now0.Add(4 * 24 * time.Hour)
	n.Now = now
	n.Pending(n.ListID, "new@example.org")
	h, err := n.ListHygiene(t.Context(), n.ListID, 12, now)
	if n.Must(err); h.Pending != 5 || h.AskPending != 3 || h.Silence.Known {
		t.Errorf("%+v", h)
	}
	asked, next, err := n.AskAgain(t.Context(), ask, now)
	if n.Must(err); asked != 3 || next != "" {
		t.Errorf("asked %d, next %q", asked, next)
	}
	if asked, _, err := n.AskAgain(t.Context(), ask, now); asked != 0 || err != nil {
		t.Errorf("asked %d twice, %v", asked, err)
	}
	mails, err := n.NewMails(t.Context(), now.Add(time.Hour), 0, 100)
	n.Must(err)
	last := mails[len(mails)-1]
	if _, err := n.Confirm(t.Context(), n.Token(last.TokenID, core.ProofMailed), core.Origin{},
		now.Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if got := n.MemberStatus(n.ListID, last.Email); got != core.SubscriptionActive {
		t.Errorf("%s is %s", last.Email, got)
	}
	end := now.Add(30 * 24 * time.Hour)
	if left, _, err := n.UnsubscribeSilent(t.Context(), n.ListID, "user:ann", 0, end); left != 0 || err != nil {
		t.Errorf("%d of those who have not confirmed left, %v", left, err)
	}
}

// TestAskingGoesOnWhereItEnded checks that each call asks some of many unconfirmed people, and that the next call
// continues after the last of them, even if that person has confirmed meanwhile.
func TestAskingGoesOnWhereItEnded(t *testing.T) {
	const n, step = 1003, 500
	for _, gone := range []bool{false, true} {
		s := storetest.SeedList(t, now0)
		tokens := map[string]string{}
		for k := range n {
			s.Now = now0.Add(time.Duration(k/3) * time.Second)
			tokens[s.SubscriptionID(s.ListID, storetest.Reader(k).Key())] = s.Pending(s.ListID, storetest.Reader(k))
		}
		now := now0.Add(4 * 24 * time.Hour)
		ask := people.AskAgain{ListID: s.ListID, Who: core.AskUnconfirmed, Actor: "user:ann", Budget: time.Nanosecond}
		for _, want := range []int64{step, step, n - 2*step} {
			asked, next, err := s.AskAgain(t.Context(), ask, now)
			if s.Must(err); asked != want || (next == "") != (want < step) {
				t.Fatalf("asked %d, next %q; want %d", asked, next, want)
			}
			if ask.After = next; gone && next != "" {
				s.Must(s.Confirm(t.Context(), tokens[next], core.Origin{}, now))
			}
		}
	}
}

// TestNoOneIsAskedWhoHasLeft checks that a queued request email is not sent to a person who unsubscribes before its
// turn.
func TestNoOneIsAskedWhoHasLeft(t *testing.T) {
	n, now := silentList(t)
	ask := people.AskAgain{ListID: n.ListID, Who: core.AskSilent, Months: 12, Actor: "user:ann"}
	_, _, err := n.AskAgain(t.Context(), ask, now)
	n.Must(err)
	n.Leave(n.ListID, storetest.Reader(7))
	mails, err := n.DueMails(t.Context(), now.Add(time.Hour), 100)
	n.Must(err)
	for _, m := range mails {
		left, err := n.LeftSinceAsked(t.Context(), &m)
		if want := m.Kind == core.MailAskAgain && m.Email == storetest.Reader(7); err != nil || left != want {
			t.Errorf("%s: %t, %v", m.Email, left, err)
		}
	}
}

// TestUnconfirmedAreRemoved checks that people who never confirmed are removed when none of their links is valid
// anymore. Those who requested again, were asked once more, or had unsubscribed before stay.
func TestUnconfirmedAreRemoved(t *testing.T) {
	n := storetest.SeedList(t, now0)
	const many = 1200
	for k := range many {
		n.Pending(n.ListID, storetest.Reader(k))
	}
	n.Active(n.ListID, "back@example.org")
	n.Leave(n.ListID, "back@example.org")
	n.Request(n.ListID, "back@example.org", "")
	n.Pending(n.ListID, "again@example.org")
	n.Pending(n.ListID, "asked@example.org")
	remove := func(now core.Instant, want int64) {
		t.Helper()
		h, err := n.ListHygiene(t.Context(), n.ListID, 12, now)
		if n.Must(err); h.RemovePending != want {
			t.Errorf("%d are counted, want %d", h.RemovePending, want)
		}
		removed, more, err := n.RemoveUnconfirmed(t.Context(), n.ListID, "user:ann", 0, now)
		if removed != want || more || err != nil {
			t.Errorf("%d removed, more %t, %v; want %d", removed, more, err, want)
		}
	}
	remove(now0.Add(members.ConfirmTTL)-1, 0)
	later := now0.Add(4 * 24 * time.Hour)
	n.At(later).Request(n.ListID, "again@example.org", "")
	n.SQL("UPDATE subscription SET asked_at = ? WHERE email_key = 'asked@example.org'", int64(later))
	remove(now0.Add(members.ConfirmTTL), many)
	if c, err := n.CountedList(t.Context(), n.ListID); err != nil || c.Counts.Pending != 3 {
		t.Errorf("%+v, %v", c.Counts, err)
	}
	remove(later.Add(members.ConfirmTTL), 2)
	if got := n.MemberStatus(n.ListID, "back@example.org"); got != core.SubscriptionPending {
		t.Errorf("who had left before is %q", got)
	}
	if got := n.Audited("list.remove_unconfirmed"); got != 4 {
		t.Errorf("%d entries in the audit trail", got)
	}
}
