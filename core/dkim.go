package core

import (
	"slices"
	"strings"
)

// The algorithms of DKIM keys (RFC 6376, RFC 8463) and the states of a key.
const (
	DKIMRSA      = "rsa"
	DKIMEd25519  = "ed25519"
	DKIMActive   = "active"
	DKIMInactive = "inactive" // not used, because its record is not published yet or another key has replaced it
)

// MaxDKIMKeys is the maximum number of DKIM keys per tenant.
const MaxDKIMKeys = 100

// DKIMKey is a key that signs a domain's emails. Its private key leaves the store only for the signer.
type DKIMKey struct {
	ID        string  `json:"id" db:"id"`
	TenantID  string  `json:"tenant_id" db:"tenant_id" about:"ID of the tenant; empty: the server's own key"`
	Domain    string  `json:"domain" db:"domain"` // lower-case A-labels
	Selector  string  `json:"selector" db:"selector" about:"Selector in DNS"`
	Algorithm string  `json:"algorithm" db:"algorithm" enum:"rsa|ed25519" about:"Type of the key: rsa, or ed25519 (RFC 8463)"`
	Status    string  `json:"status" db:"status" enum:"active|inactive" about:"active: signs emails from the domain; inactive: doesn't"`
	Public    string  `json:"public" db:"public" about:"Public key in base64, as in p= of the DNS record"`
	CreatedAt Instant `json:"created_at" db:"created_at"`
	UpdatedAt Instant `json:"updated_at" db:"updated_at"`
}

// NewDKIMKey returns a new key with the given settings, but without key material. By default, it is an active RSA key.
// The default selector is newsletterd, or newsletterd-ed for Ed25519.
func NewDKIMKey(k DKIMKey, now Instant) (DKIMKey, error) {
	k.ID, k.CreatedAt, k.UpdatedAt = NewID(), now, now
	if k.Algorithm == "" {
		k.Algorithm = DKIMRSA
	}
	if k.Status == "" {
		k.Status = DKIMActive
	}
	if k.Selector == "" {
		k.Selector = "newsletterd"
		if k.Algorithm == DKIMEd25519 {
			k.Selector = "newsletterd-ed"
		}
	}
	return k, k.Validate()
}

// DKIMPublicKey returns the public key in a DKIM record (RFC 6376 section 3.6.1), or "" if it has none.
func DKIMPublicKey(record string) string {
	for tag := range strings.SplitSeq(record, ";") {
		if name, value, _ := strings.Cut(tag, "="); strings.TrimSpace(name) == "p" {
			return strings.Join(strings.Fields(value), "")
		}
	}
	return ""
}

// Validate checks the key's domain, selector, algorithm and state, and normalizes the domain and selector.
func (k *DKIMKey) Validate() error {
	domain, ok := ParseDomain(k.Domain)
	if !ok {
		return Invalidf("domain", "domain must be a domain name, for example shop.example.")
	}
	k.Domain = domain
	k.Selector = strings.ToLower(k.Selector)
	if len(k.Selector) > 100 || !isSelector(k.Selector) {
		return Invalidf("selector", "selector must consist of letters, digits and hyphens, in parts separated by "+
			"dots. A part can't start or end with a hyphen.")
	}
	if k.Algorithm != DKIMRSA && k.Algorithm != DKIMEd25519 {
		return Invalidf("algorithm", "algorithm must be rsa or ed25519.")
	}
	if k.Status != DKIMActive && k.Status != DKIMInactive {
		return Invalidf("status", "status must be active or inactive.")
	}
	return nil
}

// isSelector reports whether s is sub-domain *("." sub-domain), as defined in RFC 6376 section 3.1.
func isSelector(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-') {
				return false
			}
		}
	}
	return true
}

// RecordName returns the name of the TXT record with the public key.
func (k *DKIMKey) RecordName() string { return k.Selector + "._domainkey." + k.Domain }

// RecordValue returns the value of the TXT record with the public key (RFC 6376 section 3.6.1).
func (k *DKIMKey) RecordValue() string { return "v=DKIM1; k=" + k.Algorithm + "; p=" + k.Public }

// ZoneLine returns the TXT record with the public key as a line for a zone file. A DNS string has at most 255 octets,
// so longer values are split.
func (k *DKIMKey) ZoneLine() string {
	var b strings.Builder
	b.WriteString(k.RecordName() + ". IN TXT (")
	for piece := range slices.Chunk([]byte(k.RecordValue()), 255) {
		b.WriteString(` "` + string(piece) + `"`)
	}
	b.WriteString(" )")
	return b.String()
}

// Aligned reports whether the key's domain is the sender's domain or a parent of it (RFC 7489 section 3.1.1,
// relaxed).
func (k *DKIMKey) Aligned(fromDomain string) bool {
	return fromDomain == k.Domain || strings.HasSuffix(fromDomain, "."+k.Domain)
}

// Signs reports whether a key may sign emails from a tenant with these domains. The daemon's own key always may; a
// tenant's key may if its domain is one of them.
func (k *DKIMKey) Signs(domains []string) bool {
	return k.TenantID == "" || slices.Contains(domains, k.Domain)
}

// ChooseDKIM returns the keys that sign emails from a domain. It uses the nearest domain with an active RSA key, and
// the newest key for each algorithm. Ed25519 never signs without RSA, because large providers do not verify it. A
// tenant's own keys take precedence over the daemon's.
func ChooseDKIM(keys []DKIMKey, fromDomain string) []DKIMKey {
	fit := slices.DeleteFunc(slices.Clone(keys), func(k DKIMKey) bool {
		return k.Status != DKIMActive ||
			!k.Aligned(fromDomain)
	})
	slices.SortStableFunc(fit, func(a, b DKIMKey) int {
		switch {
		case len(a.Domain) != len(b.Domain):
			return len(b.Domain) - len(a.Domain)
		case a.TenantID != b.TenantID:
			return strings.Compare(b.TenantID, a.TenantID)
		case a.CreatedAt != b.CreatedAt:
			return int(b.CreatedAt - a.CreatedAt)
		}
		return strings.Compare(b.ID, a.ID)
	})
	i := slices.IndexFunc(fit, func(k DKIMKey) bool { return k.Algorithm == DKIMRSA })
	if i < 0 {
		return nil
	}
	chosen := []DKIMKey{fit[i]}
	for _, k := range fit {
		if k.Algorithm == DKIMEd25519 && k.Domain == fit[i].Domain && k.TenantID == fit[i].TenantID {
			return append(chosen, k)
		}
	}
	return chosen
}
