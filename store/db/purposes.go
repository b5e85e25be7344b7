package db

// The purposes of the keys that PurposeKey returns. The database stores the names, so they never change.
const (
	PurposeClientToken    = "client-token"    // sids of clients' own tokens
	PurposeCursor         = "cursor"          // cursors of pages
	PurposeMailToken      = "mail-token"      // confirmation tokens, which are emailed and returned
	PurposeMessageID      = "message-id"      // Message-IDs and return addresses
	PurposePasskey        = "passkey"         // challenges that passkeys sign
	PurposeSetup          = "setup"           // links that the first server administrator uses to create an account
	PurposeShareEmail     = "share-email"     // addresses that models are shared with
	PurposeSubscriptionID = "subscription-id" // ids of subscriptions
	PurposeUnsubscribe    = "unsubscribe"     // unsubscribe tokens
)
