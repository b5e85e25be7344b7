package notice

import (
	"flag"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/internal/words"
)

// update rewrites the golden files.
var update = flag.Bool("update", false, "rewrite the golden files")

func TestGolden(t *testing.T) {
	d := Data{
		To: "anna@reader.example", List: `Garden & "Friends"`, URL: "https://news.example/confirm?token=" +
			url.QueryEscape("a+b/c="),
		Valid: 7 * 24 * time.Hour, Brand: Brand{
			Name: "Garden <Ltd>", Color: "#336699", LogoURL: "https://garden.example/logo.png",
			PostalAddress: "1 Garden Lane, Bath",
		},
	}
	for n := range words.Of("en").Notices {
		d := d
		if strings.HasPrefix(n, string(Review)) {
			d.Review = core.ReviewMail{
				Subject: "News {{email}} of\nMay", By: "Bob <boss>", Note: "Is the price right?\n\n{{by}} asks.",
				WantedAt: core.At(time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)),
			}
		}
		if Kind(n) == Invitation {
			d.Invitation = core.InvitationMail{By: "Bob <boss>", Role: core.RoleEditor}
		}
		if Kind(n) == ClientAdded || Kind(n) == ClientsAdded {
			d.Client = core.ClientMail{
				Name: "Shop <1>", By: "Bob <boss>", Scopes: "newsletter:send, admin",
				At: core.At(time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)),
			}
		}
		if Kind(n) == ServerChanged {
			d.Server = core.ServerMail{Address: "smtp.example.org:587", By: "Bob <boss>"}
		}
		subject, text, html, err := Kind(n).Render(d)
		if err != nil {
			t.Fatal(err)
		}
		for part, s := range map[string]string{"text": text, "html": strings.ReplaceAll(html, "&amp;", "&")} {
			if !strings.Contains(s, d.URL) {
				t.Errorf("%s: the %s part lacks the link", n, part)
			}
			if strings.Contains(s, "ZgotmplZ") || strings.Contains(s, "<no value>") {
				t.Errorf("%s: the %s part has a hole:\n%s", n, part, s)
			}
		}
		if strings.Contains(html, "Garden <Ltd>") || strings.Contains(html, `"Friends"`) {
			t.Errorf("%s: a name is not escaped", n)
		}
		coretest.Golden(t, *update, "testdata/notice_"+n+".txt", []byte("Subject: "+subject+"\n\n"+text))
		coretest.Golden(t, *update, "testdata/notice_"+n+".html", []byte(html))
	}
}

// In dark mode, an email with a logo for dark backgrounds shows that one, on a dark background. Other emails have no
// dark mode.
func TestDarkLogo(t *testing.T) {
	d := Data{
		To: "anna@reader.example", URL: "https://news.example/", Valid: time.Hour,
		Brand: Brand{Name: "Garden", LogoURL: "https://garden.example/logo.png"},
	}
	for _, dark := range []string{"", "https://garden.example/dark.png"} {
		d.Brand.DarkLogoURL = dark
		_, _, page, err := Confirm.Render(d)
		if err != nil {
			t.Fatal(err)
		}
		_, rules, has := strings.Cut(page, "@media (prefers-color-scheme:dark)")
		if has != (dark != "") || has && !strings.Contains(rules, `background-image:url("`+dark+`") !important`) {
			t.Errorf("%q: %s", dark, page)
		}
	}
}

// Times in an email are in words and in the time zone of the newsletter.
func TestTimesInWords(t *testing.T) {
	zone, err := core.ParseZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	d := Data{To: "anna@reader.example", URL: "https://news.example/review", Language: "de", Zone: zone}
	d.Review.WantedAt = core.At(time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC))
	_, text, _, err := Review.Render(d)
	if want := "1. Januar 2027, 00:30 Uhr (Berlin)."; err != nil || !strings.Contains(text, want) {
		t.Errorf("%q isn't in %q, %v", want, text, err)
	}
}

