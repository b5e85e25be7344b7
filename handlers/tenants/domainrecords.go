package tenants

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// recordsPath is the path of the page that shows a sender domain's DNS records to anyone with the link.
const recordsPath = "/records"

// DNSOptions configures the checks of sender domains' DNS records other than TXT records.
type DNSOptions struct {
	// NS looks up the name servers of a zone, and Host the addresses of a host, like net.Resolver. If they are nil, no
	// name server answers.
	NS, Host auth.LookupTXT
	// SPF contains the mechanisms that allow the default mail server to send. It is empty if they are unknown or the
	// server sends nothing.
	SPF []string
	// Kept is true if the mail server can be set in the database. That server's mechanism then replaces SPF.
	Kept bool
	// BounceDomain is the domain that receives bounces. Empty means the sender's domain, which then needs an SPF
	// record.
	BounceDomain string
}

// Limits for checking a sender domain's DNS records.
const (
	recordLookups    = 6 * time.Second // maximum time in total
	recordLookupsRun = 8               // number of concurrent lookups
	answersKept      = 5 * time.Second
	maxAnswersKept   = 1000
	maxAnswerBytes   = 4 << 20 // maximum total size of cached answers; one answer can have 64 KiB
)

// domainRecords serves the DNS records of sender domains. It is safe for concurrent use.
type domainRecords struct {
	store   *store.Store
	sealer  *auth.Sealer
	txt     auth.LookupTXT
	dns     DNSOptions
	origin  string
	asking  singleflight.Group
	mu      sync.Mutex
	answers map[string]dnsAnswer // answers by type and name
	bytes   int                  // upper bound of their size, which forget doesn't reduce
}

// dnsAnswer is the answer to a DNS query.
type dnsAnswer struct {
	found []string
	known bool // whether the server has answered, even if it has no record
	at    core.Instant
}

// ask returns the answer to a DNS query, from the cache if it is only a few seconds old. Missing answers are cached,
// too, and concurrent requests wait for the same answer. The link to the page therefore can't be used to send many DNS
// queries.
func (a *domainRecords) ask(ctx context.Context, kind string, lookup auth.LookupTXT, name string, now core.Instant) dnsAnswer {
	if lookup == nil {
		return dnsAnswer{}
	}
	key := kind + " " + name
	a.mu.Lock()
	answer, kept := a.answers[key]
	a.mu.Unlock()
	if kept && now.Sub(answer.at) < answersKept {
		return answer
	}
	shared, _, _ := a.asking.Do(key, func() (any, error) {
		until, _ := ctx.Deadline()
		ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), until) // other requests wait for it, too
		defer cancel()
		found, err := lookup(ctx, name+".") // the dot disables the resolver's search list
		fault, isDNS := errors.AsType[*net.DNSError](err)
		answer := dnsAnswer{found, err == nil || isDNS && fault.IsNotFound, now}
		a.mu.Lock()
		defer a.mu.Unlock()
		size := len(key) + len(strings.Join(found, ""))
		if a.bytes += size; a.answers == nil || len(a.answers) >= maxAnswersKept || a.bytes > maxAnswerBytes {
			a.answers, a.bytes = map[string]dnsAnswer{}, size
		}
		a.answers[key] = answer
		return answer, nil
	})
	return shared.(dnsAnswer)
}

// forget removes the answers for a zone's names from the cache, so that the next check queries them again.
func (a *domainRecords) forget(domain string) {
	zone := core.RegisteredDomain(domain)
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.answers, func(key string, _ dnsAnswer) bool {
		_, name, _ := strings.Cut(key, " ")
		return name == zone || strings.HasSuffix(name, "."+zone)
	})
}

// recordsLook is one check of a sender domain's DNS records.
type recordsLook struct {
	*domainRecords
	ctx    context.Context
	now    core.Instant
	domain *core.SenderDomain
}

func (l *recordsLook) texts(name string) dnsAnswer { return l.ask(l.ctx, "TXT", l.txt, name, l.now) }

