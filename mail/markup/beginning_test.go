package markup

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail"
)

// TestBeginningOfACampaign checks that a campaign's email starts with its first words as hidden preview text. If there
// is a preheader, or not every subscriber gets those words, it doesn't.
func TestBeginningOfACampaign(t *testing.T) {
	for _, c := range []struct{ source, preheader, want string }{
		{
			"# Roses & more\n\nHello *there*, {{ preferences.name | default: \"you\" }}.\n\n- one\n", "",
			`Roses &amp; more Hello there, {{ preferences.name | default: "you" }}.`,
		},
		{"![Boot](https://acme.example/b.png)\n\n[Hello](https://acme.example/)\n", "", "Hello"},
		{strings.Repeat("word ", 60) + "\n", "", strings.TrimSpace(strings.Repeat("word ", 40)) + "…"},
		{strings.Repeat("word ", 20) + "\n\nMore\n", "", strings.TrimSpace(strings.Repeat("word ", 20))},
		{"Roses\n", "Written", ""},
		{"- Roses\n", "", ""},
		{"{% if preferences.a %}Roses{% endif %}\n\nMore\n", "", ""},
		{"{% if preferences.a %}\n\nRoses\n\n{% endif %}\n", "", ""},
		{"Roses\n\n{% if preferences.a %}\n\nMore\n\n{% endif %}\n", "", "Roses"},
		{strings.Repeat("x", 300), "", ""},
	} {
		f := core.CampaignFields{Preheader: c.preheader, ListIDs: []string{"l"}}
		f.Content.Kind, f.Content.Source = core.ContentMarkdown, c.source
		r, err := CompileCampaign(&f, nil, &core.List{Name: "Weekly"}, &core.Tenant{Name: "Acme"})
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(r.HTML, mail.HiddenPreheader("")[:strings.Index(mail.HiddenPreheader(""), "&")])
		got, _, _ = strings.Cut(got, "&#8204;")
		if c.want == "" && strings.Contains(r.HTML, "&#8204;") || got != c.want {
			t.Errorf("%q: %q, not %q", c.source, got, c.want)
		}
		_, after, _ := strings.Cut(r.HTML, "<body")
		if c.want != "" && strings.Index(after, "Weekly") < strings.Index(after, "display:none") {
			t.Errorf("%q: the name comes first", c.source)
		}
	}
}
