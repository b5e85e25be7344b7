package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/core"
	"newsletterd/mail/smtp"
)

// ownServer makes d use the mail server from the database if the configuration doesn't set one.
func (d *doctor) ownServer() {
	if d.store == nil || !d.cfg.ServerInDatabase() {
		return
	}
	m, err := d.store.MailServer(d.ctx)
	if err != nil {
		d.fault("relay", "", "%s", cause(err))
		return
	}
	if !m.Set() {
		return
	}
	cfg := *d.cfg
	cfg.Mail.Transport, cfg.Mail.From = "smtp", string(m.From)
	s := &cfg.Mail.SMTP
	s.Host, s.Port, s.TLS, s.Username, s.Password = m.Relay.Host, m.Relay.Port, m.Relay.TLS, m.Relay.Username,
		config.Secret(m.Relay.Password)
	d.cfg = &cfg
}

// relay checks that the daemon can connect and sign in to its mail server.
func (d *doctor) relay() {
	c := d.cfg.Mail
	if c.Transport == "directory" {
		if public(d.cfg) {
			d.warn("relay", "set up a mail server in the console under Server, or in [mail.smtp]", "emails are only "+
				"saved to files in %s",
				c.Directory)
		} else {
			d.ok("relay", "emails are saved to files in %s", c.Directory)
		}
		return
	}
	sender, err := parts.Transport(d.cfg)
	if err != nil {
		d.fault("relay", "", "%s", cause(err))
		return
	}
	relay := sender.(*smtp.Client)
	ctx, cancel := context.WithTimeout(d.ctx, timeLimit)
	defer cancel()
	if err := relay.Probe(ctx); err != nil {
		d.fault("relay", relayAdvice(err), "%s: %s", relay.Addr, cause(err))
		return
	}
	if c.SMTP.Username == "" {
		d.ok("relay", "%s accepts email", relay.Addr)
	} else {
		d.ok("relay", "%s accepts the sign-in of %s", relay.Addr, c.SMTP.Username)
	}
}

func relayAdvice(err error) string {
	route, ok := errors.AsType[*smtp.RelayError](err)
	switch {
	case !ok:
		return ""
	case route.Stage == "AUTH":
		return "check username and password in [mail.smtp]"
	case route.Stage == "dial":
		return "check host and port in [mail.smtp]; many hosting providers block port 25, so try 587 or 465"
	default:
		return `check tls in [mail.smtp]: "starttls" for port 587, "implicit" for 465`
	}
}

// sendingDomains returns the domains of all sender addresses in use.
func (d *doctor) sendingDomains() (domains []string) {
	add := func(address string) {
		_, domain, _ := strings.Cut(address, "@")
		if domain = strings.ToLower(domain); domain != "" && domain != "localhost" && !slices.Contains(domains, domain) {
			domains = append(domains, domain)
		}
	}
	add(d.cfg.Mail.From)
	for _, t := range d.tenants("dns") {
		add(t.MailFrom)
	}
	return domains
}

// tenants returns all tenants. If they can't be read, it adds a finding for the given check.
func (d *doctor) tenants(check string) []core.Tenant {
	if d.store == nil {
		return nil
	}
	tenants, err := cli.Pages(func(t core.Tenant) string { return t.ID }, func(page core.Page) ([]core.Tenant, error) {
		return d.store.Tenants(d.ctx, nil, true, page)
	})
	if err != nil {
		d.fault(check, "", "%s", cause(err))
	}
	return tenants
}

// postal checks for tenants whose newsletters don't contain a postal address.
func (d *doctor) postal() {
	var without []string
	for _, t := range d.tenants("postal address") {
		if t.PostalAddress == "" && t.Active() {
			without = append(without, cmp.Or(t.Name, t.ID))
		}
	}
	if len(without) > 0 {
		d.warn("postal address", "many countries require one: newsletterd admin tenant update --id ID "+
			"--postal-address TEXT",
			"missing in the newsletters of %s, for example %s",
			counted(len(without), "tenant"), cli.Printable(without[0]))
	}
}

// senderDomains counts the sender domains of tenants. If DNS is checked, it also checks that the records that verified
// them still exist. A domain stays verified even if its record is removed.
func (d *doctor) senderDomains() {
	if d.store == nil {
		return
	}
	domains, err := cli.Pages(func(s core.SenderDomain) string { return s.ID },
		func(page core.Page) ([]core.SenderDomain, error) {
			return d.store.SenderDomains(d.ctx, nil, true, page)
		})
	if err != nil {
		d.fault("sender domains", "", "%s", cause(err))
		return
	}
	var proposed []string
	verified := map[string]int{}
	for _, s := range domains {
		if !s.Verified() {
			proposed = append(proposed, s.Domain)
			continue
		}
		if verified[s.Domain]++; verified[s.Domain] == 2 {
			d.warn("sender domains", "remove it from one of them: newsletterd admin domain list, then newsletterd "+
				"admin domain delete",
				"%s is verified for more than one tenant", s.Domain)
		}
		d.proof(s)
	}
	said := counted(len(verified), "verified domain")
	if len(proposed) > 0 {
		d.add("sender domains", core.LevelOK, "newsletterd admin domain check --id ID, or newsletterd admin domain "+
			"verify --id ID",
			"%s; %d not verified, for example %s", said, len(proposed), proposed[0])
	} else if len(domains) > 0 {
		d.ok("sender domains", "%s", said)
	}
}

