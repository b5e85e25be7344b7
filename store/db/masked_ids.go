package db

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"

	"github.com/google/uuid"
)

// maskedIDs returns the cipher for masked ids. Its key is derived from the subscription id key, so no other key has to
// be stored.
func maskedIDs(subscriptionKey []byte) (cipher.Block, error) {
	mac := hmac.New(sha256.New, subscriptionKey)
	mac.Write([]byte("masked ids"))
	return aes.NewCipher(mac.Sum(nil))
}

// MaskedSubscriptionID returns the id that callers without access to addresses see for a subscription. Public responses
// reveal the real id of an address, so a real id next to a masked address would confirm a guess. If id is not a
// subscription id, the result is empty.
func (s *DB) MaskedSubscriptionID(id string) string { return walkIDs(s.maskedIDs.Encrypt, id) }

// UnmaskedSubscriptionID returns the subscription id for a masked id. If masked is not a masked id, the result is
// empty.
func (s *DB) UnmaskedSubscriptionID(masked string) string {
	return walkIDs(s.maskedIDs.Decrypt, masked)
}

// walkIDs permutes version 8 UUIDs, the form of subscription ids, with a permutation of all 16-byte blocks. It
// repeats the permutation until the block is a version 8 UUID again (cycle walking), after 64 rounds on average.
func walkIDs(permute func(dst, src []byte), id string) string {
	u, err := uuid.Parse(id)
	if err != nil || !isVersion8(u) {
		return ""
	}
	for {
		if permute(u[:], u[:]); isVersion8(u) {
			return u.String()
		}
	}
}

func isVersion8(u uuid.UUID) bool { return u[6]>>4 == 8 && u[8]>>6 == 2 }
