package core

import (
	"strings"
	"time"
)

// Times after a mail went out, and of links that are followed, by which programs are told from people.
const (
	// MachineDelay is how long after a mail went out an open or a click is taken for a machine's: filters that look
	// into mails on their way do so within seconds, readers hardly.
	MachineDelay = 5 * time.Second
	// OpeningDelay is from when on the proxies of mailboxes fetch a picture because a person opens the mail. Before
	// that they may have fetched it when the mail came.
	OpeningDelay = time.Minute
)

// Program is the kind of program that has fetched a picture or a link of a mail, as it names itself.
type Program uint8

// The kinds of programs.
const (
	ProgramReader  Program = iota // a browser or a mail program, or one that says so
	ProgramOpening                // a proxy of mailboxes that fetches pictures when the mail is opened: Gmail, Yahoo
	ProgramPrivacy                // a proxy that fetches all pictures, opened or not: Apple's Mail Privacy Protection
	ProgramScanner                // a filter, a preview, a crawler
)

// openingWords stand in the user agents of proxies that fetch pictures when a person opens the mail.
var openingWords = [...]string{"googleimageproxy", "ggpht.com", "yahoomailproxy", "yahoocachesystem"}

// scannerWords stand in the user agents of programs that fetch images and links of mails for no reader: filters, and
// programs that name themselves.
var scannerWords = [...]string{
	"barracuda", "proofpoint", "mimecast", "symantec", "messagelabs", "trendmicro", "forcepoint", "fireeye", "sophos",
	"cloudmark", "bitdefender", "slurp", "crawler", "spider", "scanner", "linkcheck", "urlpreview", "linkpreview",
	"headlesschrome", "phantomjs", "curl/", "wget/", "python-", "python/", "go-http-client", "java/", "okhttp", "libwww",
	"aiohttp", "axios", "node-fetch", "apache-httpclient", "facebookexternalhit",
}

// ProgramOf returns the kind of program that a User-Agent names. Apple's Mail Privacy Protection says "Mozilla/5.0" and
// nothing else.
func ProgramOf(userAgent string) Program {
	s := strings.ToLower(strings.TrimSpace(userAgent))
	has := func(words []string) bool {
		for _, w := range words {
			if strings.Contains(s, w) {
				return true
			}
		}
		return false
	}
	switch {
	case s == "mozilla/5.0":
		return ProgramPrivacy
	case has(openingWords[:]):
		return ProgramOpening
	case s == "" || has(scannerWords[:]) || botWord(s):
		return ProgramScanner
	}
	return ProgramReader
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