// proof checks that the record that verified a domain still exists.
func (d *doctor) proof(s core.SenderDomain) {
	if d.resolver == nil || s.VerifiedBy != core.VerifiedByDNS {
		return
	}
	switch result, _ := auth.CheckDomain(d.ctx, d.resolver.LookupTXT, s); result {
	case core.DomainFound:
	case core.DomainFault, core.DomainTimeout:
		d.warn("sender domains", "try again", "no name server responds for %s", s.Record().Name)
	default:
		d.warn("sender domains", "ask the tenant if they still own the domain; sending continues",
			"%s is verified, but its TXT record %s is missing", s.Domain, s.Record().Name)
	}
}

// dns checks the records that receiving mail servers look up.
func (d *doctor) dns() {
	ctx, cancel := context.WithTimeout(d.ctx, 3*timeLimit)
	defer cancel()
	if _, host := config.SplitOrigin(d.cfg.Origin()); public(d.cfg) {
		if addrs, err := d.resolver.LookupHost(ctx, host); err != nil {
			d.fault("address", "add an A record (AAAA for IPv6) that points to this machine", "%s: %s", host,
				dnsError(err))
		} else {
			d.ok("address", "%s is %s", host, strings.Join(addrs, ", "))
		}
	}
	for _, domain := range d.sendingDomains() {
		d.spf(ctx, domain)
		d.dkim(ctx, domain)
		d.dmarc(ctx, domain)
		d.mx(ctx, domain, "MX", "receiving servers reject senders whose domain accepts no email: add an MX record")
	}
	if b := d.cfg.Mail.BounceDomain; b != "" {
		d.spf(ctx, b)
		d.mx(ctx, b, "bounces", "bounces are lost: add an MX record for bounce_domain")
	}
	d.ptr(ctx)
}

// texts returns the TXT records of name that start with begin.
func (d *doctor) texts(ctx context.Context, name, begin string) ([]string, error) {
	all, err := d.resolver.LookupTXT(ctx, name)
	if notFound(err) {
		err = nil
	}
	return slices.DeleteFunc(all, func(s string) bool {
		return len(s) < len(begin) || !strings.EqualFold(s[:len(begin)], begin)
	}), err
}

func (d *doctor) spf(ctx context.Context, domain string) {
	switch all, err := d.texts(ctx, domain, "v=spf1"); {
	case err != nil:
		d.warn("SPF", "try again", "%s: %s", domain, dnsError(err))
	case len(all) == 0:
		d.fault("SPF", "", "%s has no SPF record", domain)
		d.advise("add this TXT record: %s", spfRecord(d.cfg))
	case len(all) > 1: // RFC 7208 section 4.5: an error, so none counts
		d.fault("SPF", "keep only one", "%s has %d SPF records, so receiving servers ignore them", domain, len(all))
	case strings.HasSuffix(all[0], "+all"):
		d.fault("SPF", "end it with ~all or -all", "%s lets anyone send: %s", domain, all[0])
	default:
		d.ok("SPF", "%s: %s", domain, all[0])
	}
}

func (d *doctor) dmarc(ctx context.Context, domain string) {
	for name := domain; strings.Contains(name, "."); _, name, _ = strings.Cut(name, ".") {
		switch all, err := d.texts(ctx, "_dmarc."+name, "v=DMARC1"); {
		case err != nil:
			d.warn("DMARC", "try again", "%s: %s", name, dnsError(err))
			return
		case len(all) == 1:
			d.ok("DMARC", "%s: %s", name, all[0])
			return
		case len(all) > 1:
			d.fault("DMARC", "keep only one", "%s has %d DMARC records, so receiving servers ignore "+
				"them", name, len(all))
			return
		}
	}
	d.fault("DMARC", "", "%s has no DMARC record; Gmail and Yahoo require one", domain)
	d.advise("add a TXT record at _dmarc.%s: v=DMARC1; p=none", domain)
}

