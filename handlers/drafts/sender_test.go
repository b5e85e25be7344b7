package drafts

import (
	"cmp"
	"context"
	"maps"
	"net"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// Each fault in a sender's DNS records leads to a finding with its code. Records are looked up once while they are
// cached.
func TestRecordsOfSenders(t *testing.T) {
	const spf, dmarc = "shop.example", "_dmarc.shop.example"
	key := core.DKIMKey{
		Domain: "shop.example", Selector: "s", Algorithm: core.DKIMRSA, Status: core.DKIMActive, Public: "cHVi",
	}
	good := map[string][]string{
		spf: {"v=spf1 a -all"}, dmarc: {"v=DMARC1; p=none"}, key.RecordName(): {key.RecordValue()},
	}
	with := func(name string, texts ...string) map[string][]string {
		zone := maps.Clone(good)
		zone[name] = texts
		return zone
	}
	for _, tt := range []struct {
		name   string
		zone   map[string][]string
		bounce string
		key    string // domain of the key; empty: no key
		from   string
		want   string
	}{
		{"all is there", good, "", "shop.example", "", ""},
		{"without a key", good, "", "", "", "dkim_missing"},
		{"another key", with(key.RecordName(), "v=DKIM1; p=b3RoZXI="), "", "shop.example", "", "dkim_unpublished"},
		{"no SPF", with(spf), "", "shop.example", "", "spf_missing"},
		{"two of SPF", with(spf, "v=spf1 a", "v=spf1 mx"), "", "shop.example", "", "spf_missing"},
		{"no DMARC", with(dmarc), "", "shop.example", "", "dmarc_missing"},
		{"below the domain", with("news.shop.example", "v=spf1 a"), "", "shop.example", "news.shop.example", ""},
		{"strictly", map[string][]string{
			spf: good[spf], key.RecordName(): good[key.RecordName()], dmarc: {"v=DMARC1; p=reject; adkim=s; aspf=s"},
		}, "shop.example", "shop.example", "news.shop.example", "dmarc_misaligned"},
		{
			"bounces elsewhere, no key", with("relay.example", "v=spf1 a"), "relay.example", "", "",
			"dkim_missing dmarc_misaligned",
		},
		{"silence", nil, "", "shop.example", "", "dns_unanswered"},
		{"a provider of mailboxes", with("gmail.com", "v=spf1 a"), "", "", "gmail.com", "sender_free_mail"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := map[string]int{}
			file := storetest.Open(t)
			s := storetest.Seeder{TB: t, Store: file}
			if tt.key != "" {
				k := key
				k.ID, k.Domain = core.NewID(), tt.key
				s.Must(file.AddDKIMKey(t.Context(), k, []byte("private"), "command"))
			}
			d := Drafts{Store: file, Checks: &Checks{
				BounceDomain: tt.bounce, Sender: "a@" + cmp.Or(tt.from, "shop.example"),
				LookupTXT: func(_ context.Context, name string) ([]string, error) {
					asked[name]++
					texts := tt.zone[strings.TrimSuffix(name, ".")]
					if tt.zone == nil {
						return nil, &net.DNSError{Name: name, IsTimeout: true}
					}
					if texts == nil {
						return nil, &net.DNSError{Name: name, IsNotFound: true}
					}
					return texts, nil
				},
			}}
			var codes []string
			for _, at := range []core.Instant{1, 2} {
				codes = nil
				found, err := d.senderFindings(t.Context(), &campaigns.Draft{}, at)
				s.Must(err)
				for _, f := range found {
					codes = append(codes, f.Code)
				}
			}
			if got := strings.Join(codes, " "); got != tt.want {
				t.Errorf("%s, not %s", got, tt.want)
			}
			for name, n := range asked {
				if n > 1 && tt.zone != nil {
					t.Errorf("%s was asked for %d times", name, n)
				}
			}
		})
	}
}
