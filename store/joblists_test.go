package store_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
)

// plainParts implements core.CampaignCompiler.
func plainParts(f *core.CampaignFields, _ *core.Theme, _ *core.List, _ *core.Tenant) (html, text string, err error) {
	return "", f.Content.Source, nil
}

// manyLists holds the lists of a tenant, their subscribers, and a job to all of the lists.
type manyLists struct {
	*storetest.Seeder
	file    string
	lists   []core.List
	on      []map[core.Email]bool // for each list, the subscribers who can get emails through it
	without map[core.Email]bool   // people whom the job excludes
	touched map[core.Email]bool   // people whose state has changed since the job started
	barred  map[core.Email]bool   // people who were suppressed
	job     core.SendJob
	random  *rand.Rand
}

func newManyLists(t *testing.T, seed uint64) *manyLists {
	m := &manyLists{
		random: rand.New(rand.NewPCG(seed, 20)), touched: map[core.Email]bool{}, barred: map[core.Email]bool{},
		file: filepath.Join(t.TempDir(), "a.db"),
	}
	m.Seeder = storetest.Seed(t, storetest.OpenAt(t, m.file)).At(sendNow)
	var ids []string
	for range 2 + m.random.IntN(4) {
		l := m.NewList()
		shift, n := m.random.IntN(500), m.random.IntN(700)
		m.Readers(l, n, func(k int) core.Email { return storetest.Reader(k + shift) })
		on := map[core.Email]bool{}
		for k := range n {
			on[storetest.Reader(k+shift)] = true
		}
		m.lists, m.on, ids = append(m.lists, l), append(m.on, on), append(ids, l.ID)
	}
	for range 200 {
		m.change()
	}
	clear(m.touched)
	narrowing := m.exclusions(t, ids)
	c := m.NewCampaign(m.lists[0], func(f *core.CampaignFields) { f.ListIDs, f.Narrowing = ids, narrowing })
	d, err := m.Draft(t.Context(), &c, 0, plainParts, m.Now)
	m.Must(err)
	m.job = m.SendDraft(&d)
	_, err = m.StartDueJobs(t.Context(), m.Now)
	m.Must(err)
	return m
}

// exclusions sends a campaign to some of the lists and creates a list of some subscribers. It returns a narrowing that
// excludes the recipients of the campaign or the subscribers of that list, or, in one of three cases, no one.
func (m *manyLists) exclusions(t *testing.T, ids []string) (n core.Narrowing) {
	m.without = map[core.Email]bool{}
	if m.random.IntN(3) == 0 {
		return n
	}
	c := m.NewCampaign(m.lists[0], func(f *core.CampaignFields) { f.ListIDs = ids[1:] })
	d, err := m.Draft(t.Context(), &c, 0, plainParts, m.Now)
	m.Must(err)
	j := m.Start(m.SendDraft(&d))
	var done []core.Outcome
	rows, err := m.Recipients(m.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 10_000})
	m.Must(err)
	for _, r := range rows {
		o := core.Outcome{JobNo: j.No, TenantID: j.TenantID, Seq: r.Seq, State: core.RecipientSent, Tried: true}
		if m.random.IntN(2) == 0 {
			o.State = core.RecipientFailed
		} else {
			m.without[core.Email(r.Email)] = true
		}
		done = append(done, o)
	}
	m.Must(m.FinishRecipients(m.Context(), done, m.Now))
	l := m.NewList()
	m.Readers(l, 100, func(k int) core.Email { return storetest.Reader(k * 7) })
	for k := range 100 {
		m.without[storetest.Reader(k*7)] = true
	}
	return core.Narrowing{ExcludeListIDs: []string{l.ID}, ExcludeCampaignIDs: []string{c.ID}}
}

