package store

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/polls"
	"newsletterd/store/tenants"
)

func (s *story) subscriptions() {
	ctx := s.Context()
	joins := func(email core.Email, at core.Instant) string {
		s.Helper()
		var row string
		s.op("Subscribe", func() (err error) {
			_, row, err = s.Subscribe(ctx, members.SubscribeRequest{ListID: s.list, Email: email, Preferences: `{"a":1}`}, at)
			return err
		})
		var token string
		s.op("ConfirmToken", func() (err error) {
			token, err = s.ConfirmToken(ctx, row,
				core.ProofMailed)
			return err
		})
		s.op("AnsweredToken", func() error {
			return onlyErr(s.AnsweredToken(ctx, row, core.ProofResponse, members.SubscribeRequest{Email: email}, at))
		})
		s.op("ConfirmAsked", func() error { _, _, err := s.ConfirmAsked(ctx, token, at); return err })
		s.op("Confirm", func() error { return onlyErr(s.Confirm(ctx, token, core.Origin{Source: "form"}, at)) })
		return row
	}
	for i, email := range []core.Email{"ann@example.org", "bob@example.org", "cleo@example.org", "dan@example.org"} {
		joins(email, now0+core.Instant(i))
	}
	s.op("Subscribe", func() error { // already subscribed
		_, _, err := s.Subscribe(ctx, members.SubscribeRequest{ListID: s.list, Email: "ann@example.org"}, now0+10)
		return err
	})
	for _, status := range []string{core.SubscriptionPending, core.SubscriptionActive} {
		s.op("AddSubscription", func() error {
			in := imports.SubscriptionInput{ListID: s.list, Email: "eve@example.org", Status: status, Source: "a letter"}
			_, _, err := s.AddSubscription(ctx, in, "test", now0+10)
			return err
		})
	}
	s.op("Unsubscribe", func() error {
		return onlyErr(s.Unsubscribe(ctx, members.UnsubscribeRequest{
			ListID: s.list, SubscriptionID: s.SubscriptionID(s.list, "eve@example.org"), Email: "eve@example.org",
			Proof: core.ProofAdmin, Actor: "test",
		}, now0+11))
	})
	s.op("SetPreferences", func() error {
		return onlyErr(s.SetPreferences(ctx, s.list, "ann@example.org", `{"b":2}`,
			now0+20))
	})
	s.op("SetOwnPreferences", func() error {
		return onlyErr(s.SetOwnPreferences(ctx, s.list, "ann@example.org", `{"b":3}`, now0+21))
	})
	s.op("SetFields", func() error {
		return onlyErr(s.SetFields(ctx, s.list, "ann@example.org", map[string]any{"b": "3"}, now0+21))
	})
	s.op("KeepConsentText", func() error {
		return onlyErr(s.KeepConsentText(ctx, s.list, "I agree.", now0+22))
	})
	s.op("SetTracking", func() error {
		r := members.TrackingRequest{ListID: s.list, Email: "ann@example.org", Agrees: true}
		return onlyErr(s.SetTracking(ctx, r, now0+22))
	})
	s.op("NoteExport", func() error { return s.NoteExport(ctx, s.list, "test", now0+22) })
	leaving := func(email core.Email, means string) members.UnsubscribeRequest {
		return members.UnsubscribeRequest{
			ListID: s.list, SubscriptionID: s.SubscriptionID(s.list, email.Key()), Email: email,
			Proof: means, Reason: "too_many",
		}
	}
	var left core.Subscription
	s.op("Unsubscribe", func() (err error) {
		left, err = s.Unsubscribe(ctx, leaving("bob@example.org", core.ProofResponse), now0+30)
		return err
	})
	undo := people.UndoRequest{ListID: s.list, SubscriptionID: left.ID, LeftAt: left.ChangedAt}
	s.op("CanUndo", func() error { return onlyErr(s.CanUndo(ctx, undo, now0+40)) })
	s.op("Undo", func() error { return onlyErr(s.Undo(ctx, undo, now0+40)) })
	s.op("Unsubscribe", func() error { // a token that belongs to no one
		_, err := s.Unsubscribe(ctx, leaving("nobody@example.org", core.ProofResponse), now0+30)
		if errors.Is(err, core.ErrSubscriptionNotFound) {
			err = nil
		}
		return err
	})
	s.hygiene()
	s.op("UnsubscribeAll", func() error {
		return onlyErr(s.UnsubscribeAll(ctx, s.tenant, leaving("cleo@example.org", core.ProofMailed), now0+50))
	})
	s.op("RequestPreferencesLink", func() error {
		return s.RequestPreferencesLink(ctx, s.list, "ann@example.org",
			now0+60)
	})
	d := members.DisableRequest{
		Email: "dan@example.org", TenantID: s.tenant, Reason: "r", DisabledBy: "b",
		OccurredAt: now0 + 70,
	}
	for _, d.Actor = range []string{"", "test"} {
		s.op("Disable", func() error { return onlyErr(s.Disable(ctx, d, now0+70)) })
	}
	s.op("Suppressions", func() error { return onlyErr(s.Suppressions(ctx, "dan@example.org", "")) })
	s.op("Lift", func() error { return onlyErr(s.Lift(ctx, "dan@example.org", "", "test", now0+80)) })
	s.op("Suppress", func() error { return onlyErr(s.Suppress(ctx, d, "test", now0+90)) })
	s.op("SetSuppressionReason", func() error {
		return onlyErr(s.SetSuppressionReason(ctx, d.Email, "", "asked for by letter", "test", now0+95))
	})
	s.mailsAndEvents()
	s.importJobs()
}

