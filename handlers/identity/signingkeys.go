package identity

import (
	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/db"
)

// signingKeys serves /api/admin/signing-keys: the keys that tokens are signed with, without their private parts.
type signingKeys struct{ store *store.Store }

// keyRoutes adds the routes for signing keys.
func (r *Room) keyRoutes(t *web.Table) {
	keys := signingKeys{r.Store}
	may := web.Admin(core.ActionKeyManage)
	t.Add("GET", "/api/admin/signing-keys", may, web.Member, web.Get(keys.list),
		"List token signing keys, oldest first").Named("listSigningKeys")
	t.Add("POST", "/api/admin/signing-keys/rotate", may, web.Member,
		web.Get(keys.rotate).Created().Fails(core.Conflict),
		"Create the next signing keys; they take effect tomorrow").Named("rotateSigningKeys").
		Refuses(web.Clash("The next keys already exist"))
}

// signingKey is a signing key as shown to server administrators.
type signingKey struct {
	KID       string       `json:"kid" about:"Key ID, as in the header of tokens"`
	Alg       string       `json:"alg" about:"Signature algorithm: ES256 or RS256"`
	State     string       `json:"state" enum:"next|signs|retired" about:"next: will sign; signs: signs new tokens; retired: only verifies older ones"`
	CreatedAt core.Instant `json:"created_at"`
	ServedBy  core.Instant `json:"served_by" about:"Time by which the key set contains the key"`
	ActiveAt  core.Instant `json:"active_at" about:"Time from which the key signs"`
	RetiredAt core.Instant `json:"retired_at,omitzero" about:"Time from which it no longer signs; absent: not planned"`
	ExpiresAt core.Instant `json:"expires_at,omitzero" about:"Not published from then on; absent: not planned"`
}

func signingKeyRows(keys []core.SigningKey, now core.Instant) []signingKey {
	rows := make([]signingKey, len(keys))
	for i := range keys {
		k := &keys[i]
		rows[i] = signingKey{
			k.KID, k.Alg, k.State(now), k.CreatedAt, k.CreatedAt.Add(auth.KeysEvery), k.ActiveAt, k.RetiredAt, k.ExpiresAt,
		}
	}
	return rows
}

func (a signingKeys) list(c *web.Call) ([]signingKey, error) {
	keys, err := a.store.SigningKeys(c, c.Now)
	return signingKeyRows(keys, c.Now), err
}

// rotate creates the next keys. They are published immediately and sign a day later.
func (a signingKeys) rotate(c *web.Call) ([]signingKey, error) {
	made, err := auth.RotateKeys(db.By(c, web.Actor(c), c.Now), a.store, c.Now)
	if err == nil && len(made) == 0 {
		err = core.Conflictf("conflict", "The next signing keys already exist. They take over automatically.")
	}
	return signingKeyRows(made, c.Now), err
}
