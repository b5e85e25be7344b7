package mail

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestNoticesGolden(t *testing.T) {
	d := NoticeData{
		To: "anna@reader.example", List: `Garden & "Friends"`, URL: "https://news.example/confirm?token=" + url.QueryEscape("a+b/c="),
		Valid: 7 * 24 * time.Hour, Brand: Brand{Name: "Garden <Ltd>", Color: "#336699", LogoURL: "https://garden.example/logo.png", PostalAddress: "1 Garden Lane, Bath"},
	}
	for n := range notices {
		subject, text, html, err := n.Render(d)
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
		golden(t, "notice_"+string(n)+".txt", []byte("Subject: "+subject+"\n\n"+text))
		golden(t, "notice_"+string(n)+".html", []byte(html))
	}
}

func TestLifetime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1 hour", 48 * time.Hour: "2 days", 24 * time.Hour: "24 hours", 7 * 24 * time.Hour: "7 days",
		30 * time.Minute: "30 minutes", 90 * time.Minute: "90 minutes", 2 * time.Hour: "2 hours",
	} {
		if got := lifetime(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestUnknownNotice(t *testing.T) {
	if _, _, _, err := Notice("nonsense").Render(NoticeData{}); err == nil {
		t.Error("an unknown notice was rendered")
	}
}
