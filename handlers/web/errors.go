package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
)

// Dialect is the format of a route's errors.
type Dialect byte

// The dialects. Page and Console are for people, and the others for API clients.
const (
	Member Dialect = 'm' // {error, message, request_id}
	Send   Dialect = 's' // {error, message, reason, request_id}; Invalid is 422
	OAuth  Dialect = 'o' // {error, error_description, …} with the codes of RFC 6749
	Device Dialect = 'd' // like Member, plus code
	Page   Dialect = 'p' // HTML
	// Console is HTML for people. No document describes it, because its pages use the other routes' operations
	Console Dialect = 'c'
)

// kindInfo is the default response for a kind of error. An error may override code and message.
type kindInfo struct {
	status  int
	code    string
	oauth   string // RFC 6749 sections 4.1.2.1 and 5.2
	message string
}

// kinds maps each kind of error to its default response. It is the only such mapping.
var kinds = map[core.Kind]kindInfo{
	core.Invalid: {400, "invalid_request", "invalid_request", "The request is not valid. Check its values."},
	core.Unauthenticated: {
		401, "unauthorized", "invalid_client",
		"The access token is missing or not valid. Send a valid one.",
	},
	core.Forbidden: {
		403, "forbidden", "insufficient_scope",
		"You don't have permission to do this. Ask an administrator.",
	},
	core.NotFound: {
		404, "not_found", "not_found",
		"Not found. It may have been deleted, or you don't have access.",
	},
	core.Conflict: {
		409, "conflict", "invalid_request",
		"The request conflicts with the current state. Read the current state, then retry.",
	},
	core.TooMany: {429, "rate_limited", "rate_limited", "Too many requests. Try again later."},
	core.Unavailable: {
		503, "storage_unavailable", "temporarily_unavailable",
		"The service is unavailable. Try again soon.",
	},
	core.TooLarge: {413, "payload_too_large", "invalid_request", "The body is too large. Send less per request."},
	core.MediaType: {
		415, "unsupported_media_type", "invalid_request",
		"The media type of the body is not supported. Check Content-Type.",
	},
	core.MethodNotAllowed: {
		405, "method_not_allowed", "invalid_request",
		"This method is not allowed here. See the Allow header.",
	},
	core.PreconditionFailed: {
		412, "precondition_failed", "invalid_request",
		"This has changed since you read it. Read it again before you change it.",
	},
	core.PreconditionRequired: {
		428, "precondition_required", "invalid_request",
		"If-Match is missing. Send the ETag from your last read, so that you don't overwrite other changes.",
	},
	core.Internal: {
		500, "internal", "server_error",
		"Something went wrong on the server. Give the request_id to the server administrator.",
	},
}

// Default Retry-After in seconds.
const (
	retryTooMany     = 60
	retryUnavailable = 2
)

// Errors that both the frame and the endpoints return: 404 for a missing record, 404 for an unknown path, 503 and 429.
var (
	ErrNotFound = &core.Error{
		Kind: core.NotFound, Code: "not_found",
		Message: "Not found. It may have been deleted, or you don't have access.",
	}
	ErrNoRoute = &core.Error{Kind: core.NotFound, Code: "not_found", Message: "Unknown path. Check the URL."}
	ErrBusy    = &core.Error{
		Kind: core.Unavailable, Code: "busy", Message: "The server is busy. Try again soon.",
		RetryAfter: 2,
	}
	ErrRateLimited = &core.Error{
		Kind: core.TooMany, Code: "rate_limited",
		Message: "Too many requests from this IP address. Try again later.",
	}
)

// MessageOf returns the default message for a kind of error.
func MessageOf(kind core.Kind) string { return kinds[kind].message }

// notFound returns the error for a path parameter that isn't a valid id.
func (c *Call) notFound() error {
	if c.route.Do.missing != nil {
		return c.route.Do.missing
	}
	return ErrNotFound
}

// ErrorBody is the body of an error response in every dialect except Page and Console.
type ErrorBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description,omitempty"`
	Message     string `json:"message"`
	Code        string `json:"code,omitempty"`
	Field       string `json:"field,omitempty"`
	Reason      string `json:"reason,omitempty"`
	MFARequired bool   `json:"mfa_required,omitempty"` // the account has a second factor, but no code was sent
	RequestID   string `json:"request_id"`

	Findings []core.CampaignFinding `json:"findings,omitempty"` // reasons why a campaign can't be approved or sent
	Changes  []core.ContentChange   `json:"changes,omitempty"`  // changes to a campaign since the caller read it

	Said core.Sentence `json:"-"` // message, for translation on pages
}

// asError returns the *core.Error in err, or an internal one if there is none.
func asError(err error) *core.Error {
	e, ok := errors.AsType[*core.Error](err)
	switch {
	case ok:
		return e
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ErrBusy.With(err)
	}
	return core.ErrInternal.With(err)
}

// statusGone is the status in the log and the metrics if the client disconnected before the response. It is never sent.
// nginx uses the same number.
const statusGone = 499

// left reports whether the error occurred because the client disconnected.
func (c *Call) left(err error) bool {
	return c.Request.Context().Err() != nil && errors.Is(err, context.Canceled)
}