// change makes a random person subscribe to a list or unsubscribe from one, or erases or suppresses the person.
func (m *manyLists) change() {
	who, i := storetest.Reader(m.random.IntN(1200)), m.random.IntN(len(m.lists))
	if m.barred[who] {
		return
	}
	m.touched[who] = true
	m.Now++
	switch m.random.IntN(8) {
	case 0, 1, 2:
		m.Tell(m.lists[i], core.StatusActive, who)
	case 3:
		_, err := m.ErasePerson(m.Context(), core.Person{Email: who}, "test", m.Now)
		m.Must(err)
	case 4:
		_, err := m.Suppress(m.Context(), members.DisableRequest{Email: who, OccurredAt: m.Now}, "test", m.Now)
		m.Must(err)
		m.barred[who] = true
	default:
		m.Tell(m.lists[i], core.StatusUnsubscribed, who)
	}
	for i, l := range m.lists {
		if delete(m.on[i], who); !m.barred[who] && m.Status(l.ID, who) == core.StatusActive {
			m.on[i][who] = true
		}
	}
}

// reached returns the recipients of a job, each with the list through which the job reached them.
func (m *manyLists) reached(j core.SendJob) map[core.Email]string {
	rows, err := m.Recipients(m.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 10_000})
	m.Must(err)
	by := map[core.Email]string{}
	for _, r := range rows {
		if r.Email != "" {
			if by[core.Email(r.Email)] != "" {
				m.Errorf("%s is a recipient twice", r.Email)
			}
			by[core.Email(r.Email)] = r.ListID
		}
	}
	if int64(len(rows)) != j.Recipients {
		m.Errorf("%d rows of %d recipients", len(rows), j.Recipients)
	}
	return by
}

// A job to several lists, and a retry of it, reaches every person once, through the first list on which they can get
// emails. This is so whatever happens to the lists and the daemon while the recipients are created. Each recipient is
// claimed through that list.
func TestAJobToSeveralListsReachesEachReaderOnce(t *testing.T) {
	seeds := uint64(10)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newManyLists(t, seed)
			ctx, before := t.Context(), make([]map[core.Email]bool, len(m.on))
			m.countedRight()
			for i := range m.on {
				before[i] = map[core.Email]bool{}
				for who := range m.on[i] {
					before[i][who] = true
				}
			}
			got := map[core.Email]int{}
			claim := m.claimer(t, got)
			end := m.random.IntN(12)
			for more, step := true, 0; more; step++ {
				var err error
				more, err = m.ExpandJob(ctx, m.job.No, m.Now)
				m.Must(err)
				if m.random.IntN(3) == 0 {
					m.change()
				}
				if m.random.IntN(4) == 0 {
					claim(m.job)
				}
				if m.random.IntN(6) == 0 { // as after a kill, only the file remains
					m.Must(m.Store.Close())
					m.Store = storetest.OpenAt(t, m.file)
				}
				if seed%2 == 1 && step >= end {
					break
				}
			}
			m.job = m.Reload(m.job)
			if !m.job.Expanded {
				_, err := m.CancelSendJob(ctx, m.job.ID, m.Now)
				m.Must(err)
				for after, more := int64(0), true; more; {
					after, more, err = m.SettleJob(ctx, m.job.No, after, m.Now)
					m.Must(err)
				}
				first := m.reached(m.job)
				again, err := m.RetryFailed(ctx, m.job.ID, "test", m.Now)
				m.Must(err)
				again = m.Start(again)
				by := m.reached(again)
				claim = m.claimer(t, got)
				claim(again)
				for who := range first {
					if by[who] == "" && got[who] == 0 && !m.touched[who] {
						t.Errorf("%s was a recipient, got nothing, and is not in the retry", who)
					}
					if by[who] != "" && by[who] != first[who] {
						t.Errorf("%s is reached by another list in the retry", who)
					}
					if by[who] == "" {
						by[who] = first[who]
					}
				}
				m.against(before, by)
			} else {
				claim(m.job)
				m.against(before, m.reached(m.job))
			}
			for i := range before {
				for who := range before[i] {
					if (got[who] != 1) != m.without[who] && !m.touched[who] {
						t.Errorf("%s got %d mails", who, got[who])
					}
				}
			}
			for who, n := range got {
				if n > 1 && !m.touched[who] {
					t.Errorf("%s got %d mails", who, n)
				}
			}
		})
	}
}

