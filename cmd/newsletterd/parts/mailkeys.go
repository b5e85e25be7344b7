package parts

import (
	"context"

	"newsletterd/auth"
	"newsletterd/mail"
	"newsletterd/store"
	"newsletterd/store/db"
)

// MailKeys creates the identifiers and tokens in emails. A process needs only one.
type MailKeys struct {
	Sealer *auth.Sealer // unsubscribe tokens
	Ident  *mail.Ident  // Message-IDs and return addresses
}

// NewMailKeys reads the keys from the database.
func NewMailKeys(ctx context.Context, s *store.Store) (keys MailKeys, err error) {
	key, err := s.PurposeKey(ctx, db.PurposeUnsubscribe)
	if err != nil {
		return keys, err
	}
	if keys.Sealer, err = auth.NewSealer(key); err != nil {
		return keys, err
	}
	if key, err = s.PurposeKey(ctx, db.PurposeMessageID); err != nil {
		return keys, err
	}
	keys.Ident = mail.NewIdent(key)
	return keys, nil
}
