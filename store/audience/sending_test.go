package audience_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// pros adds n subscribers to a list. Every third subscriber has the plan pro. pros returns these.
func (w *world) pros(l core.List, n int) (all []core.Email) {
	w.Helper()
	f := w.Batch(l, core.NewID(), 1, 2)
	f.OccurredAt--
	for k := range n {
		plan := `{"plan":"free"}`
		if k%3 == 0 {
			plan, all = `{"plan":"pro"}`, append(all, storetest.Reader(k))
		}
		f.Subscribers = append(f.Subscribers, core.EventSubscriber{
			ID: core.NewID(), Email: storetest.Reader(k), Status: string(core.StatusActive),
			Preferences: core.Preferences(plan),
		})
	}
	w.Must(w.ApplyBatch(w.Context(), w.Nonce(), f, w.Time()))
	slices.Sort(all)
	return all
}

func to(g core.Segment) func(*core.CampaignFields) {
	return func(f *core.CampaignFields) { f.SegmentID = g.ID }
}

const pro = `{"field": "plan", "is": "pro"}`

// A job that is killed between its steps continues with the same rule and moment, so it reaches the same people.
func TestAJobToASegmentContinuesAfterAKill(t *testing.T) {
	file := t.TempDir() + "/a.db"
	w := &world{storetest.Seed(t, storetest.OpenAt(t, file)).At(start)}
	l := w.NewList()
	want := w.pros(l, 4500)
	g := w.segment("Pro, lately", `{"all": [`+pro+`, {"joined": {"within_days": 0}}]}`)
	d := w.draft([]core.List{l}, to(g))
	j := w.SendDraft(&d)
	w.Must(w.StartDueJobs(t.Context(), start))
	steps := 0
	for more := true; more; steps++ {
		var err error
		more, err = w.ExpandJob(t.Context(), j.No, start+core.Instant(steps)*day) // the rule applies as of the start of the job
		w.Must(err)
		w.Must(w.change(g, `{"field": "plan", "is": "free"}`)) // the job keeps its rule
		w.Must(w.Store.Close())
		w.Store = storetest.OpenAt(t, file)
	}
	got := w.reached(w.Reload(j))
	if slices.Sort(got); !slices.Equal(got, want) || steps < 3 {
		t.Errorf("%d recipients in %d steps, want %d", len(got), steps, len(want))
	}
}

// An approved campaign is sent with the approved rule. If the rule changes, what a reviewer saw is out of date.
func TestAnApprovalCoversTheRule(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	want := w.pros(l, 30)
	inner := w.segment("Pro", pro)
	g := w.segment("All", `{"all": [{"segment": "`+inner.ID+`"}]}`)
	d := w.draft([]core.List{l}, to(g))
	approve := func(seen core.Digest) error {
		_, err := w.ApproveCampaign(t.Context(), campaigns.CampaignSending{
			CampaignEdit: campaigns.CampaignEdit{ID: d.Campaign.ID, Actor: "user:bob", Now: start, Seen: seen},
			Version:      d.Version.Version, Fields: &d.Fields, Copy: &d.Content.Copy,
		})
		return err
	}
	w.Must(w.change(inner, `{"field": "plan", "is": "free"}`))
	if err := approve(d.Digest); core.KindOf(err) != core.PreconditionFailed {
		t.Fatalf("a changed rule: %v", err)
	}
	now := w.draftOf(d.Campaign)
	if parts := d.Digest.Changed(now.Digest); !slices.Equal(parts, []string{core.ChangedSegment}) {
		t.Errorf("changed: %v", parts)
	}
	changes, err := w.ContentChanges(t.Context(), &now.Campaign, &now.Fields, []string{core.ChangedSegment})
	w.Must(err)
	if c := changes[0]; c.ID != inner.ID || c.Name != "Pro" || c.By != "user:bob" {
		t.Errorf("the change: %+v", c)
	}
	w.Must(w.change(inner, pro))
	w.Must(approve(d.Digest))
	w.Must(w.change(inner, `{"field": "plan", "is": "free"}`))
	approved := w.draftOf(d.Campaign)
	a, err := w.CountAudience(t.Context(), w.TenantID, &approved.Fields, 0)
	w.Must(err)
	got := w.reached(w.Start(w.SendDraft(&approved)))
	if slices.Sort(got); !slices.Equal(got, want) || a.Recipients != int64(len(want)) || a.Outside != 20 {
		t.Errorf("%d recipients, %+v, want %d", len(got), a, len(want))
	}
}