// of sets the state of r according to the DNS record with its name. is recognizes the expected value, and alike a
// different value for the same purpose.
func (l *recordsLook) of(r *core.DomainRecord, is, alike func(string) bool, elsewhere ...string) {
	answer := l.texts(r.Name)
	for _, text := range answer.found {
		if alike(text) {
			r.Standing = append(r.Standing, text)
		}
	}
	switch {
	case slices.ContainsFunc(answer.found, is):
		r.State = core.RecordFound
		return
	case !answer.known:
		r.State = core.RecordUnknown
		return
	case len(r.Standing) > 0:
		r.State = core.RecordOther
	default:
		r.State = core.RecordMissing
	}
	l.misplaced(r, is, elsewhere...)
}

// misplaced looks for a record in places where people often publish it by mistake.
func (l *recordsLook) misplaced(r *core.DomainRecord, is func(string) bool, elsewhere ...string) {
	for _, name := range append(elsewhere, core.DoubledNames(r.Name, l.domain.Domain)...) {
		if slices.ContainsFunc(l.texts(name).found, is) {
			r.State, r.FoundAt = core.RecordMisplaced, name
			return
		}
	}
}

func begins(word string) func(string) bool {
	return func(text string) bool {
		text = strings.Trim(text, " \t\"")
		return len(text) >= len(word) && strings.EqualFold(text[:len(word)], word)
	}
}

func (l *recordsLook) proof(r *core.DomainRecord) {
	l.of(r, l.domain.Proves, begins("newsletterd-verification="), l.domain.Domain)
}

func (l *recordsLook) dkim(r *core.DomainRecord, public string) {
	l.of(r, func(text string) bool { return core.DKIMPublicKey(text) == public },
		func(text string) bool { return core.DKIMPublicKey(text) != "" })
}

// dmarc checks the domain's DMARC record. If there is none, it checks the registered domain, whose policy then applies
// (RFC 7489 section 6.6.3).
func (l *recordsLook) dmarc(r *core.DomainRecord) {
	is := core.IsDMARC
	alike := func(text string) bool { return strings.Contains(strings.ToUpper(text), "DMARC1") }
	l.of(r, is, alike)
	if r.State == core.RecordFound { // receivers discard records that only look alike (RFC 7489 section 6.6.3)
		r.Standing = slices.DeleteFunc(r.Standing, func(s string) bool { return !is(s) })
	}
	if r.State == core.RecordFound && len(r.Standing) > 1 {
		r.State = core.RecordSeveral
	}
	top := core.RegisteredDomain(l.domain.Domain)
	if r.State != core.RecordMissing && r.State != core.RecordOther || top == l.domain.Domain {
		return
	}
	if above := l.texts("_dmarc." + top); slices.ContainsFunc(above.found, is) {
		r.Above = true
		r.State, r.Standing = core.RecordFound, slices.DeleteFunc(slices.Clone(above.found),
			func(s string) bool { return !is(s) })
	}
}

func (l *recordsLook) spf(r *core.DomainRecord, mechanisms []string) {
	answer := l.texts(r.Name)
	r.Value, r.State, r.Standing = core.MergeSPF(answer.found, mechanisms)
	if !answer.known {
		r.State = core.RecordUnknown
	}
	if r.State == core.RecordMissing {
		l.misplaced(r, begins("v=spf1 "))
	}
}

// spfOfOthers looks for other senders' SPF records. Several such records, or one with a syntax error, are always an
// error in the domain.
func (l *recordsLook) spfOfOthers() core.DomainRecord {
	r := core.DomainRecord{Purpose: core.RecordSPF, DNSRecord: core.DNSRecord{Type: "TXT", Name: l.domain.Domain}}
	r.Value, r.State, r.Standing = core.MergeSPF(l.texts(r.Name).found, nil)
	return r
}

