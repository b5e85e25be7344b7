package auth

import "newsletterd/core"

// The errors of RFC 6749 section 5.2. Their codes are the RFC's words.
var (
	ErrInvalidClient = &core.Error{
		Kind: core.Unauthenticated, Code: "invalid_client",
		Message: "The client is unknown or did not authenticate.",
	}
	ErrInvalidGrant = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant",
		Message: "The grant is not valid, or no longer.",
	}
	ErrInvalidScope = &core.Error{
		Kind: core.Invalid, Code: "invalid_scope",
		Message: "None of the scopes asked for can be given.",
	}
	ErrUnauthorized = &core.Error{
		Kind: core.Invalid, Code: "unauthorized_client",
		Message: "The client may not use this grant.",
	}
	ErrSuspended = &core.Error{
		Kind: core.Invalid, Code: "unauthorized_client",
		Message: "The client's tenant is suspended.",
	}
	ErrUnsupportedGrant = &core.Error{
		Kind: core.Invalid, Code: "unsupported_grant_type",
		Message: "This grant is not offered here.",
	}
)

// ErrBadCredentials is returned when a login failed. It is the same whether or not the user exists.
var ErrBadCredentials = &core.Error{
	Kind: core.Invalid, Code: "invalid_grant",
	Message: "The e-mail address or the password is wrong.",
}

// ErrBadToken is the answer to an access token that is not one of ours, or no longer good (RFC 6750 section 3.1,
// invalid_token).
var ErrBadToken = &core.Error{
	Kind: core.Unauthenticated, Code: "unauthorized",
	Message: "The access token is not valid, or no longer.",
}

// tooMany is a 429 that says when to come back.
func tooMany(message string, now, until core.Instant) error {
	wait := int(until.Sub(now).Seconds()) + 1
	return &core.Error{Kind: core.TooMany, Code: "rate_limited", Message: message, RetryAfter: max(wait, 1)}
}
