package mail

import (
	"strings"
	"testing"
)

func TestProvidersAreKnownByTheirRelays(t *testing.T) {
	for host, want := range map[string]string{
		"email-smtp.eu-central-1.amazonaws.com": "ses", "EMAIL-SMTP.us-east-1.AMAZONAWS.com.": "ses",
		"smtp.postmarkapp.com": "postmark",
		"smtp.sendgrid.net":    "sendgrid", "smtp.eu.mailgun.org": "mailgun", "in-v3.mailjet.com": "mailjet",
		"localhost": "", "relay.example.org": "", "notamazonaws.com": "", "sendgrid.net.evil.example": "", "": "",
	} {
		if got := ProviderOfHost(host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

func TestMarksForProviders(t *testing.T) {
	for kind, want := range map[string]string{
		"ses": "X-SES-MESSAGE-TAGS: nd=TOKEN\r\n", "postmark": "X-PM-Metadata-nd: TOKEN\r\nX-PM-KeepID: true\r\n",
		"sendgrid": "X-SMTPAPI: {\"unique_args\":{\"nd\":\"TOKEN\"}}\r\n",
		"mailgun":  "X-Mailgun-Variables: {\"nd\":\"TOKEN\"}\r\n",
		"mailjet":  "X-MJ-CustomID: TOKEN\r\n",
	} {
		spec := testSpec()
		spec.Providers = []string{kind, kind, "resend", ""}
		b, err := CompileBulk(spec)
		if err != nil {
			t.Fatal(err)
		}
		msg, err := b.Append(nil, testRecipient())
		if err != nil {
			t.Fatal(err)
		}
		want = strings.ReplaceAll(want, "TOKEN", testRecipient().MessageID)
		head, _, _ := strings.Cut(string(msg), "\r\n\r\n")
		if strings.Count(head, want) != 1 || strings.Count(head, "\r\nX-") != strings.Count(want, "X-") {
			t.Errorf("%s: %q is missing in\n%s", kind, want, head)
		}
	}
}
