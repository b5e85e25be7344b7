package core

import (
	"strings"
	"testing"
)

func TestChooseDKIM(t *testing.T) {
	key := func(id, tenant, domain, algorithm, status string, at Instant) DKIMKey {
		return DKIMKey{
			ID: id, TenantID: tenant, Domain: domain, Selector: id, Algorithm: algorithm, Status: status,
			CreatedAt: at,
		}
	}
	keys := []DKIMKey{
		key("old", "t", "example.org", DKIMRSA, DKIMActive, 1),
		key("new", "t", "example.org", DKIMRSA, DKIMActive, 2),
		key("next", "t", "example.org", DKIMRSA, DKIMInactive, 3),
		key("ed", "t", "example.org", DKIMEd25519, DKIMActive, 2),
		key("own", "", "example.org", DKIMRSA, DKIMActive, 9),
		key("sub", "t", "news.example.org", DKIMRSA, DKIMActive, 1),
		key("lone", "t", "ed.example", DKIMEd25519, DKIMActive, 1),
		key("daemon", "", "daemon.example", DKIMRSA, DKIMActive, 1),
	}
	for domain, want := range map[string]string{
		"example.org": "new ed", "letters.example.org": "new ed", "news.example.org": "sub",
		"a.news.example.org": "sub",
		"notexample.org":     "", "org": "", "ed.example": "", "daemon.example": "daemon",
	} {
		var got []string
		for _, k := range ChooseDKIM(keys, domain) {
			got = append(got, k.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", domain, got, want)
		}
	}
}

func TestDKIMKeyForms(t *testing.T) {
	good := DKIMKey{
		Domain: "Example.ORG", Selector: "S1.x-y", Algorithm: DKIMRSA, Status: DKIMActive,
		Public: strings.Repeat("A", 392),
	}
	if err := good.Validate(); err != nil || good.RecordName() != "s1.x-y._domainkey.example.org" {
		t.Errorf("%v, %s", err, good.RecordName())
	}
	if line := good.ZoneLine(); strings.Count(line, `"`) != 4 || !strings.HasPrefix(line,
		"s1.x-y._domainkey.example.org. IN TXT ( \"v=DKIM1; k=rsa; p=A") {
		t.Error(line)
	}
	for _, bad := range []DKIMKey{
		{Domain: "x", Selector: "s", Algorithm: DKIMRSA, Status: DKIMActive},
		{Domain: "example.org", Selector: "", Algorithm: DKIMRSA, Status: DKIMActive},
		{Domain: "example.org", Selector: "a..b", Algorithm: DKIMRSA, Status: DKIMActive},
		{Domain: "example.org", Selector: "a_b", Algorithm: DKIMRSA, Status: DKIMActive},
		{Domain: "example.org", Selector: "-a", Algorithm: DKIMRSA, Status: DKIMActive},
		{Domain: "example.org", Selector: strings.Repeat("a", 64), Algorithm: DKIMRSA, Status: DKIMActive},
		{Domain: "example.org", Selector: "a", Algorithm: "dsa", Status: DKIMActive},
		{Domain: "example.org", Selector: "a", Algorithm: DKIMRSA, Status: "on"},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
}
