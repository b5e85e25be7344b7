package devices

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// ShareColumns lists the columns of share s and its model m.
const ShareColumns = `s.id, m.id AS model_id, s.user_id, s.email, s.permission, s.created_at`

var errNoUser = &core.Error{
	Kind: core.NotFound, Code: "not_found", Field: "user_id",
	Message: "User not found. Check the email address or ID.",
}

// holderOfUser and holderOfEmail return the value of a share's column holder. An address is stored as a MAC, because
// the search index contains the column and keeps the words of deleted rows for some time.
func holderOfUser(id string) string { return "u" + strings.ReplaceAll(id, "-", "") }

func (s *Store) holderOfEmail(ctx context.Context, email core.Email) (string, error) {
	key, err := s.PurposeKey(ctx, db.PurposeShareEmail)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(email.Key()))
	return "e" + hex.EncodeToString(mac.Sum(nil)[:16]), nil
}

// holders returns the two words that shares use for a caller: one for the user, and one for the user's address. A word
// is empty if the caller has no user id or no verified address.
func (s *Store) holders(ctx context.Context, who core.Caller) (user, email string, err error) {
	if who.UserID == "" {
		return "", "", nil
	}
	if who.EmailVerified && who.Email != "" {
		email, err = s.holderOfEmail(ctx, who.Email)
	}
	return holderOfUser(who.UserID), email, err
}

// AddShare adds a share. If its user doesn't exist, it returns core.ErrNotFound; an address needs no account. If the
// model already has this share, or the maximum number of shares, it returns a Conflict error.
func (s *Store) AddShare(ctx context.Context, sh core.Share, actor string) error {
	holder := holderOfUser(sh.UserID)
	if sh.Email != "" {
		var err error
		if holder, err = s.holderOfEmail(ctx, sh.Email); err != nil {
			return err
		}
	}
	return s.Update(ctx, func(tx *db.Tx) error {
		var no int64
		if err := tx.Get(&no, "SELECT no FROM model WHERE id = ?", sh.ModelID); err != nil {
			return err
		}
		if sh.UserID != "" {
			if err := owner(tx, sh.UserID); errors.Is(err, core.ErrNotFound) {
				return errNoUser
			} else if err != nil {
				return err
			}
		}
		if err := room(tx, "SELECT count(*) FROM share s JOIN model m ON m.no = s.model_no WHERE m.id = ?", sh.ModelID,
			core.MaxShares, "shares per model"); err != nil {
			return err
		}
		if err := tx.Watch("share", sh.ID); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO share (id, model_no, user_id, email, email_key, holder, permission, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			sh.ID, no, sh.UserID, string(sh.Email), sh.Email.Key(), holder, sh.Permission, sh.CreatedAt)
		if err != nil {
			return err
		}
		return tx.Audit(sh.CreatedAt, actor, "share.create", "", sh.ID)
	})
}

// Shares returns a page of a model's shares, sorted by id. The only error is core.ErrStorage.
func (s *Store) Shares(ctx context.Context, modelID string, page core.Page) (shs []core.Share, err error) {
	err = s.All(ctx, &shs, "SELECT "+ShareColumns+" FROM model m CROSS JOIN share s INDEXED BY share_model ON s.model_no "+
		"= m.no WHERE m.id = ? AND s.id > ? ORDER BY s.id LIMIT +?",
		modelID, page.After, page.Limit)
	return shs, err
}

const oneShare = "SELECT " + ShareColumns + " FROM share s JOIN model m ON m.no = s.model_no WHERE s.id = ? AND " +
	"m.id = ?"

// Share returns a share of a model. If the model has no such share, it returns core.ErrNotFound.
func (s *Store) Share(ctx context.Context, modelID, id string) (sh core.Share, err error) {
	err = s.Get(ctx, &sh, oneShare, id, modelID)
	return sh, err
}

// UpdateShare changes a share with rule, which runs inside the transaction, and returns the changed share. If the
// model has no such share, it returns core.ErrNotFound. It also returns the errors of rule.
func (s *Store) UpdateShare(ctx context.Context, modelID, id string, rule func(*core.Share) error) (sh core.Share,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Get(&sh, oneShare, id, modelID); err != nil {
			return err
		}
		if err := rule(&sh); err != nil {
			return err
		}
		return tx.One("UPDATE share SET permission = ? WHERE id = ?", sh.Permission, id)
	})
	return sh, err
}

// DeleteShare removes a share. If the model has no such share, it returns core.ErrNotFound.
func (s *Store) DeleteShare(ctx context.Context, modelID, id, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("share", id); err != nil {
			return err
		}
		err := tx.One("DELETE FROM share WHERE id = ? AND model_no = (SELECT no FROM model WHERE id = ?)", id, modelID)
		if err != nil {
			return err
		}
		return tx.Audit(now, actor, "share.delete", "", id)
	})
}
