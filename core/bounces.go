package core

import (
	"cmp"
	"slices"
	"strings"
)

// BounceCounts are mails that were refused or came back, by class.
type BounceCounts struct {
	Gone    int64 `json:"gone"`    // there is no such mailbox or domain, or it is closed
	Full    int64 `json:"full"`    // the mailbox is full
	Blocked int64 `json:"blocked"` // by a rule of the provider's: spam, a list of blocked servers, a missing proof
	Later   int64 `json:"later"`   // refused for now; it is or was tried again
	Refused int64 `json:"refused"` // for good, for another reason
}

// Sum returns the sum of all classes.
func (c *BounceCounts) Sum() int64 { return c.Gone + c.Full + c.Blocked + c.Later + c.Refused }

// DomainBounces are those of the addresses of a domain.
type DomainBounces struct {
	Domain     string `json:"domain"`
	Recipients int64  `json:"recipients"`
	BounceCounts
}

// Bounces are mails of a campaign that were refused or came back.
type Bounces struct {
	Recipients int64           `json:"recipients"`
	CameBack   int64           `json:"came_back"` // of them: after a mail server had taken them
	Classes    BounceCounts    `json:"classes"`
	Domains    []DomainBounces `json:"domains"` // those with most, 50 at most
	Partial    bool            `json:"partial"` // only the first BounceSample of a kind were counted
}

// Figures of bounces.
const (
	BounceSample  = 5000 // mails that are looked at, of each of: refused, deferred, came back
	bounceDomains = 50
)

// Bounced is a mail that was refused, or came back.
type Bounced struct {
	EmailKey string `db:"email_key"`
	Reason   string `db:"reason"` // of a refusal; the relay's words
	Hard     bool   `db:"hard"`   // it came back, and the address is gone
	Back     bool   `db:"back"`   // it came back
}

// count returns the class that the mail counts in; nil: none, since no mail server has refused it.
func (b *Bounced) count(c *BounceCounts) *int64 {
	code := FailureCode(b.Reason)
	first, subject, _ := strings.Cut(code, ".")
	switch {
	case b.Back && b.Hard:
		return &c.Gone
	case b.Back:
		return &c.Later
	case code == "":
		return nil
	case subject == "2.2" || code == "452" || code == "552":
		return &c.Full
	case strings.HasPrefix(subject, "7."):
		return &c.Blocked
	case strings.HasPrefix(first, "4"):
		return &c.Later
	case slices.Contains([]string{"1.1", "1.2", "1.3", "1.6", "1.10", "2.1"}, subject):
		return &c.Gone
	}
	return &c.Refused
}

// SumBounces sums up mails by class and domain.
func SumBounces(all []Bounced) (sum Bounces) {
	domains := map[string]*DomainBounces{}
	for i := range all {
		b := &all[i]
		n := b.count(&sum.Classes)
		if n == nil {
			continue
		}
		*n++
		sum.Recipients++
		if b.Back {
			sum.CameBack++
		}
		domain := Email(b.EmailKey).Domain()
		if domains[domain] == nil {
			domains[domain] = &DomainBounces{Domain: domain}
		}
		*b.count(&domains[domain].BounceCounts)++
		domains[domain].Recipients++
	}
	sum.Domains = make([]DomainBounces, 0, len(domains))
	for _, d := range domains {
		sum.Domains = append(sum.Domains, *d)
	}
	slices.SortFunc(sum.Domains, func(a, b DomainBounces) int {
		return cmp.Or(cmp.Compare(b.Recipients, a.Recipients), strings.Compare(a.Domain, b.Domain))
	})
	sum.Domains = sum.Domains[:min(len(sum.Domains), bounceDomains)]
	return sum
}