// If a second person must approve, that person can't be the author of a rule. Renaming a segment doesn't make someone
// its author.
func TestTheAuthorOfARuleIsNoSecondPerson(t *testing.T) {
	w := newWorld(t)
	w.NewTenant(func(in *core.TenantInput) { in.Approval = new(core.ApprovalSecondPerson) })
	l := w.NewList()
	w.pros(l, 3)
	inner := w.segment("Pro", pro)
	g := w.segment("All", `{"all": [{"segment": "`+inner.ID+`"}]}`)
	d := w.draft([]core.List{l}, to(g))
	approve := func() error {
		_, err := w.ApproveCampaign(t.Context(), campaigns.CampaignSending{
			CampaignEdit: campaigns.CampaignEdit{ID: d.Campaign.ID, Actor: "user:bob", Now: start},
			Version:      d.Version.Version, Fields: &d.Fields, Copy: &d.Content.Copy,
		})
		return err
	}
	w.Must(w.change(inner, `{"not": `+pro+`}`))
	if err := approve(); !errors.Is(err, core.ErrApprovalRequired) {
		t.Errorf("bob, who changed the rule: %v", err)
	}
	d = w.draft([]core.List{l}, to(g))
	w.Must(w.ChangeSegment(t.Context(), inner.ID, "user:bob", func(g *core.Segment) error {
		return g.Change(core.SegmentInput{Name: new("Named")}, "user:bob", start)
	}))
	w.Must(approve())
}

// A campaign that excludes segments reaches everyone else.
func TestExcludedSegments(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	out := w.pros(l, 30)
	g := w.segment("Pro", pro)
	none := w.segment("None", `{"field": "plan", "missing": true}`)
	d := w.draft([]core.List{l}, func(f *core.CampaignFields) { f.ExcludeSegmentIDs = []string{none.ID, g.ID} })
	got := w.reached(w.Start(w.SendDraft(&d)))
	if len(got) != 30-len(out) || slices.Contains(got, out[0]) {
		t.Errorf("%d recipients, want %d", len(got), 30-len(out))
	}
}

