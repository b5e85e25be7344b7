package auth

import (
	"time"

	"newsletterd/core"
)

// Lifetimes of tokens. Config can override the defaults.
const (
	defaultAccessTTL    = 15 * time.Minute     // access and id tokens
	defaultRefreshIdle  = 30 * 24 * time.Hour  // an unused refresh token
	defaultRefreshTotal = 180 * 24 * time.Hour // a family of refresh tokens

	codeTTL     = time.Minute     // an authorization code (RFC 6749 section 4.1.2: at most 10 minutes)
	ownTokenTTL = 2 * time.Minute // the server's token for one of its own requests
)

// Lifetimes of sessions and of sealed tokens, which are stateless.
const (
	BrowserTTL   = 30 * 24 * time.Hour               // maximum for a browser's sign-in, even with constant use
	RequestedTTL = 24 * time.Hour                    // an unsubscribe token that was requested without proof
	UndoTTL      = core.UndoTTLDays * 24 * time.Hour // the undo link after unsubscribing
	ManageTTL    = 24 * time.Hour                    // the link to one's own data
	ViewTTL      = 90 * 24 * time.Hour               // an email or a preview in a browser, from the start of its job
	RecordsTTL   = 7 * 24 * time.Hour                // the DNS records of a sender domain, for their publisher
	DraftTTL     = 14 * 24 * time.Hour               // a draft in a browser, for its reviewers
)

// Intervals for signing keys.
const (
	keyLead   = 24 * time.Hour // from a new key's publication to its first use: relying parties read it in this time
	keyTail   = time.Hour      // from the expiry of a key's last token to the key's removal
	tendEvery = time.Hour      // maximum time between key checks
)
