package identity

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

type clientRow struct {
	ID         string `db:"cid"`
	TenantID   string `db:"client_tenant"`
	Type       string `db:"client_type"`
	Scopes     string `db:"client_scopes"`
	GrantTypes string `db:"grant_types"`
	AuthMethod string `db:"auth_method"`
	IDTokenAlg string `db:"id_token_alg"`
	IDClaims   bool   `db:"id_token_claims"`
	SecretHash []byte `db:"secret_hash"`
	OldHash    []byte `db:"old_secret_hash"`
	OldUntil   int64  `db:"old_secret_until"`
	FirstParty bool   `db:"first_party"`
	Suspended  bool   `db:"suspended"`
	Disabled   bool   `db:"client_disabled"`
	Epoch      int64  `db:"client_epoch"`
}

func (c clientRow) client() (core.TokenClient, error) {
	t := core.TokenClient{
		ID: c.ID, TenantID: c.TenantID, Confidential: c.Type == "confidential",
		AuthMethod: c.AuthMethod, IDTokenAlg: c.IDTokenAlg, IDTokenClaims: c.IDClaims, SecretHash: c.SecretHash,
		FirstParty: c.FirstParty,
		Suspended:  c.Suspended, Disabled: c.Disabled, OldSecretHash: c.OldHash, OldSecretUntil: core.Instant(c.OldUntil),
		Epoch: c.Epoch,
	}
	return t, errors.Join(json.Unmarshal([]byte(c.Scopes), &t.Scopes),
		json.Unmarshal([]byte(c.GrantTypes), &t.GrantTypes))
}

const tokenClientColumns = `coalesce(c.tenant_id, '') AS client_tenant, coalesce(c.client_type, 'public') AS client_type,
	coalesce(c.scopes, '[]') AS client_scopes, coalesce(c.grant_types, '[]') AS grant_types,
	coalesce(c.token_endpoint_auth_method, '') AS auth_method,
	coalesce(c.id_token_signed_response_alg, 'RS256') AS id_token_alg,
	coalesce(c.id_token_claims, 0) AS id_token_claims, coalesce(c.secret_hash, x'') AS secret_hash,
	coalesce(c.old_secret_hash, x'') AS old_secret_hash, coalesce(c.old_secret_until, 0) AS old_secret_until,
	coalesce(c.first_party, 0) AS first_party,
	coalesce(t.status, '') = 'suspended' AS suspended, coalesce(c.disabled_at, 0) > 0 AS client_disabled,
	coalesce(c.epoch, 0) AS client_epoch`

// roleCounts is the SQL condition for a role that grants rights. Pending roles, and roles in suspended or deleted
// tenants, grant none.
const roleCounts = "pending = 0 AND NOT EXISTS (SELECT 1 FROM tenant WHERE tenant.id = role.tenant_id AND " +
	"(tenant.status = 'suspended' OR tenant.deleted_at > 0))"

const selectTokenClient = "SELECT c.id AS cid, " + tokenClientColumns + ` FROM client c LEFT JOIN tenant t ON
	t.id = c.tenant_id WHERE c.id = ? AND c.deleted_at = 0 AND coalesce(t.deleted_at, 0) = 0`

// TokenClient returns a registered client. If it doesn't exist, or it or its tenant was deleted, TokenClient returns
// core.ErrNotFound.
func (s *Store) TokenClient(ctx context.Context, id string) (core.TokenClient, error) {
	var row clientRow
	err := s.Get(ctx, &row, selectTokenClient, id)
	if err != nil {
		return core.TokenClient{}, err
	}
	return row.client()
}

type stateRow struct {
	core.Family
	clientRow
	ClientOK  bool
	Email     string
	Verified  bool
	UserEpoch int64 // -1 if there is no such user
	Disabled  int64
	Roles     string // "role tenant" pairs, separated by commas
}

// places returns the scan destinations for the columns of familyState, in order. This row is read often, and scanning
// by position is faster than by name.
func (r *stateRow) places() []any {
	f := &r.Family
	return []any{
		&f.ID, &f.Kind, &f.UserID, &f.ClientID, &f.TenantID, &f.Scope, &f.Epoch, &f.AMR, &f.Remote, &f.UserAgent,
		&f.BrowserID,
		&f.AuthAt, &f.CreatedAt, &f.UsedAt, &f.ExpiresAt, &f.RevokedAt, &f.Claims,
		&r.Email, &r.Verified, &r.UserEpoch, &r.Disabled, &r.Roles,
	}
}

