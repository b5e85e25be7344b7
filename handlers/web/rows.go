package web

import "newsletterd/core"

// ExampleID is the id used in examples.
const ExampleID = "0198f3a0-5c1e-7c3a-9d52-1f0e6a7b8c9d"

// Refused returns the refusal for an invalid field, or for the whole body if field is empty.
func Refused(field, when string) Refusal {
	return Refusal{Kind: core.Invalid, Field: field, When: when}
}

// Coded is like Refused, with a specific error code.
func Coded(code, field, when string) Refusal {
	return Refusal{Kind: core.Invalid, Code: code, Field: field, When: when}
}

// Clash returns the refusal for a request that conflicts with the current state.
func Clash(when string) Refusal { return Refusal{Kind: core.Conflict, When: when} }

// Clashing is like Clash, with a specific error code and a field.
func Clashing(code, field, when string) Refusal {
	return Refusal{Kind: core.Conflict, Code: code, Field: field, When: when}
}

// Refusals that several operations have in common.
var (
	TenantNamed = Refused("tenant_id", "Required if the caller has access to several tenants")
	FixedID     = Refused("id", "This field can't be changed")
	FixedTenant = Refused("tenant_id", "This field can't be changed")
	ThereIsOne  = Clashing("already_exists", "", "The record already exists")
	TwoSecrets  = Clash("The previous secret is still valid: revoke it first")
	UnusedToken = Coded("invalid_token", "token", "The token is unknown, used, or for another purpose")
	PastToken   = Coded("token_expired", "token", "The token has expired")
	BadEmail    = Coded("invalid_email", "email", "Not a valid email address")
	NotAFile    = Refused("", "The body is missing or is malformed multipart/form-data")
	NoZone      = Refused("time_zone", "Not an IANA time zone")
)

// MaxWrite is the maximum number of bytes that one request to a NeedsRoom endpoint writes, not counting model files.
// Each changed page occupies space in the -wal file.
const MaxWrite = 64 * KiB
