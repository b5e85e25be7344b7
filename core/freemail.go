package core

import "slices"

// freeMail lists, in sorted order, domains where anyone can get a mailbox. Only their providers may send from them:
// most have a DMARC policy of reject or quarantine, and large receivers refuse newsletters from such addresses.
var freeMail = []string{
	"126.com", "139.com", "163.com", "aim.com", "aol.com", "aol.de", "arcor.de", "att.net", "bellsouth.net",
	"bigpond.com", "bluewin.ch", "bol.com.br", "btinternet.com", "comcast.net", "cox.net", "email.de",
	"fastmail.com", "fastmail.fm", "free.fr", "freenet.de", "gmail.com", "gmx.at", "gmx.ch", "gmx.com", "gmx.de",
	"gmx.eu", "gmx.net", "gmx.org", "googlemail.com", "hey.com", "hotmail.co.uk", "hotmail.com", "hotmail.de",
	"hotmail.es", "hotmail.fr", "hotmail.it", "hushmail.com", "icloud.com", "inbox.ru", "interia.pl", "laposte.net",
	"libero.it", "list.ru", "live.com", "live.de", "live.fr", "live.nl", "mac.com", "mail.com", "mail.de", "mail.ru",
	"mailbox.org", "me.com", "msn.com", "naver.com", "o2.pl", "o2online.de", "onet.pl", "online.de", "op.pl",
	"orange.fr", "outlook.com", "outlook.de", "outlook.es", "outlook.fr", "outlook.it", "pm.me", "posteo.de",
	"posteo.net", "proton.me", "protonmail.ch", "protonmail.com", "qq.com", "rediffmail.com", "rocketmail.com",
	"rogers.com", "sbcglobal.net", "seznam.cz", "sfr.fr", "sina.com", "sky.com", "t-online.de", "terra.com.br",
	"tiscali.it", "tuta.com", "tuta.io", "tutamail.com", "tutanota.com", "tutanota.de", "uol.com.br", "verizon.net",
	"virgilio.it", "virginmedia.com", "vodafone.de", "wanadoo.fr", "web.de", "wp.pl", "yahoo.ca", "yahoo.co.in",
	"yahoo.co.jp", "yahoo.co.uk", "yahoo.com", "yahoo.com.br", "yahoo.de", "yahoo.es", "yahoo.fr", "yahoo.it",
	"yandex.com", "yandex.ru", "ymail.com", "zoho.com",
}

// IsFreeMail reports whether anyone can get a mailbox at the domain, which must be in lower case.
func IsFreeMail(domain string) bool {
	_, is := slices.BinarySearch(freeMail, domain)
	return is
}

// freeMailSender returns the error for a sender address at a free mail domain. field names the invalid field.
func freeMailSender(field string) *Error {
	return Invalidf(field,
		"Newsletters from Gmail, GMX and similar providers are rejected or marked as spam. Use your own domain.")
}