func TestLifetime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1 hour", 48 * time.Hour: "2 days", 24 * time.Hour: "24 hours", 7 * 24 * time.Hour: "7 days",
		30 * time.Minute: "30 minutes", 90 * time.Minute: "90 minutes", 2 * time.Hour: "2 hours",
	} {
		if got := lifetime(words.Of("en"), d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestUnknownKind(t *testing.T) {
	if _, _, _, err := Kind("nonsense").Render(Data{}); err == nil {
		t.Error("an unknown notice was rendered")
	}
}

// TestLanguages checks that every language has every notice with the same placeholders, and that no email contains an
// unfilled one.
func TestLanguages(t *testing.T) {
	names := regexp.MustCompile(`\{\{[a-z.]+\}\}|%[a-z]`)
	of := func(s string) string {
		found := names.FindAllString(s, -1)
		slices.Sort(found)
		return strings.Join(slices.Compact(found), " ")
	}
	en := words.Of("en")
	for _, lang := range core.Languages {
		w := words.Of(lang)
		for _, pair := range [][2]string{
			{w.Hello, en.Hello},
			{w.Footer, en.Footer},
			{w.Minutes, en.Minutes},
			{w.Hour, en.Hour},
			{w.Hours, en.Hours},
			{w.Days, en.Days},
			{w.Reason, en.Reason},
			{w.Leave, en.Leave},
		} {
			if pair[0] == "" || of(pair[0]) != of(pair[1]) {
				t.Errorf("%s: %q for %q", lang, pair[0], pair[1])
			}
		}
		for _, role := range core.Roles {
			if RoleName(lang, role) == role {
				t.Errorf("%s has no words for the role %s", lang, role)
			}
		}
		if len(w.Notices) != len(en.Notices) {
			t.Errorf("%s has %d notices", lang, len(w.Notices))
		}
		for n, l := range w.Notices {
			want := en.Notices[n]
			for _, pair := range [][2]string{
				{l.Subject, want.Subject}, {l.Text, want.Text}, {l.Open, want.Open}, {l.Button, want.Button}, {l.After, want.After},
			} {
				if (pair[0] == "") != (pair[1] == "") || of(pair[0]) != of(pair[1]) {
					t.Errorf("%s %s: %q for %q", lang, n, pair[0], pair[1])
				}
			}
			d := Data{
				To: "a@b.example", List: "L", URL: "https://x.example/y", Valid: time.Hour,
				Brand: Brand{Name: "B"}, Language: lang,
			}
			subject, text, html, err := Kind(n).Render(d)
			if err != nil || strings.Contains(subject+text+html, "{{") || !strings.Contains(html, `lang="`+lang+`"`) {
				t.Errorf("%s %s: %v\n%s\n%s", lang, n, err, text, html)
			}
		}
	}
}

// TestOwnWording checks that a tenant's own wording replaces subject and text, but not the link, its lifetime and the
// footer. Placeholders in names are not filled.
func TestOwnWording(t *testing.T) {
	d := Data{
		To: "a@b.example", List: "{{email}} & <b>", URL: "https://x.example/confirm?token=1", Valid: 7 * 24 * time.Hour,
		Brand: Brand{Name: "Acme", Color: "#ffee00"}, Language: "de",
		Own: core.MailText{
			Subject: "One click, {{email}}",
			Text:    "Dear reader,\n\nyou want {{list.name}} of {{tenant.name}}.\nGood.",
		},
	}
	subject, text, html, err := Confirm.Render(d)
	if err != nil {
		t.Fatal(err)
	}
	colors, _ := core.DesignColors("#ffee00")
	begin := "Dear reader,\n\nyou want {{email}} & <b> of Acme.\nGood.\n\nMit diesem Link"
	if subject != "One click, a@b.example" || !strings.HasPrefix(text, begin) {
		t.Errorf("%s\n%s", subject, text)
	}
	for _, want := range []string{
		"you want {{email}} &amp; &lt;b&gt; of Acme.<br>Good.", d.URL, "7 Tage",
		`bgcolor="` + colors.Accent + `"`, "color:" + colors.On,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q in\n%s", want, html)
		}
	}
	if strings.Contains(html, "Guten Tag") {
		t.Error("greets twice")
	}
}
