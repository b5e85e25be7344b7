// Package dkim signs mails (DomainKeys Identified Mail, RFC 6376) with RSA (RFC 8301) and Ed25519 (RFC 8463).
//
//	key.go        NewKey draws a key and what its DNS record publishes
//	sign.go       Signer puts signatures in front of a message
//	canonical.go  the relaxed forms of header fields and bodies
//
// Invariants:
//
//   - The message itself is not changed: signatures are added in front of it.
//   - From is always signed. Fields that recipients act on are oversigned: adding another one breaks the signature.
//   - The whole body is signed (no l=).
//
// Two verifiers that share no code with this package check the signatures in the tests: go-msgauth and dkimpy.
package dkim
