package auth

import (
	"time"

	"newsletterd/core"
)

// How long what this package issues is good for. The lifetimes that an operator sets (Config) have these defaults.
const (
	defaultAccessTTL    = 15 * time.Minute     // access and id tokens
	defaultRefreshIdle  = 30 * 24 * time.Hour  // a refresh token that is not used
	defaultRefreshTotal = 180 * 24 * time.Hour // a family of refresh tokens

	codeTTL     = time.Minute     // an authorization code (RFC 6749 section 4.1.2: 10 minutes at most)
	ownTokenTTL = 2 * time.Minute // the daemon's token for one request of its own
)

// Lifetimes of sessions and of sealed tokens, for which nothing is stored.
const (
	BrowserTTL   = 30 * 24 * time.Hour               // the longest that a browser stays signed in, however much it is used
	RequestedTTL = 24 * time.Hour                    // an unsubscribe token that was asked for without proof
	UndoTTL      = core.UndoTTLDays * 24 * time.Hour // how long an unsubscribing can be taken back
	ManageTTL    = 24 * time.Hour                    // the link to one's own data
	ViewTTL      = 90 * 24 * time.Hour               // a mail or a preview in a browser, from the start of its job on
	RecordsTTL   = 7 * 24 * time.Hour                // the records of a sender domain, for who keeps them
	DraftTTL     = 14 * 24 * time.Hour               // a draft in a browser, for those who are to look at it
)

// Times of signing keys.
const (
	keyLead   = 24 * time.Hour // a new key is published as long before it signs: every relying party reads it meanwhile
	keyTail   = time.Hour      // a key stays published as long after the last token that it signed has expired
	tendEvery = time.Hour      // the longest pause between two looks at the keys
)