// mailsAndEvents continues with the emails and events that the subscriptions have queued.
func (s *story) mailsAndEvents() {
	ctx := s.Context()
	mails, err := s.DueMails(ctx, now0.Add(day), 100)
	must(s.T, err)
	results := []tenants.MailResult{
		{ID: mails[0].ID, Sent: true},
		{ID: mails[1].ID, Reason: "no"},
		{ID: mails[2].ID, RetryAt: now0 + 5, Reason: "later"},
	}
	s.op("FinishMails", func() error { return s.FinishMails(ctx, results, now0+100) })
	s.op("RetryFailedMails", func() error {
		return onlyErr(s.RetryFailedMails(ctx, tenants.MailFilter{}, 1, "test", now0+100))
	})
	s.op("RetryMail", func() error { return s.RetryMail(ctx, mails[2].ID, "test", now0+100) })
	for _, status := range []string{core.SubscriptionActive, core.SubscriptionPending} {
		var im *imports.Import
		s.op("NewImport", func() (err error) { im, err = s.NewImport(ctx, s.list, status, "file"); return err })
		rows := []imports.ImportRow{
			{Email: core.Email("imported-" + status + "@example.org"), Preferences: `{"c":3}`},
			{Email: "ann@example.org"},
		}
		s.op("NewImport", func() error { return im.Add(ctx, slices.Clone(rows), now0+110) })
		im.DryRun = true
		s.op("NewImport", func() error { return im.Add(ctx, slices.Clone(rows), now0+110) })
		im.DryRun, im.Synced = false, true
		s.op("NewImport", func() error { return im.End(ctx, now0+110) })
		im.Close()
	}
	for _, endpoint := range []string{"", s.endpoint} {
		events, err := s.DueEvents(ctx, endpoint, now0.Add(day), 100)
		must(s.T, err)
		results := []tenants.EventResult{
			{Event: &events[0], Done: true, Status: 200},
			{Event: &events[1], RetryAt: now0 + 500, Reason: "no"},
			{Event: &events[2], Dead: true, Reason: "never"},
		}
		s.op("FinishEvents", func() error { return s.FinishEvents(ctx, results, now0+110) })
	}
	s.op("AddEndpointAttempt", func() error {
		return s.AddEndpointAttempt(ctx,
			core.EndpointAttempt{EndpointID: s.endpoint, EventID: core.NewID(), At: now0, Outcome: "delivered"})
	})
	s.op("RetryDead", func() error {
		return onlyErr(s.RetryDead(ctx, tenants.OutboxFilter{TenantID: s.tenant}, 1, "test", now0+130))
	})
	dead, err := s.OutboxEvents(ctx, tenants.OutboxFilter{State: core.EventDead}, 0, 10)
	must(s.T, err)
	s.op("RetryEvent", func() error { return s.RetryEvent(ctx, dead[0].ID, "test", now0+130) })
	events, err := s.DueEvents(ctx, s.endpoint, now0.Add(day), 1)
	must(s.T, err)
	gone := []tenants.EventResult{{Event: &events[0], Dead: true, Gone: true, Status: 410}}
	s.op("FinishEvents", func() error { return s.FinishEvents(ctx, gone, now0+135) })
	s.op("SendDropped", func() error {
		return onlyErr(s.SendDropped(ctx, &core.OutboxEvent{ID: 1, EndpointID: s.endpoint}))
	})
	s.op("ExpireEvents", func() error {
		return onlyErr(s.ExpireEvents(ctx, s.endpoint, "old", now0.Add(day), now0+140, 100))
	})
	var id string
	s.op("RequestSync", func() (err error) { id, err = s.RequestSync(ctx, s.list, now0+150); return err })
	y, err := s.Sync(ctx, id)
	must(s.T, err)
	s.op("PlanSync", func() error { y := y; return s.PlanSync(ctx, &y, now0+160) })
	s.op("FinishBatches", func() error {
		return s.FinishBatches(ctx, id, []members.BatchResult{
			{BatchNo: 1, RetryAt: now0 + 170},
			{BatchNo: 1, Done: true},
		}, now0+170, now0+170)
	})
	s.op("FinishSync", func() error { return onlyErr(s.FinishSync(ctx, id, now0+170)) })
	s.op("RequestSync", func() (err error) {
		id, err = s.RequestSync(db.By(ctx, "test", now0+180), s.list, now0+180)
		return err
	})
	s.op("FailSync", func() error { return s.FailSync(ctx, id, "no", now0+180) })
}

