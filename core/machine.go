package core

import (
	"strings"
	"time"
)

// MachineDelay is how long after a mail went out an open or a click is taken for a machine's:
// filters that look into mails on their way do so within seconds, readers hardly.
const MachineDelay = 5 * time.Second

// machineWords stand in the user agents of programs that fetch images and links of mails before anyone reads them:
// proxies of mailboxes, filters, and programs that name themselves.
var machineWords = [...]string{
	"googleimageproxy", "ggpht.com", "yahoomailproxy", "yahoocachesystem", "barracuda", "proofpoint", "mimecast",
	"symantec",
	"messagelabs", "trendmicro", "forcepoint", "fireeye", "sophos", "cloudmark", "bitdefender", "slurp", "crawler",
	"spider", "scanner",
	"linkcheck", "urlpreview", "linkpreview", "headlesschrome", "phantomjs", "curl/", "wget/", "python-", "python/",
	"go-http-client",
	"java/", "okhttp", "libwww", "aiohttp", "axios", "node-fetch", "apache-httpclient", "facebookexternalhit",
}

// MachineAgent reports whether a User-Agent is that of a program which acts by itself. Apple's Mail Privacy Protection
// says "Mozilla/5.0" and nothing else.
func MachineAgent(agent string) bool {
	s := strings.ToLower(strings.TrimSpace(agent))
	if s == "" || s == "mozilla/5.0" {
		return true
	}
	for _, w := range machineWords {
		if strings.Contains(s, w) {
			return true
		}
	}
	return botWord(s)
}

// botWord reports whether "bot" is at the end of a word: "Googlebot/2.1", "bingbot". Cubot is a telephone.
func botWord(s string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], "bot")
		if i < 0 {
			return false
		}
		i += from
		end := i + len("bot")
		if (end == len(s) || s[end] < 'a' || s[end] > 'z') && !strings.HasSuffix(s[:i], "cu") {
			return true
		}
		from = end
	}
}
