package db

// Purposes of the keys that PurposeKey returns. A name stands in the database, so it never changes.
const (
	PurposeCursor         = "cursor"          // cursors of pages
	PurposeMailToken      = "mail-token"      // confirm tokens, mailed and answered
	PurposeMessageID      = "message-id"      // Message-IDs and return addresses
	PurposePasskey        = "passkey"         // challenges that passkeys sign
	PurposeSetup          = "setup"           // links by which the first operator makes an account
	PurposeShareEmail     = "share-email"     // addresses that models are shared with
	PurposeSubscriptionID = "subscription-id" // ids of subscriptions
	PurposeUnsubscribe    = "unsubscribe"     // unsubscribe tokens
)
