package drafts

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/campaigns"
)

// Limits for checking a sender domain's DNS records.
const (
	senderLookups = 4 * time.Second // maximum time for all lookups together
	textsKept     = 5 * time.Minute
	maxTextsKept  = 1000 // maximum number of names in the cache
)

// keptTexts is a cache entry with a name's TXT records.
type keptTexts struct {
	texts []string
	at    core.Instant
}

// lookup returns the TXT records of a name that start with begin, from the cache if the entry is recent. A name without
// records is not an error.
func (k *Checks) lookup(ctx context.Context, name, begin string, now core.Instant) (found []string, err error) {
	k.mu.Lock()
	kept, known := k.texts[name]
	k.mu.Unlock()
	if !known || now.Sub(kept.at) > textsKept {
		kept.texts, err = k.LookupTXT(ctx, name+".") // the trailing dot disables the resolver's search list
		if fault, ok := errors.AsType[*net.DNSError](err); ok && fault.IsNotFound {
			err = nil
		}
		if err != nil {
			return nil, err
		}
		kept.at = now
		k.mu.Lock()
		if k.texts == nil || len(k.texts) >= maxTextsKept {
			k.texts = map[string]keptTexts{}
		}
		k.texts[name] = kept
		k.mu.Unlock()
	}
	for _, text := range kept.texts {
		if len(text) >= len(begin) && strings.EqualFold(text[:len(begin)], begin) {
			found = append(found, text)
		}
	}
	return found, nil
}

// senderLook collects the DNS records of a campaign's sender domain.
type senderLook struct {
	checks *Checks
	domain string
	now    core.Instant
	silent bool // whether a name server didn't respond
	all    []core.CampaignFinding
}

func (s *senderLook) warn(code, hint, format string, args ...any) {
	s.all = append(s.all, core.Warningf(code, core.FindingPlace{Field: "from_email"}, hint, format, args...))
}

// texts is like Checks.lookup, but if no name server responds, ok is false.
func (s *senderLook) texts(ctx context.Context, name, begin string) (found []string, ok bool) {
	found, err := s.checks.lookup(ctx, name, begin, s.now)
	s.silent = s.silent || err != nil
	return found, err == nil
}

// senderFindings checks whether receivers can verify a campaign's sender with DKIM (RFC 6376), SPF (RFC 7208) and DMARC
// (RFC 7489). DMARC requires that DKIM or SPF matches the domain in From.
func (d Drafts) senderFindings(ctx context.Context, draft *campaigns.Draft, now core.Instant) ([]core.CampaignFinding, error) {
	if d.Checks == nil || d.Checks.LookupTXT == nil {
		return nil, nil
	}
	from, err := d.Checks.SenderOf(ctx, d.Store, &draft.Content.Tenant)
	if err != nil {
		return nil, err
	}
	s := senderLook{checks: d.Checks, domain: core.Email(from).Domain(), now: now}
	if !strings.Contains(s.domain, ".") {
		return nil, nil // the domain is a local one
	}
	if core.IsFreeMail(s.domain) {
		s.warn("sender_free_mail", "Use an address at your own domain.",
			"Newsletters from %s addresses are rejected or marked as spam.", s.domain)
		return s.all, nil
	}
	keys, err := d.Store.DKIMKeys(ctx, []string{draft.Campaign.TenantID, core.TenantNone}, false, core.Page{Limit: 1000})
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(k core.DKIMKey) bool { return !k.Signs(draft.Content.Tenant.Domains) })
	ctx, cancel := context.WithTimeout(ctx, senderLookups)
	defer cancel()
	policy := s.dmarc(ctx)
	signed := s.dkim(ctx, core.ChooseDKIM(keys, s.domain), tag(policy, "adkim") == "s")
	envelope := cmp.Or(d.Checks.BounceDomain, s.domain)
	named := s.spf(ctx, envelope)
	if !signed && !(named && core.DomainsAligned(envelope, s.domain, tag(policy, "aspf") == "s")) && !s.silent {
		s.warn("dmarc_misaligned",
			"Create a DKIM key for the domain: newsletterd admin dkim create, or POST /api/admin/dkim-keys.",
			"Neither DKIM nor SPF authenticates %s. Gmail and Yahoo reject such emails or mark them as "+
				"spam.", s.domain)
	}
	if s.silent {
		s.warn("dns_unanswered", "Try again later.", "Some DNS records of %s could not be looked up.", s.domain)
	}
	return s.all, nil
}

// dmarc returns the DMARC policy that applies to the domain.
func (s *senderLook) dmarc(ctx context.Context) string {
	for name := s.domain; strings.Contains(name, "."); _, name, _ = strings.Cut(name, ".") {
		found, ok := s.texts(ctx, "_dmarc."+name, "v=DMARC1")
		switch {
		case !ok:
			return ""
		case len(found) > 1:
			s.warn("dmarc_missing", "Keep only one.", "%s has %d DMARC records. Receiving servers ignore them all.",
				name, len(found))
			return ""
		case len(found) == 1:
			return found[0]
		}
	}
	s.warn("dmarc_missing", "Publish a TXT record at _dmarc."+s.domain+": v=DMARC1; p=none",
		"%s has no DMARC record. Gmail and Yahoo require one.", s.domain)
	return ""
}

// tag returns the value of a tag in a DMARC record.
func tag(record, name string) string {
	for t := range strings.SplitSeq(record, ";") {
		if key, value, _ := strings.Cut(t, "="); strings.TrimSpace(key) == name {
			return strings.ToLower(strings.TrimSpace(value))
		}
	}
	return ""
}

// dkim reports whether one of the keys signs for the domain as DMARC requires.
func (s *senderLook) dkim(ctx context.Context, keys []core.DKIMKey, strict bool) (signed bool) {
	if len(keys) == 0 {
		s.warn("dkim_missing",
			"Create one: newsletterd admin dkim create, or POST /api/admin/dkim-keys. Ignore this if the relay "+
				"signs.",
			"Emails from %s are not signed with DKIM.", s.domain)
	}
	for i := range keys {
		found, ok := s.texts(ctx, keys[i].RecordName(), "")
		published := false
		for _, text := range found {
			published = published || core.DKIMPublicKey(text) == keys[i].Public
		}
		if ok && !published {
			s.warn("dkim_unpublished", "Publish this TXT record: "+keys[i].RecordValue(),
				"The DKIM key %s is not published, so its signatures are not valid.", keys[i].RecordName())
		}
		signed = signed || (published || !ok) && core.DomainsAligned(keys[i].Domain, s.domain, strict)
	}
	return signed
}

// spf reports whether envelope, the bounce domain, has an SPF record.
func (s *senderLook) spf(ctx context.Context, envelope string) bool {
	found, ok := s.texts(ctx, envelope, "v=spf1")
	switch {
	case !ok:
		return false
	case len(found) == 0:
		s.warn("spf_missing", "Create one. newsletterd doctor --dns shows its value.",
			"%s has no SPF record.", envelope)
	case len(found) > 1: // RFC 7208 section 4.5: an error
		s.warn("spf_missing", "Keep only one.", "%s has %d SPF records. Receiving servers ignore them all.",
			envelope, len(found))
	}
	return len(found) == 1
}

// SenderOf returns the address from which a tenant's emails are sent.
func (k *Checks) SenderOf(ctx context.Context, s *store.Store, t *core.Tenant) (string, error) {
	if t.MailFrom != "" || !k.Kept {
		return cmp.Or(t.MailFrom, k.Sender), nil
	}
	m, err := s.MailServer(ctx)
	return cmp.Or(string(m.From), k.Sender), err
}
