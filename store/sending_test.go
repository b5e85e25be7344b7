package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/campaigns"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

const sendNow = core.Instant(1_800_000_000_000)

func TestAnEventIsAcceptedOnce(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 6, &tried, "replays, some of them when the nonce is forgotten")
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	e, ctx := s.Event(l, "active", "a@example.org"), t.Context()
	s.Must(s.ApplyEvent(ctx, tenants.Nonce{ClientID: "c", Nonce: "n1"}, e, sendNow))
	other := s.Event(l, "active", "b@example.org")
	for _, tt := range []struct {
		name  string
		nonce string
		event core.Event
		want  error
	}{
		{"same event, same nonce", "n1", e, core.ErrDuplicateEvent},
		{"same event, new nonce", "n2", e, core.ErrDuplicateEvent},
		{"new event, same nonce", "n1", other, core.ErrReplayedNonce},
		{"new event, the nonce that was refused with the first", "n2", other, nil},
	} {
		tried++
		if err := s.ApplyEvent(ctx, tenants.Nonce{ClientID: "c", Nonce: tt.nonce}, tt.event, sendNow); !errors.Is(err,
			tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	later := sendNow.Add(tenants.NonceTTL)
	s.At(later).Clean(people.Retention{})
	s.Must(s.ApplyEvent(ctx, tenants.Nonce{ClientID: "c", Nonce: "n1"}, s.At(later).Event(l, "active", "c@example.org"),
		later))
	tried++
	if err := s.ApplyEvent(ctx, s.Nonce(), e, later); !errors.Is(err, core.ErrDuplicateEvent) {
		t.Errorf("event id forgotten with the nonce: %v", err)
	}
}

func TestRefusedEventsUseNothingUp(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	e, n, ctx := s.Event(l, "active", "a@example.org"), s.Nonce(), t.Context()
	good := e.ListID
	for _, list := range []string{core.NewID(), ""} {
		e.ListID = list
		var ce *core.Error
		if err := s.ApplyEvent(ctx, n, e, sendNow); !errors.As(err,
			&ce) || ce.Field != "list_id" || ce.Kind != core.Invalid {
			t.Fatalf("unknown list: %v", err)
		}
	}
	e.ListID = good
	s.Must(s.ApplyEvent(ctx, n, e, sendNow))
}

func TestTwentyCopiesInParallel(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 6, &tried, "copies of a webhook at once")
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	e, ctx := s.Event(l, "active", "a@example.org"), t.Context()
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		tried++
		wg.Go(func() {
			errs[i] = s.ApplyEvent(ctx, tenants.Nonce{ClientID: "c", Nonce: "the same nonce"}, e, sendNow)
		})
	}
	wg.Wait()
	accepted := 0
	for _, err := range errs {
		if err == nil {
			accepted++
		} else if !errors.Is(err, core.ErrConflict) {
			t.Error(err)
		}
	}
	if accepted != 1 {
		t.Errorf("%d of 20 accepted", accepted)
	}
}

// A batch that contains an address twice applies both in order, also if the address was unknown.
func TestABatchAppliesASubscriberTwice(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	s.Tell(l, "active", "known@example.org")
	start := sendNow.Add(time.Hour)
	f := s.At(start).Batch(l, core.NewID(), 1, 1, "known@example.org", "new@example.org")
	for i := range 2 {
		again := f.Subscribers[i]
		again.Status, again.Preferences = "unsubscribed", `{"city":"Ulm"}`
		f.Subscribers = append(f.Subscribers, again)
	}
	s.Must(s.ApplyBatch(t.Context(), s.Nonce(), f, start))
	for _, email := range []core.Email{"known@example.org", "new@example.org"} {
		sub, err := s.Subscriber(t.Context(), l.ID, email)
		if s.Must(err); sub.Status() != "unsubscribed" || sub.Preferences != `{"city":"Ulm"}` {
			t.Errorf("%s: %s, %s", email, sub.Status(), sub.Preferences)
		}
	}
}

