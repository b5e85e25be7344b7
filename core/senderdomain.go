package core

import (
	"crypto/rand"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// The values of SenderDomain.VerifiedBy. A domain was verified by its TXT record or by a server administrator, or the
// tenant already had it when verification was introduced.
const (
	VerifiedByDNS      = "dns"
	VerifiedByOperator = "operator"
	VerifiedBefore     = "before"
)

// The results of looking for a sender domain's TXT record.
const (
	DomainFound      = "found"
	DomainMissing    = "missing"     // no TXT record has this name
	DomainOtherValue = "other_value" // TXT records have this name, but not the value
	DomainMisplaced  = "misplaced"   // the record has another name
	DomainFault      = "dns_fault"   // the name servers return an error
	DomainTimeout    = "timeout"     // no name server responds
	DomainTaken      = "taken"       // the record exists, but the domain belongs to another tenant
)

// The statuses of sender domains.
const (
	DomainProposed = "proposed"
	DomainVerified = "verified"
)

// SenderDomain is a domain that a tenant may send from, or wants to. Tenant.Domains lists the verified ones.
type SenderDomain struct {
	ID         string  `json:"id" db:"id"`
	TenantID   string  `json:"tenant_id" db:"tenant_id"`
	Domain     string  `json:"domain" db:"domain"` // lower-case A-labels
	Token      string  `json:"-" db:"token"`
	VerifiedBy string  `json:"verified_by,omitempty" db:"verified_by" enum:"dns|operator|before" about:"How the domain was verified; before: it was in use before verification existed"`
	VerifiedAt Instant `json:"verified_at,omitzero" db:"verified_at" about:"Time of the verification; absent: not verified"`
	CheckedAt  Instant `json:"checked_at,omitzero" db:"checked_at" about:"Time of the last check; absent: not checked"`
	Check      string  `json:"check,omitempty" db:"check_result" enum:"found|missing|other_value|misplaced|dns_fault|timeout|taken" about:"Result of the last check; taken: the domain belongs to another tenant; absent: not checked"`
	FoundAt    string  `json:"found_at,omitempty" db:"found_at" about:"Name at which the record was found by mistake"`
	CreatedAt  Instant `json:"created_at" db:"created_at"`
	UpdatedAt  Instant `json:"updated_at" db:"updated_at"`
}

// SenderDomainView is a sender domain as the API shows it, with the record that verifies it.
type SenderDomainView struct {
	SenderDomain
	Status  string    `json:"status" enum:"proposed|verified" about:"verified: the tenant may send from the domain; proposed: not yet"`
	Signed  bool      `json:"signed" about:"Whether a DKIM key signs emails from the domain"`
	Record  DNSRecord `json:"record" about:"DNS record that verifies the domain"`
	Message string    `json:"message" about:"What to do next"`
}

// DNSRecord is a DNS record that a tenant must publish for a domain.
type DNSRecord struct {
	Type  string `json:"type" about:"Type of the record, such as TXT or CNAME"`
	Name  string `json:"name" about:"Full name of the record"`
	Value string `json:"value" about:"Value of the record"`
}

// proofLabel is the first label of the verification record's name. proofWord is the prefix of its value.
const (
	proofLabel = "_newsletterd."
	proofWord  = "newsletterd-verification="
)

// ErrDomainTaken is returned if a domain or one of its parents is verified for another tenant.
var ErrDomainTaken = Conflictf("domain_taken",
	"The domain or a parent domain is already verified for another tenant. Contact the server administrator.")

// NewSenderDomain returns an unverified domain for a tenant, with a new token. If domain is not a domain name, it
// returns an Invalid error.
func NewSenderDomain(tenantID, domain string, now Instant) (d SenderDomain, err error) {
	d = SenderDomain{
		ID: NewID(), TenantID: tenantID, Token: strings.ToLower(rand.Text()), CreatedAt: now, UpdatedAt: now,
	}
	var ok bool
	if d.Domain, ok = ParseDomain(domain); !ok {
		return d, Invalidf("domain", "domain is not a domain name. Use a name such as shop.example.")
	}
	return d, nil
}

// ProposeDomain is like NewSenderDomain for a domain that must be verified. It also refuses free mail providers and
// public suffixes, such as co.uk and github.io, under which anyone can register domains.
func ProposeDomain(tenantID, domain string, now Instant) (SenderDomain, error) {
	d, err := NewSenderDomain(tenantID, domain, now)
	if err != nil {
		return d, err
	}
	if IsFreeMail(d.Domain) {
		return d, freeMailSender("domain")
	}
	if suffix, _ := publicsuffix.PublicSuffix(d.Domain); suffix == d.Domain {
		return d, Invalidf("domain",
			"%s is a public suffix: anyone can register a domain under it. Use your own domain.", d.Domain)
	}
	if len(proofLabel)+len(d.Domain) > maxDomain {
		return d, Invalidf("domain", "domain is too long for its DNS record. Use a shorter one.")
	}
	return d, nil
}

// maxDomain is the maximum length of a domain name in bytes (RFC 1035 section 2.3.4, without the length octets).
const maxDomain = 253

// Verified reports whether the tenant may send from the domain.
func (d *SenderDomain) Verified() bool { return d.VerifiedAt > 0 }

// Record returns the TXT record that the tenant must publish to verify the domain.
func (d *SenderDomain) Record() DNSRecord {
	return DNSRecord{Type: "TXT", Name: proofLabel + d.Domain, Value: proofWord + d.Token}
}

// Proves reports whether a TXT record has the value that verifies the domain. It ignores quotes pasted with the
// value.
func (d *SenderDomain) Proves(text string) bool {
	return strings.EqualFold(strings.Trim(text, " \t\""), proofWord+d.Token)
}

// Misplaced returns other names that the record may have been created under: the domain itself, and the names that
// result if a provider appends the zone to a full name.
func (d *SenderDomain) Misplaced() []string {
	return append([]string{d.Domain}, DoubledNames(d.Record().Name, d.Domain)...)
}

// DomainsAbove returns a domain and its parents, except the top-level domain.
func DomainsAbove(domain string) (all []string) {
	for d, ok := domain, true; ok && strings.Contains(d, "."); _, d, ok = strings.Cut(d, ".") {
		all = append(all, d)
	}
	return all
}

// DomainsAligned reports whether an authenticated domain is aligned with the From domain. If strict is set, the two
// must be equal; otherwise they must belong to the same organization (RFC 7489 section 3.1).
func DomainsAligned(domain, from string, strict bool) bool {
	if domain == from || strict {
		return domain == from
	}
	a, errA := publicsuffix.EffectiveTLDPlusOne(domain)
	b, errB := publicsuffix.EffectiveTLDPlusOne(from)
	return errA == nil && errB == nil && a == b
}

// View returns the domain as the API shows it.
func (d SenderDomain) View() SenderDomainView {
	v := SenderDomainView{SenderDomain: d, Status: DomainProposed, Record: d.Record()}
	if d.Verified() {
		v.Status = DomainVerified
	}
	v.Message = d.message()
	return v
}

func (d *SenderDomain) message() string {
	name := d.Record().Name
	if d.Verified() {
		said := map[string]string{
			VerifiedByDNS: "The domain is verified.", VerifiedByOperator: "The domain was verified by a server " +
				"administrator.",
			VerifiedBefore: "The domain is verified. It belonged to the tenant before verification was required.",
		}[d.VerifiedBy]
		if d.Check != "" && d.Check != DomainFound && d.Check != DomainTaken {
			said += " It stays verified, although the last check did not find the TXT record " + name + "."
		}
		return said
	}
	switch d.Check {
	case DomainMissing:
		return "TXT record " + name + " not found. A new record can take up to an hour to appear."
	case DomainOtherValue:
		return "The TXT record " + name + " has the wrong value. Replace it."
	case DomainMisplaced:
		if d.FoundAt == d.Domain {
			return "The record was found at " + d.Domain + ". Its name must be " + name + "."
		}
		return "The record was found at " + d.FoundAt + ". Your DNS provider appends the domain, so enter only " +
			strings.TrimSuffix(name, strings.TrimPrefix(d.FoundAt, name)) + "."
	case DomainFault:
		return "The name servers answer with an error (SERVFAIL) for " + name +
			". Check the delegation and DNSSEC of the domain, or try again later."
	case DomainTimeout:
		return "No name server answered in time for " + name + ". Try again later."
	case DomainTaken:
		return "The record exists, but the domain or a parent domain is verified for another tenant. Contact the " +
			"server administrator."
	}
	return "Publish this TXT record, then check the domain."
}
