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
	"newsletterd/store"
	"newsletterd/store/storetest"
)

const sendNow = core.Instant(1_800_000_000_000)

// sendHouse is a store with one tenant and one list.
type sendHouse struct {
	*testing.T
	*store.Store
	tenant core.Tenant
	list   core.List
	nonces int
}

func newSendHouse(t *testing.T) *sendHouse {
	h := &sendHouse{T: t, Store: storetest.Open(t)}
	var err error
	if h.tenant, err = core.NewTenant(core.TenantInput{Name: ptr("Acme")}, 1000); err != nil {
		t.Fatal(err)
	}
	if h.list, err = core.NewList(core.ListInput{TenantID: &h.tenant.ID, Name: ptr("Weekly")}, 1000); err != nil {
		t.Fatal(err)
	}
	h.must(h.AddTenant(t.Context(), h.tenant, "test"))
	h.must(h.AddList(t.Context(), h.list, "test"))
	return h
}

func (h *sendHouse) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *sendHouse) nonce() store.Nonce {
	h.nonces++
	return store.Nonce{ClientID: "c", Nonce: fmt.Sprintf("nonce-%010d", h.nonces)}
}

func (h *sendHouse) event(email string, status core.Status, at core.Instant) core.Event {
	typ := core.EventActivated
	if status == core.StatusUnsubscribed {
		typ = core.EventUnsubscribed
	}
	return core.Event{
		ID: core.NewID(), Type: typ, TenantID: h.tenant.ID, ListID: h.list.ID, OccurredAt: at,
		Subscriber: core.EventSubscriber{ID: core.NewID(), Email: core.Email(email), Status: string(status)},
	}
}

func (h *sendHouse) batch(sync string, no, total int, at core.Instant, emails ...string) core.FullSync {
	f := core.FullSync{
		SyncID: sync, BatchNo: no, BatchTotal: total, TenantID: h.tenant.ID, ListID: h.list.ID,
		OccurredAt: at, Subscribers: []core.EventSubscriber{},
	}
	for _, e := range emails {
		f.Subscribers = append(f.Subscribers,
			core.EventSubscriber{ID: core.NewID(), Email: core.Email(e), Status: "active"})
	}
	return f
}

func (h *sendHouse) status(email string) core.Status {
	sub, err := h.Subscriber(h.Context(), h.list.ID, core.Email(email))
	if errors.Is(err, core.ErrNotFound) {
		return "absent"
	}
	h.must(err)
	return sub.Status()
}

func (h *sendHouse) subscribe(n int) {
	for i := 0; i < n; i += 1000 {
		var emails []string
		for k := i; k < min(n, i+1000); k++ {
			emails = append(emails, fmt.Sprintf("r%06d@example.org", k))
		}
		h.must(h.ApplyBatch(h.Context(), h.nonce(), h.batch(core.NewID(), 1, 9, sendNow, emails...), sendNow))
	}
}

func (h *sendHouse) job(change func(*store.JobRequest)) (core.SendJob, error) {
	r := store.JobRequest{
		NewJob: core.NewJob{ListID: h.list.ID, Subject: "Hi", BodyText: "x"},
		Caller: core.CommandCaller("u"),
	}
	if change != nil {
		change(&r)
	}
	j, _, err := h.AddSendJob(h.Context(), r, sendNow)
	return j, err
}

func (h *sendHouse) reload(j core.SendJob) core.SendJob {
	j, err := h.SendJob(h.Context(), j.ID)
	h.must(err)
	return j
}

