package report

import (
	"fmt"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/core/coretest"
)

func filled(piece string, n int) string { return strings.Repeat(piece, max(0, n)/len(piece)) }

const multipart = "To: b+x@b.example\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=\"b\"\r\n\r\n"

// hostileBounces holds the emails that are known to take the most CPU time.
var hostileBounces = map[string]func(n int) string{
	"header lines": func(n int) string { return filled("A: b\r\n", n) },
	"one line":     func(n int) string { return "A: " + filled("b", n) },
	"folded":       func(n int) string { return "To: a\r\n" + filled(" b\r\n", n) },
	"addresses": func(n int) string {
		return "To: " + filled("a@b.example,", min(n, 60000)) + "a@b.example\r\n\r\n" + filled("a", n)
	},
	"comments": func(n int) string { return "To: " + filled("(", min(n, 60000)) + "\r\n\r\n" },
	"quoted":   func(n int) string { return "To: " + filled(`"a" `, min(n, 60000)) + "\r\n\r\n" },
	"words":    func(n int) string { return "To: " + filled("=?utf-8?q?a?= ", min(n, 60000)) + "<a@b>\r\n\r\n" },
	"parameters": func(n int) string {
		return "Content-Type: multipart/report" + filled("; a*0=b", min(n, 60000)) + "\r\n\r\n"
	},
	"continued": func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < min(n, 60000); i++ {
			fmt.Fprintf(&b, "; a*%d=b", i)
		}
		return "Content-Type: multipart/report" + b.String() + "\r\n\r\n"
	},
	"no part":      func(n int) string { return multipart + filled("a\r\n", n) },
	"near":         func(n int) string { return multipart + filled("--c\r\n", n) },
	"near2":        func(n int) string { return multipart + "--b\r\n\r\n" + filled("\r\n--", n) },
	"near3":        func(n int) string { return multipart + "--b\r\n\r\n" + filled("\r\n--bx", n) },
	"blanks":       func(n int) string { return multipart + "--b\r\n\r\n" + filled("\r\n--b ", n) },
	"blanks2":      func(n int) string { return multipart + "--b" + filled(" ", n) },
	"parts":        func(n int) string { return multipart + filled("--b\r\n\r\n\r\n", n) },
	"part headers": func(n int) string { return multipart + "--b\r\n" + filled("A: b\r\n", n) },
	"groups": func(n int) string {
		return multipart + "--b\r\nContent-Type: message/delivery-status\r\n\r\n" + filled("Action: failed\r\n\r\n", n)
	},
	"empty lines": func(n int) string {
		return multipart + "--b\r\nContent-Type: message/delivery-status\r\n\r\n" + filled("\r\n", n)
	},
	"returned": func(n int) string {
		return multipart + "--b\r\nContent-Type: message/delivery-status\r\n\r\n" + filled("Action: failed\r\n\r\n", 400) +
			filled("\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nList-Unsubscribe: "+filled("mailto:a,", 60000)+"\r\n\r\n", n)
	},
	"base64": func(n int) string {
		return strings.Replace(multipart, "\r\n\r\n", "\r\nContent-Transfer-Encoding: base64\r\n\r\n", 1) + filled("LS1iDQo=\r\n", n)
	},
	"quoted-printable": func(n int) string {
		return strings.Replace(multipart, "\r\n\r\n", "\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n", 1) + filled("=41", n)
	},
	"qp lines": func(n int) string {
		return strings.Replace(multipart, "\r\n\r\n", "\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n", 1) + filled("a \r\n=\r\n", n)
	},
	"charset": func(n int) string {
		return "Content-Type: text/plain; charset=iso-2022-jp\r\n\r\n" + filled("\x1b$B", n)
	},
	"nested": func(n int) string {
		return multipart + filled("--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n", n)
	},
}

func TestWorkOfBounces(t *testing.T) {
	for name, make := range hostileBounces {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "bounce: "+name, func(part float64) ([]byte, int) {
				s := make(int(MaxBounce * part))
				return []byte(s), len(s)
			}, func(s []byte) { ParseBounce("b+a@b.example", s, core.Instant(1_700_000_000_000)) })
		})
	}
}

var hostileEvents = map[string]func(n int) string{
	"objects":  func(n int) string { return filled("[", n) },
	"objects2": func(n int) string { return filled(`{"a":`, n) },
	"array":    func(n int) string { return "[" + filled(`{"event":"bounce","email":"a@b.example"},`, n-60) + `{}]` },
	"empty":    func(n int) string { return "[" + filled(`{},`, n-60) + `{}]` },
	"nulls":    func(n int) string { return "[" + filled(`null,`, n-60) + `{}]` },
	"keys":     func(n int) string { return "{" + filled(`"a":1,`, n-60) + `"b":1}` },
	"string":   func(n int) string { return `{"a":"` + filled(`\u0041`, n-60) + `"}` },
	"message":  func(n int) string { return `{"Type":"Notification","Message":"` + filled(`[`, n-60) + `"}` },
	"escaped": func(n int) string {
		return `{"Type":"Notification","Message":"{\"mail\":{\"destination\":[` + filled(`\"a\",`, n-160) + `\"a\"]}}"}`
	},
	"recipients": func(n int) string {
		return `{"Type":"Notification","Message":"{\"notificationType\":\"Bounce\",\"bounce\":{\"bounceType\":\"Permanent\",\"bouncedRecipients\":[` +
			filled(`{\"emailAddress\":\"a@b\"},`, n-260) + `{}]}}"}`
	},
	"numbers": func(n int) string { return `{"timestamp":` + filled("1", n-60) + `}` },
	"spaces":  func(n int) string { return filled(" ", n-60) + `{}` },
}

func TestWorkOfEvents(t *testing.T) {
	for _, k := range kinds {
		if k.parse == nil {
			continue
		}
		for name, make := range hostileEvents {
			t.Run(k.Name+"/"+name, func(t *testing.T) {
				coretest.Work(t, "event of "+k.Name+": "+name, func(part float64) ([]byte, int) {
					s := make(int(float64(k.MaxBody) * part))
					return []byte(s), len(s)
				}, func(s []byte) {
					r := &Request{Header: map[string][]string{}, Body: s, Now: core.Instant(1_700_000_000_000)}
					_, _ = k.parse(r)
				})
			})
		}
	}
}