// against compares the recipients and their lists with the subscribers at the start of the job.
func (m *manyLists) against(before []map[core.Email]bool, by map[core.Email]string) {
	for i := range before {
		for who := range before[i] {
			want := m.lists[i].ID
			for e := range i {
				if before[e][who] {
					want = m.lists[e].ID
					break
				}
			}
			if m.without[who] {
				want = ""
			}
			if by[who] != want && !m.touched[who] {
				m.Errorf("%s is reached by the list %q, want %q", who, by[who], want)
			}
		}
	}
}

// countedRight checks the audience size of the job against the subscribers of the lists.
func (m *manyLists) countedRight() {
	c, err := m.Campaign(m.Context(), m.job.CampaignID)
	m.Must(err)
	_, f, err := m.CampaignVersion(m.Context(), &c, 0)
	m.Must(err)
	a, err := m.CountAudience(m.Context(), c.TenantID, &f, 0)
	m.Must(err)
	var want core.Audience
	seen := map[core.Email]bool{}
	for i := range m.on {
		for who := range m.on[i] {
			switch {
			case seen[who]:
				want.Duplicates++
			case m.without[who]:
				want.Excluded++
			default:
				want.Recipients++
			}
			if !m.without[who] {
				seen[who] = true
			}
		}
	}
	if a.Recipients != want.Recipients || a.Duplicates+a.Excluded != want.Duplicates+want.Excluded ||
		a.Active != a.Bounced+a.Complaint+a.Suppressed+a.Duplicates+a.Excluded+a.Recipients {
		m.Errorf("counted %+v, want %+v", a, want)
	}
}

// claimer returns a function that claims the queued recipients of a job, records them as sent, and counts their emails
// in got.
func (m *manyLists) claimer(t *testing.T, got map[core.Email]int) func(core.SendJob) {
	var after int64
	var key campaigns.ClaimKey
	return func(j core.SendJob) {
		t.Helper()
		j, err := m.SendJobByNo(t.Context(), j.No)
		m.Must(err)
		if key.JobNo == 0 {
			key, err = m.ClaimKey(t.Context(), &j)
			m.Must(err)
		}
		claims, err := m.ClaimRecipients(t.Context(), nil, &key, after, 2000)
		m.Must(err)
		parts := m.reached(j)
		var done []core.Outcome
		for _, c := range claims {
			after = c.Seq
			o := core.Outcome{JobNo: j.No, TenantID: j.TenantID, Seq: c.Seq, State: core.RecipientSent, Tried: true}
			if c.Skip != "" {
				o.State, o.Reason, o.Tried = core.RecipientSkipped, c.Skip, false
			} else {
				got[core.Email(c.Email)]++
				if list := key.Of(c.Place).ListID; parts[core.Email(c.Email)] != list ||
					c.SubscriberID != m.SubscriptionID(list, c.EmailKey) {
					t.Errorf("%s is claimed by the list %s, and reached by %s", c.Email, list, parts[core.Email(c.Email)])
				}
			}
			if skip, err := m.Mailable(t.Context(), key.Of(c.Place), c.Seq); err != nil || skip != c.Skip {
				t.Errorf("%s: skipped for %q at the claim, for %q, %v before MAIL", c.Email, c.Skip, skip, err)
			}
			done = append(done, o)
		}
		m.Must(m.FinishRecipients(t.Context(), done, m.Now))
	}
}