// A campaign with a rule that can't be decided can't be sent. A running job with such a rule pauses before its next
// step.
func TestUndecidedRulesSendNothing(t *testing.T) {
	w := newWorld(t)
	l, other := w.NewList(), w.NewList()
	w.pros(l, 30)
	sent := w.Finish(w.NewJob(l.ID)).CampaignID
	tracked := func(bits int) func(w *world) {
		return func(w *world) { w.sql("UPDATE send_job SET tracked = ? WHERE campaign_id = ?", bits, sent) }
	}
	tracked(core.TrackedOpens | core.TrackedClicks)(w)
	w.sql("INSERT INTO link (job_no, no, url) SELECT no, 1, 'https://acme.example/' FROM send_job")
	inner := w.segment("Pro", pro)
	w.newTag("VIP")
	for name, c := range map[string]struct {
		rule   string
		breaks func(w *world)
		mends  func(w *world)
	}{
		"a deleted list": {
			`{"not": {"on_list": "` + other.ID + `"}}`,
			func(w *world) { w.Must(w.DeleteList(w.Context(), other.ID, "test", start)) },
			func(w *world) { w.Must(w.RestoreList(w.Context(), other.ID, "test", start)) },
		},
		"recipients that are no longer stored": {
			`{"any": [{"not": {"received": "` + sent + `"}}, {"field": "plan", "exists": true}]}`,
			func(w *world) { w.sql("UPDATE recipient SET job_no = -job_no") },
			func(w *world) { w.sql("UPDATE recipient SET job_no = -job_no") },
		},
		"clicks that are being deleted": {
			`{"any": [{"not": {"clicked_link": {"campaign": "` + sent + `", "link": 1}}},
				{"field": "plan", "exists": true}]}`,
			tracked(core.TrackedOpens | core.TrackedClicks | core.TrackedSwept),
			tracked(core.TrackedOpens | core.TrackedClicks),
		},
		"a deleted tag": {
			`{"not": {"tag": "VIP"}}`,
			func(w *world) { w.sql("UPDATE tag SET tenant_id = '-' || tenant_id") },
			func(w *world) { w.sql("UPDATE tag SET tenant_id = substr(tenant_id, 2)") },
		},
		"a deleted segment": {
			`{"not": {"segment": "` + inner.ID + `"}}`,
			func(w *world) { w.sql("UPDATE segment SET id = '-' || id WHERE id = ?", inner.ID) },
			func(w *world) { w.sql("UPDATE segment SET id = ?1 WHERE id = '-' || ?1", inner.ID) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{w.Seeder}
			g := w.segment(name, c.rule)
			d := w.draft([]core.List{l}, to(g))
			started := w.SendDraft(&d)
			w.Must(w.StartDueJobs(t.Context(), start))
			later := w.draft([]core.List{l}, to(g))
			c.breaks(w)
			undecided := func(what string, err error) {
				t.Helper()
				if core.KindOf(err) != core.Conflict || !strings.Contains(err.Error(), "can't be evaluated") {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err := w.CountSegment(t.Context(), w.question(c.rule, l))
			undecided("count", err)
			_, _, err = w.PeopleOf(t.Context(), w.question(c.rule, l), core.Page{Limit: 10})
			undecided("people", err)
			_, err = w.CountAudience(t.Context(), w.TenantID, &later.Fields, 0)
			undecided("audience", err)
			_, err = w.SendCampaign(t.Context(), campaigns.CampaignSending{
				CampaignEdit: campaigns.CampaignEdit{ID: later.Campaign.ID, Actor: "test", Now: start},
				Version:      later.Version.Version, Fields: &later.Fields, Copy: &later.Content.Copy,
			}, campaigns.JobRequest{}, 0)
			if core.KindOf(err) != core.Invalid { // the approval finds that the segment was deleted
				undecided("send", err)
			}
			_, err = w.TryJob(l.ID, func(r *campaigns.JobRequest) { r.SegmentID = g.ID })
			undecided("job", err)
			if name == "a deleted segment" { // the job has a copy of the rule
				return
			}
			j := w.Start(started)
			if j.Recipients != 0 || j.PausedAt == 0 || !strings.HasPrefix(j.PauseReason, core.PauseSegment) ||
				j.Expanded {
				t.Errorf("the job: %+v", j)
			}
			jobs, err := w.WatchJobs(true, func() {}).Read(t.Context())
			if err != nil || slices.ContainsFunc(jobs.Running, func(r core.SendJob) bool { return r.ID == j.ID }) {
				t.Errorf("it is running, %v", err)
			}
			w.Must(w.ResumeSendJob(t.Context(), j.ID, "test", start)) // pauses again, because nothing has changed
			if j = w.Start(j); j.Recipients != 0 || j.PausedAt == 0 {
				t.Errorf("resumed: %+v", j)
			}
			c.mends(w)
			w.Must(w.ResumeSendJob(t.Context(), j.ID, "test", start))
			if j = w.Start(j); !j.Expanded || j.Recipients == 0 {
				t.Errorf("mended: %+v", j)
			}
		})
	}
}

// A send job accepts only segments of its own tenant.
func TestSendJobsToASegment(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	want := w.pros(l, 30)
	g := w.segment("Pro", pro)
	j := w.Finish(w.NewJob(l.ID, func(r *campaigns.JobRequest) { r.SegmentID = g.ID }))
	got := w.reached(j)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%d recipients, want %d", len(got), len(want))
	}
	c, err := w.Campaign(t.Context(), j.CampaignID)
	w.Must(err)
	if _, f, err := w.CampaignVersion(t.Context(), &c, 0); err != nil || f.SegmentID != g.ID {
		t.Errorf("the campaign of the job goes to %q, %v", f.SegmentID, err)
	}
	theirs := &world{w.At(start)}
	theirs.TenantID = ""
	theirs.NewTenant()
	hidden := theirs.segment("Pro", pro)
	for _, id := range []string{hidden.ID, core.NewID()} {
		_, err := w.TryJob(l.ID, func(r *campaigns.JobRequest) { r.SegmentID = id })
		if e := new(core.Error); core.KindOf(err) != core.Invalid || !errors.As(err, &e) || e.Field != "segment_id" {
			t.Errorf("segment %s: %v", id, err)
		}
		for field, change := range map[string]func(*core.CampaignFields){
			"segment_id":          func(f *core.CampaignFields) { f.SegmentID = id },
			"exclude_segment_ids": func(f *core.CampaignFields) { f.ExcludeSegmentIDs = []string{id} },
		} {
			f := core.CampaignFields{ListIDs: []string{l.ID}, Subject: "x", Tracking: core.TrackingOff}
			f.Content = core.CampaignContent{Kind: core.ContentText, Source: "x"}
			change(&f)
			_, err := w.AddCampaign(t.Context(), core.NewCampaign(w.TenantID, &f, "test", start), &f)
			if e := new(core.Error); core.KindOf(err) != core.Invalid || !errors.As(err, &e) || e.Field != field {
				t.Errorf("%s of another tenant: %v", field, err)
			}
		}
	}
}

// A retry keeps the rule, so the same rule decides about the rest of the list.
func TestARetryKeepsTheRule(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	want := w.pros(l, 700)
	g := w.segment("Pro", pro)
	d := w.draft([]core.List{l}, to(g))
	j := w.SendDraft(&d)
	w.Must(w.StartDueJobs(t.Context(), start))
	w.Must(w.ExpandJob(t.Context(), j.No, start))
	w.Must(w.CancelSendJob(t.Context(), j.ID, start))
	for after, more := int64(0), true; more; {
		var err error
		after, more, err = w.SettleJob(t.Context(), j.No, after, start)
		w.Must(err)
	}
	w.Must(w.change(g, `{"field": "plan", "is": "free"}`))
	again, err := w.RetryFailed(t.Context(), j.ID, "test", start)
	w.Must(err)
	got := w.reached(w.Start(again))
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%d recipients, want %d", len(got), len(want))
	}
}

