package main

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/handlers/tenants"
	"newsletterd/store"
)

// dnsRecord is a DNS record that receiving mail servers check.
type dnsRecord struct {
	Name  string `json:"name"`
	Type  string `json:"type"` // A, TXT, MX, PTR
	Value string `json:"value"`
	Why   string `json:"why,omitempty"`
}

// records returns the DNS records that a new installation must publish.
func (s *setup) records(ctx context.Context, cfg *config.Config, db *store.Store) ([]dnsRecord, error) {
	keys, err := dkimRecords(ctx, db, s.Domain)
	if err != nil {
		return nil, err
	}
	all := []dnsRecord{
		{s.Domain, "A", "this machine's IP address", "and AAAA if it has an IPv6 address; links in emails lead here"},
		{s.Domain, "TXT", spfRecord(cfg), spfWhy(cfg)},
	}
	all = append(all, keys...)
	return append(all,
		dnsRecord{
			"_dmarc." + s.Domain, "TXT", dmarcRecord(s.Domain, s.Email),
			"p=none only reports; when the reports look good, use p=quarantine",
		},
		dnsRecord{
			s.Domain, "MX", "10 " + s.Domain + ".",
			"or your mail server; receiving servers reject senders whose domain accepts no email",
		},
		dnsRecord{
			"the sending machine's IP address", "PTR", "its host name",
			"set by the provider of the IP address; the name must resolve back to it",
		},
	), nil
}

// domainDNS returns the options for checking the DNS records of sender domains.
func domainDNS(cfg *config.Config) tenants.DNSOptions {
	r := parts.Resolver(cfg.Mail.DNSServer)
	o := tenants.DNSOptions{
		BounceDomain: cfg.Mail.BounceDomain, Kept: cfg.ServerInDatabase(),
		NS: func(ctx context.Context, zone string) (names []string, err error) {
			found, err := r.LookupNS(ctx, zone)
			for _, ns := range found {
				names = append(names, strings.TrimSuffix(ns.Host, "."))
			}
			return names, err
		},
		Host: r.LookupHost,
	}
	if cfg.Mail.Transport == "smtp" {
		m := core.SPFMechanism(cfg.Mail.SMTP.Host)
		if _, host := config.SplitOrigin(cfg.Origin()); m == "" && public(cfg) { // the relay is on the same machine
			m = core.SPFMechanism(host)
		}
		if m != "" {
			o.SPF = []string{m}
		}
	}
	return o
}

// spfRecord returns the SPF record with the machines that are allowed to send for the domain (RFC 7208).
func spfRecord(cfg *config.Config) string {
	host := cfg.Mail.SMTP.Host
	if cfg.Mail.Transport != "smtp" || config.IsLoopback(host) {
		return "v=spf1 a mx ~all"
	}
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if ip.Is4() {
			return "v=spf1 ip4:" + ip.String() + " ~all"
		}
		return "v=spf1 ip6:" + ip.String() + " ~all"
	}
	return "v=spf1 a:" + host + " ~all"
}

func spfWhy(cfg *config.Config) string {
	if cfg.Mail.Transport == "smtp" && !config.IsLoopback(cfg.Mail.SMTP.Host) && net.ParseIP(cfg.Mail.SMTP.Host) == nil {
		return "if your mail server's documentation names an include:, use that instead of a:" + cfg.Mail.SMTP.Host
	}
	return "the machines that send for the domain"
}

// dmarcRecord returns the DMARC record of a domain. It requests reports only to an address in the same domain or a
// parent domain, because others require permission (RFC 7489 section 7.1).
func dmarcRecord(domain string, reports core.Email) string {
	at := reports.Domain()
	if at == domain || strings.HasSuffix(domain, "."+at) {
		return "v=DMARC1; p=none; rua=mailto:" + string(reports)
	}
	return "v=DMARC1; p=none"
}

// dkimRecords returns the DNS records for the keys that sign emails from a domain.
func dkimRecords(ctx context.Context, db *store.Store, domain string) ([]dnsRecord, error) {
	keys, err := cli.Pages(func(k core.DKIMKey) string { return k.ID }, func(page core.Page) ([]core.DKIMKey, error) {
		return db.DKIMKeys(ctx, nil, true, page)
	})
	if err != nil {
		return nil, err
	}
	var all []dnsRecord
	for _, k := range core.ChooseDKIM(keys, domain) {
		all = append(all, dnsRecord{k.RecordName(), "TXT", k.RecordValue(), "the DKIM key that signs emails"})
	}
	return all, nil
}
