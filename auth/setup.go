package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/identity"
)

// SetupTTL is how long the link is good by which the first operator makes an account.
const SetupTTL = time.Hour

// ErrSetupOver is returned for the token of such a link that is not good any more, or never was: the account is there,
// or the time is up.
var ErrSetupOver = &core.Error{
	Kind: core.Invalid, Code: "setup_over", Field: "token",
	Message: "The link is no longer valid. Until the first server administrator exists, newsletterd admin " +
		"setup-link prints a new one.",
}

// SetupToken returns the token of the link by which the first operator makes an account. It is good for SetupTTL, and
// until there is an operator. It returns store.ErrOperatorExists where there is one.
func SetupToken(ctx context.Context, s *store.Store, now core.Instant) (string, error) {
	if err := s.NoOperator(ctx); err != nil {
		return "", err
	}
	key, err := s.PurposeKey(ctx, db.PurposeSetup)
	if err != nil {
		return "", err
	}
	return setupToken(key, now.Add(SetupTTL)), nil
}

// setupToken returns the end of the token's time, and its MAC.
func setupToken(key []byte, until core.Instant) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(until))
	mac := hmac.New(sha256.New, key)
	mac.Write(b)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(b))
}

// CheckSetup returns ErrSetupOver for a token that makes no account.
func (p *Provider) CheckSetup(ctx context.Context, token string, now core.Instant) error {
	key, err := p.store.PurposeKey(ctx, db.PurposeSetup)
	if err != nil {
		return err
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) != 8+sha256.Size {
		return ErrSetupOver
	}
	until := core.Instant(binary.BigEndian.Uint64(b))
	if !hmac.Equal([]byte(setupToken(key, until)), []byte(token)) || until < now {
		return ErrSetupOver
	}
	if err := p.store.NoOperator(ctx); err != nil {
		if core.KindOf(err) == core.Conflict {
			return ErrSetupOver
		}
		return err
	}
	return nil
}

// Setup makes the first operator with the token of a link. It returns ErrSetupOver, and what is wrong with name,
// address or password; of two at once one makes the account.
func (p *Provider) Setup(ctx context.Context, token, name, address, password string, now core.Instant) error {
	if err := p.CheckSetup(ctx, token, now); err != nil {
		return err
	}
	email, err := core.ParseEmail(address)
	if err != nil {
		return err
	}
	u := core.NewUser(email, now)
	u.Roles = []core.Role{{Role: core.RoleOperator}}
	if name != "" {
		u.Name = name
	}
	if err := u.Validate(); err != nil {
		return err
	}
	hash, err := p.NewPassword(ctx, "password", password)
	if err != nil {
		return err
	}
	err = p.store.AddFirstOperator(ctx, u, hash, now)
	if errors.Is(err, identity.ErrOperatorExists) {
		return ErrSetupOver
	}
	return err
}