// clientPlaces returns the scan destinations for the columns of clientState, in order.
func (r *stateRow) clientPlaces() []any {
	c := &r.clientRow
	return []any{
		&c.TenantID, &c.Type, &c.Scopes, &c.GrantTypes, &c.AuthMethod, &c.IDTokenAlg, &c.IDClaims, &c.SecretHash, &c.OldHash,
		&c.OldUntil,
		&c.FirstParty, &c.Suspended, &c.Disabled, &c.Epoch,
		&r.ClientOK,
	}
}

// FamilyColumns lists the columns of the table family with the alias f.
const FamilyColumns = "f.id, f.kind, f.user_id, f.client_id, f.tenant_id, f.scope, f.epoch, f.amr, f.remote, " +
	"f.user_agent, f.browser_id, f.auth_at, f.created_at, f.used_at, f.expires_at, f.revoked_at, f.claims"

const (
	familyState = FamilyColumns + `, coalesce(u.email, '') AS email, coalesce(u.email_verified, 0) AS email_verified,
	coalesce(u.epoch, -1) AS user_epoch, coalesce(u.disabled_at, 0) AS disabled_at,
	coalesce((SELECT group_concat(role || ' ' || tenant_id) FROM role WHERE user_id = f.user_id AND ` + roleCounts + `),
	'') AS roles`
	clientState = tokenClientColumns + `,
	f.client_id = 'newsletterd' OR (c.id IS NOT NULL AND c.deleted_at = 0 AND coalesce(t.deleted_at, 0) = 0) AS
	client_ok`
	tokenState = "SELECT " + familyState + ", " + clientState + ` FROM family f LEFT JOIN user u ON u.id = f.user_id
	LEFT JOIN client c ON c.id = f.client_id LEFT JOIN tenant t ON t.id = c.tenant_id WHERE f.id = ?`
	ofRefresh = ` FROM refresh x JOIN family f ON f.id = x.family_id LEFT JOIN user u ON u.id = f.user_id
	WHERE x.hash = ?`

	refreshState = "SELECT " + familyState + ofRefresh
	rotatedState = "SELECT " + familyState + ", x.used_at, x.expires_at, x.successor" + ofRefresh
)

// state returns the state of the family's tokens. ok is false if the client doesn't exist or was deleted.
func (r *stateRow) state(client core.TokenClient, ok bool, now core.Instant) core.TokenState {
	if client.TenantID == "" {
		client.TenantID = r.Family.TenantID
	}
	t := core.TokenState{Family: r.Family, Email: core.Email(r.Email), EmailVerified: r.Verified, Client: client}
	if r.Roles != "" {
		for text := range strings.SplitSeq(r.Roles, ",") {
			role, tenant, _ := strings.Cut(text, " ")
			t.Roles = append(t.Roles, core.Role{Role: role, TenantID: tenant})
		}
	}
	userOK := r.UserID == "" || r.userOK()
	t.Live = r.RevokedAt == 0 && r.ExpiresAt > now && ok && userOK && !client.Suspended && !client.Disabled
	return t
}

// userOK reports whether the family's user exists, is enabled and has the same epoch.
func (r *stateRow) userOK() bool { return r.UserEpoch == r.Family.Epoch && r.Disabled == 0 }

// TokenState returns the state of a family by its id (sid). If no such family exists, it returns core.ErrNotFound.
func (s *Store) TokenState(ctx context.Context, sid string, now core.Instant) (core.TokenState, error) {
	var row stateRow
	err := s.Scan(ctx, tokenState, sid, append(row.places(), row.clientPlaces()...)...)
	if err != nil {
		return core.TokenState{}, err
	}
	row.clientRow.ID = row.Family.ClientID
	client, err := row.client()
	return row.state(client, row.ClientOK, now), err
}

// RefreshState returns the state of the family that a refresh token belongs to, even if the token was used. If no
// such token exists, it returns core.ErrNotFound. It calls clientOf for the client, because callers keep clients in
// memory. clientOf returns core.ErrNotFound for a client that doesn't exist or was deleted.
func (s *Store) RefreshState(ctx context.Context, refreshHash []byte, now core.Instant,
	clientOf func(ctx context.Context, id string) (core.TokenClient, error),
) (core.TokenState, error) {
	var row stateRow
	err := s.Scan(ctx, refreshState, refreshHash, row.places()...)
	if err != nil {
		return core.TokenState{}, err
	}
	client, err := clientOf(ctx, row.Family.ClientID)
	ok := err == nil
	if errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return row.state(client, ok, now), err
}

// AddFamily adds a family without a refresh token, for the daemon's own tokens or the command line. The only error is
// core.ErrStorage.
func (s *Store) AddFamily(ctx context.Context, f core.Family) error {
	return s.UpdateRepeatable(ctx, func(tx *db.Tx) error { return addFamily(tx, f) })
}