// Erasing a person removes them from segments, and deleting a tenant deletes its segments.
func TestSegmentsGoWithTheirTenant(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	w.pros(l, 30)
	w.segment("Pro", pro)
	w.Must(w.ErasePerson(t.Context(), core.Person{Email: storetest.Reader(3)}, "test", start))
	if n := w.exact(w.question(pro, l)); n != 9 {
		t.Errorf("%d match after one was erased", n)
	}
	w.Must(w.DeleteTenant(t.Context(), w.TenantID, "test", start))
	w.Must(w.RestoreTenant(t.Context(), w.TenantID, "test", start))
	if n := w.number("SELECT count(*) FROM segment"); n != 1 {
		t.Errorf("%d segments of a restored tenant", n)
	}
	w.Must(w.DeleteTenant(t.Context(), w.TenantID, "test", start))
	w.At(start + 100*day).Clean(people.Retention{Deleted: 1})
	if n := w.number("SELECT count(*) FROM segment"); n != 0 {
		t.Errorf("%d segments of a deleted tenant", n)
	}
}

// A job to a segment sends to exactly the number of first recipients, and holds after them.
func TestFirstFewOfASegment(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	w.Readers(l, core.FirstFewFrom+100, func(k int) core.Email {
		return core.Email(fmt.Sprintf("r%d@%s.example", k, []string{"in", "in", "in", "in", "in", "in", "out"}[k%7]))
	})
	g := w.segment("In", `{"domain":"in.example"}`)
	w.ChangeTenant(l.TenantID, core.TenantInput{FirstFew: new(true)})
	d := w.draft([]core.List{l}, func(f *core.CampaignFields) { f.SegmentID = g.ID })
	if j := w.Start(w.SendDraft(&d)); j.Recipients != core.FirstFew || !j.First() {
		t.Errorf("%d recipients, first %v", j.Recipients, j.First())
	}
}

