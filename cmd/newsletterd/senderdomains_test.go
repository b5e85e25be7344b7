package main

import (
	"context"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
)

// TestSenderDomainsInDNS looks up the record in each form in which people publish it, right or wrong.
func TestSenderDomainsInDNS(t *testing.T) {
	d, err := core.ProposeDomain("t", "news.acme.example", 1)
	if err != nil {
		t.Fatal(err)
	}
	name, value := d.Record().Name, d.Record().Value
	for _, tt := range []struct {
		what   string
		zone   map[string][]string
		result string
		at     string
	}{
		{"the record", map[string][]string{name + " TXT": {value}}, core.DomainFound, ""},
		{"beside others", map[string][]string{name + " TXT": {"v=spf1 -all", value}}, core.DomainFound, ""},
		{"in two strings", map[string][]string{name + " TXT": {value[:30] + "|" + value[30:]}}, core.DomainFound, ""},
		{"by another name", map[string][]string{
			name + " CNAME": {"proofs.example.net"}, "proofs.example.net TXT": {value},
		}, core.DomainFound, ""},
		{"nothing", nil, core.DomainMissing, ""},
		{"the name without a TXT record", map[string][]string{name + " A": {"192.0.2.1"}}, core.DomainMissing, ""},
		{"of an earlier proposal", map[string][]string{name + " TXT": {value + "0"}}, core.DomainOtherValue, ""},
		{"at the domain", map[string][]string{d.Domain + " TXT": {"v=spf1 -all", value}}, core.DomainMisplaced, d.Domain},
		{"at the domain, with another at the name", map[string][]string{
			d.Domain + " TXT": {value}, name + " TXT": {"x"},
		}, core.DomainMisplaced, d.Domain},
		{
			"the domain twice",
			map[string][]string{name + "." + d.Domain + " TXT": {value}},
			core.DomainMisplaced, name + "." + d.Domain,
		},
		{
			"the zone twice",
			map[string][]string{name + ".acme.example TXT": {value}},
			core.DomainMisplaced, name + ".acme.example",
		},
		{"SERVFAIL", map[string][]string{name + " SERVFAIL": nil}, core.DomainFault, ""},
	} {
		result, at := auth.CheckDomain(t.Context(), parts.Resolver(daemontest.DNS(t, tt.zone)).LookupTXT, d)
		if result != tt.result || at != tt.at {
			t.Errorf("%s: %s %q, want %s %q", tt.what, result, at, tt.result, tt.at)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	silent := daemontest.DNS(t, map[string][]string{name + " SILENT": nil})
	if result, _ := auth.CheckDomain(ctx, parts.Resolver(silent).LookupTXT, d); result != core.DomainTimeout {
		t.Errorf("no answer: %s", result)
	}
	nowhere := parts.Resolver(daemontest.FreeAddr(t))
	if result, _ := auth.CheckDomain(t.Context(), nowhere.LookupTXT, d); result != core.DomainTimeout {
		t.Errorf("no name server: %s", result)
	}
}
