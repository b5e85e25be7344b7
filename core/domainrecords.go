package core

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// What the records of a sender domain are for.
const (
	RecordProof = "proof" // proves that the domain is the tenant's
	RecordDKIM  = "dkim"  // the key that signs mails (RFC 6376)
	RecordSPF   = "spf"   // the machines that may send (RFC 7208)
	RecordDMARC = "dmarc" // what to do with forged mails (RFC 7489)
	RecordLink  = "link"  // leads the host of links in mails here
)

// What stands in the DNS in the place of a record.
const (
	RecordFound     = "found"
	RecordMissing   = "missing"
	RecordOther     = "other"     // another value
	RecordChange    = "change"    // one that is to be extended: two would not count
	RecordSeveral   = "several"   // more than one, so that none counts
	RecordMisplaced = "misplaced" // it stands at another name
	RecordUnknown   = "unknown"   // no name server answers
)

// Whether the SPF record of a sender domain has to name machines of ours.
const (
	SPFNeeded    = "needed"
	SPFNotNeeded = "not_needed" // bounces go to another domain, whose record counts (RFC 7208 section 2.4)
	SPFUnknown   = "unknown"    // it is not known which machines send
)

// DomainRecord is a record that a sender domain needs, and what stands in its place.
type DomainRecord struct {
	Purpose string `json:"purpose" enum:"proof|dkim|spf|dmarc|link"`
	DNSRecord
	Label    string   `json:"label"` // the name within the zone, as it is typed where records are kept
	State    string   `json:"state" enum:"found|missing|other|change|several|misplaced|unknown"`
	Standing []string `json:"standing"`              // what stands at the name for the same purpose
	FoundAt  string   `json:"found_at,omitempty"`    // where one that is misplaced stands
	KeyID    string   `json:"dkim_key_id,omitempty"` // the key that a record of DKIM belongs to
	Active   bool     `json:"active"`                // of DKIM: the key signs
	Above    bool     `json:"-"`                     // of DMARC: it stands at the registered domain
}

// DomainRecords are the records of a sender domain with who keeps them.
type DomainRecords struct {
	Domain      string         `json:"domain"`
	Status      string         `json:"status" enum:"proposed|verified"`
	Zone        string         `json:"zone"` // in which its records are made
	NameServers []string       `json:"name_servers"`
	Host        string         `json:"host,omitempty"`      // who keeps the zone, in a word of ours; empty: not known
	HostName    string         `json:"host_name,omitempty"` // as people know it
	Records     []DomainRecord `json:"records"`
	SPF         string         `json:"spf" enum:"needed|not_needed|unknown"` // whether it has to name our machines
	Complete    bool           `json:"complete"`                             // all is as it should be
	// what the DMARC policy has receivers do with mails that go out now, which nothing proves; absent: nothing
	Refusal   string  `json:"refusal,omitempty" enum:"quarantine|reject"`
	CheckedAt Instant `json:"checked_at"`
}

// Judge sets Complete and Refusal.
func (d *DomainRecords) Judge() {
	signs, found := false, true
	policy, proves := "", false // a record that was not answered for may prove mails
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

// policy returns what a record of DMARC asks receivers to do with mails that nothing proves: quarantine or reject; empty:
// nothing (RFC 7489 section 6.3).
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

// dmarcTags returns what records of DMARC say, in small letters.
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

// IsDMARC reports whether receivers take a text for a record of DMARC: it has a policy, or asks for reports, which stands
// for the policy none (RFC 7489 section 6.6.3).
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

// RegisteredDomain returns the part of a domain that was registered: one label below its public suffix. It is the
// domain itself where that is not known.
func RegisteredDomain(domain string) string {
	top, err := publicsuffix.EffectiveTLDPlusOne(domain)
	if err != nil {
		return domain
	}
	return top
}

// LabelIn returns the name of a record as it is typed where the records of a zone are kept; "@" is the zone itself.
func LabelIn(name, zone string) string {
	if name == zone {
		return "@"
	}
	return strings.TrimSuffix(name, "."+zone)
}

// DoubledNames lists where the record of a name may have ended up whose full name was pasted where the zone is added to
// names: _dmarc.acme.example.acme.example.
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

// SPFMechanism returns the mechanism that lets a relay send for a domain; empty for one of the same machine.
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

// isSPF reports whether a text is a record of SPF (RFC 7208 section 4.5).
func isSPF(text string) bool {
	return strings.EqualFold(text, "v=spf1") || len(text) > 7 && strings.EqualFold(text[:7], "v=spf1 ")
}

// spfNames are the mechanisms of SPF, and whether each needs a value (RFC 7208 section 5).
var spfNames = map[string]bool{
	"all": false, "include": true, "a": false, "mx": false, "ptr": false, "ip4": true, "ip6": true, "exists": true,
}

// isSPFTerm reports whether a term is one of SPF. Any other one is an error of the whole record (RFC 7208 section 4.6); of
// modifiers, which have a =, those that are not known are passed over.
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

// MergeSPF returns the one SPF record that a domain needs at which texts stand, so that the mechanisms are in it as
// well as what is there, but for terms that are none; state is RecordFound, RecordMissing, RecordChange or
// RecordSeveral. A second record would be an error of both (RFC 7208 section 4.5).
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
	case len(standing) > 1 && redirect != "" && all != "": // it was of one of them alone
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

// termKey is the same for terms that say the same, case and the sign for "pass" aside.
func termKey(term string) string { return strings.ToLower(strings.TrimPrefix(term, "+")) }