// A job that is paused because its rule can't be evaluated doesn't stop the scheduler from running other jobs.
func TestUndecidedJobIsNoError(t *testing.T) {
	w := newWorld(t)
	l, gone := w.NewList(), w.NewList()
	w.Readers(l, 3)
	g := w.segment("Only here", fmt.Sprintf(`{"not":{"on_list":%q}}`, gone.ID))
	d := w.draft([]core.List{l}, func(f *core.CampaignFields) { f.SegmentID = g.ID })
	j := w.SendDraft(&d)
	w.sql("UPDATE list SET deleted_at = 1 WHERE id = ?", gone.ID)
	for range 3 {
		if j = w.Start(j); j.Recipients != 0 || !strings.HasPrefix(j.PauseReason, core.PauseSegment) {
			t.Fatalf("%d recipients, %q", j.Recipients, j.PauseReason)
		}
	}
}

// A person's last campaigns are those that started last. Campaigns that started after the moment of a rule don't count.
func TestLastCampaignsByStart(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	w.Readers(l, 1)
	sent := func(j core.SendJob, marks core.Marks) {
		w.sql("UPDATE recipient SET state = 2, marks = ? WHERE job_no = ?", int64(marks), j.No)
	}
	tracked := func(f *core.CampaignFields) { f.Tracking = core.TrackingPersons }
	d, e := w.draft([]core.List{l}, tracked), w.draft([]core.List{l}, tracked)
	late := w.SendDraft(&d)
	w.sql("UPDATE send_job SET due_at = ? WHERE no = ?", int64(w.Time()+3*day), late.No)
	sent(w.Start(w.SendDraft(&e)), 0)
	before := w.At(w.Time() + 2*day).Time()
	w.Seeder = w.At(w.Time() + 3*day)
	sent(w.Start(late), core.MarkReadByPerson)
	w.Seeder = w.At(w.Time() + day)
	q := w.question(`{"opened":{"last":1}}`, l)
	if n := w.exact(q); n != 1 {
		t.Errorf("%d opened the campaign that started last", n)
	}
	q.Now = before
	if n := w.exact(q); n != 0 {
		t.Errorf("%d opened a campaign before it started", n)
	}
	w.sql("DELETE FROM recipient WHERE job_no <> ?", late.No)
	w.newTag("Ulm")
	for _, rule := range []string{ // the others are undecided although no one has the field or the tag
		`{"not":{"opened":{"within_days":30}}}`, `{"all":[{"field":"city","is":"Ulm"},{"opened":{"within_days":30}}]}`,
		`{"all":[{"tag":"Ulm"},{"opened":{"within_days":30}}]}`,
	} {
		if _, err := w.CountSegment(t.Context(), w.question(rule, l)); core.KindOf(err) != core.Conflict {
			t.Errorf("%s: recipients that are no longer stored: %v", rule, err)
		}
	}
	if n := w.exact(w.question(`{"opened":{"within_days":3}}`, l)); n != 1 {
		t.Errorf("%d opened a campaign of the last three days", n)
	}
}

// All segments of a campaign together must be within the limits of one segment.
func TestSegmentsOfACampaignTogether(t *testing.T) {
	w := newWorld(t)
	l := w.NewList()
	many := strings.Repeat(`{"domain":"a.example"},`, 29) + `{"domain":"b.example"}`
	var ids []string
	for i := range 11 {
		ids = append(ids, w.segment(fmt.Sprint("Many ", i), `{"any":[`+many+`]}`).ID)
	}
	d := w.draft([]core.List{l}, func(f *core.CampaignFields) { f.SegmentID, f.ExcludeSegmentIDs = ids[0], ids[1:] })
	sending := campaigns.CampaignSending{
		CampaignEdit: campaigns.CampaignEdit{ID: d.Campaign.ID, Actor: "test", Now: w.Time()},
		Version:      d.Version.Version, Fields: &d.Fields, Copy: &d.Content.Copy, Head: d.Head,
	}
	if _, err := w.ApproveCampaign(t.Context(), sending); !core.IsUndecided(err) {
		t.Errorf("330 conditions are approved: %v", err)
	}
	if _, err := w.SendCampaign(t.Context(), sending, campaigns.JobRequest{}, 0); !core.IsUndecided(err) {
		t.Errorf("330 conditions are sent: %v", err)
	}
}
