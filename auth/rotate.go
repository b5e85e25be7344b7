package auth

import (
	"context"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// RotateKeys creates the next key of each algorithm and returns the new keys. A new key is published immediately, but
// used only after a day. Until then, the previous key signs. It stays published until its last token has expired.
// Algorithms that already have a next key are skipped. The audit log names the actor in ctx (db.By).
func RotateKeys(ctx context.Context, s *store.Store, now core.Instant) (made []core.SigningKey, err error) {
	for _, alg := range [...]string{algES256, algRS256} {
		next, err := generate(alg, now)
		if err != nil {
			return made, err
		}
		next.ActiveAt = now.Add(keyLead)
		added, err := s.AddNextSigningKey(ctx, next, now)
		if err != nil {
			return made, err
		}
		if added {
			made = append(made, next)
		}
	}
	return made, nil
}

// TendKeys rotates keys that have been signing for longer than every (0: never), and schedules the removal of keys that
// no longer sign. It returns when to call it again.
func (p *Provider) TendKeys(ctx context.Context, every time.Duration, now core.Instant) (next core.Instant, err error) {
	if err := p.store.ExpireSigningKeys(ctx, p.AccessTTL+keyTail, now); err != nil {
		return now.Add(time.Minute), err
	}
	keys, err := p.keys.load(ctx, now)
	if err != nil {
		return now.Add(time.Minute), err
	}
	next = now.Add(tendEvery)
	if every <= 0 {
		return next, nil
	}
	for _, alg := range [...]string{algES256, algRS256} {
		if k := active(keys, alg, now); k != nil && k.RetiredAt == 0 && k.ActiveAt.Add(every-keyLead) <= now {
			_, err = RotateKeys(db.By(ctx, "daemon", now), p.store, now)
			break
		}
	}
	return next, err
}