// dkim compares the DKIM keys in the database with those in DNS.
func (d *doctor) dkim(ctx context.Context, domain string) {
	if d.store == nil {
		return
	}
	want, err := dkimRecords(ctx, d.store, domain)
	if err != nil {
		d.fault("DKIM", "", "%s", cause(err))
		return
	}
	if len(want) == 0 {
		d.warn("DKIM", "run newsletterd admin dkim create, unless your mail server signs", "%s has no DKIM key", domain)
	}
	for _, r := range want {
		got, err := d.texts(ctx, r.Name, "")
		switch {
		case err != nil:
			d.warn("DKIM", "try again", "%s: %s", r.Name, dnsError(err))
		case slices.ContainsFunc(got, func(s string) bool { return core.DKIMPublicKey(s) == core.DKIMPublicKey(r.Value) }):
			d.ok("DKIM", "%s is published", r.Name)
		case len(got) == 0:
			d.fault("DKIM", "", "%s is not published", r.Name)
			d.advise("add this TXT record: %s", r.Value)
		default:
			d.fault("DKIM", "", "%s has a different key", r.Name)
			d.advise("change it to: %s", r.Value)
		}
	}
}

func (d *doctor) mx(ctx context.Context, domain, check, advice string) {
	all, err := d.resolver.LookupMX(ctx, domain)
	switch {
	case err != nil && !notFound(err):
		d.warn(check, "try again", "%s: %s", domain, dnsError(err))
	case len(all) == 0:
		d.warn(check, advice, "%s has no MX record", domain)
	default:
		names := make([]string, len(all))
		for i, m := range all {
			names[i] = strings.TrimSuffix(m.Host, ".")
		}
		d.ok(check, "%s: %s", domain, strings.Join(names, ", "))
	}
}

// ptr checks that the relay's addresses have names that resolve back to them (RFC 1912 section 2.1).
func (d *doctor) ptr(ctx context.Context) {
	host := d.cfg.Mail.SMTP.Host
	if d.cfg.Mail.Transport != "smtp" || config.IsLoopback(host) {
		return
	}
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		d.fault("PTR", "check host in [mail.smtp]", "%s: %s", host, dnsError(err))
		return
	}
	for _, a := range addrs {
		a = a.Unmap()
		names, err := d.resolver.LookupAddr(ctx, a.String())
		switch {
		case err != nil && !notFound(err):
			d.warn("PTR", "try again", "%s: %s", a, dnsError(err))
		case !d.leadsBack(ctx, names, a):
			d.warn("PTR", "ask the provider of the IP address to set its reverse DNS name; ignore this if your mail "+
				"server sends from other addresses",
				"%s (%s) has no reverse DNS name that resolves back to it", a, host)
		default:
			d.ok("PTR", "%s is %s", a, strings.TrimSuffix(names[0], "."))
		}
	}
}

func (d *doctor) leadsBack(ctx context.Context, names []string, to netip.Addr) bool {
	for _, n := range names {
		back, err := d.resolver.LookupNetIP(ctx, "ip", n)
		if err == nil && slices.ContainsFunc(back, func(a netip.Addr) bool { return a.Unmap() == to }) {
			return true
		}
	}
	return false
}

func notFound(err error) bool {
	fault, ok := errors.AsType[*net.DNSError](err)
	return ok && fault.IsNotFound
}

// dnsError is like cause, for a failed DNS lookup. It leaves out the name, because the finding already contains it.
func dnsError(err error) core.Sentence {
	fault, ok := errors.AsType[*net.DNSError](err)
	switch {
	case !ok:
		return cause(err)
	case fault.IsNotFound:
		return core.Say("no such host")
	}
	return core.Say("no name server responded (%s)", fault.Err)
}

// cause returns the reason for a failure as a translatable sentence. It adds the error in parentheses after a common
// reason, because the error may name a file, a host or an address.
func cause(err error) core.Sentence {
	text := terminal.Message(err)
	_, isTLS := errors.AsType[*tls.CertificateVerificationError](err)
	network, isNet := errors.AsType[net.Error](err)
	switch {
	case notFound(err):
		return core.Say("the host doesn't exist (%s)", text)
	case isTLS:
		return core.Say("the certificate isn't trusted (%s)", text)
	case errors.Is(err, context.DeadlineExceeded), isNet && network.Timeout():
		return core.Say("no response in time (%s)", text)
	case errors.Is(err, syscall.ECONNREFUSED):
		return core.Say("the connection was refused (%s)", text)
	case errors.Is(err, os.ErrPermission):
		return core.Say("permission denied (%s)", text)
	case errors.Is(err, os.ErrNotExist):
		return core.Say("a file or folder is missing (%s)", text)
	case errors.Is(err, syscall.ENOSPC):
		return core.Say("the disk is full (%s)", text)
	case errors.Is(err, core.ErrStorage):
		return core.Say("the database returned an error (%s)", text)
	}
	return core.Sentence{Text: text}
}