func TestAnEventIsAcceptedOnce(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 6, &tried, "replays, some of them when the nonce is forgotten")
	h := newSendHouse(t)
	e, ctx := h.event("a@example.org", "active", sendNow), t.Context()
	h.must(h.ApplyEvent(ctx, store.Nonce{ClientID: "c", Nonce: "n1"}, e, sendNow))
	other := h.event("b@example.org", "active", sendNow)
	for _, tt := range []struct {
		name  string
		nonce string
		event core.Event
		want  *core.Error
	}{
		{"same event, same nonce", "n1", e, core.ErrDuplicateEvent},
		{"same event, new nonce", "n2", e, core.ErrDuplicateEvent},
		{"new event, same nonce", "n1", other, core.ErrReplayedNonce},
		{"new event, the nonce that was refused with the first", "n2", other, nil},
	} {
		tried++
		if err := h.ApplyEvent(ctx, store.Nonce{ClientID: "c", Nonce: tt.nonce}, tt.event, sendNow); !errors.Is(err,
			errOrNil(tt.want)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	later := sendNow.Add(store.NonceTTL)
	h.clean(later)
	h.must(h.ApplyEvent(ctx, store.Nonce{ClientID: "c", Nonce: "n1"}, h.event("c@example.org", "active", later), later))
	tried++
	if err := h.ApplyEvent(ctx, h.nonce(), e, later); !errors.Is(err, core.ErrDuplicateEvent) {
		t.Errorf("event id forgotten with the nonce: %v", err)
	}
}

// clean lets housekeeping delete all that has expired by then.
func (h *sendHouse) clean(now core.Instant) {
	for more := true; more; {
		var err error
		more, err = h.Housekeeping(h.Context(), store.Retention{}, now)
		h.must(err)
	}
}

func errOrNil(e *core.Error) error {
	if e == nil {
		return nil
	}
	return e
}

func TestRefusedEventsUseNothingUp(t *testing.T) {
	h := newSendHouse(t)
	e, n, ctx := h.event("a@example.org", "active", sendNow), h.nonce(), t.Context()
	good := e.ListID
	for _, list := range []string{core.NewID(), ""} {
		e.ListID = list
		var ce *core.Error
		if err := h.ApplyEvent(ctx, n, e, sendNow); !errors.As(err,
			&ce) || ce.Field != "list_id" || ce.Kind != core.Invalid {
			t.Fatalf("unknown list: %v", err)
		}
	}
	e.ListID = good
	h.must(h.ApplyEvent(ctx, n, e, sendNow))
}

func TestTwentyCopiesInParallel(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 6, &tried, "copies of a webhook at once")
	h := newSendHouse(t)
	e, ctx := h.event("a@example.org", "active", sendNow), t.Context()
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		tried++
		wg.Go(func() {
			errs[i] = h.ApplyEvent(ctx, store.Nonce{ClientID: "c", Nonce: "the same nonce"}, e, sendNow)
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

func TestFullSyncRemovesThoseItDoesNotName(t *testing.T) {
	h := newSendHouse(t)
	ctx, sync := t.Context(), core.NewID()
	start := sendNow.Add(time.Hour)
	for _, e := range []string{"kept@example.org", "gone@example.org"} {
		h.must(h.ApplyEvent(ctx, h.nonce(), h.event(e, "active", sendNow), sendNow))
	}
	h.subscribe(1200) // none of them is named either: more than one step
	h.must(h.ApplyEvent(ctx, h.nonce(), h.event("late@example.org", "active", start+1), start+1))
	first := h.batch(sync, 1, 2, start, "kept@example.org", "new@example.org")
	h.must(h.ApplyBatch(ctx, h.nonce(), first, start))
	if more, err := h.RemoveAbsent(ctx, start); more || err != nil {
		t.Fatalf("removal before the last batch: %v %v", more, err)
	}
	if err := h.ApplyBatch(ctx, h.nonce(), first, start); !errors.Is(err, core.ErrDuplicateBatch) {
		t.Errorf("the same batch again: %v", err)
	}
	second := h.batch(sync, 2, 3, start)
	var ce *core.Error
	if err := h.ApplyBatch(ctx, h.nonce(), second, start); !errors.As(err, &ce) || ce.Field != "batch_total" {
		t.Errorf("another batch_total: %v", err)
	}
	second.BatchTotal = 2
	before := h.Departures()
	h.must(h.ApplyBatch(ctx, h.nonce(), second, start))
	steps := 0
	for more := true; more; steps++ {
		var err error
		more, err = h.RemoveAbsent(ctx, start)
		h.must(err)
	}
	for email, want := range map[string]core.Status{
		"kept@example.org": "active", "new@example.org": "active", "late@example.org": "active",
		"gone@example.org": "unsubscribed", "r000000@example.org": "unsubscribed",
		"r001199@example.org": "unsubscribed",
	} {
		if got := h.status(email); got != want {
			t.Errorf("%s is %s, want %s", email, got, want)
		}
	}
	if steps < 3 || h.Departures() == before {
		t.Errorf("%d steps, departures moved: %v", steps, h.Departures() != before)
	}
}

func TestSendJobChecks(t *testing.T) {
	h := newSendHouse(t)
	tests := []struct {
		name   string
		change func(*store.JobRequest)
		kind   core.Kind
		code   string
		field  string
	}{
		{
			"unknown list", func(r *store.JobRequest) { r.ListID = core.NewID() }, core.Invalid, "invalid_request",
			"list_id",
		},
		{
			"foreign list", func(r *store.JobRequest) {
				r.Caller = core.Caller{UserID: "u", Roles: []core.Role{{Role: core.RoleTenantAdmin, TenantID: "other"}}}
			},
			core.Invalid, "invalid_request", "list_id",
		},
		{
			"contradicting tenant", func(r *store.JobRequest) { r.TenantID = core.NewID() }, core.Invalid,
			"invalid_request", "tenant_id",
		},
		{
			"same key, other body", func(r *store.JobRequest) { r.IdempotencyKey, r.BodyHash = "k", []byte("other") },
			core.Conflict, "idempotency_key_reused", "",
		},
		{
			"same content again, guarded", func(r *store.JobRequest) { r.DuplicateGuard = time.Hour }, core.Conflict,
			"conflict", "",
		},
	}
	first, err := h.job(func(r *store.JobRequest) { r.IdempotencyKey, r.BodyHash = "k", []byte("body") })
	h.must(err)
	if first.TenantID != h.tenant.ID || first.Status != core.JobPending {
		t.Errorf("%+v", first)
	}
	for _, tt := range tests {
		_, err := h.job(tt.change)
		var ce *core.Error
		if !errors.As(err, &ce) || ce.Kind != tt.kind || ce.Code != tt.code || ce.Field != tt.field {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	_, err = h.UpdateList(t.Context(), h.list.ID, "test",
		func(l *core.List) error { l.Status = core.ListInactive; return nil })
	h.must(err)
	if _, err := h.job(nil); !errors.Is(err, core.ErrConflict) {
		t.Errorf("inactive list: %v", err)
	}
	again, err := h.job(func(r *store.JobRequest) { r.IdempotencyKey, r.BodyHash = "k", []byte("body") })
	if err != nil || again.ID != first.ID {
		t.Errorf("same key and body: %v %v", again.ID, err)
	}
}

// The first answer to an Idempotency-Key holds for longer than the window of the job.
func TestIdempotencyKeyBehindTheWindow(t *testing.T) {
	h := newSendHouse(t)
	windowed := func(at core.Instant) (core.SendJob, error) {
		r := store.JobRequest{
			NewJob: core.NewJob{ListID: h.list.ID, Subject: "x", BodyText: "x", WindowEnd: sendNow.Add(time.Hour)},
			Caller: core.CommandCaller("u"), IdempotencyKey: "window", BodyHash: []byte("w"),
		}
		j, _, err := h.AddSendJob(t.Context(), r, at)
		return j, err
	}
	in, err := windowed(sendNow)
	h.must(err)
	if late, err := windowed(sendNow.Add(2 * time.Hour)); err != nil || late.ID != in.ID {
		t.Errorf("the same key behind the window: %v", err)
	}
	if _, err := windowed(sendNow.Add(store.IdempotencyTTL)); core.KindOf(err) != core.Invalid {
		t.Errorf("a key that has expired, behind the window: %v", err)
	}
}

// A job from its start to its end through every outcome; the figures must add up.
func TestAJobsRecipientsAddUp(t *testing.T) {
	h := newSendHouse(t)
	ctx := t.Context()
	h.subscribe(1203)
	h.must(h.ApplyEvent(ctx, h.nonce(), h.event("r000005@example.org", "unsubscribed", sendNow+1), sendNow+1))
	j, err := h.job(nil)
	h.must(err)
	if next, err := h.StartDueJobs(ctx, sendNow); err != nil || next != 0 {
		t.Fatal(next, err)
	}
	for more := true; more; {
		more, err = h.ExpandJob(ctx, j.No, sendNow)
		h.must(err)
	}
	if j = h.reload(j); j.Recipients != 1202 || !j.Expanded || j.Status != core.JobRunning {
		t.Fatalf("%+v", j)
	}
	h.must(h.ApplyEvent(ctx, h.nonce(), h.event("r000007@example.org", "unsubscribed", sendNow+2), sendNow+2))
	key := store.ClaimKey{JobNo: j.No, TenantID: j.TenantID, ListID: j.ListID}
	var claims []core.Claim
	for after := int64(0); ; after = claims[len(claims)-1].Seq {
		n := len(claims)
		claims, err = h.ClaimRecipients(ctx, claims, &key, after, 256)
		h.must(err)
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
	h.must(h.FinishRecipients(ctx, batch, sendNow))
	h.must(h.FinishRecipients(ctx, batch[:20], sendNow)) // recorded again: nothing changes
	if j = h.reload(j); j.Sent != 1198 || j.Skipped != 1 || j.Failed != 1 || j.Bounced != 1 || j.Ambiguous != 1 ||
		j.Deferred != 1 || j.Status != core.JobRunning {
		t.Fatalf("%+v", j)
	}
	if got := h.status(claims[20].Email); got != core.StatusBounced {
		t.Errorf("the hard bounce is %s", got)
	}
	due := sendNow.Add(5 * time.Minute)
	if at, err := h.NextDeferred(ctx, j.No, 0, 0); err != nil || at != due {
		t.Errorf("next deferred %v %v", at, err)
	}
	rest, err := h.ClaimDeferred(ctx, nil, &key, 0, 0, due, 256)
	h.must(err)
	rest, err = h.ClaimRecipients(ctx, rest, &key, 0, 256)
	h.must(err)
	if len(rest) != 2 || rest[0].Tries != 1 || rest[1].Ambiguous != 1 {
		t.Fatalf("%+v", rest)
	}
	for _, c := range rest {
		h.must(h.FinishRecipients(ctx,
			[]core.Outcome{{JobNo: j.No, Seq: c.Seq, State: core.RecipientSent, Tried: true}}, due))
	}
	if j = h.reload(j); j.Status != core.JobCompleted || j.Sent+j.Failed+j.Skipped != j.Recipients {
		t.Fatalf("%+v", j)
	}
	rs, err := h.Recipients(ctx, &j, store.RecipientFilter{}, core.Page{Limit: 30})
	if err != nil || len(rs) != 30 || rs[20].State != core.RecipientFailed || !strings.HasPrefix(rs[20].Reason,
		"550") {
		t.Errorf("%d recipients, %v", len(rs), err)
	}
}

func TestCancelledAndFailedJobsAreSettled(t *testing.T) {
	for _, fail := range []bool{false, true} {
		h := newSendHouse(t)
		ctx := t.Context()
		h.subscribe(1100)
		j, err := h.job(nil)
		h.must(err)
		_, err = h.StartDueJobs(ctx, sendNow)
		h.must(err)
		for more := true; more; {
			more, err = h.ExpandJob(ctx, j.No, sendNow)
			h.must(err)
		}
		h.must(h.FinishRecipients(ctx, []core.Outcome{{JobNo: j.No, Seq: 7, State: core.RecipientSent, Tried: true}},
			sendNow))
		before := h.Departures()
		if fail {
			h.must(h.FailSendJob(ctx, j.No, core.ReasonWindow, sendNow))
		} else {
			_, err = h.CancelSendJob(ctx, j.ID, sendNow)
			h.must(err)
		}
		if h.Departures() == before {
			t.Error("departures did not move")
		}
		key := store.ClaimKey{JobNo: j.No, TenantID: j.TenantID, ListID: j.ListID}
		if skip, err := h.Mailable(ctx, &key, 8); err != nil || skip != core.ReasonCancelled {
			t.Errorf("recheck: %q %v", skip, err)
		}
		if nos, err := h.UnsettledJobs(ctx); err != nil || len(nos) != 1 {
			t.Errorf("unsettled: %v %v", nos, err)
		}
		for after, more := int64(0), true; more; {
			if found, err := h.Check(ctx); err != nil || len(found) > 0 {
				t.Errorf("checked after %d: %v %v", after, found, err)
			}
			after, more, err = h.SettleJob(ctx, j.No, after, sendNow)
			h.must(err)
		}
		j = h.reload(j)
		if j.Sent != 1 || fail && (j.Failed != 1099 || j.Status != core.JobFailed ||
			j.FailureReason != core.ReasonWindow) ||
			!fail && (j.Skipped != 1099 || j.Status != core.JobCancelled) {
			t.Errorf("%+v", j)
		}
	}
}

// The subscription of our own member side has the last word, whatever id a stranger's event brought.
func TestClaimsAreCheckedAgainstEverything(t *testing.T) {
	h := newSendHouse(t)
	ctx := t.Context()
	h.subscribe(6)
	j, err := h.job(nil)
	h.must(err)
	_, err = h.StartDueJobs(ctx, sendNow)
	h.must(err)
	_, err = h.ExpandJob(ctx, j.No, sendNow)
	h.must(err)
	_, err = h.Disable(ctx,
		store.DisableRequest{Email: "r000002@example.org", Reason: "x", DisabledBy: "y", OccurredAt: sendNow}, sendNow)
	h.must(err)
	for email, status := range map[string]core.Status{
		"r000003@example.org": "complaint",
		"r000004@example.org": "unsubscribed",
	} {
		h.must(h.ApplyEvent(ctx, h.nonce(), h.event(email, status, sendNow+1), sendNow+1))
	}
	key := store.ClaimKey{JobNo: j.No, TenantID: j.TenantID, ListID: j.ListID}
	want := map[string]string{
		"r000002@example.org": core.ReasonDisabled, "r000003@example.org": core.ReasonSuppressed,
		"r000004@example.org": core.ReasonUnsubscribed,
	}
	claims, err := h.ClaimRecipients(ctx, nil, &key, 0, 256)
	h.must(err)
	for _, c := range claims {
		if c.Skip != want[c.EmailKey] {
			t.Errorf("%s: %q", c.EmailKey, c.Skip)
		}
		if skip, err := h.Mailable(ctx, &key, c.Seq); err != nil || skip != c.Skip {
			t.Errorf("%s again: %q %v", c.EmailKey, skip, err)
		}
	}
	key.MailedProof = true
	claims, err = h.ClaimRecipients(ctx, nil, &key, 0, 256)
	h.must(err)
	for _, c := range claims {
		if want[c.EmailKey] == "" && c.Skip != core.ReasonNoProof {
			t.Errorf("%s without proof: %q", c.EmailKey, c.Skip)
		}
	}
}

func TestTemplates(t *testing.T) {
	h := newSendHouse(t)
	ctx := t.Context()
	if d, err := h.Template(ctx, h.tenant.ID, "default"); err != nil || d.BodyHTML == "" {
		t.Errorf("built-in default: %v", err)
	}
	spring, err := core.NewTemplate(h.tenant.ID, core.TemplateInput{Name: ptr("spring"), BodyText: ptr("x")}, sendNow)
	h.must(err)
	missing, err := h.job(func(r *store.JobRequest) { r.Template = []byte(`{"mailer_template_name":"spring"}`) })
	h.must(err)
	_, err = h.StartDueJobs(ctx, sendNow)
	h.must(err)
	if missing = h.reload(missing); missing.Status != core.JobFailed || missing.FailureReason != core.ReasonTemplate {
		t.Errorf("%s %q", missing.Status, missing.FailureReason)
	}
	h.must(h.AddTemplate(ctx, spring, "test"))
	if err := h.AddTemplate(ctx, spring, "test"); !errors.Is(err, core.ErrConflict) {
		t.Errorf("twice: %v", err)
	}
	if _, err := h.UpdateTemplate(ctx, spring.ID, "test", func(t *core.Template) error {
		return t.Change(core.TemplateInput{BodyText: ptr("y")}, sendNow)
	}); err != nil {
		t.Error(err)
	}
	if got, err := h.Template(ctx, h.tenant.ID, "spring"); err != nil || got.BodyText != "y" {
		t.Errorf("%+v %v", got, err)
	}
	if ts, err := h.Templates(ctx, h.tenant.ID, core.Page{Limit: 10}); err != nil || len(ts) != 1 {
		t.Errorf("%v %v", ts, err)
	}
	h.must(h.DeleteTemplate(ctx, spring.ID, "test", sendNow))
	if _, err := h.TemplateByID(ctx, spring.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
}

func TestDeletedListsCancelTheirJobs(t *testing.T) {
	h := newSendHouse(t)
	j, err := h.job(nil)
	h.must(err)
	h.must(h.DeleteList(t.Context(), h.list.ID, "test", sendNow))
	if j = h.reload(j); j.Status != core.JobCancelled {
		t.Error(j.Status)
	}
}

// TestClockJumps: whatever the clock shows, and whatever housekeeping has deleted by it, an event that was accepted is
// not accepted again, and no nonce is good twice while its signature could be.
func TestClockJumps(t *testing.T) {
	h := newSendHouse(t)
	e, ctx := h.event("a@example.org", "active", sendNow), t.Context()
	h.must(h.ApplyEvent(ctx, store.Nonce{ClientID: "c", Nonce: "first"}, e, sendNow))
	tried := 0
	defer coretest.Held(t, 6, &tried, "replays after the clock was put forward or back")
	for _, jump := range []time.Duration{
		-time.Hour, -24 * time.Hour, 0, time.Hour, -time.Hour, 24 * time.Hour,
		-24 * time.Hour, 0,
	} {
		now := sendNow.Add(jump)
		h.clean(now)
		for _, nonce := range []string{"first", fmt.Sprint("again", tried)} {
			tried++
			if err := h.ApplyEvent(ctx, store.Nonce{ClientID: "c", Nonce: nonce}, e, now); !errors.Is(err,
				core.ErrConflict) {
				t.Errorf("the event again, at %v, with the nonce %s: %v", jump, nonce, err)
			}
		}
	}
	h.must(h.ApplyEvent(ctx, store.Nonce{ClientID: "c", Nonce: "of today"}, h.event("b@example.org", "active", sendNow),
		sendNow))
	for _, jump := range []time.Duration{-time.Minute, -time.Hour, -24 * time.Hour} {
		tried++
		now := sendNow.Add(jump)
		h.clean(now)
		if err := h.ApplyEvent(ctx, store.Nonce{ClientID: "c", Nonce: "of today"},
			h.event("c@example.org", "active", now), now); !errors.Is(err, core.ErrReplayedNonce) {
			t.Errorf("the nonce again, at %v: %v", jump, err)
		}
	}
}
