package db

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"

	"github.com/google/uuid"
)

// maskedIDs returns the cipher of masked ids. Its key is derived from that of subscription ids, so that no other one
// has to be kept.
func maskedIDs(subscriptionKey []byte) (cipher.Block, error) {
	mac := hmac.New(sha256.New, subscriptionKey)
	mac.Write([]byte("masked ids"))
	return aes.NewCipher(mac.Sum(nil))
}

// MaskedSubscriptionID returns the id by which callers who may not read addresses know a subscription. An answer that
// anyone may ask for tells the id that an address has, so that id next to a masked address would confirm a guess. It
// returns an empty string for what is no id of a subscription.
func (s *DB) MaskedSubscriptionID(id string) string { return walkIDs(s.maskedIDs.Encrypt, id) }

// UnmaskedSubscriptionID returns the id of the subscription that a masked id stands for. It returns an empty string for
// what is no masked id.
func (s *DB) UnmaskedSubscriptionID(masked string) string {
	return walkIDs(s.maskedIDs.Decrypt, masked)
}

// walkIDs permutes UUIDs of version 8, the form of the ids of subscriptions, by a permutation of all blocks of 16
// bytes: it goes on until the block is such a UUID again (cycle walking), after 64 rounds on average.
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