// A follow-up campaign goes to the recipients of an earlier one, to people who have joined since, or once to recipients
// with no known open. It doesn't go to people who opened or clicked, or whose opens can't be known.
func TestCampaignsThatFollowAnother(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	s.Readers(l, 10)
	send := func(f *core.FollowUp) (core.SendJob, error) {
		c := s.NewCampaign(l, func(w *core.CampaignFields) { w.Tracking, w.Audience = core.TrackingPersons, f })
		d, err := s.Draft(t.Context(), &c, 0, plainParts, s.Now)
		s.Must(err)
		return s.SendCampaign(t.Context(), campaigns.CampaignSending{
			CampaignEdit: campaigns.CampaignEdit{ID: c.ID, Actor: "test", Now: s.Now}, Version: 1, Fields: &d.Fields,
			Copy: &d.Content.Copy,
		}, campaigns.JobRequest{}, 0)
	}
	first, err := send(nil)
	s.Must(err)
	who := func(who string) *core.FollowUp { return &core.FollowUp{Of: first.CampaignID, Who: who} }
	refused := func(f *core.FollowUp, why string) {
		t.Helper()
		if _, err := send(f); core.KindOf(err) != core.Conflict {
			t.Errorf("%s: %v", why, err)
		}
	}
	refused(who(core.FollowSame), "before it is sent")
	first = s.Start(first)
	rows, err := s.Recipients(t.Context(), &first, campaigns.RecipientFilter{}, core.Page{Limit: 20})
	s.Must(err)
	var done []core.Outcome
	for i, r := range rows {
		o := core.Outcome{JobNo: first.No, TenantID: first.TenantID, Seq: r.Seq, State: core.RecipientSent, Tried: true}
		if i == 0 {
			o.State = core.RecipientFailed
		}
		done = append(done, o)
	}
	s.Must(s.FinishRecipients(t.Context(), done[:9], s.Now))
	refused(who(core.FollowSame), "while it goes out")
	refused(who(core.FollowUnopened), "while it goes out")
	s.SQL("UPDATE send_job SET expanded = 0 WHERE no = ?", first.No)
	refused(who(core.FollowJoined), "while it still finds recipients")
	s.SQL("UPDATE send_job SET expanded = 1 WHERE no = ?", first.No)
	s.Tell(l, core.StatusActive, "early@example.org")
	early, err := send(who(core.FollowJoined))
	s.Must(err)
	early = s.Start(early)
	got, err := s.Recipients(t.Context(), &early, campaigns.RecipientFilter{}, core.Page{Limit: 20})
	if s.Must(err); len(got) != 1 || got[0].Email != "early@example.org" {
		t.Errorf("recipients that joined while one email was retried: %+v", got)
	}
	s.Must(s.FinishRecipients(t.Context(), done[9:], s.Now))
	refused(who(core.FollowUnopened), "where no opening is known at all")
	for seq, marks := range map[int64]core.Marks{
		2: core.MarkOpened | core.MarkReadByPerson, 3: core.MarkOpened | core.MarkMachineOpened | core.MarkReadUnclear,
		4: core.MarkOpened | core.MarkMachineOpened | core.MarkReadByScanner, 5: core.MarkClicked,
		6: core.MarkClicked | core.MarkMachineClicked, 7: core.MarkOpened | core.MarkMachineOpened,
	} {
		s.SQL("UPDATE recipient SET marks = ? WHERE job_no = ? AND seq = ?", int(marks), first.No, seq)
	}
	s.SQL("UPDATE send_job SET opened = 4 WHERE no = ?", first.No)
	s.Tell(l, core.StatusActive, "new@example.org")
	for _, tt := range []struct {
		who  string
		want []int64
	}{
		{core.FollowSame, []int64{2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{core.FollowUnopened, []int64{4, 6, 8, 9, 10}},
		{core.FollowJoined, nil},
	} {
		j, err := send(who(tt.who))
		s.Must(err)
		j = s.Start(j)
		got, err := s.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 20})
		s.Must(err)
		want := map[string]bool{}
		for _, seq := range tt.want {
			want[rows[seq-1].Email] = true
		}
		if tt.who == core.FollowJoined {
			want["new@example.org"], want["early@example.org"] = true, true
		}
		for _, r := range got {
			if !want[r.Email] {
				t.Errorf("%s: %s is a recipient", tt.who, r.Email)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d recipients, want %d", tt.who, len(got), len(want))
		}
	}
	refused(who(core.FollowUnopened), "a second time")
	late, err := send(who(core.FollowJoined))
	s.Must(err)
	s.SQL("DELETE FROM recipient WHERE job_no = ?", first.No)
	refused(who(core.FollowJoined), "when its recipients are forgotten")
	if late = s.Start(late); late.Recipients != 0 {
		t.Errorf("%d recipients, though those of the first campaign are forgotten", late.Recipients)
	}
}

// For a long list, the audience size comes from the stored counts of the list.
func TestTheSumOfALongList(t *testing.T) {
	const readers = 20_010
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	s.Readers(l, readers)
	f := core.CampaignFields{ListIDs: []string{l.ID}}
	for left := range 3 {
		a, err := s.CountAudience(t.Context(), l.TenantID, &f, 0)
		s.Must(err)
		want := core.Audience{Active: readers, Suppressed: int64(left), Recipients: int64(readers - left)}
		if a != want {
			t.Errorf("%+v, want %+v", a, want)
		}
		_, err = s.Suppress(
			t.Context(),
			members.DisableRequest{Email: storetest.Reader(left), OccurredAt: s.Now},
			"test",
			s.Now,
		)
		s.Must(err)
	}
}

// If the recipients of an excluded campaign are no longer known, no one gets the email, because otherwise one of them
// might get it.
func TestRecipientsThatAreForgottenAreNotLeftOut(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	s.Readers(l, 10)
	send := func(exclude ...string) (core.SendJob, error) {
		c := s.NewCampaign(l, func(w *core.CampaignFields) { w.ExcludeCampaignIDs = exclude })
		d, err := s.Draft(t.Context(), &c, 0, plainParts, s.Now)
		s.Must(err)
		return s.SendCampaign(t.Context(), campaigns.CampaignSending{
			CampaignEdit: campaigns.CampaignEdit{ID: c.ID, Actor: "test", Now: s.Now}, Version: 1, Fields: &d.Fields,
			Copy: &d.Content.Copy,
		}, campaigns.JobRequest{}, 0)
	}
	first, err := send()
	s.Must(err)
	first = s.Start(first)
	s.Tell(l, core.StatusActive, "new@example.org")
	planned, err := send(first.CampaignID)
	s.Must(err)
	s.SQL("DELETE FROM recipient WHERE job_no = ?", first.No)
	if _, err := send(first.CampaignID); core.KindOf(err) != core.Conflict {
		t.Errorf("whom it leaves out is forgotten: %v", err)
	}
	if planned = s.Start(planned); planned.Recipients != 0 {
		t.Errorf("%d recipients, though whom it leaves out is forgotten", planned.Recipients)
	}
}

// The usual rates are those of campaigns that were sent, not of canceled ones.
func TestCancelledMailingsAreNotUsual(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	s.Readers(l, 10)
	usual := func() int64 {
		a, err := s.CountAudience(t.Context(), l.TenantID, &core.CampaignFields{ListIDs: []string{l.ID}}, 0)
		s.Must(err)
		return a.Usual
	}
	for range 3 {
		j := s.Start(s.NewJob(l.ID))
		s.SQL("UPDATE send_job SET status = 'cancelled' WHERE no = ?", j.No)
	}
	if n := usual(); n != 0 {
		t.Errorf("%d, of cancelled mailings alone", n)
	}
	s.SQL("UPDATE send_job SET status = 'completed'")
	if n := usual(); n != 10 {
		t.Errorf("%d, want 10", n)
	}
}

// Counting an audience stops after a time limit, and the result says that it is incomplete.
func TestTheSumEndsInTime(t *testing.T) {
	const readers = 2500
	s := storetest.Seed(t, nil).At(sendNow)
	var ids []string
	for i := range 3 {
		l := s.NewList()
		s.Readers(l, readers, func(k int) core.Email { return storetest.Reader(k + 100*i) })
		ids = append(ids, l.ID)
	}
	f := core.CampaignFields{ListIDs: ids}
	some, err := s.CountAudience(t.Context(), s.TenantID, &f, 1)
	s.Must(err)
	all, err := s.CountAudience(t.Context(), s.TenantID, &f, time.Hour)
	s.Must(err)
	if all.AtLeast || all.Recipients != readers+200 || all.Duplicates != 2*(readers-100) || all.Unfinished() != "" {
		t.Errorf("%+v in an hour", all)
	}
	if !some.AtLeast || some.Recipients == 0 || some.Recipients >= readers || some.Expected() != 0 ||
		some.Unfinished() == "" {
		t.Errorf("%+v in no time", some)
	}
}