func TestFullSyncRemovesThoseItDoesNotName(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	ctx, sync := t.Context(), core.NewID()
	start := sendNow.Add(time.Hour)
	s.Tell(l, "active", "kept@example.org", "gone@example.org")
	s.Readers(l, 1200) // they are not in the batch either, and their removal takes more than one step
	s.At(start+1).Tell(l, "active", "late@example.org")
	first := s.At(start).Batch(l, sync, 1, 2, "kept@example.org", "new@example.org")
	s.Must(s.ApplyBatch(ctx, s.Nonce(), first, start))
	if more, err := s.RemoveAbsent(ctx, start); more || err != nil {
		t.Fatalf("removal before the last batch: %v %v", more, err)
	}
	if err := s.ApplyBatch(ctx, s.Nonce(), first, start); !errors.Is(err, core.ErrDuplicateBatch) {
		t.Errorf("the same batch again: %v", err)
	}
	second := s.At(start).Batch(l, sync, 2, 3)
	var ce *core.Error
	if err := s.ApplyBatch(ctx, s.Nonce(), second, start); !errors.As(err, &ce) || ce.Field != "batch_total" {
		t.Errorf("another batch_total: %v", err)
	}
	second.BatchTotal = 2
	before := s.Departures(s.TenantID)
	s.Must(s.ApplyBatch(ctx, s.Nonce(), second, start))
	steps := 0
	for more := true; more; steps++ {
		var err error
		more, err = s.RemoveAbsent(ctx, start)
		s.Must(err)
	}
	for email, want := range map[core.Email]core.Status{
		"kept@example.org": "active", "new@example.org": "active", "late@example.org": "active",
		"gone@example.org": "unsubscribed", "r000000@example.org": "unsubscribed",
		"r001199@example.org": "unsubscribed",
	} {
		if got := s.Status(l.ID, email); got != want {
			t.Errorf("%s is %s, want %s", email, got, want)
		}
	}
	if steps < 3 || s.Departures(s.TenantID) == before {
		t.Errorf("%d steps, departures moved: %v", steps, s.Departures(s.TenantID) != before)
	}
}