func (s *story) importJobs() {
	ctx := s.Context()
	var j core.ImportJob
	s.op("NewImportUpload", func() (err error) { j, err = s.upload(); return err })
	id := j.ID
	run := func(dry bool) {
		in := core.ImportInput{DryRun: dry, SubscriberStatus: core.SubscriptionActive}
		s.op("RunImport", func() error { return onlyErr(s.RunImport(ctx, id, in, "test", now0+110)) })
		s.op("StartImport", func() (err error) { j, err = s.StartImport(ctx, id, now0+110); return err })
	}
	run(true)
	s.op("NoteProgress", func() error { return s.NoteProgress(ctx, j.ID, 1, core.ImportCounts{Failed: 1}) })
	s.op("NewFaultWriter", func() error {
		w, err := s.NewFaultWriter(ctx, j.ID)
		if err == nil {
			_, err = w.Write([]byte("line,error,email\n"))
		}
		if err == nil {
			err = w.Flush()
		}
		return err
	})
	s.op("FinishImport", func() error { return s.FinishImport(ctx, &j, core.ImportCounts{}, "", now0+110) })
	run(false)
	s.op("NewImport", func() error {
		im, err := s.ImportOf(ctx, &j)
		if err != nil {
			return err
		}
		return im.Add(ctx, []imports.ImportRow{{Email: "uploaded@example.org"}}, now0+110)
	})
	s.posts(id)
	s.op("CancelImport", func() error { return onlyErr(s.CancelImport(ctx, id, "test", now0+110)) })
	s.op("UndoImport", func() error { return onlyErr(s.UndoImport(ctx, id, "test", now0+111)) })
	for range 2 {
		s.op("UndoImportStep", func() error { return onlyErr(s.UndoImportStep(ctx, id, now0+111)) })
	}
	s.op("DeleteImport", func() error { return s.DeleteImport(ctx, id, "test", now0+110) })
	for range 3 {
		s.op("SweepImports", func() error { return onlyErr(s.SweepImports(ctx, now0+110)) })
	}
}