// link checks whether the host in links resolves to the same addresses as the server's own host.
func (l *recordsLook) link(r *core.DomainRecord, own string) {
	theirs, ours := l.ask(l.ctx, "host", l.dns.Host, r.Name, l.now), l.ask(l.ctx, "host", l.dns.Host, own, l.now)
	if r.Type == "A" && len(ours.found) > 0 {
		r.Value = ours.found[0]
	}
	switch {
	case !theirs.known || !ours.known:
		r.State = core.RecordUnknown
	case slices.ContainsFunc(theirs.found, func(a string) bool { return slices.Contains(ours.found, a) }):
		r.State = core.RecordFound
	case len(theirs.found) > 0:
		r.State, r.Standing = core.RecordOther, theirs.found
	default:
		r.State = core.RecordMissing
	}
}

// zone returns the domain's zone and its name servers.
func (l *recordsLook) zone() (zone string, servers []string) {
	top := core.RegisteredDomain(l.domain.Domain)
	for zone = l.domain.Domain; ; _, zone, _ = strings.Cut(zone, ".") {
		if answer := l.ask(l.ctx, "NS", l.dns.NS, zone, l.now); len(answer.found) > 0 {
			return zone, answer.found
		}
		if zone == top || !strings.Contains(zone, ".") {
			return top, nil
		}
	}
}

