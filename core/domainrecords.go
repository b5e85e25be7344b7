package core

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// The purposes of a sender domain's records.
const (
	RecordProof = "proof" // verifies that the domain belongs to the tenant
	RecordDKIM  = "dkim"  // the key that signs emails (RFC 6376)
	RecordSPF   = "spf"   // the servers that may send (RFC 7208)
	RecordDMARC = "dmarc" // how to handle forged emails (RFC 7489)
	RecordLink  = "link"  // points the host in email links to newsletterd
)

// The states of a DNS record.
const (
	RecordFound     = "found"
	RecordMissing   = "missing"
	RecordOther     = "other"     // another value
	RecordChange    = "change"    // must be extended, because a second one would not count
	RecordSeveral   = "several"   // more than one, so none counts
	RecordMisplaced = "misplaced" // exists under another name
	RecordUnknown   = "unknown"   // no name server responds
)

// The values of DomainRecords.SPF: whether the SPF record must include the relays.
const (
	SPFNeeded    = "needed"
	SPFNotNeeded = "not_needed" // bounces go to a different domain, whose record counts (RFC 7208 section 2.4)
	SPFUnknown   = "unknown"    // the sending servers are unknown
)

// DomainRecord is a DNS record that a sender domain needs, with the records that a lookup found.
type DomainRecord struct {
	Purpose string `json:"purpose" enum:"proof|dkim|spf|dmarc|link" about:"proof: shows that you control the domain; link: points the host of links to newsletterd"`
	DNSRecord
	Label    string   `json:"label" about:"Name within the zone, as you enter it at the DNS provider"`
	State    string   `json:"state" enum:"found|missing|other|change|several|misplaced|unknown" about:"What DNS has; change: extend the record; several: more than one, so none counts"`
	Standing []string `json:"standing" about:"Existing records with this name and purpose"`
	FoundAt  string   `json:"found_at,omitempty"` // name of a misplaced record
	KeyID    string   `json:"dkim_key_id,omitempty" about:"DKIM key of the record; absent for other purposes"`
	Active   bool     `json:"active" about:"Whether the DKIM key signs emails; false for other purposes"`
	Above    bool     `json:"-"` // of DMARC: published at the registered domain
}

// DomainRecords holds the DNS records that a sender domain needs, and the provider of its DNS zone.
type DomainRecords struct {
	Domain      string         `json:"domain"`
	Status      string         `json:"status" enum:"proposed|verified" about:"verified: the tenant may send from the domain; proposed: not yet"`
	Zone        string         `json:"zone" about:"DNS zone that contains the records"`
	NameServers []string       `json:"name_servers" about:"Name servers of the zone"`
	Host        string         `json:"host,omitempty" about:"ID of the DNS provider; absent: unknown"`
	HostName    string         `json:"host_name,omitempty" about:"Name of the DNS provider; absent: unknown"`
	Records     []DomainRecord `json:"records" about:"Records that the domain needs"`
	SPF         string         `json:"spf" enum:"needed|not_needed|unknown" about:"Whether the SPF record must include your mail servers"`
	Complete    bool           `json:"complete" about:"Whether the domain is verified, a DKIM key is active, and every needed record is found; records of inactive keys aren't needed"`
	Refusal     string         `json:"refusal,omitempty" enum:"quarantine|reject" about:"What the DMARC policy asks receivers to do with emails that fail it, as yours do now; absent: nothing, or yours may pass"`
	CheckedAt   Instant        `json:"checked_at"`
}

// Judge sets Complete and Refusal according to the records.
func (d *DomainRecords) Judge() {
	signs, found := false, true
	policy, proves := "", false // a record whose lookup failed may still authenticate emails
	for i := range d.Records {
		r := &d.Records[i]
		stands := r.State == RecordFound || r.State == RecordUnknown
		switch {
		case r.Purpose == RecordDMARC && r.State == RecordFound:
			policy = r.policy()
		case r.Purpose == RecordDKIM && r.Active, r.Purpose == RecordSPF && d.SPF == SPFNeeded:
			proves = proves || stands
		}
		signs = signs || r.Purpose == RecordDKIM && r.Active
		found = found && (r.State == RecordFound || r.Purpose == RecordProof || r.Purpose == RecordDKIM && !r.Active)
	}
	d.Complete = signs && found && d.Status == DomainVerified
	if d.Refusal = policy; proves {
		d.Refusal = ""
	}
}

// policy returns a DMARC record's policy for emails that fail authentication: quarantine, reject, or "" for neither
// (RFC 7489 section 6.3).
func (r *DomainRecord) policy() string {
	tags := dmarcTags(r.Standing...)
	p := tags["p"]
	if sub, ok := tags["sp"]; ok && r.Above {
		p = sub
	}
	if p != "quarantine" && p != "reject" {
		return ""
	}
	return p
}

// dmarcTags returns the tags in DMARC records, in lower case.
func dmarcTags(texts ...string) map[string]string {
	tags := map[string]string{}
	for _, text := range texts {
		for tag := range strings.SplitSeq(strings.Trim(text, " \t\""), ";") {
			name, value, _ := strings.Cut(tag, "=")
			tags[strings.ToLower(strings.TrimSpace(name))] = strings.ToLower(strings.TrimSpace(value))
		}
	}
	return tags
}