func (s *story) subscribers() {
	ctx := s.Context()
	n := tenants.Nonce{ClientID: "c", Nonce: core.NewID()}
	e := core.Event{
		ID: core.NewID(), Type: core.EventActivated, TenantID: s.tenant, ListID: s.list, OccurredAt: now0 + 200,
		Subscriber: core.EventSubscriber{ID: core.NewID(), Email: "ann@example.org", Status: "active"},
	}
	s.op("ApplyEvent", func() error { return s.ApplyEvent(ctx, n, e, now0+200) })
	s.op("TakeOver", func() error { return s.TakeOver(ctx, s.list, "test", now0+200) })
	f := core.FullSync{
		SyncID: core.NewID(), BatchNo: 1, BatchTotal: 1, TenantID: s.tenant, ListID: s.list,
		OccurredAt: now0 + 210,
	}
	for _, email := range []core.Email{
		"bob@example.org", "r1@example.org", "r2@example.org", "r3@example.org",
		"r4@example.org", "r5@example.org", "r6@example.org",
	} {
		f.Subscribers = append(f.Subscribers, core.EventSubscriber{ID: core.NewID(), Email: email, Status: "active"})
	}
	loop := tenants.Nonce{ClientID: core.LoopClientID, Nonce: core.NewID()}
	s.op("ApplyBatch", func() error { return s.ApplyBatch(ctx, loop, f, now0+210) })
	s.op("RemoveAbsent", func() error { return onlyErr(s.RemoveAbsent(ctx, now0+220)) })
}

// issueTexts fills the texts of issues that have none.
func (s *story) issueTexts() {
	ctx := s.Context()
	must(s.T, s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("DELETE FROM issue_text")
		return err
	}))
	s.op("FillIssues", func() error {
		return onlyErr(s.FillIssues(ctx, 10, func(*core.Issue) (campaigns.IssueText, error) {
			return campaigns.IssueText{Words: "apples"}, nil
		}))
	})
}