// insertFamily inserts a family. If the client was disabled after the request was authenticated, the family is
// revoked from the start. Otherwise its tokens would become valid when the client is enabled again.
const insertFamily = `INSERT INTO family (id, kind, user_id, client_id, tenant_id, scope, epoch, amr, remote, user_agent,
	browser_id, auth_at, created_at, used_at, expires_at, claims, revoked_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
	?10, ?11, ?12, ?13, ?13, ?14, ?15, iif(EXISTS (SELECT 1 FROM client WHERE id = ?4 AND disabled_at > 0), ?13, 0))`

func addFamily(tx *db.Tx, f core.Family) error {
	_, err := tx.Exec(insertFamily,
		f.ID, f.Kind, f.UserID, f.ClientID, f.TenantID, f.Scope, f.Epoch, f.AMR, f.Remote, f.UserAgent, f.BrowserID,
		int64(f.AuthAt), int64(f.CreatedAt), int64(f.ExpiresAt), f.Claims)
	return err
}

func insertRefresh(tx *db.Tx, hash []byte, familyID string, now, expires core.Instant) error {
	_, err := tx.Exec("INSERT INTO refresh (hash, family_id, created_at, expires_at) VALUES (?, ?, ?, ?)", hash,
		familyID, int64(now), int64(expires))
	return err
}

// Families returns a user's live families, newest first. The only error is core.ErrStorage.
func (s *Store) Families(ctx context.Context, userID string, now core.Instant) ([]core.Family, error) {
	var f []core.Family
	err := s.All(ctx, &f, "SELECT "+FamilyColumns+` FROM family f JOIN user u ON u.id = f.user_id
		WHERE f.user_id = ? AND f.revoked_at = 0 AND f.expires_at > ? AND f.epoch = u.epoch ORDER BY f.created_at DESC,
		f.id`, userID, int64(now))
	return f, err
}

// RevokeFamily ends a family and all its tokens. A family that has ended stays unchanged. The id can also be that of a
// client's own token. If there is neither, RevokeFamily returns core.ErrNotFound.
func (s *Store) RevokeFamily(ctx context.Context, id string, now core.Instant) error {
	own, err := s.isClientTokenID(ctx, id)
	if err != nil {
		return err
	}
	return s.Update(ctx, s.ByActor(ctx, "token.revoke", "", id, func(tx *db.Tx) error {
		var ended core.Instant
		err := tx.Get(&ended, "SELECT revoked_at FROM family WHERE id = ?", id)
		if own && errors.Is(err, core.ErrNotFound) {
			tx.Tell("revoked_at", nil, now)
			return revokeClientToken(tx, id, now)
		}
		if err != nil {
			return err
		}
		if ended == 0 {
			tx.Tell("revoked_at", nil, now)
		}
		return revokeFamily(tx, id, now)
	}))
}

func revokeFamily(tx *db.Tx, id string, now core.Instant) error {
	tx.Kick(db.TopicIdentity)
	return tx.One("UPDATE family SET revoked_at = CASE WHEN revoked_at = 0 THEN ? ELSE revoked_at END WHERE id = ?",
		int64(now), id)
}

// RevokeRefresh ends the family of a refresh token, used or not, if it belongs to the user. It ignores unknown tokens
// and those of other users. The only error is core.ErrStorage.
func (s *Store) RevokeRefresh(ctx context.Context, refreshHash []byte, userID string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var id string
		err := tx.Get(&id, "SELECT f.id FROM refresh x JOIN family f ON f.id = x.family_id WHERE x.hash = ? AND "+
			"f.user_id = ? AND f.user_id <> ''", refreshHash, userID)
		if errors.Is(err, core.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return revokeFamily(tx, id, now)
	})
}

// RefreshOutcome is the result of using a refresh token.
type RefreshOutcome uint8

// The outcomes. RefreshReplayed means that the token was replayed and the family has ended.
const (
	RefreshRefused RefreshOutcome = iota
	RefreshRotated
	RefreshRepeated // used again within the grace period; the successor is the earlier one, still unused
	RefreshReplayed
)

// Rotation is a request to replace a refresh token with a successor.
type Rotation struct {
	Hash          []byte
	SuccessorHash []byte
	Sealed        []byte // successor, sealed under the old token
	Grace         time.Duration
	Idle          time.Duration // lifetime of the successor; the family's end may shorten it
	// Client is the client that the caller has in memory. If the family has a different client, that client is read.
	Client core.TokenClient
	// Admit decides from the state of the token's family whether the request may use the token. It runs inside the
	// operation.
	Admit func(core.TokenState) error
}

