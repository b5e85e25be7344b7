package core

import "testing"

func TestLikelyDomain(t *testing.T) {
	t.Parallel()
	for domain, want := range map[string]string{
		"gmial.com": "gmail.com", "gamil.com": "gmail.com", "gmai.com": "gmail.com", "gmaill.com": "gmail.com",
		"GMIAL.COM": "gmail.com", "gmail.con": "gmail.com", "gmail.co": "gmail.com", "gmail.de": "gmail.com",
		"gnail.con": "gmail.com", "hotmial.com": "hotmail.com", "hotmai.fr": "hotmail.fr", "yaho.co.uk": "yahoo.co.uk",
		"yahooo.de": "yahoo.de", "outlok.com": "outlook.com", "iclould.com": "icloud.com", "wanado.fr": "wanadoo.fr",
		"t-onlin.de": "t-online.de", "tonline.de": "t-online.de", "gmx.ed": "gmx.de", "web.dee": "web.de",
		"gmail.com": "", "mail.com": "", "ymail.com": "", "email.com": "", "yahoo.com": "", "yahoo.co.jp": "", "yahoo.ca": "",
		"gmx.net": "", "web.de": "", "me.com": "", "gmail.example.org": "", "example.org": "", "gmial.org": "", "com": "", "": "",
		"outlook.fr": "", "live.nl": "", "life.com": "", "love.com": "", "hotmail.se": "", "boutlook.com": "outlook.com",
	} {
		if got := LikelyDomain(domain); got != want {
			t.Errorf("%s: %q, want %q", domain, got, want)
		}
	}
}