func (s *story) jobs() {
	ctx := s.Context()
	r := campaigns.JobRequest{
		NewJob: core.NewJob{ListID: s.list, Subject: "Hi", BodyText: "x"}, Caller: core.CommandCaller("u"),
		IdempotencyKey: "one", BodyHash: []byte("one"), DuplicateGuard: time.Nanosecond,
	}
	var j core.SendJob
	s.op("AddSendJob", func() (err error) { j, _, err = s.AddSendJob(ctx, r, now0+300); return err })
	s.op("MoveSendJob", func() error {
		return onlyErr(s.MoveSendJob(ctx, j.ID, "test", core.JobTimes{ScheduledAt: new(now0 + 301)}, now0+300))
	})
	s.op("Why", func() error { return onlyErr(s.Why(ctx, "ann@example.org", []string{s.tenant}, false)) })
	s.op("StartDueJobs", func() error { return onlyErr(s.StartDueJobs(ctx, now0+310)) })
	must(s.T, s.Update(ctx, func(tx *db.Tx) error { return tx.One("UPDATE send_job SET first_few = 1 WHERE no = ?", j.No) }))
	s.op("ExpandJob", func() error { return onlyErr(s.ExpandJob(ctx, j.No, now0+320)) })
	s.op("HoldFirst", func() error { return onlyErr(s.HoldFirst(ctx, j.No, now0+320)) })
	s.op("JudgeFirst", func() error { return onlyErr(s.JudgeFirst(ctx, j.No, now0+320)) })
	must(s.T, s.Update(ctx, func(tx *db.Tx) error {
		return tx.One("UPDATE send_job SET first_until = ? WHERE no = ?", int64(now0+400), j.No)
	}))
	s.op("StopFirst", func() error { return s.StopFirst(ctx, j.No, "a link", now0+320) })
	must(s.T, s.Update(ctx, func(tx *db.Tx) error {
		return tx.One("UPDATE send_job SET paused_at = 0, pause_reason = '' WHERE no = ?", j.No)
	}))
	s.op("SkipFirst", func() error { return onlyErr(s.SkipFirst(ctx, j.No)) })
	s.op("ExpandJob", func() error { return onlyErr(s.ExpandJob(ctx, j.No, now0+320)) })
	r.DuplicateGuard = 0 // repeats the request
	s.op("AddSendJob", func() error { _, _, err := s.AddSendJob(ctx, r, now0+300); return err })
	s.op("KeepLinks", func() error {
		return onlyErr(s.KeepLinks(ctx, j.No, []string{"https://a.example/", "https://b.example/"}))
	})
	for _, w := range []*core.CampaignCopy{
		{ID: core.NewID(), TenantID: s.tenant, BodyHTML: "b"}, {ID: core.NewID(), TenantID: s.tenant, BodyHTML: "c"}, nil,
	} {
		s.op("CorrectCampaign", func() error {
			r := campaigns.CampaignCorrection{CampaignEdit: campaigns.CampaignEdit{ID: j.CampaignID, Actor: "test", Now: now0 + 325}, Copy: w}
			r.Subject, r.Source = "Hi", strings.Repeat("x", 2000)
			return onlyErr(s.CorrectCampaign(ctx, r))
		})
	}
	s.issueTexts()
	s.op("CountTotals", func() error { return s.CountTotals(ctx, j.No, false) })
	s.op("NoteJobExport", func() error { return s.NoteJobExport(ctx, &j, "test", now0+323) })
	s.op("NoteRelayTest", func() error {
		return s.NoteRelayTest(ctx, s.tenant, "ann@example.org", core.RelayAccepted, "test", now0+323)
	})
	s.op("NotePersonExport", func() error {
		return s.NotePersonExport(ctx, s.tenant, "ann@example.org", "test", now0+323)
	})
	s.op("AddEngagements", func() error {
		return onlyErr(s.AddEngagements(ctx, []core.Engagement{{JobNo: j.No, At: now0 + 324, Last: now0 + 324, Times: 1}}))
	})
	s.mends(campaigns.CampaignEdit{ID: j.CampaignID, Actor: "test", Now: now0 + 325})
	claims, err := s.ClaimRecipients(ctx, nil, &campaigns.ClaimKey{JobNo: j.No, TenantID: s.tenant, ListID: s.list}, 0, 100)
	must(s.T, err)
	if len(claims) < 6 {
		s.Fatal(claims)
	}
	out := func(i int, change func(*core.Outcome)) core.Outcome {
		o := core.Outcome{
			JobNo: j.No, TenantID: s.tenant, Seq: claims[i].Seq, EmailKey: claims[i].EmailKey,
			State: core.RecipientSent, Tried: true,
		}
		change(&o)
		return o
	}
	batch := []core.Outcome{
		out(0, func(*core.Outcome) {}), out(1, func(o *core.Outcome) {
			o.State, o.DueAt, o.SoftBounce = core.RecipientDeferred,
				now0+900, true
		}),
		out(2, func(o *core.Outcome) { o.State, o.HardBounce = core.RecipientFailed, true }), out(3, func(o *core.Outcome) {
			o.State,
				o.Ambiguous = core.RecipientQueued, true
		}),
	}
	s.op("FinishRecipients", func() error { return s.FinishRecipients(ctx, batch, now0+330) })
	rest := []core.Outcome{out(4, func(*core.Outcome) {}), out(5, func(o *core.Outcome) {
		o.State, o.Reason = core.RecipientSkipped,
			core.ReasonGone
	})}
	s.op("FinishLater", func() error {
		done := make(chan error, 1)
		err := s.FinishLater(func() ([]core.Outcome, core.Instant) { return rest, now0 + 340 },
			func(err error) { done <- err })
		if err != nil {
			return err
		}
		return <-done
	})
	s.op("HoldSendJob", func() error { return s.HoldSendJob(ctx, j.No, "the quota of the day is used") })
	s.op("PauseSendJob", func() error { return s.PauseSendJob(ctx, j.No, "by hand", now0+350) })
	s.op("ResumeSendJob", func() error { return onlyErr(s.ResumeSendJob(ctx, j.ID, "test", now0+355)) })
	s.op("PauseSendJobBy", func() error { return onlyErr(s.PauseSendJobBy(ctx, j.ID, "test", now0+357)) })
	s.op("ResumeSendJob", func() error { return onlyErr(s.ResumeSendJob(ctx, j.ID, "test", now0+360)) })
	s.op("SettleHome", func() error { return onlyErr(s.SettleHome(ctx, false, now0+361)) })
	s.op("ResumeRestored", func() error { return onlyErr(s.ResumeRestored(ctx, "test", now0+362)) })
	s.op("StartDrill", func() error { return onlyErr(s.StartDrill(ctx)) })
	s.op("KeepDrill", func() error { return s.KeepDrill(ctx, core.Drill{At: now0 + 363, Whole: true}) })
	s.op("KeepIssuer", func() error { return s.KeepIssuer(ctx, "https://news.example.org/api") })
	s.op("AddEngagements", func() error {
		return onlyErr(s.AddEngagements(ctx, []core.Engagement{{
			JobNo: j.No, Seq: claims[0].Seq, At: now0.Add(day), Last: now0.Add(day), Times: 1,
		}, {
			JobNo: j.No, Seq: claims[0].Seq, LinkNo: 1, At: now0.Add(day), Last: now0.Add(day), Times: 1,
		}}))
	})
	s.reports(j, claims)
	s.op("FinishSendJob", func() error { return s.FinishSendJob(ctx, j.No, now0+370) })
	s.op("AddTestMail", func() error { return s.AddTestMail(ctx, &j, "test@example.org", now0+380) })
	s.op("CancelSendJob", func() error { return onlyErr(s.CancelSendJob(db.By(ctx, "test", now0), j.ID, now0+390)) })
	s.op("SettleJob", func() error { _, _, err := s.SettleJob(ctx, j.No, 0, now0+400); return err })
	var again core.SendJob
	s.op("RetryFailed", func() (err error) { again, err = s.RetryFailed(ctx, j.ID, "test", now0+410); return err })
	s.op("StartDueJobs", func() error { return onlyErr(s.StartDueJobs(ctx, now0+420)) })
	s.op("ExpandJob", func() error { return onlyErr(s.ExpandJob(ctx, again.No, now0+430)) })
	s.op("FailSendJob", func() error { return s.FailSendJob(ctx, again.No, core.ReasonWindow, now0+440) })
	s.op("SettleJob", func() error { _, _, err := s.SettleJob(ctx, again.No, 0, now0+450); return err })
	s.job = again
}

