package core

import (
	"cmp"
	"slices"
	"strings"
)

// BounceCounts holds the number of refused and bounced emails in each class.
type BounceCounts struct {
	Gone    int64 `json:"gone" about:"The mailbox or domain doesn't exist, or is closed"`
	Full    int64 `json:"full" about:"The mailbox is full"`
	Blocked int64 `json:"blocked" about:"Blocked by a rule of the provider: spam, a blocklist or missing authentication"`
	Later   int64 `json:"later" about:"Temporarily refused and retried"`
	Refused int64 `json:"refused" about:"Permanently refused, for another reason"`
}

// Sum returns the total for all classes.
func (c *BounceCounts) Sum() int64 { return c.Gone + c.Full + c.Blocked + c.Later + c.Refused }

// DomainBounces holds the bounce counts for one recipient domain.
type DomainBounces struct {
	Domain     string `json:"domain"`
	Recipients int64  `json:"recipients" about:"Recipients at this domain whose email was refused or bounced"`
	BounceCounts
}

// Bounces summarizes a campaign's refused and bounced emails.
type Bounces struct {
	Recipients int64           `json:"recipients" about:"Recipients whose email was refused or bounced"`
	CameBack   int64           `json:"came_back" about:"Part of recipients: a mail server accepted the email before it bounced"`
	Classes    BounceCounts    `json:"classes" about:"Number of recipients by reason"`
	Domains    []DomainBounces `json:"domains" about:"Recipient domains with the most bounces, at most 50"`
	Partial    bool            `json:"partial" about:"Whether only a part of the emails was counted, because there are too many"`
}

// Limits of bounce statistics.
const (
	BounceSample  = 5000 // emails examined of each kind: refused, deferred, bounced
	bounceDomains = 50
)

// Bounced is an email that was refused or bounced.
type Bounced struct {
	EmailKey string `db:"email_key"`
	Reason   string `db:"reason"` // of a refusal: the relay's reply
	Hard     bool   `db:"hard"`   // bounced, and the address doesn't exist
	Back     bool   `db:"back"`   // bounced after it was accepted
}

// count returns a pointer to the field of c that counts emails like b, or nil if no mail server refused the email.
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

// SumBounces counts refused and bounced emails by class and by recipient domain.
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
