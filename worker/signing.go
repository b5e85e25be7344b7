package worker

import (
	"context"
	"sync"
	"sync/atomic"

	"newsletterd/mail/dkim"
	"newsletterd/store"
	"newsletterd/store/db"
)

// Signers creates DKIM signers for senders and caches them until a key changes. A nil *Signers signs nothing.
type Signers struct {
	store *store.Store
	age   atomic.Uint64 // number of key changes
	mu    sync.Mutex
	kept  map[signerKey]keptSigner
}

type signerKey struct{ tenantID, domain string }

type keptSigner struct {
	signer *dkim.Signer // nil: no key
	age    uint64
}

// NewSigners returns Signers that read the keys from a store on demand.
func NewSigners(s *store.Store) *Signers {
	g := &Signers{store: s, kept: map[signerKey]keptSigner{}}
	s.OnKick(db.TopicRecords, func() { g.age.Add(1) })
	return g
}

// maxSigners is the maximum number of cached signers.
const maxSigners = 10_000

// of returns the signer for emails that a tenant sends from a domain. If there is no key, the signer is nil.
func (g *Signers) of(ctx context.Context, tenantID, domain string) (keptSigner, error) {
	if g == nil {
		return keptSigner{}, nil
	}
	key, age := signerKey{tenantID, domain}, g.age.Load()
	g.mu.Lock()
	k, known := g.kept[key]
	g.mu.Unlock()
	if known && k.age == age {
		return k, nil
	}
	keys, err := g.store.DKIMSigningKeys(ctx, tenantID, domain)
	if err != nil {
		return k, err
	}
	k = keptSigner{age: age}
	if len(keys) > 0 {
		made := make([]dkim.Key, len(keys))
		for i := range keys {
			made[i] = dkim.Key{Domain: keys[i].Domain, Selector: keys[i].Selector, Private: keys[i].Private}
		}
		if k.signer, err = dkim.NewSigner(made); err != nil {
			return k, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.kept) >= maxSigners {
		clear(g.kept)
	}
	g.kept[key] = k
	return k, nil
}

// signature caches the signer for the emails of one job. If no key has changed, reading it costs two atomic loads.
type signature struct {
	signers          *Signers
	tenantID, domain string
	kept             atomic.Pointer[keptSigner]
}

func (s *signature) signer(ctx context.Context) (*dkim.Signer, error) {
	if s.signers == nil {
		return nil, nil
	}
	if k := s.kept.Load(); k != nil && k.age == s.signers.age.Load() {
		return k.signer, nil
	}
	k, err := s.signers.of(ctx, s.tenantID, s.domain)
	if err == nil {
		s.kept.Store(&k)
	}
	return k.signer, err
}
