package auth

import "newsletterd/core"

// The errors defined by RFC 6749 section 5.2, with the RFC's codes.
var (
	ErrInvalidClient = &core.Error{
		Kind: core.Unauthenticated, Code: "invalid_client",
		Message: "The client is unknown, or its authentication failed. Check client_id and client_secret.",
	}
	ErrInvalidGrant = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant",
		Message: "The grant is not valid or has expired. Start the authorization again.",
	}
	ErrInvalidScope = &core.Error{
		Kind: core.Invalid, Code: "invalid_scope",
		Message: "None of the requested scopes can be granted. Request scopes that the client has.",
	}
	ErrUnauthorized = &core.Error{
		Kind: core.Invalid, Code: "unauthorized_client",
		Message: "This client can't use this grant_type. Add it to the client's grant_types.",
	}
	ErrSuspended = &core.Error{
		Kind: core.Invalid, Code: "unauthorized_client",
		Message: "The client's tenant is suspended. Contact the server administrator.",
	}
	ErrUnsupportedGrant = &core.Error{
		Kind: core.Invalid, Code: "unsupported_grant_type",
		Message: "This grant_type is not supported. Use one from the discovery document.",
	}
)

// ErrBadCredentials is returned for a failed login, whether or not the user exists.
var ErrBadCredentials = &core.Error{
	Kind: core.Invalid, Code: "invalid_grant",
	Message: "The email address or password is wrong. Check both and try again.",
}

// ErrBadToken is returned for an access token that this server didn't issue or that is no longer valid (invalid_token
// in RFC 6750 section 3.1).
var ErrBadToken = &core.Error{
	Kind: core.Unauthenticated, Code: "unauthorized",
	Message: "The access token is not valid or has expired. Get a new one.",
}

// tooMany returns a TooMany error (429) that asks the caller to retry at until.
func tooMany(message string, now, until core.Instant) error {
	wait := int(until.Sub(now).Seconds()) + 1
	return &core.Error{Kind: core.TooMany, Code: "rate_limited", Message: message, RetryAfter: max(wait, 1)}
}
