package core

import (
	"encoding/json"
	"slices"
	"strings"
)

// DomainTypo is a domain in addresses that differs from a large email provider's domain by one typing error.
type DomainTypo struct {
	Domain string `json:"domain" about:"Domain in the file"`
	Likely string `json:"likely" about:"Domain that was probably meant"`
	Rows   int64  `json:"rows" about:"Number of rows with this domain"`
}

// DomainTypos lists the mistyped domains among the addresses in a file, in order.
type DomainTypos []DomainTypo

// Column returns the value to store in the database column.
func (t DomainTypos) Column() string { return jsonColumn(t, len(t) == 0, "[]") }

// Scan implements sql.Scanner.
func (t *DomainTypos) Scan(src any) error { return scanJSON(src, (*[]DomainTypo)(t)) }

// MarshalJSON returns a JSON array, even if t is nil.
func (t DomainTypos) MarshalJSON() ([]byte, error) {
	if t == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]DomainTypo(t))
}

// providerDomains maps large email providers' domains, up to the first dot, to the rest of the domain.
var providerDomains = map[string][]string{
	"gmail": {"com"}, "googlemail": {"com"}, "yahoo": {"com", "de", "fr", "es", "it", "co.uk", "ca", "com.br", "co.in"},
	"hotmail": {"com", "de", "fr", "es", "it", "co.uk", "nl", "be"}, "outlook": {"com", "de", "fr", "es", "it", "pt"},
	"icloud": {"com"}, "protonmail": {"com", "ch"}, "wanadoo": {"fr"}, "orange": {"fr"}, "laposte": {"net"},
	"libero": {"it"}, "freenet": {"de"}, "t-online": {"de"}, "bluewin": {"ch"}, "comcast": {"net"}, "verizon": {"net"},
	"live": {"com", "de", "fr", "nl", "it", "co.uk", "be"}, "gmx": {"de", "net", "at", "ch", "com"}, "web": {"de"},
	"aol": {"com", "de"}, "msn": {"com"}, "ziggo": {"nl"}, "virgilio": {"it"}, "telefonica": {"net"},
}

// otherDomains are one letter away from a provider's name, but belong to other companies.
var otherDomains = map[string]bool{"mail": true, "ymail": true, "email": true, "fmail": true, "libera": true, "range": true}

// slips maps mistyped top-level domains to the correct ones: com, net, de and fr.
var slips = map[string]string{
	"con": "com", "cmo": "com", "ocm": "com", "comm": "com", "coom": "com", "vom": "com", "xom": "com", "cim": "com",
	"com.com": "com", "co": "com", "cm": "com", "om": "com", "cpm": "com", "c0m": "com", "nett": "net", "met": "net", "ney": "net",
	"ed": "de", "dee": "de", "frr": "fr", "rf": "fr",
}

// LikelyDomain returns the large email provider's domain that was probably meant, such as gmail.com for gmial.com. It
// returns "" if domain already belongs to such a provider, or resembles none.
func LikelyDomain(domain string) string {
	domain = strings.ToLower(domain)
	name, rest, ok := strings.Cut(domain, ".")
	if !ok {
		return ""
	}
	meant := rest
	if slip := slips[rest]; slip != "" {
		meant = slip
	}
	if ends, known := providerDomains[name]; known {
		switch {
		case slices.Contains(ends, rest):
			return ""
		case meant != rest && slices.Contains(ends, meant):
			return name + "." + meant
		case name == "gmail" && !strings.Contains(rest, "."):
			return "gmail.com"
		}
		return ""
	}
	if len(name) < 4 || len(name) > len("protonmail")+1 || otherDomains[name] {
		return ""
	}
	for provider, ends := range providerDomains {
		if len(provider) >= 5 && oneSlip(name, provider) && slices.Contains(ends, meant) {
			return provider + "." + meant
		}
	}
	return ""
}

// oneSlip reports whether a and b differ by one typing error: a letter added, missing or replaced, or two swapped.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) {
		return false // equal
	}
	swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	return swapped || a[i+1:] == b[i+1:]
}
