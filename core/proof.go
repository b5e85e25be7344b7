package core

import "time"

// ProofAge is how long a sign-in, or another proof of who a user is, counts as fresh.
const ProofAge = 15 * time.Minute

// FreshProof reports whether a proof is young enough for what asks for a fresh one.
func FreshProof(at, now Instant) bool { return now.Sub(at) <= ProofAge }