// mends requests a new target for the first link of a campaign, discards that, and then fixes the link.
func (s *story) mends(e campaigns.CampaignEdit) {
	ctx := s.Context()
	s.op("ProposeTarget", func() error {
		_, _, err := s.ProposeTarget(ctx, e, 1, "https://d.example/")
		return err
	})
	s.op("DropProposal", func() error { return s.DropProposal(ctx, e, 1) })
	s.op("MendLink", func() error { return onlyErr(s.MendLink(ctx, e, 1, "https://c.example/", false)) })
}

// campaigns creates, approves and sends campaigns, and undoes sends.
func (s *story) campaigns() {
	ctx := s.Context()
	f := core.CampaignFields{
		ListIDs: []string{s.list}, Subject: "News", Tracking: core.TrackingOff,
		Content: core.CampaignContent{Kind: core.ContentText, Source: "Hello"}, Polls: fruitPolls,
	}
	c := core.NewCampaign(s.tenant, &f, "test", now0)
	id, op := c.ID, func(name string, fn func() error) {
		s.op(name, fn)
		if found, err := s.Campaign(ctx, c.ID); err == nil {
			c = found
		}
	}
	op("AddCampaign", func() error { return onlyErr(s.AddCampaign(ctx, c, &f)) })
	edit := func(at core.Instant) campaigns.CampaignEdit {
		return campaigns.CampaignEdit{ID: id, Actor: "test", Now: now0 + at}
	}
	write := func(source string) func(*core.CampaignFields) error {
		return func(f *core.CampaignFields) error { f.Content.Source = source; return nil }
	}
	op("EditCampaign", func() error { return onlyErr(s.EditCampaign(ctx, edit(1), write("Hello you"))) })
	op("SawVersion", func() error {
		return s.SawVersion(ctx, &c, &core.CampaignVersion{Version: c.Version, SavedBy: "test"}, "boss")
	})
	op("EditCampaign", func() error { return onlyErr(s.EditCampaign(ctx, edit(2), write("Hello all"))) })
	op("NameVersion", func() error { return s.NameVersion(ctx, &c, 1, "the first") })
	op("RestoreVersion", func() error { return onlyErr(s.RestoreVersion(ctx, edit(3), 1)) })
	op("AskReview", func() error { return onlyErr(s.AskReview(ctx, edit(4), now0+4, "")) })
	op("MissReviews", func() error { return onlyErr(s.MissReviews(ctx, now0+5)) })
	draft, err := s.Draft(ctx, &c, 0, func(*core.CampaignFields, *core.Theme, *core.List, *core.Tenant) (string, string, error) {
		return "", "Hello", nil
	}, now0+5)
	must(s.T, err)
	op("AddCampaignTests", func() error {
		return s.AddCampaignTests(ctx, &draft, []core.Email{"test@example.org"}, now0+5)
	})
	sending := func(at core.Instant) campaigns.CampaignSending {
		written := f.Copy(s.tenant, "", "Hello", now0+at)
		return campaigns.CampaignSending{CampaignEdit: edit(at), Version: c.Version, Fields: &f, Copy: &written}
	}
	op("ApproveCampaign", func() error { return onlyErr(s.ApproveCampaign(ctx, sending(6))) })
	op("SendCampaign", func() error { return onlyErr(s.SendCampaign(ctx, sending(7), campaigns.JobRequest{}, now0.Add(day))) })
	op("ClosePoll", func() error { return s.ClosePoll(ctx, &c, 1, "test", now0+8) })
	op("UndoCampaign", func() error { return onlyErr(s.UndoCampaign(ctx, edit(8))) })
	later := campaigns.JobRequest{NewJob: core.NewJob{ScheduledAt: now0.Add(2 * day)}}
	op("SendCampaign", func() error { return onlyErr(s.SendCampaign(ctx, sending(8), later, now0.Add(day))) })
	op("UndoCampaign", func() error { return onlyErr(s.UndoCampaign(ctx, edit(8))) })
	op("RejectCampaign", func() error { return onlyErr(s.RejectCampaign(ctx, edit(8), "")) })
	op("ArchiveCampaign", func() error { return onlyErr(s.ArchiveCampaign(ctx, edit(9))) })
	c = core.NewCampaign(s.tenant, &f, "test", now0+9)
	op("AddCampaign", func() error { return onlyErr(s.AddCampaign(ctx, c, &f)) })
	once := core.NewCampaign(s.tenant, &f, "test", now0+9)
	s.op("AddCampaignOnce", func() error { return onlyErr(s.AddCampaignOnce(ctx, once, &f, "key", []byte("hash"))) })
	op("DeleteCampaign", func() error {
		return s.DeleteCampaign(ctx, campaigns.CampaignEdit{ID: c.ID, Actor: "test", Now: now0 + 10})
	})
}

