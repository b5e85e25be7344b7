package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind classifies an error and determines the response's HTTP status. The zero Kind is Internal: an unclassified error
// becomes a 500, and its message appears only in the log.
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
	PreconditionFailed   // If-Match does not match the current state (RFC 9110 section 13.1.1)
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

// Error is the only error type that crosses layers. Kind decides the status. Code is a stable word for programs.
// Message is safe to show to a caller, Field names the invalid input, and Err is only logged. If Message contains
// values, set it with Sayf, which keeps them for Sentence.
type Error struct {
	Kind    Kind
	Code    string
	Message string
	Field   string
	// Line and Block locate the error in the text that Field names, counted from 1; 0 means unknown. Line counts the
	// lines that the author wrote. Block counts the outermost blocks if the content's kind is blocks.
	Line, Block int
	// RetryAfter is the value in seconds of the Retry-After header in a 429 or 503; 0 means the default.
	RetryAfter int
	// MFARequired is set if the caller must also send a two-factor code. The response has a separate member for it.
	MFARequired bool
	// Findings are the problems that prevent a campaign from being approved or sent. The response contains them.
	Findings []CampaignFinding
	// Changes lists what changed in a campaign since the caller last read it. The response contains it.
	Changes []ContentChange
	Err     error

	format string // format of Message, used with args; empty if Message contains no values
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

// Is reports whether e and target have the same Code. If target has no Code, it compares the Kind, so errors.Is(err,
// ErrNotFound) is true for every "not found".
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

// With returns a copy of e with a cause for the log.
func (e *Error) With(cause error) *Error {
	c := *e
	c.Err = cause
	return &c
}

// On returns a copy of e with Field set to field.
func (e *Error) On(field string) *Error {
	c := *e
	c.Field = field
	return &c
}

// Sayf returns a copy of e with another message. It keeps the values for Sentence.
func (e *Error) Sayf(format string, args ...any) *Error {
	c := *e
	c.Message, c.format, c.args = fmt.Sprintf(format, args...), format, args
	return &c
}

// Sentence is a message with separate values, so that it can be translated. An argument to Sayf can itself be a
// Sentence.
type Sentence struct {
	Text   string
	Format string // format string for package fmt; empty if Text contains no values
	Args   []any
}

// Say returns a Sentence. It keeps the values, like Sayf.
func Say(format string, args ...any) Sentence {
	return Sentence{Text: fmt.Sprintf(format, args...), Format: format, Args: args}
}

func (s Sentence) String() string { return s.Text }

// Sentence returns the message with its values. If Message was set after Sayf, the Sentence has no values.
func (e *Error) Sentence() Sentence {
	if e.format == "" || e.Message != fmt.Sprintf(e.format, e.args...) {
		return Sentence{Text: e.Message}
	}
	return Sentence{e.Message, e.format, e.args}
}

// Under returns a copy of e for a field nested in another one: an object member, or an array element "[0]". Its message
// names the full path.
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
	if rest, ok := strings.CutPrefix(format, e.Field); ok { // so that any field name gives the same format
		return c.Sayf("%s"+rest, slices.Insert(args, 0, any(c.Field))...)
	}
	return c.Sayf("%s: "+format, slices.Insert(args, 0, any(c.Field))...)
}

// With errors.Is, these sentinels match any error of their kind.
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

// ChangedMeanwhile returns the error for changing a record that another person has changed since the caller read it.
func ChangedMeanwhile(by string, at Instant) *Error {
	e := &Error{
		Kind: PreconditionFailed, Code: "changed_meanwhile",
		Changes: []ContentChange{{What: ChangedCampaign, By: by, At: at}},
	}
	return e.Sayf("%s changed this at %s. Read it again before you change it.", by, at)
}

// ErrSecretStands is returned when a record already has two secrets. A third would invalidate the one in use.
var ErrSecretStands = &Error{
	Kind: Conflict, Code: "conflict",
	Message: "The previous secret is still valid. Revoke it before you create another one.",
}

// Several packages share these errors, which have their own codes.
var (
	ErrListNotFound = &Error{
		Kind: NotFound, Code: "list_not_found",
		Message: "List not found. It may have been deleted, or you don't have access.",
	}
	ErrTagNotFound = &Error{
		Kind: NotFound, Code: "tag_not_found", Message: "Tag not found. It may have been deleted.",
	}
	ErrSegmentNotFound = &Error{
		Kind: NotFound, Code: "segment_not_found",
		Message: "Segment not found. It may have been deleted, or you don't have access.",
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

// Invalidf returns an Invalid error about one field (code invalid_request).
func Invalidf(field, format string, args ...any) *Error {
	return (&Error{Kind: Invalid, Code: "invalid_request", Field: field}).Sayf(format, args...)
}

// Conflictf returns a Conflict error with the given code.
func Conflictf(code, format string, args ...any) *Error {
	return (&Error{Kind: Conflict, Code: code}).Sayf(format, args...)
}

// Forbiddenf returns a Forbidden error (code forbidden).
func Forbiddenf(format string, args ...any) *Error {
	return (&Error{Kind: Forbidden, Code: "forbidden"}).Sayf(format, args...)
}

// joined is like errors.Join, but returns a single non-nil error unchanged.
func joined(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// Faults returns every Error in err, in order. It follows joined and wrapped errors, but not the Err of an Error.
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

// KindOf returns the Kind of the first Error in the chain, or Internal if there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
