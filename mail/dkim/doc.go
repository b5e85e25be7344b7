// Package dkim signs messages (DomainKeys Identified Mail, RFC 6376) with RSA (RFC 8301) and Ed25519 (RFC 8463).
//
//	key.go        NewKey generates a key and the value for its DNS record
//	sign.go       Signer prepends signatures to a message
//	canonical.go  relaxed forms of header fields and bodies
//
// Invariants:
//
//   - The message itself is not changed. Signatures are prepended.
//   - From is always signed. Fields that recipients act on are oversigned: adding another one breaks the signature.
//   - The whole body is signed (no l=).
//
// The tests check the signatures with two verifiers that share no code with this package: go-msgauth and dkimpy.
package dkim
