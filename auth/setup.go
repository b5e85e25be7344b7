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

// SetupTTL is the lifetime of the setup link, which the first server administrator uses to create an account.
const SetupTTL = time.Hour

// ErrSetupOver is returned if a setup link's token is invalid or has expired, or if the account already exists.
var ErrSetupOver = &core.Error{
	Kind: core.Invalid, Code: "setup_over", Field: "token",
	Message: "The link is no longer valid. If there is no server administrator yet, newsletterd admin setup-link " +
		"prints a new one.",
}

// SetupToken returns the token for the setup link. It is valid for SetupTTL, or until a server administrator exists. If
// one already exists, SetupToken returns identity.ErrOperatorExists.
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

// setupToken returns a token that consists of its expiry and a MAC.
func setupToken(key []byte, until core.Instant) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(until))
	mac := hmac.New(sha256.New, key)
	mac.Write(b)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(b))
}

// CheckSetup returns ErrSetupOver if the token can't create an account.
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

// Setup creates the first server administrator with the token from a setup link. language is the user's; it may be
// empty. Setup returns ErrSetupOver, or an error about name, address or password. Of two concurrent calls, only one
// creates an account.
func (p *Provider) Setup(ctx context.Context, token, name, address, password, language string, now core.Instant,
) error {
	if err := p.CheckSetup(ctx, token, now); err != nil {
		return err
	}
	email, err := core.ParseEmail(address)
	if err != nil {
		return err
	}
	u := core.NewUser(email, now)
	u.Roles, u.Language = []core.Role{{Role: core.RoleOperator}}, language
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
