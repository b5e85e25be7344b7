package identity

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"time"

	"github.com/google/uuid"

	"newsletterd/core"
	"newsletterd/store/db"
)

// ClientTokenID returns the sid of a new token that a client gets for itself. Such a token has no row, unless it is
// revoked. The second half of its sid is a MAC of the first, so RevokeFamily recognizes it.
func (s *Store) ClientTokenID(ctx context.Context) (string, error) {
	key, err := s.PurposeKey(ctx, db.PurposeClientToken)
	if err != nil {
		return "", err
	}
	var half [8]byte
	rand.Read(half[:])
	return clientTokenID(key, half), nil
}

func clientTokenID(key []byte, half [8]byte) string {
	half[6] = half[6]&0x0f | 0x80 // as core.IDFromBytes sets it
	mac := hmac.New(sha256.New, key)
	mac.Write(half[:])
	return core.IDFromBytes(mac.Sum(half[:]))
}

// isClientTokenID reports whether id was returned by ClientTokenID.
func (s *Store) isClientTokenID(ctx context.Context, id string) (bool, error) {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 8 {
		return false, nil
	}
	key, err := s.PurposeKey(ctx, db.PurposeClientToken)
	return err == nil && clientTokenID(key, [8]byte(u[:8])) == id, err
}

// ClientTokenRevoked reports whether a client's own token was revoked. sid is the id of the token. The only error is
// core.ErrStorage.
func (s *Store) ClientTokenRevoked(ctx context.Context, sid string) (revoked bool, err error) {
	err = s.Get(ctx, &revoked, "SELECT EXISTS (SELECT 1 FROM family WHERE id = ?)", sid)
	return revoked, err
}

// revokedKept is how long the revocation of a client's own token is kept. The token expires within core.MaxAccessTTL.
// The rest allows for a clock that is days ahead for a while, because the row would then be swept before the token
// expires.
const revokedKept = 7 * 24 * time.Hour

// revokeClientToken adds the row that revokes a client's own token.
func revokeClientToken(tx *db.Tx, sid string, now core.Instant) error {
	tx.Kick(db.TopicIdentity)
	_, err := tx.Exec("INSERT INTO family (id, kind, client_id, scope, auth_at, created_at, used_at, expires_at, "+
		"revoked_at) VALUES (?1, '"+core.FamilyClient+"', '', '', ?2, ?2, ?2, ?3, ?2)", sid, int64(now),
		int64(now.Add(revokedKept)))
	return err
}
