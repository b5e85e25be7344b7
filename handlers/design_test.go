package handlers

import (
	"io"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/mail/markup"
	"newsletterd/mail/notice"
)

// A tenant's newsletters, automatic emails and pages have the same colors and the same font.
func TestEmailsAndPagesShareADesign(t *testing.T) {
	e := newPageEnv(t, "http://news.test")
	for _, color := range []string{"", "#b4236a", "#ffcc00"} {
		tenant := core.Tenant{Name: "Acme", BrandColor: color}
		c := core.CampaignFields{Subject: "News", Content: core.CampaignContent{
			Kind: core.ContentMarkdown, Source: "[Go](https://acme.example){.button}\n",
		}}
		news, err := markup.CompileCampaign(&c, nil, &core.List{Name: "Garden"}, &tenant)
		if err != nil {
			t.Fatal(err)
		}
		_, _, confirm, err := notice.Confirm.Render(notice.Data{
			To: "ada@reader.example", URL: "https://news.test/confirm", Brand: notice.BrandOf(&tenant),
		})
		if err != nil {
			t.Fatal(err)
		}
		css, err := io.ReadAll(e.ask("GET", page.TenantBrand(page.OwnBrand(), &tenant).Style, nil).Body)
		if err != nil {
			t.Fatal(err)
		}
		light, dark := colorsOf(string(css))
		want, inDark := core.DesignColors(color)
		for name, html := range map[string]string{"newsletter": news.HTML, "automatic email": confirm} {
			for _, shown := range []string{want.Page, want.Text, want.Muted, want.Accent, want.On} {
				if !strings.Contains(html, shown) {
					t.Errorf("%q: no %s in the %s", color, shown, name)
				}
			}
		}
		for name, pair := range map[string][2]string{
			"ground": {want.Page, inDark.Page}, "paper": {want.Card, inDark.Card}, "ink": {want.Text, inDark.Text},
			"soft": {want.Muted, inDark.Muted}, "accent": {want.Accent, inDark.Accent}, "on-accent": {want.On, inDark.On},
		} {
			if light[name].String() != pair[0] || dark[name].String() != pair[1] {
				t.Errorf("%q: %s is %s and %s on pages, not %s", color, name, light[name], dark[name], pair)
			}
		}
		for name, text := range map[string]string{"newsletter": news.HTML, "automatic email": confirm, "page": string(css)} {
			text = strings.NewReplacer("&#39;", "", "'", "", `"`, "", ", ", ",").Replace(text)
			if !strings.Contains(text, "-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif") {
				t.Errorf("%q: the %s has another font", color, name)
			}
		}
	}
}
