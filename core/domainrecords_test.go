package core

import (
	"slices"
	"strings"
	"testing"
)

func TestMergeSPF(t *testing.T) {
	for _, tt := range []struct {
		name, standing, want, state string
	}{
		{"none", "", "v=spf1 a:relay.example ~all", RecordMissing},
		{"others alone", "google-site-verification=x|v=spf10 a", "v=spf1 a:relay.example ~all", RecordMissing},
		{"complete", "v=spf1 MX +A:relay.Example -all", "v=spf1 MX +A:relay.Example -all", RecordFound},
		{
			"extended before all", "v=spf1 include:_spf.google.com -all",
			"v=spf1 include:_spf.google.com a:relay.example -all", RecordChange,
		},
		{
			"a word that is none", "v=spf1 inclde:x.example include: a:relay.example exp=why.example -exp=x all:y ip4 -all",
			"v=spf1 a:relay.example exp=why.example -all", RecordChange,
		},
		{"empty", "v=spf1", "v=spf1 a:relay.example ~all", RecordChange},
		{"nobody sends", "v=spf1 -all", "v=spf1 a:relay.example -all", RecordChange},
		{
			"redirect stays the last", "v=spf1 redirect=_spf.host.example",
			"v=spf1 a:relay.example redirect=_spf.host.example", RecordChange,
		},
		{
			"two become one", "v=spf1 include:a.example mx -all|x|V=SPF1 MX a:relay.example ~all",
			"v=spf1 include:a.example mx a:relay.example ~all", RecordSeveral,
		},
		{
			"two, one of which redirects", "v=spf1 redirect=h.example|v=spf1 mx -all",
			"v=spf1 mx a:relay.example include:h.example -all", RecordSeveral,
		},
	} {
		value, state, _ := MergeSPF(strings.Split(tt.standing, "|"), []string{"a:relay.example"})
		if value != tt.want || state != tt.state {
			t.Errorf("%s: %q, %s", tt.name, value, state)
		}
		if state != RecordFound {
			if again, state, _ := MergeSPF([]string{value}, []string{"a:relay.example"}); state != RecordFound ||
				again != value {
				t.Errorf("%s: not found once it stands: %q, %s", tt.name, again, state)
			}
		}
	}
}

// FuzzMergeSPF checks that a merged record contains every valid term of the existing records and the mechanism, and
// that MergeSPF finds it complete.
func FuzzMergeSPF(f *testing.F) {
	f.Add("v=spf1 a mx -all", "v=spf1 include:x ?all")
	f.Add("v=spf1 redirect=", "v=spf1 +a +A all")
	f.Fuzz(func(t *testing.T, one, two string) {
		value, _, standing := MergeSPF([]string{one, two}, []string{"a:relay.example"})
		if !isSPF(value) {
			t.Fatalf("%q is no record", value)
		}
		terms := strings.Fields(value)
		for _, text := range standing {
			for _, term := range strings.Fields(text)[1:] {
				l := strings.ToLower(term)
				if isSPFTerm(term) && !hasTerm(terms, term) && strings.TrimLeft(l, "+-~?") != "all" && !strings.HasPrefix(l, "redirect=") {
					t.Errorf("%q lacks %q of %q", value, term, text)
				}
			}
		}
		if _, state, _ := MergeSPF([]string{value}, []string{"a:relay.example"}); state != RecordFound {
			t.Errorf("%q from %q and %q: %s", value, one, two, state)
		}
	})
}

// TestRecordsOfDMARC checks that a record without a known policy is a DMARC record only if it requests reports.
func TestRecordsOfDMARC(t *testing.T) {
	for text, want := range map[string]bool{
		"v=DMARC1; p=none": true, `"v=dmarc1;P=Reject"`: true, "v=DMARC1; p=nothing; rua=mailto:a@acme.example": true,
		"v=DMARC1; p=nothing": false, "v=DMARC1; rua=me@acme.example": false, "v=DMARC12; p=none": false, "v=DMARC1": false, "p=none": false, "DMARC1; p=none": false, "": false,
	} {
		if got := IsDMARC(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestSPFMechanism(t *testing.T) {
	for host, want := range map[string]string{
		"": "", "localhost": "", "127.0.0.1": "", "::1": "", "192.0.2.7": "ip4:192.0.2.7", "[2001:db8::1]": "ip6:2001:db8::1",
		"Relay.acme.example": "a:relay.acme.example", "email-smtp.eu-west-1.amazonaws.com": "include:amazonses.com",
		"smtp.sendgrid.net": "include:sendgrid.net", "notsendgrid.net": "a:notsendgrid.net",
	} {
		if got := SPFMechanism(host); got != want {
			t.Errorf("%q: %q", host, got)
		}
	}
}

func TestDNSHost(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range dnsHosts {
		if seen[h.id] || h.name == "" {
			t.Errorf("%+v", h)
		}
		seen[h.id] = true
	}
	for servers, want := range map[string]string{
		"ada.ns.cloudflare.com. bob.ns.cloudflare.com.": "cloudflare", "NS1.HETZNER.example.": "",
		"docks07.rzone.de.": "strato", "ns-1.awsdns-42.co.uk.": "route53", "ns1-07.azure-dns.com.": "azure",
		"ns1.acme.example. ns1045.ui-dns.com.": "ionos", "notovh.net.": "", "": "",
	} {
		if id, _, _ := DNSHost(strings.Fields(servers)); id != want {
			t.Errorf("%q: %q", servers, id)
		}
	}
}

func TestDoubledNames(t *testing.T) {
	if got := DoubledNames("_dmarc.news.acme.co.uk", "news.acme.co.uk"); !slices.Equal(got, []string{
		"_dmarc.news.acme.co.uk.news.acme.co.uk", "_dmarc.news.acme.co.uk.acme.co.uk",
	}) {
		t.Error(got)
	}
	if got := LabelIn("_dmarc.acme.example", "acme.example"); got != "_dmarc" ||
		LabelIn("acme.example", "acme.example") != "@" {
		t.Error(got)
	}
}

// hasTerm reports whether terms contains an equivalent term.
func hasTerm(terms []string, term string) bool {
	return slices.ContainsFunc(terms, func(t string) bool { return termKey(t) == termKey(term) })
}
