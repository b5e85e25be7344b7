package core

import "testing"

func TestPrograms(t *testing.T) {
	for agent, want := range map[string]Program{
		"": ProgramScanner, "Mozilla/5.0": ProgramPrivacy, " Mozilla/5.0 ": ProgramPrivacy,
		"Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)": ProgramOpening,
		"YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html":                  ProgramOpening,
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)":                  ProgramScanner,
		"Mozilla/5.0 (compatible; bingbot/2.0)":                                                     ProgramScanner,
		"curl/8.5.0":                                                                                ProgramScanner,
		"Go-http-client/1.1":                                                                        ProgramScanner,
		"python-requests/2.31":                                                                      ProgramScanner,
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36":     ProgramReader,
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148":       ProgramReader,
		"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.4.0":                                        ProgramReader,
		"Mozilla/5.0 (Linux; Android 13; CUBOT P80) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0 Mobile Safari/537.36": ProgramReader,
		"Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17928; Pro)":                                          ProgramReader,
	} {
		if got := ProgramOf(agent); got != want {
			t.Errorf("%q: %v", agent, got)
		}
	}
}
