package db

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"hash"
	"sync"
	"time"

	"newsletterd/core"
)

// The values of the first byte of a secret at rest: how the secret is stored.
const (
	sealedPlain = 0 // no master key was configured
	sealedAES   = 1 // AES-256-GCM under the master key, nonce in front
)

// ErrMasterKey is returned when a secret was sealed with a master key that is missing or differs from the current
// one.
var ErrMasterKey = errors.New("a secret in the database can't be decrypted: [auth] key_file is missing, or is not " +
	"the file that encrypted it")

// keyring caches the purpose keys, which never change.
type keyring struct {
	mu   sync.RWMutex
	keys map[string][]byte
}

// Seal prepares a secret for storage in a column. Without a master key, the secret is not encrypted.
func (s *DB) Seal(plain []byte) []byte {
	gcm := s.aead()
	if gcm == nil {
		return append([]byte{sealedPlain}, plain...)
	}
	out := make([]byte, 1+gcm.NonceSize(), 1+gcm.NonceSize()+len(plain)+gcm.Overhead())
	out[0] = sealedAES
	rand.Read(out[1:])
	return gcm.Seal(out, out[1:], plain, nil)
}

// OpenSecret returns the secret that Seal prepared. If the master key is missing or wrong, it returns ErrMasterKey.
func (s *DB) OpenSecret(sealed []byte) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, ErrMasterKey
	}
	if sealed[0] == sealedPlain {
		return sealed[1:], nil
	}
	gcm := s.aead()
	if gcm == nil || sealed[0] != sealedAES || len(sealed) < 1+gcm.NonceSize() {
		return nil, ErrMasterKey
	}
	n := 1 + gcm.NonceSize()
	plain, err := gcm.Open(nil, sealed[1:n], sealed[n:], nil)
	if err != nil {
		return nil, ErrMasterKey
	}
	return plain, nil
}

func (s *DB) aead() cipher.AEAD {
	if len(s.opts.MasterKey) == 0 {
		return nil
	}
	block, err := aes.NewCipher(s.opts.MasterKey)
	if err != nil {
		panic(err) // the configuration checks the length
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return gcm
}

// PurposeKey returns the 32-byte key for a purpose. The key is created at its first use and never replaced. If the
// key can't be opened, PurposeKey returns ErrMasterKey.
func (s *DB) PurposeKey(ctx context.Context, name string) ([]byte, error) {
	s.keys.mu.RLock()
	key := s.keys.keys[name]
	s.keys.mu.RUnlock()
	if key != nil {
		return key, nil
	}
	fresh := make([]byte, 32)
	rand.Read(fresh)
	var sealed []byte
	err := s.Get(ctx, &sealed, "SELECT secret FROM purpose_key WHERE name = ?", name)
	if errors.Is(err, core.ErrNotFound) {
		err = s.Update(ctx, func(tx *Tx) error {
			_, err := tx.Exec("INSERT INTO purpose_key (name, secret, created_at) VALUES (?, ?, ?) ON CONFLICT DO "+
				"NOTHING",
				name, s.Seal(fresh), time.Now().UnixMilli())
			if err != nil {
				return err
			}
			return tx.Get(&sealed, "SELECT secret FROM purpose_key WHERE name = ?", name)
		})
	}
	if err != nil {
		return nil, err
	}
	if key, err = s.OpenSecret(sealed); err != nil {
		return nil, err
	}
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	if s.keys.keys == nil {
		s.keys.keys = map[string][]byte{}
	}
	s.keys.keys[name] = key
	return key, nil
}

// SubscriptionID derives the id of a subscription from its list and the folded address. The response to a request for
// an address is therefore the same whether or not the address is subscribed. The key exists once Open has returned.
func (s *DB) SubscriptionID(listID, emailKey string) string {
	return s.SubscriptionIDs(listID).Of(emailKey)
}

// SubscriptionIDs derives the ids of many subscriptions of a list. It is not safe for concurrent use.
type SubscriptionIDs struct {
	mac  hash.Hash
	list int    // length of the list's part of text
	text []byte // input of the hash
	sum  []byte
}

// SubscriptionIDs returns a value that derives the ids of a list's subscriptions.
func (s *DB) SubscriptionIDs(listID string) *SubscriptionIDs {
	return &SubscriptionIDs{hmac.New(sha256.New, s.subscriptionKey), len(listID) + 1, []byte(listID + "\n"), nil}
}

// Of returns the id of the subscription with a folded address.
func (d *SubscriptionIDs) Of(emailKey string) string {
	d.text = append(d.text[:d.list], emailKey...)
	if d.sum != nil {
		d.mac.Reset()
	}
	d.mac.Write(d.text)
	d.sum = d.mac.Sum(d.sum[:0])
	return core.IDFromBytes(d.sum)
}
