package core

import (
	"strings"
	"time"
)

// Delays that distinguish programs from people.
const (
	// MachineDelay is how long after sending opens and clicks count as automated. Filters check emails in transit
	// within seconds; subscribers are hardly ever that fast.
	MachineDelay = 5 * time.Second
	// OpeningDelay is how long after sending a fetch by a mailbox's image proxy starts to count as an open by a person.
	// Earlier fetches may happen on delivery.
	OpeningDelay = time.Minute
)

// Program is the kind of program that fetched an image or link in an email, according to its User-Agent.
type Program uint8

// The kinds of programs.
const (
	ProgramReader  Program = iota // browser or email program, or one that claims to be
	ProgramOpening                // mailbox proxy that fetches images when the email is opened: Gmail, Yahoo
	ProgramPrivacy                // proxy that fetches all images, opened or not: Apple's Mail Privacy Protection
	ProgramScanner                // filter, preview or crawler
)

// openingWords occur in the user agents of proxies that fetch images when a person opens the email.
var openingWords = [...]string{"googleimageproxy", "ggpht.com", "yahoomailproxy", "yahoocachesystem"}

// scannerWords occur in the user agents of filters and other programs that fetch images and links without a
// subscriber.
var scannerWords = [...]string{
	"barracuda", "proofpoint", "mimecast", "symantec", "messagelabs", "trendmicro", "forcepoint", "fireeye", "sophos",
	"cloudmark", "bitdefender", "slurp", "crawler", "spider", "scanner", "linkcheck", "urlpreview", "linkpreview",
	"headlesschrome", "phantomjs", "curl/", "wget/", "python-", "python/", "go-http-client", "java/", "okhttp", "libwww",
	"aiohttp", "axios", "node-fetch", "apache-httpclient", "facebookexternalhit",
}

// ProgramOf returns the kind of program that a User-Agent names. Apple's Mail Privacy Protection sends only
// "Mozilla/5.0".
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

// botWord reports whether a word in s ends with "bot", as in "Googlebot/2.1" and "bingbot". Cubot, a phone brand, is
// excluded.
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
