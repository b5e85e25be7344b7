package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// The paths of the member service's operations.
const (
	disablePath          = "/api/subscriptions/disable"
	unsubscribeTokenPath = "/api/newsletter/unsubscribe-token"
	unsubscribePath      = "/api/newsletter/unsubscribe"
)

// disabledBy names the requester in requests to the member service.
const disabledBy = "newsletterd send service"

const disableRead = 50 // requests per read

// DisablerOptions configures a Disabler.
type DisablerOptions struct {
	Store     *store.Store
	Base      string            // base URL of the member service, such as http://127.0.0.1:8080
	Transport http.RoundTripper // nil: http.DefaultTransport
	// Token returns an access token that permits blocking a tenant's addresses.
	Token func(ctx context.Context, tenantID string, now core.Instant) (string, error)
	Log   *slog.Logger
}

type disabler struct {
	DisablerOptions
	client *http.Client
	loop   *Loop
}

// Disabler returns the loop that requests two HTTP operations of the member service: to block addresses after spam
// complaints, and to unsubscribe addresses after a click on an email's unsubscribe link. The loop wakes up for new
// requests. It retries each request until the service responds, because repeating an operation has no effect.
func Disabler(o DisablerOptions) *Loop {
	d := &disabler{DisablerOptions: o, client: &http.Client{
		Transport: o.Transport, Timeout: postTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	d.loop = &Loop{Name: "disabler", Step: d.step}
	o.Store.OnKick(db.TopicDisable, d.loop.Kick)
	return d.loop
}

func (d *disabler) step(ctx context.Context, now time.Time) time.Time {
	due, err := d.Store.DuePendingDisables(ctx, core.At(now), disableRead)
	if err != nil {
		d.Log.Warn("disabler: requests can't be read", slog.Any("error", err))
		return now.Add(time.Second)
	}
	if len(due) > 0 {
		if err := kept(ctx, d.Store); err != nil {
			d.Log.Warn("disabler: the replica doesn't have the latest changes", slog.Any("error", err))
			return now.Add(time.Second)
		}
	}
	for i := range due {
		select {
		case <-d.loop.Stopping():
			return now
		default:
		}
		reason := d.post(ctx, &due[i])
		if ctx.Err() != nil {
			return now
		}
		if err := d.record(ctx, &due[i], reason); err != nil {
			d.Log.Warn("disabler: a result can't be saved", slog.Any("error", err))
			return time.Now().Add(time.Second)
		}
	}
	at, err := d.Store.NextPendingDisable(ctx)
	if err != nil {
		return time.Now().Add(time.Second)
	}
	return at.Time()
}

func (d *disabler) record(ctx context.Context, r *core.PendingDisable, reason string) error {
	if reason == "" {
		return d.Store.FinishPendingDisable(ctx, r.ID)
	}
	d.Log.Warn("disabler: the member service couldn't be notified about an address", slog.Int64("request", r.ID),
		slog.Int("tries", r.Tries+1), slog.String("reason", reason))
	return d.Store.PostponePendingDisable(ctx, r.ID, reason,
		core.At(time.Now().Add(jitter(backoff(eventDelays, r.Tries+1)))))
}

// post makes one attempt to deliver a request to the member service. An empty reason means success.
func (d *disabler) post(ctx context.Context, r *core.PendingDisable) (reason string) {
	token, err := d.Token(ctx, r.TenantID, core.At(time.Now()))
	if err != nil {
		return err.Error()
	}
	if r.ListID == "" {
		_, reason = d.ask(ctx, disablePath, token, map[string]any{
			"email": r.Email, "reason": r.Reason, "disabled_by": disabledBy, "occurred_at": r.OccurredAt,
		})
		return reason
	}
	text, reason := d.ask(ctx, unsubscribeTokenPath, token, map[string]any{"list_id": r.ListID, "email": r.Email})
	if reason != "" {
		return reason
	}
	var answer struct {
		Token string `json:"unsubscribe_token"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Token == "" {
		return "the response has no unsubscribe_token"
	}
	_, reason = d.ask(ctx, unsubscribePath, token, map[string]any{"token": answer.Token})
	return reason
}

// ask calls one of the member service's operations. An empty reason means success.
func (d *disabler) ask(ctx context.Context, path, token string, in map[string]any) (text []byte, reason string) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err.Error()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(d.Base, "/")+path,
		bytes.NewReader(body))
	if err != nil {
		return nil, err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	if err := d.Store.MayAct(); err != nil {
		return nil, err.Error()
	}
	res, err := d.client.Do(req)
	if err != nil {
		return nil, postError(err)
	}
	defer res.Body.Close()
	text, _ = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode == http.StatusOK {
		return text, ""
	}
	return nil, answerReason(res.StatusCode, text)
}
