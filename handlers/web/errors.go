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

// Dialect is the form in which a route answers errors.
type Dialect byte

// The dialects. A page answers people, the others programs.
const (
	Member Dialect = 'm' // {error, message, request_id}
	Send   Dialect = 's' // {error, message, reason, request_id}; Invalid is 422
	OAuth  Dialect = 'o' // {error, error_description, …} with the words of RFC 6749
	Device Dialect = 'd' // the member form and code
	Page   Dialect = 'p' // HTML
	// Console is HTML that no document describes: pages for people alone, made of the operations of the other routes
	Console Dialect = 'c'
)

// kindInfo is what a kind of error becomes where the error itself says nothing sharper.
type kindInfo struct {
	status  int
	code    string
	oauth   string // RFC 6749 sections 4.1.2.1 and 5.2
	message string
}

// kinds is the only mapping from an error to a status.
var kinds = map[core.Kind]kindInfo{
	core.Invalid:         {400, "invalid_request", "invalid_request", "The request is not valid. Check its values."},
	core.Unauthenticated: {401, "unauthorized", "invalid_client", "A valid access token is required."},
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
		"The request conflicts with the current state. Read it again, then retry.",
	},
	core.TooMany: {429, "rate_limited", "rate_limited", "Too many requests. Try again later."},
	core.Unavailable: {
		503, "storage_unavailable", "temporarily_unavailable",
		"The service is unavailable. Try again soon.",
	},
	core.TooLarge: {413, "payload_too_large", "invalid_request", "The body is too large. Send less at once."},
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

// Retry-After in seconds where the error names none.
const (
	retryTooMany     = 60
	retryUnavailable = 2
)

// Errors of the frame that endpoints return too: 404 for a record, 404 for a path, 503 and 429.
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

// MessageOf returns the message of a kind of error where the error itself says nothing sharper.
func MessageOf(kind core.Kind) string { return kinds[kind].message }

// notFound is the answer for a path parameter that can't be the id of anything.
func (c *Call) notFound() error {
	if c.route.Do.missing != nil {
		return c.route.Do.missing
	}
	return ErrNotFound
}

// ErrorBody is the answer to a failed request, in every dialect but pages.
type ErrorBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description,omitempty"`
	Message     string `json:"message"`
	Code        string `json:"code,omitempty"`
	Field       string `json:"field,omitempty"`
	Reason      string `json:"reason,omitempty"`
	MFARequired bool   `json:"mfa_required,omitempty"` // the account has a second factor, and no code was sent
	RequestID   string `json:"request_id"`

	Findings []core.CampaignFinding `json:"findings,omitempty"` // why a campaign can't be approved or sent
	Changes  []core.ContentChange   `json:"changes,omitempty"`  // in a campaign since it was looked at, and by whom

	Said core.Sentence `json:"-"` // the message, for pages in other languages
}

// asError finds the error that is to be told, and gives one to errors that are none of ours.
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

// statusGone is what the log and the metrics say of a client that left before its answer, as web servers do. No one
// gets it as an answer.
const statusGone = 499

// left reports whether an error is there because the client left.
func (c *Call) left(err error) bool {
	return c.Request.Context().Err() != nil && errors.Is(err, context.Canceled)
}

// StatusOf returns the status that an error has in a dialect.
func StatusOf(d Dialect, kind core.Kind) int {
	if d == Send && kind == core.Invalid {
		return http.StatusUnprocessableEntity
	}
	return kinds[kind].status
}

// fail answers an error in the form of the route's area.
func (c *Call) fail(err error) {
	if behind := c.acknowledge(); behind != nil { // the error may tell of what was done before
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

// RetryAfter says when to come back, where that helps.
func (c *Call) RetryAfter(e *core.Error) {
	switch e.Kind {
	case core.TooMany:
		c.Header().Set("Retry-After", strconv.Itoa(cmp.Or(e.RetryAfter, retryTooMany)))
	case core.Unavailable:
		c.Header().Set("Retry-After", strconv.Itoa(cmp.Or(e.RetryAfter, retryUnavailable)))
	}
}

// sendWords brings an answer into the form of the send service, where everything that is wrong with
// a request has one word and the field is the reason.
func sendWords(b *ErrorBody) {
	switch b.Error {
	case "invalid_request", "invalid_email", "invalid_json":
		b.Error = "validation_error"
	}
	b.Reason, b.Field = b.Field, ""
}

// oauthWords brings an answer into the form of RFC 6749 section 5.2. Errors that auth makes carry the
// RFC's own code and pass; the words of other layers are replaced by the RFC's.
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

// describable keeps the characters that error_description may hold (RFC 6749 section 5.2).
func describable(r rune) rune {
	if r < 0x20 || r > 0x7e || r == '"' || r == '\\' {
		return '\''
	}
	return r
}

// challenge sets WWW-Authenticate: on the routes that take a bearer token as RFC 6750 section 3 has it, where an error
// is named only when a token was given. Signed requests know no scheme of HTTP; but a 401 carries a challenge (RFC 9110
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

// dialect is that of the route, or of the area that the path lies in.
func (c *Call) dialect() Dialect {
	if c.route != nil {
		return c.route.Dialect
	}
	return c.frame.dialectOf(c, c.Request.URL.Path)
}

// writePage answers an error by a page.
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
