package workertest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// These are the paths of the services.
const (
	EventPath   = "/webhooks/subscriptions"
	SyncPath    = "/webhooks/lists/full-sync"
	DisablePath = "/api/subscriptions/disable"
)

// Services are a member service and a send service, with one store or two. They implement http.RoundTripper for the
// requests between them, and act like the real services' handlers.
type Services struct{ Member, Send *store.Store }

// RoundTrip implements http.RoundTripper.
func (s Services) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	status, _ := s.Accept(req.Context(), req.URL.Path, body)
	return coretest.Response(status, "{}"), nil
}

// Accept handles a request. It returns the response status and the error that caused it.
func (s Services) Accept(ctx context.Context, path string, body []byte) (status int, err error) {
	now := core.At(time.Now())
	nonce := tenants.Nonce{ClientID: core.LoopClientID, Nonce: core.NewID()}
	switch path {
	case EventPath:
		var e core.Event
		if err = json.Unmarshal(body, &e); err == nil {
			err = e.Validate()
		}
		if err == nil {
			err = s.Send.ApplyEvent(ctx, nonce, e, now)
		}
	case SyncPath:
		var f core.FullSync
		if err = json.Unmarshal(body, &f); err == nil {
			err = f.Validate()
		}
		if err == nil {
			err = s.Send.ApplyBatch(ctx, nonce, f, now)
		}
	case DisablePath:
		var d struct {
			Email core.Email `json:"email"`
		}
		if err = json.Unmarshal(body, &d); err == nil {
			_, err = s.Member.Disable(ctx, members.DisableRequest{
				Email: d.Email, Reason: "complaint", DisabledBy: "send", OccurredAt: now,
			}, now)
		}
	default:
		return http.StatusNotFound, core.ErrNotFound
	}
	switch core.KindOf(err) {
	case core.Conflict:
		return http.StatusConflict, err
	case core.Invalid:
		return http.StatusUnprocessableEntity, err
	case core.Unavailable:
		return http.StatusServiceUnavailable, err
	}
	if err != nil {
		return http.StatusInternalServerError, err
	}
	return http.StatusOK, nil
}