// IsDMARC reports whether servers accept text as a DMARC record. It must have a policy or request reports, which
// implies the policy none (RFC 7489 section 6.6.3).
func IsDMARC(text string) bool {
	const version = "v=DMARC1"
	text = strings.Trim(text, " \t\"")
	if len(text) < len(version) || !strings.EqualFold(text[:len(version)], version) ||
		strings.TrimLeft(text[len(version):], " \t;") == text[len(version):] && len(text) > len(version) {
		return false
	}
	tags := dmarcTags(text)
	switch tags["p"] {
	case "none", "quarantine", "reject":
		return true
	}
	return strings.HasPrefix(tags["rua"], "mailto:")
}

// RegisteredDomain returns the registered part of a domain: one label below its public suffix. If the suffix is
// unknown, it returns domain.
func RegisteredDomain(domain string) string {
	top, err := publicsuffix.EffectiveTLDPlusOne(domain)
	if err != nil {
		return domain
	}
	return top
}

// LabelIn returns a record's name relative to its zone, as entered at a DNS provider. "@" stands for the zone itself.
func LabelIn(name, zone string) string {
	if name == zone {
		return "@"
	}
	return strings.TrimSuffix(name, "."+zone)
}

// DoubledNames returns the names that a record gets if its full name is entered at a provider that appends the zone,
// for example _dmarc.acme.example.acme.example.
func DoubledNames(name, domain string) (names []string) {
	top := RegisteredDomain(domain)
	for zone := domain; len(names) < 3; _, zone, _ = strings.Cut(zone, ".") {
		if doubled := name + "." + zone; len(doubled) <= maxDomain {
			names = append(names, doubled)
		}
		if zone == top {
			break
		}
	}
	return names
}

// SPFMechanism returns the SPF mechanism that lets a relay send for a domain, or "" for a relay on this machine.
func SPFMechanism(relayHost string) string {
	host := strings.ToLower(strings.Trim(relayHost, "[]"))
	if ip, err := netip.ParseAddr(host); err == nil {
		switch {
		case ip.IsLoopback():
			return ""
		case ip.Is4():
			return "ip4:" + ip.String()
		}
		return "ip6:" + ip.String()
	}
	if host == "" || host == "localhost" {
		return ""
	}
	for _, r := range relaySPF {
		if strings.HasSuffix("."+host, "."+r.host) {
			return "include:" + r.include
		}
	}
	return "a:" + host
}

// isSPF reports whether text is an SPF record (RFC 7208 section 4.5).
func isSPF(text string) bool {
	return strings.EqualFold(text, "v=spf1") || len(text) > 7 && strings.EqualFold(text[:7], "v=spf1 ")
}

// spfNames maps SPF mechanisms to whether they need a value (RFC 7208 section 5).
var spfNames = map[string]bool{
	"all": false, "include": true, "a": false, "mx": false, "ptr": false, "ip4": true, "ip6": true, "exists": true,
}

// isSPFTerm reports whether a term is valid in an SPF record. Any other term makes the whole record invalid (RFC 7208
// section 4.6). Modifiers, which contain "=", are valid even if unknown.
func isSPFTerm(term string) bool {
	name := strings.ToLower(term)
	if name != "" && strings.Contains("+-~?", name[:1]) {
		name = name[1:]
	}
	end := strings.IndexAny(name, ":/=")
	if end < 0 {
		needs, known := spfNames[name]
		return known && !needs
	}
	if name[end] == '=' {
		return end > 0 && len(name) == len(term) && name != "redirect="
	}
	_, known := spfNames[name[:end]]
	return known && name[:end] != "all" && end+1 < len(name)
}

// MergeSPF returns the single SPF record that a domain with the given TXT records needs, since a second one would make
// both invalid (RFC 7208 section 4.5). It contains the mechanisms and the valid existing terms. The state is
// RecordFound, RecordMissing, RecordChange or RecordSeveral.
func MergeSPF(texts, mechanisms []string) (value, state string, standing []string) {
	standing = []string{}
	for _, text := range texts {
		if isSPF(text) {
			standing = append(standing, text)
		}
	}
	var terms []string
	has := map[string]bool{} // by termKey
	all, redirect, broken := "", "", false
	for _, text := range standing {
		for _, term := range strings.Fields(text)[1:] {
			lower := strings.ToLower(term)
			switch {
			case !isSPFTerm(term):
				broken = true
			case strings.TrimLeft(lower, "+-~?") == "all":
				if all == "" || lower == "~all" {
					all = lower
				}
			case strings.HasPrefix(lower, "redirect="):
				redirect = term
			case !has[termKey(term)]:
				has[termKey(term)] = true
				terms = append(terms, term)
			}
		}
	}
	missing := slices.DeleteFunc(slices.Clone(mechanisms), func(m string) bool { return has[termKey(m)] })
	if len(standing) == 1 && len(missing) == 0 && !broken {
		return standing[0], RecordFound, standing
	}
	terms = append(terms, missing...)
	switch {
	case len(standing) > 1 && redirect != "" && all != "": // the redirect belongs to only one of the records
		terms = append(terms, "include:"+redirect[len("redirect="):], all)
	case redirect != "" && all == "":
		terms = append(terms, redirect)
	case all != "":
		terms = append(terms, all)
	default:
		terms = append(terms, "~all")
	}
	value = "v=spf1 " + strings.Join(terms, " ")
	switch len(standing) {
	case 0:
		state = RecordMissing
	case 1:
		state = RecordChange
	default:
		state = RecordSeveral
	}
	return value, state, standing
}

// termKey returns the same key for equivalent terms: it ignores case and the qualifier "+".
func termKey(term string) string { return strings.ToLower(strings.TrimPrefix(term, "+")) }
