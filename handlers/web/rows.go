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
	TenantNamed = Refused("tenant_id", "Callers who have not one tenant alone must name one")
	FixedID     = Refused("id", "It can't be changed")
	FixedTenant = Refused("tenant_id", "It can't be changed")
	ThereIsOne  = Clashing("already_exists", "", "There is already such a record")
	TwoSecrets  = Clash("An earlier secret is still good: end it first")
	UnusedToken = Coded("invalid_token", "token", "It is unknown, used, or of another purpose")
	PastToken   = Coded("token_expired", "token", "It has expired")
	BadEmail    = Coded("invalid_email", "email", "It is no address that mail is sent to")
	NoZone      = Refused("time_zone", "The IANA database has no such name")
)

// MaxWrite is the most, in bytes, that one request of the endpoints marked by NeedsRoom writes, files of models
// aside: each page that it changes stands in the -wal.
const MaxWrite = 64 * KiB