var fruitPolls = []core.Poll{{Question: "Which fruit?", Options: core.Strings{"Apples", "Pears"}, Field: "fruit"}}

func (s *story) reports(j core.SendJob, claims []core.Claim) {
	ctx := s.Context()
	must(s.T, s.Update(ctx, func(tx *db.Tx) error {
		return polls.Keep(tx, &core.Campaign{ID: j.CampaignID, TenantID: s.tenant}, fruitPolls, 0)
	}))
	v, err := s.Voting(ctx, people.Ballot{JobNo: j.No, Seq: claims[1].Seq, Poll: 1}, now0+350)
	must(s.T, err)
	s.op("Vote", func() error { return s.Vote(ctx, &v, 2, now0+350) })
	report := func(key, typ, bounce string, seq int64, email string) core.ProviderReport {
		r := core.ProviderReport{Provider: "p", Key: []byte(key), Event: core.ProviderEvent{
			Type: typ, MessageID: key,
			Email: core.Email(email), TenantID: s.tenant, OccurredAt: now0 + 360, BounceType: bounce,
		}}
		if seq > 0 {
			r.JobNo, r.Seq = j.No, seq
		}
		return r
	}
	left := report("l", "", "", claims[4].Seq, claims[4].EmailKey)
	left.Unsubscribe = true
	guess := report("g", "open", "", 0, claims[4].EmailKey)
	guess.Guess = true
	for _, r := range []core.ProviderReport{
		report("d", "delivery", "", claims[0].Seq, ""), report("o", "open", "", claims[0].Seq, ""), report("b",
			"bounce", "hard", claims[0].Seq, ""),
		report("c", "complaint", "", claims[4].Seq, ""), report("s", "suppression", "", 0,
			"r6@example.org"), report("t", "bounce", "soft", 0, "r5@example.org"), guess, left,
	} {
		s.op("ApplyReports", func() error { return s.ApplyReports(ctx, []core.ProviderReport{r}, now0+360) })
	}
	due, err := s.DuePendingDisables(ctx, now0.Add(day), 10)
	must(s.T, err)
	s.op("PostponePendingDisable", func() error { return s.PostponePendingDisable(ctx, due[0].ID, "no", now0+370) })
	s.op("FinishPendingDisable", func() error { return s.FinishPendingDisable(ctx, due[0].ID) })
}

