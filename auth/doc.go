// Package auth proves who is who: passwords, tokens, signing keys, signatures. It knows OAuth 2.0 and
// OpenID Connect, and no HTTP type: handlers hand it values and write down what it returns.
//
// # Rooms
//
//	signature.go    webhooks signed and verified (timestamp, nonce, body)
//	seal.go         tokens that nothing is stored for: XChaCha20-Poly1305
//	unsubscribe.go  the sealed unsubscribe and undo tokens
//
// # Decisions
//
// 2026-11-21 Sealed tokens are deterministic: the nonce is HMAC-SHA256 of purpose and plaintext under a
// key of its own, cut to 24 bytes. A mail that goes out again after a crash must have the same bytes;
// random nonces would need a row per mail. Cost: equal plaintexts give equal tokens, which tells nothing
// here, for each plaintext names one mail or one request. Rejected: AES-GCM-SIV (no implementation in Go's
// standard library or x/crypto).
//
// 2026-11-21 An undo token has another purpose byte (authenticated data), not only another kind: code
// that forgets to look at the kind still cannot take one for the other.
//
// 2026-11-21 A webhook header that is given twice is refused, not joined: a proxy and we could read
// different values.
package auth