// RotateRefresh uses up a refresh token and replaces it with its successor. If calls run in parallel, only the first
// replaces the token. The others get the sealed form of the same successor. So do later calls within the grace period,
// as long as the successor is unused. Any later use of the old token is a replay, which ends the family. out is the
// result. If no such token exists, the error is core.ErrNotFound. If r.Admit returns an error, RotateRefresh returns it
// and uses up nothing.
func (s *Store) RotateRefresh(ctx context.Context, r Rotation, now core.Instant) (out RefreshOutcome, sealed []byte,
	err error,
) {
	var refused error // an error of the operation would roll back the others of its commit
	err = s.UpdateRepeatable(ctx, func(tx *db.Tx) (err error) {
		out, sealed, refused = RefreshRefused, nil, nil
		var row refreshRow
		err = tx.Scan(rotatedState, []any{r.Hash}, append(row.places(), &row.Used, &row.Expires, &row.Successor)...)
		if errors.Is(err, core.ErrNotFound) {
			refused = core.ErrNotFound
			return nil
		}
		if err != nil {
			return err
		}
		st, err := row.stateIn(tx, r.Client, now)
		if err != nil {
			return err
		}
		if refused = r.Admit(st); refused == nil && st.Live {
			out, sealed, err = rotate(tx, &row, r, now)
		}
		return err
	})
	return out, sealed, errors.Join(err, refused)
}

// refreshRow is a refresh token with its family.
type refreshRow struct {
	stateRow
	Used, Expires core.Instant
	Successor     []byte // hash of the successor, followed by the sealed token
}

// stateIn returns the state of the family's tokens. Unless the client is known, it reads the client inside the
// operation.
func (r *refreshRow) stateIn(tx *db.Tx, known core.TokenClient, now core.Instant) (core.TokenState, error) {
	if r.Family.ClientID == known.ID {
		return r.state(known, true, now), nil
	}
	var row clientRow
	err := tx.Get(&row, selectTokenClient, r.Family.ClientID)
	if errors.Is(err, core.ErrNotFound) {
		return r.state(core.TokenClient{}, false, now), nil
	}
	if err != nil {
		return core.TokenState{}, err
	}
	client, err := row.client()
	return r.state(client, true, now), err
}

// rotate replaces an unused token of a live family with its successor, and passes a used token to reuse. For an expired
// token, it returns RefreshRefused.
func rotate(tx *db.Tx, row *refreshRow, r Rotation, now core.Instant) (RefreshOutcome, []byte, error) {
	switch {
	case row.Used != 0:
		return reuse(tx, row, r, now)
	case row.Expires <= now:
		return RefreshRefused, nil, nil
	}
	successor := append(append([]byte{}, r.SuccessorHash...), r.Sealed...)
	err := tx.One("UPDATE refresh SET used_at = ?, successor = ? WHERE hash = ?", int64(now), successor, r.Hash)
	if err != nil {
		return RefreshRefused, nil, err
	}
	err = insertRefresh(tx, r.SuccessorHash, row.Family.ID, now, min(now.Add(r.Idle), row.ExpiresAt))
	if err != nil {
		return RefreshRefused, nil, err
	}
	return RefreshRotated, r.Sealed, tx.One("UPDATE family SET used_at = ? WHERE id = ?", int64(now), row.Family.ID)
}

// reuse handles a used token. Within the grace period, it returns the successor. Otherwise it ends the family.
func reuse(tx *db.Tx, row *refreshRow, r Rotation, now core.Instant) (RefreshOutcome, []byte, error) {
	const hashSize = 32
	if row.Used.Add(r.Grace) > now && len(row.Successor) > hashSize {
		var unused bool
		err := tx.Get(&unused, "SELECT used_at = 0 FROM refresh WHERE hash = ?", row.Successor[:hashSize])
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return RefreshRefused, nil, err
		}
		if unused {
			return RefreshRepeated, row.Successor[hashSize:], nil
		}
	}
	return RefreshReplayed, nil, revokeFamily(tx, row.Family.ID, now)
}

// RefreshLife returns when a refresh token expires, or 0 if it was used or has expired. It doesn't check the family. If
// no such token exists, it returns core.ErrNotFound.
func (s *Store) RefreshLife(ctx context.Context, hash []byte, now core.Instant) (until core.Instant, err error) {
	err = s.Get(ctx, &until, "SELECT CASE WHEN used_at = 0 AND expires_at > ? THEN expires_at ELSE 0 END FROM "+
		"refresh WHERE hash = ?", now, hash)
	return until, err
}