func TestSendJobChecks(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	tests := []struct {
		name   string
		change func(*campaigns.JobRequest)
		kind   core.Kind
		code   string
		field  string
	}{
		{
			"unknown list", func(r *campaigns.JobRequest) { r.ListID = core.NewID() }, core.Invalid, "invalid_request",
			"list_id",
		},
		{
			"foreign list", func(r *campaigns.JobRequest) {
				r.Caller = core.Caller{UserID: "u", Roles: []core.Role{{Role: core.RoleTenantAdmin, TenantID: "other"}}}
			},
			core.Invalid, "invalid_request", "list_id",
		},
		{
			"contradicting tenant", func(r *campaigns.JobRequest) { r.TenantID = core.NewID() }, core.Invalid,
			"invalid_request", "tenant_id",
		},
		{
			"same key, other body", func(r *campaigns.JobRequest) { r.IdempotencyKey, r.BodyHash = "k", []byte("other") },
			core.Conflict, "idempotency_key_reused", "",
		},
		{
			"same content again, guarded", func(r *campaigns.JobRequest) { r.DuplicateGuard = time.Hour }, core.Conflict,
			"conflict", "",
		},
	}
	first, err := s.TryJob(l.ID, func(r *campaigns.JobRequest) { r.IdempotencyKey, r.BodyHash = "k", []byte("body") })
	s.Must(err)
	if first.TenantID != l.TenantID || first.Status != core.JobPending {
		t.Errorf("%+v", first)
	}
	for _, tt := range tests {
		_, err := s.TryJob(l.ID, tt.change)
		var ce *core.Error
		if !errors.As(err, &ce) || ce.Kind != tt.kind || ce.Code != tt.code || ce.Field != tt.field {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	_, err = s.UpdateList(t.Context(), l.ID, "test",
		func(l *core.List) error { l.Status = core.ListInactive; return nil })
	s.Must(err)
	if _, err := s.TryJob(l.ID); !errors.Is(err, core.ErrConflict) {
		t.Errorf("inactive list: %v", err)
	}
	again, err := s.TryJob(l.ID, func(r *campaigns.JobRequest) { r.IdempotencyKey, r.BodyHash = "k", []byte("body") })
	if err != nil || again.ID != first.ID {
		t.Errorf("same key and body: %v %v", again.ID, err)
	}
}

// The first response to an Idempotency-Key applies for longer than the window of the job.
func TestIdempotencyKeyBehindTheWindow(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	windowed := func(at core.Instant) (core.SendJob, error) {
		r := campaigns.JobRequest{
			NewJob: core.NewJob{ListID: l.ID, Subject: "x", BodyText: "x", WindowEnd: sendNow.Add(time.Hour)},
			Caller: core.CommandCaller("u"), IdempotencyKey: "window", BodyHash: []byte("w"),
		}
		j, _, err := s.AddSendJob(t.Context(), r, at)
		return j, err
	}
	in, err := windowed(sendNow)
	s.Must(err)
	if late, err := windowed(sendNow.Add(2 * time.Hour)); err != nil || late.ID != in.ID {
		t.Errorf("the same key behind the window: %v", err)
	}
	if _, err := windowed(sendNow.Add(campaigns.IdempotencyTTL)); core.KindOf(err) != core.Invalid {
		t.Errorf("a key that has expired, behind the window: %v", err)
	}
}

// A job runs from start to end with every outcome, and its counts must add up.
func TestAJobsRecipientsAddUp(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	ctx := t.Context()
	s.Readers(l, 1203)
	s.At(sendNow+1).Tell(l, "unsubscribed", "r000005@example.org")
	j := s.NewJob(l.ID)
	if next, err := s.StartDueJobs(ctx, sendNow); err != nil || next != 0 {
		t.Fatal(next, err)
	}
	if j = s.Start(j); j.Recipients != 1202 || !j.Expanded || j.Status != core.JobRunning {
		t.Fatalf("%+v", j)
	}
	s.At(sendNow+2).Tell(l, "unsubscribed", "r000007@example.org")
	key := campaigns.ClaimKey{JobNo: j.No, TenantID: j.TenantID, ListID: j.ListID}
	var claims []core.Claim
	var err error
	for after := int64(0); ; after = claims[len(claims)-1].Seq {
		n := len(claims)
		claims, err = s.ClaimRecipients(ctx, claims, &key, after, 256)
		s.Must(err)
		if len(claims) == n {
			break
		}
	}
	if len(claims) != 1202 {
		t.Fatalf("%d claims", len(claims))
	}
	var batch []core.Outcome
	for i, c := range claims {
		o := core.Outcome{
			JobNo: j.No, TenantID: j.TenantID, Seq: c.Seq, EmailKey: c.EmailKey,
			State: core.RecipientSent, Tried: true,
		}
		switch {
		case c.Skip != "":
			if c.EmailKey != "r000007@example.org" || c.Skip != core.ReasonUnsubscribed {
				t.Errorf("%+v", c)
			}
			o.State, o.Tried, o.Reason = core.RecipientSkipped, false, c.Skip
		case i == 20:
			o.State, o.Reason, o.HardBounce = core.RecipientFailed, "550 5.1.1 no such user", true
		case i == 21:
			o.State, o.DueAt = core.RecipientDeferred, sendNow.Add(5*time.Minute)
		case i == 22:
			o.State, o.Ambiguous, o.Tried = core.RecipientQueued, true, false
		}
		batch = append(batch, o)
	}
	s.Must(s.FinishRecipients(ctx, batch, sendNow))
	s.Must(s.FinishRecipients(ctx, batch[:20], sendNow)) // recording the outcomes again changes nothing
	if j = s.Reload(j); j.Sent != 1198 || j.Skipped != 1 || j.Failed != 1 || j.Bounced != 1 || j.Ambiguous != 1 ||
		j.Deferred != 1 || j.Status != core.JobRunning {
		t.Fatalf("%+v", j)
	}
	if got := s.Status(l.ID, core.Email(claims[20].Email)); got != core.StatusBounced {
		t.Errorf("the hard bounce is %s", got)
	}
	due := sendNow.Add(5 * time.Minute)
	if at, err := s.NextDeferred(ctx, j.No, 0, 0); err != nil || at != due {
		t.Errorf("next deferred %v %v", at, err)
	}
	rest, err := s.ClaimDeferred(ctx, nil, &key, 0, 0, due, 256)
	s.Must(err)
	rest, err = s.ClaimRecipients(ctx, rest, &key, 0, 256)
	s.Must(err)
	if len(rest) != 2 || rest[0].Tries != 1 || rest[1].Ambiguous != 1 {
		t.Fatalf("%+v", rest)
	}
	for _, c := range rest {
		s.Must(s.FinishRecipients(ctx,
			[]core.Outcome{{JobNo: j.No, Seq: c.Seq, State: core.RecipientSent, Tried: true}}, due))
	}
	if j = s.Reload(j); j.Status != core.JobCompleted || j.Sent+j.Failed+j.Skipped != j.Recipients {
		t.Fatalf("%+v", j)
	}
	rs, err := s.Recipients(ctx, &j, campaigns.RecipientFilter{}, core.Page{Limit: 30})
	if err != nil || len(rs) != 30 || rs[20].State != core.RecipientFailed || !strings.HasPrefix(rs[20].Reason,
		"550") {
		t.Errorf("%d recipients, %v", len(rs), err)
	}
}

func TestCancelledAndFailedJobsAreSettled(t *testing.T) {
	for _, fail := range []bool{false, true} {
		s := storetest.Seed(t, nil).At(sendNow)
		l := s.NewList()
		ctx := t.Context()
		s.Readers(l, 1100)
		j := s.Start(s.NewJob(l.ID))
		s.Must(s.FinishRecipients(ctx, []core.Outcome{{JobNo: j.No, Seq: 7, State: core.RecipientSent, Tried: true}},
			sendNow))
		before := s.Departures(s.TenantID)
		if fail {
			s.Must(s.FailSendJob(ctx, j.No, core.ReasonWindow, sendNow))
		} else {
			_, err := s.CancelSendJob(ctx, j.ID, sendNow)
			s.Must(err)
		}
		if s.Departures(s.TenantID) == before {
			t.Error("departures did not move")
		}
		key := campaigns.ClaimKey{JobNo: j.No, TenantID: j.TenantID, ListID: j.ListID}
		if skip, err := s.Mailable(ctx, &key, 8); err != nil || skip != core.ReasonCancelled {
			t.Errorf("recheck: %q %v", skip, err)
		}
		if nos, err := s.UnsettledJobs(ctx); err != nil || len(nos) != 1 {
			t.Errorf("unsettled: %v %v", nos, err)
		}
		for after, more := int64(0), true; more; {
			if found, err := s.Check(ctx); err != nil || len(found) > 0 {
				t.Errorf("checked after %d: %v %v", after, found, err)
			}
			var err error
			after, more, err = s.SettleJob(ctx, j.No, after, sendNow)
			s.Must(err)
		}
		j = s.Reload(j)
		if j.Sent != 1 || fail && (j.Failed != 1099 || j.Status != core.JobFailed ||
			j.FailureReason != core.ReasonWindow) ||
			!fail && (j.Skipped != 1099 || j.Status != core.JobCancelled) {
			t.Errorf("%+v", j)
		}
	}
}

// The subscription on this server's member side decides, whatever id is in an event from another member service.
func TestClaimsAreCheckedAgainstEverything(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	ctx := t.Context()
	s.Readers(l, 6)
	j := s.Start(s.NewJob(l.ID))
	_, err := s.Disable(ctx,
		members.DisableRequest{Email: "r000002@example.org", Reason: "x", DisabledBy: "y", OccurredAt: sendNow}, sendNow)
	s.Must(err)
	s.At(sendNow+1).Tell(l, "complaint", "r000003@example.org")
	s.At(sendNow+1).Tell(l, "unsubscribed", "r000004@example.org")
	key := campaigns.ClaimKey{JobNo: j.No, TenantID: j.TenantID, ListID: j.ListID}
	want := map[string]string{
		"r000002@example.org": core.ReasonDisabled, "r000003@example.org": core.ReasonSuppressed,
		"r000004@example.org": core.ReasonUnsubscribed,
	}
	claims, err := s.ClaimRecipients(ctx, nil, &key, 0, 256)
	s.Must(err)
	for _, c := range claims {
		if c.Skip != want[c.EmailKey] {
			t.Errorf("%s: %q", c.EmailKey, c.Skip)
		}
		if skip, err := s.Mailable(ctx, &key, c.Seq); err != nil || skip != c.Skip {
			t.Errorf("%s again: %q %v", c.EmailKey, skip, err)
		}
	}
	key.MailedProof = true
	claims, err = s.ClaimRecipients(ctx, nil, &key, 0, 256)
	s.Must(err)
	for _, c := range claims {
		if want[c.EmailKey] == "" && c.Skip != core.ReasonNoProof {
			t.Errorf("%s without proof: %q", c.EmailKey, c.Skip)
		}
	}
}

func TestTemplates(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	ctx := t.Context()
	if d, err := s.Template(ctx, l.TenantID, "default"); err != nil || d.BodyHTML == "" {
		t.Errorf("built-in default: %v", err)
	}
	spring, err := core.NewTemplate(l.TenantID, core.TemplateInput{Name: new("spring"), BodyText: new("x")}, sendNow)
	s.Must(err)
	missing, err := s.TryJob(
		l.ID,
		func(r *campaigns.JobRequest) { r.Template = []byte(`{"mailer_template_name":"spring"}`) },
	)
	s.Must(err)
	_, err = s.StartDueJobs(ctx, sendNow)
	s.Must(err)
	if missing = s.Reload(missing); missing.Status != core.JobFailed || missing.FailureReason != core.ReasonTemplate {
		t.Errorf("%s %q", missing.Status, missing.FailureReason)
	}
	s.Must(s.AddTemplate(ctx, spring, "test"))
	if err := s.AddTemplate(ctx, spring, "test"); !errors.Is(err, core.ErrConflict) {
		t.Errorf("twice: %v", err)
	}
	if _, err := s.UpdateTemplate(ctx, spring.ID, "test", func(t *core.Template) error {
		return t.Change(core.TemplateInput{BodyText: new("y")}, sendNow)
	}); err != nil {
		t.Error(err)
	}
	if got, err := s.Template(ctx, l.TenantID, "spring"); err != nil || got.BodyText != "y" {
		t.Errorf("%+v %v", got, err)
	}
	if ts, err := s.Templates(ctx, l.TenantID, core.Page{Limit: 10}); err != nil || len(ts) != 1 {
		t.Errorf("%v %v", ts, err)
	}
	s.Must(s.DeleteTemplate(ctx, spring.ID, false, "test", sendNow))
	if _, err := s.TemplateByID(ctx, spring.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
}

func TestDeletedListsCancelTheirJobs(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	j := s.NewJob(l.ID)
	s.Must(s.DeleteList(t.Context(), l.ID, "test", sendNow))
	if j = s.Reload(j); j.Status != core.JobCancelled {
		t.Error(j.Status)
	}
}

// TestClockJumps checks that, whatever the clock shows and whatever housekeeping deletes because of it, an accepted
// event is not accepted again, and a nonce is not accepted twice while its signature could be valid.
func TestClockJumps(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	e, ctx := s.Event(l, "active", "a@example.org"), t.Context()
	s.Must(s.ApplyEvent(ctx, tenants.Nonce{ClientID: "c", Nonce: "first"}, e, sendNow))
	tried := 0
	defer coretest.Held(t, 6, &tried, "replays after the clock was put forward or back")
	for _, jump := range []time.Duration{
		-time.Hour, -24 * time.Hour, 0, time.Hour, -time.Hour, 24 * time.Hour,
		-24 * time.Hour, 0,
	} {
		now := sendNow.Add(jump)
		s.At(now).Clean(people.Retention{})
		for _, nonce := range []string{"first", fmt.Sprint("again", tried)} {
			tried++
			if err := s.ApplyEvent(ctx, tenants.Nonce{ClientID: "c", Nonce: nonce}, e, now); !errors.Is(err,
				core.ErrConflict) {
				t.Errorf("the event again, at %v, with the nonce %s: %v", jump, nonce, err)
			}
		}
	}
	s.Must(s.ApplyEvent(ctx, tenants.Nonce{ClientID: "c", Nonce: "of today"}, s.Event(l, "active", "b@example.org"),
		sendNow))
	for _, jump := range []time.Duration{-time.Minute, -time.Hour, -24 * time.Hour} {
		tried++
		now := sendNow.Add(jump)
		s.At(now).Clean(people.Retention{})
		if err := s.ApplyEvent(ctx, tenants.Nonce{ClientID: "c", Nonce: "of today"},
			s.At(now).Event(l, "active", "c@example.org"), now); !errors.Is(err, core.ErrReplayedNonce) {
			t.Errorf("the nonce again, at %v: %v", jump, err)
		}
	}
}
