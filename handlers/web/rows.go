package web

import "newsletterd/core"

// ExampleID is an id in examples.
const ExampleID = "0198f3a0-5c1e-7c3a-9d52-1f0e6a7b8c9d"

// Refused is an answer to a field, or to the whole where it names none.
func Refused(field, when string) Refusal {
	return Refusal{Kind: core.Invalid, Field: field, When: when}
}

// Coded is Refused with a code of its own.
func Coded(code, field, when string) Refusal {
	return Refusal{Kind: core.Invalid, Code: code, Field: field, When: when}
}

// Clash is an answer to the state of things.
func Clash(when string) Refusal { return Refusal{Kind: core.Conflict, When: when} }

// Clashing is Clash with a code of its own, about a field.
func Clashing(code, field, when string) Refusal {
	return Refusal{Kind: core.Conflict, Code: code, Field: field, When: when}
}

// Refusals of several operations.
var (
	TenantNamed = Refused("tenant_id", "Required if the caller has access to several tenants")
	FixedID     = Refused("id", "This field can't be changed")
	FixedTenant = Refused("tenant_id", "This field can't be changed")
	ThereIsOne  = Clashing("already_exists", "", "The record already exists")
	TwoSecrets  = Clash("The previous secret is still valid: end it first")
	UnusedToken = Coded("invalid_token", "token", "The token is unknown, used, or for another purpose")
	PastToken   = Coded("token_expired", "token", "The token has expired")
	BadEmail    = Coded("invalid_email", "email", "Not a valid email address")
	NotAFile    = Refused("", "The body is missing or is malformed multipart/form-data")
	NoZone      = Refused("time_zone", "Not an IANA time zone")
)

// MaxWrite is the most, in bytes, that one request of the endpoints marked by NeedsRoom writes, files of models
// aside: each page that it changes stands in the -wal.
const MaxWrite = 64 * KiB