func (s *story) ends() {
	ctx := s.Context()
	s.op("ExportPerson", func() error { return onlyErr(s.ExportPerson(ctx, core.Person{Email: "ann@example.org"})) })
	s.op("ErasePerson", func() error {
		return onlyErr(s.ErasePerson(ctx, core.Person{Email: "ann@example.org"}, "test",
			now0+500))
	})
	s.op("ErasePerson", func() error {
		return onlyErr(s.ErasePerson(ctx, core.Person{Email: "ann2@example.org", Account: true}, "test", now0+500))
	})
	s.op("Ping", func() error { database, sessions := s.Ping(ctx); return errors.Join(database, sessions) })
	s.op("Optimize", func() error { return s.Optimize(ctx) })
	for _, name := range []string{"DeleteList", "RestoreList", "DeleteTenant", "RestoreTenant", "Housekeeping"} {
		s.told[name] = true
	}
	if !s.crowd && !s.calls.Undo {
		s.reads()
	}
	s.op("DeleteList", func() error { return s.DeleteList(ctx, s.list, "test", now0+510) })
	s.op("RestoreList", func() error { return onlyErr(s.RestoreList(ctx, s.list, "test", now0+511)) })
	s.op("DeleteTenant", func() error { return s.DeleteTenant(ctx, s.tenant, "test", now0+520) })
	s.op("RestoreTenant", func() error { return onlyErr(s.RestoreTenant(ctx, s.tenant, "test", now0+521)) })
	s.op("DeleteTenant", func() error { return s.DeleteTenant(ctx, s.tenant, "test", now0+530) })
	s.op("Housekeeping", func() error {
		keep := people.Retention{
			Pending: time.Hour, Recipients: time.Hour, Deleted: time.Hour, Mail: time.Hour,
			Events: time.Hour,
		}
		return onlyErr(s.Housekeeping(ctx, keep, now0.Add(1000*day)))
	})
}

// reads calls each method that the story hasn't covered, with a fault at each driver call. Methods that write must be
// covered by the story.
func (s *story) reads() {
	v := reflect.ValueOf(s.Store)
	words := []string{s.list, s.tenant, s.user, s.job.ID, s.job.CampaignID, s.endpoint, "ann@example.org", "f1", "p"}
	for i := range v.NumMethod() {
		name, m := v.Type().Method(i).Name, v.Method(i)
		last := m.Type().NumOut() - 1
		if s.told[name] || slices.Contains(elsewhere,
			name) || last < 0 || m.Type().Out(last) != reflect.TypeFor[error]() || ofEngine(name, m.Type()) {
			continue
		}
		most, word := -1, ""
		for _, w := range words {
			s.calls.FailAt(0)
			s.ask(m, w)
			calls, locks := s.calls.Counts()
			if locks > 0 {
				s.Errorf("%s writes, and the story does not tell of it", name)
				break
			}
			if calls > most {
				most, word = calls, w
			}
		}
		for n := 1; n <= most; n++ {
			s.calls.FailAt(n)
			err, _ := s.ask(m, word)[last].Interface().(error)
			if at, _ := s.calls.Stop(); at != "" && !errors.Is(err, core.ErrUnavailable) {
				s.Errorf("%s, fault at %s: %v", name, at, err)
			}
			s.tries++
		}
	}
}
