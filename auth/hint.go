package auth

import (
	"context"
	"encoding/json"
	"strings"

	jose "github.com/go-jose/go-jose/v4"

	"newsletterd/core"
)

var idAlgs = []jose.SignatureAlgorithm{algRS256, algES256}

// readHint verifies an id token that a client sends as id_token_hint (OpenID Connect Core section 3.1.2.1, RP-Initiated
// Logout section 2). It accepts expired tokens. For a token that this server didn't issue, it returns zero claims and
// no error. An error means that the token could not be checked.
func (p *Provider) readHint(ctx context.Context, token string, now core.Instant) (IDClaims, error) {
	if len(token) > maxJWT || strings.Count(token, ".") != 2 {
		return IDClaims{}, nil
	}
	jws, err := jose.ParseSignedCompact(token, idAlgs)
	if err != nil || len(jws.Signatures) != 1 {
		return IDClaims{}, nil
	}
	h := jws.Signatures[0].Protected
	typ, _ := h.ExtraHeaders[jose.HeaderType].(string)
	if !strings.EqualFold(typ, typID) || h.KeyID == "" {
		return IDClaims{}, nil
	}
	key, err := p.keys.byID(ctx, h.KeyID, now)
	if err != nil || key == nil || h.Algorithm != key.Alg {
		return IDClaims{}, err
	}
	payload, err := jws.Verify(key.public)
	if err != nil {
		return IDClaims{}, nil
	}
	var c IDClaims
	if json.Unmarshal(payload, &c) != nil || c.Issuer != p.Issuer || c.Subject == "" || c.SessionID == "" {
		return IDClaims{}, nil
	}
	return c, nil
}
