package markup

import (
	"strings"
	"testing"

	"newsletterd/core"
)

func TestUTM(t *testing.T) {
	f := core.CampaignFields{
		Subject: "News", UTM: core.UTM{Source: "news & more", Medium: "email"},
		Content: core.CampaignContent{Kind: core.ContentHTML},
	}
	tenant := core.Tenant{PublicURL: "https://news.acme.example"}
	const query, htmlQuery = "utm_source=news+%26+more&utm_medium=email", "utm_source=news+%26+more&amp;utm_medium=email"
	for _, c := range []struct{ in, want string }{
		{"https://shop.example", "https://shop.example?Q"},
		{"https://shop.example/?a=1&amp;b=2#top", "https://shop.example/?a=1&amp;b=2&amp;Q#top"},
		{"https://shop.example/?q=it&#39;s", "https://shop.example/?q=it&#39;s&amp;Q"},
		{"https://shop.example/?a=1&region=2&copy=3", "https://shop.example/?a=1&amp;region=2&amp;copy=3&amp;Q"},
		{"https://shop.example/?a=1&copy;=2&amp;reg=3", "https://shop.example/?a=1©=2&amp;reg=3&amp;Q"},
		{"https://shop.example/?a=1&copy{{ email }}", "https://shop.example/?a=1&amp;copy{{ email }}&amp;Q"},
		{"https://shop.example/?a=1&para", "https://shop.example/?a=1¶&amp;Q"},
		{"https://shop.example/&num;top", "https://shop.example/?Q#top"},
		{"https://shop.example/?a=&#123;{ email }}&#1;0&#2;", "https://shop.example/?a=&#123;&#123; email }}0&amp;Q"},
		{"HTTPS://shop.example/a?", "HTTPS://shop.example/a?Q"},
		{"https://shop.example/?u={{ email | url_encode }}", "https://shop.example/?u={{ email | url_encode }}&amp;Q"},
		{`https://shop.example/{{ preferences.plan | default: "a?b#c" | url_encode }}/x`, `https://shop.example/{{ preferences.plan | default: "a?b#c" | url_encode }}/x?Q`},
		{"https://news.acme.example/a/weekly/", "https://news.acme.example/a/weekly/?Q"},
		{"https://shop.example/?utm_source=x", ""},
		{"https://shop.example/?a=1&amp;utm_term=x", ""},
		{"https://news.acme.example/unsubscribe?token=x", ""},
		{"https://site.example/leave?token={{ unsubscribe_token }}", ""},
		{"{{ unsubscribe_url }}", ""},
		{"{{ preferences_url }}", ""},
		{"{{view_url}}", ""},
		{"{{ preferences.site }}", ""},
		{"https://{{ preferences.site }}/", ""},
		{"https://shop.example/{% if email %}a{% endif %}", ""},
		{"mailto:ann@example.org?subject=Hi", ""},
		{"tel:+491234", ""},
		{"#top", ""},
		{"", ""},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		for _, around := range []string{`<p title="x>y"><a class=b href="@">x</a></p>`, "{% if email %}<area HREF = '@' alt=a>{% endif %}", `<!-- <a href="https://a.example/">x</a> --><a href="@">`} {
			if strings.Contains(around, "'@'") && strings.Contains(c.in, "'") {
				continue
			}
			f.Content.Source = strings.Replace(around, "@", c.in, 1)
			r, err := CompileCampaign(&f, nil, &core.List{}, &tenant)
			if err != nil {
				t.Fatal(err)
			}
			if w := strings.Replace(around, "@", strings.Replace(want, "Q", htmlQuery, 1), 1); r.HTML != w {
				t.Errorf("%s\n%s, want\n%s", f.Content.Source, r.HTML, w)
			}
		}
	}
	f.Content = core.CampaignContent{
		Kind:   core.ContentText,
		Source: "See https://shop.example/a?b=1, (https://b.example/{{ email }}) or mail ann@example.org. {{ unsubscribe_url }}\n",
	}
	want := "See https://shop.example/a?b=1&" + query + ", (https://b.example/{{ email }}?" + query +
		") or mail ann@example.org. {{ unsubscribe_url }}\n"
	if r, err := CompileCampaign(&f, nil, &core.List{}, &tenant); err != nil || r.Text != want {
		t.Errorf("%q, %v; want\n%q", r.Text, err, want)
	}
	f.Content = core.CampaignContent{Kind: core.ContentMarkdown, Source: "[a](https://a.example/) {{ email }} [b](https://b.example/){.button}\n"}
	r, err := CompileCampaign(&f, nil, &core.List{}, &tenant)
	if err != nil || strings.Count(r.HTML, htmlQuery) < 2 || strings.Count(r.Text, query) != 2 {
		t.Errorf("%v\n%s\n%s", err, r.HTML, r.Text)
	}
	for _, page := range []string{"<p", "<a href", "<a href='x", "a\r\n<b>\x00</b>", "<script>a</a", "<!--", "{{ a", "<A HREF=x>{%"} {
		if got, _ := addUTM(page, "", query, ""); got != page {
			t.Errorf("%q, want %q", got, page)
		}
	}
	for page, want := range map[string]string{
		`<a href=https://a.example/?a=1&region=2>x`:   `<a href="https://a.example/?a=1&amp;region=2&amp;` + htmlQuery + `">x`,
		`<a href = https://a.example/?a=1&#32;b c>x`:  `<a href = "https://a.example/?a=1 b&amp;` + htmlQuery + `" c>x`,
		`<a href="mailto:a@b.example?a=1&region=2">x`: `<a href="mailto:a@b.example?a=1&region=2">x`,
	} {
		if got, _ := addUTM(page, "", query, ""); got != want {
			t.Errorf("%s\n%s, want\n%s", page, got, want)
		}
	}
	again, _ := addUTM(r.HTML, "", query, "")
	if again != r.HTML {
		t.Error("what has the parameters gets them twice")
	}
}
