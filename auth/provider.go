package auth

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// Config configures a Provider. Zero values select the defaults given here.
type Config struct {
	Issuer       string        // public_url + "/api"; also the audience of access tokens
	AccessTTL    time.Duration // lifetime of access and id tokens; default 15 min
	RefreshIdle  time.Duration // lifetime of an unused refresh token; default 30 days
	RefreshTotal time.Duration // lifetime of a family; default 180 days
	// RefreshGrace is how long a used refresh token can be used again to get the same successor. If it is zero, every
	// reuse counts as a replay. The configuration's default is 10 s.
	RefreshGrace time.Duration

	ClosedRegistration bool   // registration is disabled
	RegisterConflict   bool   // registering an existing address returns 409 already_exists
	CommonPasswords    string // "auto" (refused if Issuer uses https), "refuse", "allow"
	SecondFactor       string // users who need one: FactorOff (default), FactorOperators, FactorStaff, FactorAll
	PasswordCost       Argon2 // zero: DefaultArgon2; a lower cost only in tests

	// SmallHeap keeps the heap small while a password is hashed, until release is called. If it is nil, hashing doesn't
	// affect the heap settings.
	SmallHeap func() (release func())
}

// Provider issues and verifies tokens for one database. It is safe for concurrent use.
type Provider struct {
	Config
	store  *store.Store
	hasher *Hasher
	rules  PasswordRules
	keys   keyring
	tokens tokenCache
	logins loginLimiter

	mailKey  []byte
	passkeys passkeys
	origins  atomic.Pointer[originSet]
	keySet   atomic.Pointer[madeKeySet]
	clients  clientCache
	// generation increases when a user, role, client or family may have changed, in this process or another. Data from
	// an older generation is reread.
	generation atomic.Uint64
}

// New returns a Provider for the database s. In a new database, it creates the first signing key.
func New(ctx context.Context, s *store.Store, c Config, now core.Instant) (*Provider, error) {
	c.defaults()
	hasher, err := NewHasher(c.PasswordCost)
	if err != nil {
		return nil, err
	}
	hasher.smallHeap = c.SmallHeap
	refuse := c.CommonPasswords == "refuse" || (c.CommonPasswords == "auto" && strings.HasPrefix(c.Issuer, "https://"))
	p := &Provider{Config: c, store: s, hasher: hasher, rules: PasswordRules{RefuseCommon: refuse}}
	p.keys.store = s
	if p.mailKey, err = s.PurposeKey(ctx, db.PurposeMailToken); err != nil {
		return nil, err
	}
	key, err := s.PurposeKey(ctx, db.PurposePasskey)
	if err != nil {
		return nil, err
	}
	if p.passkeys, err = newPasskeys(c.Issuer, key); err != nil {
		return nil, err
	}
	moved := func() { p.generation.Add(1) }
	s.OnKick(db.TopicIdentity, moved)
	s.OnForeign(moved)
	_, err = p.keys.signer(ctx, algES256, now)
	return p, err
}

func (c *Config) defaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&c.AccessTTL, defaultAccessTTL)
	set(&c.RefreshIdle, defaultRefreshIdle)
	set(&c.RefreshTotal, defaultRefreshTotal)
	if c.CommonPasswords == "" {
		c.CommonPasswords = "auto"
	}
}

// HashLoad returns how many passwords are being hashed and how many are waiting for a core.
func (p *Provider) HashLoad() (running, waiting int) { return p.hasher.Load() }

// Hashes returns the number of passwords hashed since startup.
func (p *Provider) Hashes() int64 { return p.hasher.count.Load() }