// mechanisms returns the SPF mechanisms that allow a tenant's relays to send.
func (a *domainRecords) mechanisms(ctx context.Context, t *core.Tenant) (all []string, err error) {
	for _, r := range t.Relays {
		if m := core.SPFMechanism(r.Host); m != "" && !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	if len(t.Relays) > 0 {
		return all, nil
	}
	if a.dns.Kept {
		m, err := a.store.MailServer(ctx)
		if err != nil {
			return nil, err
		}
		if spf := core.SPFMechanism(m.Relay.Host); spf != "" {
			return []string{spf}, nil
		}
	}
	return a.dns.SPF, nil
}

// records checks all DNS records that a sender domain needs.
func (a *domainRecords) records(ctx context.Context, d core.SenderDomain, now core.Instant) (out core.DomainRecords, err error) {
	t, err := a.store.Tenant(ctx, d.TenantID)
	if err != nil {
		return out, err
	}
	keys, err := a.store.DKIMKeys(ctx, []string{d.TenantID}, false, core.Page{Limit: core.MaxDKIMKeys})
	if err != nil {
		return out, err
	}
	out = core.DomainRecords{Domain: d.Domain, Status: d.View().Status, NameServers: []string{}, CheckedAt: now}
	ctx, cancel := context.WithTimeout(ctx, recordLookups)
	defer cancel()
	l := &recordsLook{domainRecords: a, ctx: ctx, now: now, domain: &d}
	var looks []func(r *core.DomainRecord)
	add := func(purpose string, record core.DNSRecord, look func(r *core.DomainRecord)) {
		out.Records = append(out.Records, core.DomainRecord{Purpose: purpose, DNSRecord: record, Standing: []string{}})
		looks = append(looks, look)
	}
	add(core.RecordProof, d.Record(), l.proof)
	for _, k := range keys {
		if k.Domain == d.Domain {
			add(core.RecordDKIM, core.DNSRecord{Type: "TXT", Name: k.RecordName(), Value: k.RecordValue()},
				func(r *core.DomainRecord) { l.dkim(r, k.Public) })
			last := &out.Records[len(out.Records)-1]
			last.KeyID, last.Active = k.ID, k.Status == core.DKIMActive
		}
	}
	mechanisms, err := a.mechanisms(ctx, &t)
	if err != nil {
		return out, err
	}
	switch {
	case a.dns.BounceDomain != "":
		out.SPF = core.SPFNotNeeded
	case len(mechanisms) == 0:
		out.SPF = core.SPFUnknown
	default:
		out.SPF = core.SPFNeeded
		add(core.RecordSPF, core.DNSRecord{Type: "TXT", Name: d.Domain},
			func(r *core.DomainRecord) { l.spf(r, mechanisms) })
	}
	add(core.RecordDMARC, core.DNSRecord{Type: "TXT", Name: "_dmarc." + d.Domain, Value: "v=DMARC1; p=none"}, l.dmarc)
	if host, own := hostName(t.PublicURL), hostName(a.origin); own != "" &&
		(host == d.Domain || strings.HasSuffix(host, "."+d.Domain)) {
		record := core.DNSRecord{Type: "CNAME", Name: host, Value: own}
		if host == core.RegisteredDomain(host) { // the apex of a zone can't be an alias (RFC 1912 section 2.4)
			record.Type = "A"
		}
		add(core.RecordLink, record, func(r *core.DomainRecord) { l.link(r, own) })
	}
	var group errgroup.Group
	group.SetLimit(recordLookupsRun)
	group.Go(func() error { out.Zone, out.NameServers = l.zone(); return nil })
	var others core.DomainRecord // SPF records of other senders; checked if newsletterd needs none
	if out.SPF != core.SPFNeeded {
		group.Go(func() error { others = l.spfOfOthers(); return nil })
	}
	for i := range out.Records {
		group.Go(func() error { looks[i](&out.Records[i]); return nil })
	}
	_ = group.Wait() // the functions return no errors
	if others.State == core.RecordSeveral || others.State == core.RecordChange {
		out.Records = append(out.Records, others)
	}
	// Copy the name servers, because other requests share the cached answer.
	out.NameServers = slices.Sorted(slices.Values(out.NameServers))
	if out.NameServers == nil {
		out.NameServers = []string{}
	}
	out.Host, out.HostName, _ = core.DNSHost(out.NameServers)
	for i := range out.Records {
		out.Records[i].Label = core.LabelIn(out.Records[i].Name, out.Zone)
	}
	out.Judge()
	return out, nil
}

// hostName returns the host of an origin, or an empty string if the host has no name in the DNS.
func hostName(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	host, ok := core.ParseDomain(u.Hostname())
	if !ok {
		return ""
	}
	return host
}

// show serves GET /api/admin/sender-domains/:id/records.
func (a *domainRecords) show(c *web.Call, id string) (out core.DomainRecords, err error) {
	d, err := a.store.SenderDomain(c, id)
	if err != nil {
		return out, err
	}
	return a.records(c, d, c.Now)
}

// recordsLink holds the URL of a page that shows a domain's DNS records to anyone with the URL.
type recordsLink struct {
	URL       string       `json:"url" about:"Public URL of a page with the records, for the person who manages your DNS"`
	ExpiresAt core.Instant `json:"expires_at"`
}

func (a *domainRecords) link(c *web.Call, id string) (out recordsLink, err error) {
	d, err := a.store.SenderDomain(c, id)
	t := auth.RecordsToken{DomainID: d.ID, IssuedAt: c.Now}
	return recordsLink{
		c.PublicURL() + recordsPath + "?" + url.Values{"token": {a.sealer.SealRecords(t)}}.Encode(),
		c.Now.Add(auth.RecordsTTL),
	}, err
}

// recordsToken holds the token of a records link, which identifies a domain.
type recordsToken struct {
	Token string `query:"token" is:"required"`
}

// errRecordsLink is returned if a records link has expired or was never valid.
var errRecordsLink = core.Invalidf("token", "The link is no longer valid. Ask the person who sent it for a new one.")

// forwarded serves GET /api/sender-domain-records. It returns the records without key ids to anyone with the link.
func (a *domainRecords) forwarded(c *web.Call, in recordsToken) (out core.DomainRecords, err error) {
	t, err := a.sealer.OpenRecords(in.Token)
	if err != nil || t.Expired(c.Now) {
		return out, errRecordsLink
	}
	d, err := a.store.SenderDomain(c, t.DomainID)
	if core.KindOf(err) == core.NotFound {
		return out, errRecordsLink
	}
	if err != nil {
		return out, err
	}
	out, err = a.records(c, d, c.Now)
	for i := range out.Records {
		out.Records[i].KeyID = ""
	}
	return out, err
}
