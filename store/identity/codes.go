package identity

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// CodeKept is how long a used or expired authorization code is stored.
const CodeKept = 24 * time.Hour

var (
	codeTable  = db.TableOf[core.AuthCode]("code", nil, nil)
	selectCode = "SELECT " + codeTable.Columns + " FROM code WHERE hash = ?"
)

// ErrCode is returned for an authorization code that is unknown, expired, used or otherwise invalid.
var ErrCode = &core.Error{
	Kind: core.Invalid, Code: "invalid_grant",
	Message: "The code is not valid or has expired. Start the authorization again.",
}

// AddCode stores an authorization code. consent holds the scopes that the user has just granted to the client, if any.
// AddCode adds them to the scopes granted before. The only error is core.ErrStorage.
func (s *Store) AddCode(ctx context.Context, c core.AuthCode, consent []string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if len(consent) > 0 {
			if err := allow(tx, c.UserID, c.ClientID, consent, c.CreatedAt); err != nil {
				return err
			}
		}
		c.UsedAt = 0
		_, err := db.InsertRow(tx, &codeTable, &c)
		return err
	})
}

// CodeClient returns the ID of the client that a code was issued to. It returns ErrCode for an unknown code.
func (s *Store) CodeClient(ctx context.Context, hash []byte) (id string, err error) {
	err = s.Get(ctx, &id, "SELECT client_id FROM code WHERE hash = ?", hash)
	if errors.Is(err, core.ErrNotFound) {
		err = ErrCode
	}
	return id, err
}

// Redemption is the result of exchanging a code: a token family and, optionally, a refresh token.
type Redemption struct {
	Family         core.Family
	RefreshHash    []byte // empty means no refresh token
	RefreshExpires core.Instant
}

// RedeemCode uses up a code and creates its family, in one operation. If the code is valid, rule returns its
// Redemption. If rule returns an error, the code stays unused. If the code was used before, RedeemCode ends the family
// that it was exchanged for (RFC 6749 section 4.1.2), commits that, and returns ErrCode. clientID is the requesting
// client. A replay by another client ends nothing.
func (s *Store) RedeemCode(ctx context.Context, hash []byte, clientID string, now core.Instant,
	rule func(core.AuthCode) (Redemption, error),
) (core.AuthCode, error) {
	var c core.AuthCode
	var refused error
	err := s.Update(ctx, func(tx *db.Tx) error {
		refused = nil
		err := tx.Get(&c, selectCode, hash)
		if errors.Is(err, core.ErrNotFound) {
			return ErrCode
		}
		if err != nil {
			return err
		}
		if c.ClientID != clientID {
			return ErrCode
		}
		if c.UsedAt != 0 {
			refused = ErrCode
			if err := revokeFamily(tx, c.FamilyID, now); !errors.Is(err, core.ErrNotFound) {
				return err
			}
			return nil
		}
		return redeem(tx, c, now, rule)
	})
	return c, errors.Join(err, refused)
}

func redeem(tx *db.Tx, c core.AuthCode, now core.Instant, rule func(core.AuthCode) (Redemption, error)) error {
	var epoch int64
	err := tx.Get(&epoch, "SELECT epoch FROM user WHERE id = ? AND disabled_at = 0", c.UserID)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	if err != nil || epoch != c.Epoch || c.ExpiresAt <= now {
		return ErrCode
	}
	r, err := rule(c)
	if err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE code SET used_at = ? WHERE hash = ?", now, c.Hash); err != nil {
		return err
	}
	if err := addFamily(tx, r.Family); err != nil {
		return err
	}
	if len(r.RefreshHash) == 0 {
		return nil
	}
	return insertRefresh(tx, r.RefreshHash, r.Family.ID, now, r.RefreshExpires)
}