// StatusOf returns the status for a kind of error in a dialect.
func StatusOf(d Dialect, kind core.Kind) int {
	if d == Send && kind == core.Invalid {
		return http.StatusUnprocessableEntity
	}
	return kinds[kind].status
}

// fail responds with an error in the route's dialect.
func (c *Call) fail(err error) {
	if behind := c.acknowledge(); behind != nil { // the error may describe a change that was made before
		err = behind
	}
	e := asError(err)
	c.err = err
	d := c.dialect()
	info, ok := kinds[e.Kind]
	if !ok {
		info = kinds[core.Internal]
	}
	status := StatusOf(d, e.Kind)
	if c.left(err) {
		status = statusGone
	}
	body := ErrorBody{
		Error: e.Code, Message: e.Message, Field: e.Field, MFARequired: e.MFARequired,
		RequestID: c.RequestID, Findings: e.Findings, Changes: e.Changes,
	}
	if body.Error == "" || e.Kind == core.Internal {
		body.Error = info.code
	}
	if body.Said = e.Sentence(); body.Message == "" || e.Kind == core.Internal {
		body.Message, body.Said = info.message, core.Sentence{Text: info.message}
	}
	switch d {
	case Send:
		sendWords(&body)
	case OAuth:
		oauthWords(&body, e, info)
	case Device:
		body.Code = body.Error
	}
	h := c.Header()
	h.Del("Link")
	switch e.Kind {
	case core.Unauthenticated, core.Forbidden:
		c.challenge(e, body.Error)
	}
	c.RetryAfter(e)
	h.Set("Cache-Control", "no-store")
	if d == Page || d == Console {
		c.writePage(status, body)
		return
	}
	c.writeJSON(status, body)
}

// RetryAfter sets the Retry-After header for errors of kind TooMany and Unavailable.
func (c *Call) RetryAfter(e *core.Error) {
	switch e.Kind {
	case core.TooMany:
		c.Header().Set("Retry-After", strconv.Itoa(cmp.Or(e.RetryAfter, retryTooMany)))
	case core.Unavailable:
		c.Header().Set("Retry-After", strconv.Itoa(cmp.Or(e.RetryAfter, retryUnavailable)))
	}
}

// sendWords converts an error to the send service's format, in which all invalid requests share one code, and the
// reason is the field.
func sendWords(b *ErrorBody) {
	switch b.Error {
	case "invalid_request", "invalid_email", "invalid_json":
		b.Error = "validation_error"
	}
	b.Reason, b.Field = b.Field, ""
}

// oauthWords converts an error to the format of RFC 6749 section 5.2. Errors from package auth have the RFC's own codes
// and stay unchanged. Codes from other packages are replaced with RFC codes.
func oauthWords(b *ErrorBody, e *core.Error, info kindInfo) {
	switch {
	case strings.HasPrefix(e.Code, "invalid_") && e.Code != "invalid_json" && e.Code != "invalid_email",
		e.Code == "unsupported_grant_type", e.Code == "unsupported_response_type", e.Code == "unauthorized_client",
		e.Code == "access_denied", e.Code == "insufficient_scope":
	default:
		b.Error = info.oauth
	}
	b.Description = strings.Map(describable, b.Message)
}

// describable returns r if error_description may contain it, and a replacement otherwise (RFC 6749 section 5.2).
func describable(r rune) rune {
	if r < 0x20 || r > 0x7e || r == '"' || r == '\\' {
		return '\''
	}
	return r
}

// challenge sets WWW-Authenticate. On routes that take a bearer token it follows RFC 6750 section 3 and names an error
// only if the request had a token. Signed requests use no HTTP scheme, but a 401 must have a challenge (RFC 9110
// section 15.5.2).
func (c *Call) challenge(e *core.Error, code string) {
	switch {
	case c.route == nil:
		return
	case c.route.Dialect == Send && !c.route.Who.bearer && e.Kind == core.Unauthenticated:
		c.Header().Set("WWW-Authenticate", `HMAC-SHA256 realm="newsletterd"`)
		return
	case !c.route.Who.bearer:
		return
	}
	v := `Bearer realm="newsletterd"`
	switch {
	case e.Kind == core.Forbidden && code != "insufficient_scope":
		return
	case e.Kind == core.Forbidden:
		v += `, error="insufficient_scope", scope="` + strings.Join(c.wanted, " ") + `"`
	case code == core.ErrProofOld.Code:
		v += fmt.Sprintf(`, error="%s", error_description="%s", max_age="%d"`, code, e.Message,
			core.ProofAge/time.Second)
	case c.Request.Header.Get("Authorization") != "":
		v += `, error="invalid_token"`
	}
	c.Header().Set("WWW-Authenticate", v)
}

// dialect returns the dialect of the route or, if there is none, of the path's area.
func (c *Call) dialect() Dialect {
	if c.route != nil {
		return c.route.Dialect
	}
	return c.frame.dialectOf(c, c.Request.URL.Path)
}

// writePage responds with an error page.
func (c *Call) writePage(status int, body ErrorBody) {
	if c.frame.options.ErrorPage == nil {
		c.writeJSON(status, body)
		return
	}
	p, err := c.frame.options.ErrorPage(c, status, body)
	if err != nil {
		panic(err)
	}
	c.write(status, "text/html; charset=utf-8", p.Body)
}

func (c *Call) writeJSON(status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	c.write(status, "application/json", append(b, '\n'))
}
