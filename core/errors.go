package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind says what went wrong in the terms that decide an answer's status. The zero Kind is Internal: an error that no
// one thought of is a 500 whose text stays in the log.
type Kind uint8

// The kinds of error. handlers/web/errors.go holds the only mapping from a Kind to a status.
const (
	Internal Kind = iota
	Invalid
	Unauthenticated
	Forbidden
	NotFound
	Conflict
	TooMany
	Unavailable
	TooLarge
	MediaType
	MethodNotAllowed
	PreconditionFailed   // If-Match names another state than the present one (RFC 9110 section 13.1.1)
	PreconditionRequired // If-Match is missing (RFC 6585 section 3)
)

var kindNames = [...]string{
	"internal", "invalid", "unauthenticated", "forbidden", "not found", "conflict",
	"too many", "unavailable", "too large", "media type", "method not allowed",
	"precondition failed", "precondition required",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is the one error that crosses layers. Kind decides the status, Code is the stable word for
// machines, Message is safe to show to a caller, Field names the faulty input, Err is for the log alone.
// A Message with values in it is set by Sayf, which keeps them for Sentence.
type Error struct {
	Kind    Kind
	Code    string
	Message string
	Field   string
	// Line and Block are where the fault is in the text that Field names, from 1; 0: not known. Line counts lines of the
	// text as its author wrote it, Block the outermost blocks of content of kind blocks.
	Line, Block int
	// RetryAfter, in seconds, goes into the Retry-After header of a 429 or 503; 0 leaves the default.
	RetryAfter int
	// MFARequired reports that the caller must send a code as well; the answer says so in a member of its own.
	MFARequired bool
	// Findings are what keeps a campaign from being approved or sent; the answer holds them.
	Findings []CampaignFinding
	// Changes are what has changed in a campaign since it was looked at; the answer holds them.
	Changes []ContentChange
	Err     error

	format string // of Message, with args; empty where Message holds no values
	args   []any
}

func (e *Error) Error() string {
	s := e.Code
	if s == "" {
		s = e.Kind.String()
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Field != "" {
		s += " (" + e.Field + ")"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether the error has the target's Code, or its Kind where the target has no Code: errors.Is(err,
// ErrNotFound) holds for every "not found".
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok {
		return false
	}
	if t.Code != "" {
		return e.Code == t.Code
	}
	return e.Kind == t.Kind
}

// With returns a copy that carries the cause for the log.
func (e *Error) With(cause error) *Error {
	c := *e
	c.Err = cause
	return &c
}

// On returns a copy that names the faulty field.
func (e *Error) On(field string) *Error {
	c := *e
	c.Field = field
	return &c
}

// Sayf returns a copy that says another message. The values stay known, so that Sentence has them.
func (e *Error) Sayf(format string, args ...any) *Error {
	c := *e
	c.Message, c.format, c.args = fmt.Sprintf(format, args...), format, args
	return &c
}

// Sentence is a message whose values stand apart, so that another language can say it. An argument of Sayf may be a
// Sentence itself.
type Sentence struct {
	Text   string
	Format string // as fmt takes it; empty where Text holds no values
	Args   []any
}

func (s Sentence) String() string { return s.Text }

// Sentence returns the message with its values. A Message that was set after Sayf has none.
func (e *Error) Sentence() Sentence {
	if e.format == "" || e.Message != fmt.Sprintf(e.format, e.args...) {
		return Sentence{Text: e.Message}
	}
	return Sentence{e.Message, e.format, e.args}
}

// Under returns a copy for a field that is a part of another: a member of an object, or an element "[0]" of an array.
// The message names the whole field.
func (e *Error) Under(name string) *Error {
	c, args, format := *e, slices.Clone(e.args), e.format
	if format == "" {
		format = strings.ReplaceAll(e.Message, "%", "%%")
	}
	switch {
	case e.Field == "":
		c.Field = name
		return c.Sayf("%s "+format, slices.Insert(args, 0, any(name))...)
	case e.Field[0] != '[':
		name += "."
	}
	c.Field = name + e.Field
	if strings.HasPrefix(format, "%s") {
		args[0] = fmt.Sprint(name, args[0])
		return c.Sayf(format, args...)
	}
	if i := slices.Index(args, any(e.Field)); i >= 0 {
		args[i] = c.Field
		return c.Sayf(format, args...)
	}
	if rest, ok := strings.CutPrefix(format, e.Field); ok { // so that it is the sentence that names any field
		return c.Sayf("%s"+rest, slices.Insert(args, 0, any(c.Field))...)
	}
	return c.Sayf("%s: "+format, slices.Insert(args, 0, any(c.Field))...)
}

// The sentinels match any error of their kind under errors.Is.
var (
	ErrInternal        = &Error{Kind: Internal}
	ErrInvalid         = &Error{Kind: Invalid}
	ErrUnauthenticated = &Error{Kind: Unauthenticated}
	ErrForbidden       = &Error{Kind: Forbidden}
	ErrNotFound        = &Error{Kind: NotFound}
	ErrConflict        = &Error{Kind: Conflict}
	ErrTooMany         = &Error{Kind: TooMany}
	ErrUnavailable     = &Error{Kind: Unavailable}

	ErrPreconditionFailed = &Error{Kind: PreconditionFailed}
)

// ChangedMeanwhile returns the error of a change to a record that another one has changed since it was read.
func ChangedMeanwhile(by string, at Instant) *Error {
	e := &Error{
		Kind: PreconditionFailed, Code: "changed_meanwhile",
		Changes: []ContentChange{{What: ChangedCampaign, By: by, At: at}},
	}
	return e.Sayf("%s changed this at %s. Read it again before you change it.", by, at)
}

// ErrSecretStands is returned for another secret of a record that has two: a third would end the one in use.
var ErrSecretStands = &Error{
	Kind: Conflict, Code: "conflict",
	Message: "The previous secret is still valid. Revoke it before you create another one.",
}

// Errors with a sharper word, shared by several packages.
var (
	ErrListNotFound = &Error{
		Kind: NotFound, Code: "list_not_found",
		Message: "List not found. It may have been deleted, or you don't have access.",
	}
	ErrListInactive = &Error{
		Kind: Invalid, Code: "list_inactive",
		Message: "The list is inactive and accepts no signups. Activate it first.",
	}
	ErrSubscriptionNotFound = &Error{
		Kind: NotFound, Code: "subscription_not_found",
		Message: "Subscription not found. It may have been deleted, or you don't have access.",
	}
	ErrJobNotFound = &Error{
		Kind: NotFound, Code: "job_not_found",
		Message: "Send job not found. It may have been deleted, or you don't have access.",
	}
	ErrInvalidToken = &Error{
		Kind: Invalid, Code: "invalid_token", Message: "The token is not valid. Request a new one.",
		Field: "token",
	}
	ErrTokenExpired = &Error{
		Kind: Invalid, Code: "token_expired", Message: "The token has expired. Request a new one.",
		Field: "token",
	}
	ErrDuplicateEvent = &Error{
		Kind: Conflict, Code: "duplicate_event",
		Message: "This event was already accepted. Don't send it again.",
	}
	ErrDuplicateBatch = &Error{
		Kind: Conflict, Code: "duplicate_batch",
		Message: "This batch was already accepted. Don't send it again.",
	}
	ErrReplayedNonce = &Error{
		Kind: Conflict, Code: "replayed_nonce",
		Message: "This nonce was already used. Sign each request with a new one.",
	}
	ErrInvalidSignature = &Error{
		Kind: Unauthenticated, Code: "invalid_signature",
		Message: "The signature headers are missing or wrong. Sign the exact bytes of the body.",
	}
	ErrScope = &Error{
		Kind: Forbidden, Code: "insufficient_scope",
		Message: "The token lacks a scope that this operation needs.",
	}
	ErrStorage = &Error{
		Kind: Unavailable, Code: "storage_unavailable",
		Message: "The database is unavailable. Try again soon.",
	}
)

// Invalidf is an Invalid error on one field (code invalid_request).
func Invalidf(field, format string, args ...any) *Error {
	return (&Error{Kind: Invalid, Code: "invalid_request", Field: field}).Sayf(format, args...)
}

// Conflictf is a Conflict with its own code.
func Conflictf(code, format string, args ...any) *Error {
	return (&Error{Kind: Conflict, Code: code}).Sayf(format, args...)
}

// Forbiddenf is a Forbidden error (code forbidden).
func Forbiddenf(format string, args ...any) *Error {
	return (&Error{Kind: Forbidden, Code: "forbidden"}).Sayf(format, args...)
}

// joined returns the errors that are not nil, joined; the error itself where it is the only one.
func joined(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// Faults returns all that are in an error, in their order: those that others are made of are followed, causes are not.
func Faults(err error) (all []*Error) {
	switch e := err.(type) {
	case *Error:
		return []*Error{e}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, Faults(one)...)
		}
	case interface{ Unwrap() error }:
		return Faults(e.Unwrap())
	}
	return all
}

// KindOf returns the Kind of the first Error in the chain; Internal where there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
