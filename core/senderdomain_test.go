package core

import (
	"slices"
	"strings"
	"testing"
)

func TestProposeDomain(t *testing.T) {
	long := strings.Repeat("a23456789.", 23)
	for in, want := range map[string]string{
		"Acme.example":       "acme.example",
		" news.acme.co.uk ":  "news.acme.co.uk",
		"bücher.example":     "xn--bcher-kva.example",
		"me.github.io":       "me.github.io",
		"github.io":          "",
		"co.uk":              "",
		"localhost":          "",
		"example":            "",
		"192.0.2.1":          "",
		"acme.example/x":     "",
		"*.acme.example":     "",
		"":                   "",
		long + "a2345678.co": "", // 241 bytes: the name of its record would be too long
		long + "a234567.co":  long + "a234567.co",
	} {
		d, err := ProposeDomain("t", in, 1)
		if err != nil && (want != "" || KindOf(err) != Invalid) || err == nil && (d.Domain != want || d.Verified()) {
			t.Errorf("%q: %+v, %v", in, d, err)
		}
	}
	if d, err := NewSenderDomain("t", "github.io", 1); err != nil || d.Domain != "github.io" {
		t.Errorf("by an operator's word: %+v, %v", d, err)
	}
}

func TestProves(t *testing.T) {
	d, err := ProposeDomain("t", "news.acme.example", 1)
	if err != nil || len(d.Token) < 26 {
		t.Fatal(d, err)
	}
	r := d.Record()
	if r.Name != "_newsletterd.news.acme.example" || r.Type != "TXT" || r.Value != "newsletterd-verification="+d.Token {
		t.Errorf("%+v", r)
	}
	for text, want := range map[string]bool{
		r.Value: true, ` "` + strings.ToUpper(r.Value) + `" `: true, d.Token: false, r.Value + "x": false, "": false,
		"newsletterd-verification=": false, "v=spf1 " + r.Value: false,
	} {
		if d.Proves(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	want := []string{
		"news.acme.example", "_newsletterd.news.acme.example.news.acme.example",
		"_newsletterd.news.acme.example.acme.example",
	}
	if got := d.Misplaced(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := DomainsAbove("a.b.example"); !slices.Equal(got, []string{"a.b.example", "b.example"}) {
		t.Errorf("%q", got)
	}
	d.Domain = strings.Repeat("a.", 100) + "example"
	for _, name := range d.Misplaced() {
		if len(name) > 253 {
			t.Errorf("no name: %s", name)
		}
	}
}

// TestSenderDomainMessages checks that each message says what to do next.
func TestSenderDomainMessages(t *testing.T) {
	for _, tt := range []struct {
		d    SenderDomain
		want string
	}{
		{SenderDomain{}, "Publish this TXT record"},
		{SenderDomain{Check: DomainMissing}, "TXT record _newsletterd.news.acme.example not found."},
		{SenderDomain{Check: DomainOtherValue}, "has the wrong value"},
		{SenderDomain{Check: DomainMisplaced, FoundAt: "news.acme.example"}, "was found at news.acme.example."},
		{
			SenderDomain{Check: DomainMisplaced, FoundAt: "_newsletterd.news.acme.example.acme.example"},
			"so enter only _newsletterd.news.",
		},
		{
			SenderDomain{Check: DomainMisplaced, FoundAt: "_newsletterd.news.acme.example.news.acme.example"},
			"so enter only _newsletterd.",
		},
		{SenderDomain{Check: DomainFault}, "SERVFAIL"},
		{SenderDomain{Check: DomainTimeout}, "No name server answered"},
		{SenderDomain{Check: DomainTaken}, "Contact the server administrator"},
		{SenderDomain{VerifiedAt: 1, VerifiedBy: VerifiedByDNS, Check: DomainFound}, "is verified."},
		{SenderDomain{VerifiedAt: 1, VerifiedBy: VerifiedByOperator}, "was verified by a server administrator."},
		{SenderDomain{VerifiedAt: 1, VerifiedBy: VerifiedBefore, Check: DomainTimeout}, "It stays verified"},
	} {
		tt.d.Domain = "news.acme.example"
		v := tt.d.View()
		if !strings.Contains(v.Message, tt.want) || (v.Status == DomainVerified) != (tt.d.VerifiedAt > 0) {
			t.Errorf("%+v", v)
		}
	}
}
