package main

import (
	"context"

	"newsletterd/auth"
	"newsletterd/mail"
	"newsletterd/store"
	"newsletterd/store/db"
)

// mailKeys are what the names and links in mails are made with. A process makes them once.
type mailKeys struct {
	sealer *auth.Sealer // unsubscribe tokens
	ident  *mail.Ident  // Message-IDs and return addresses
}

func newMailKeys(ctx context.Context, s *store.Store) (keys mailKeys, err error) {
	key, err := s.PurposeKey(ctx, db.PurposeUnsubscribe)
	if err != nil {
		return keys, err
	}
	if keys.sealer, err = auth.NewSealer(key); err != nil {
		return keys, err
	}
	if key, err = s.PurposeKey(ctx, db.PurposeMessageID); err != nil {
		return keys, err
	}
	keys.ident = mail.NewIdent(key)
	return keys, nil
}
