package main

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/mail/mailtest"
)

// TestQuickStartInABrowser follows docs/quick-start.md by the names of its buttons, from the link that `serve` prints
// to the review of the first campaign. It uses a mail server of its own.
func TestQuickStartInABrowser(t *testing.T) {
	b := browsertest.New(t)
	d := start(t, nil)
	relay := mailtest.Start(t, mailtest.Script{})
	host, port, err := net.SplitHostPort(relay.Addr())
	if err != nil {
		t.Fatal(err)
	}
	choose := func(label string, steps ...browsertest.Step) {
		t.Helper()
		b.Wait(fmt.Sprintf(`[...document.querySelectorAll("a, button")].some(
			e => e.checkVisibility() && e.innerText.trim() === %q && (e.click(), true))`, label))
		b.Do(steps...)
	}
	fill := func(name, value string) {
		t.Helper()
		b.Do(chromedp.SetValue(`[name="`+name+`"]`, value))
	}
	mailed := func(part string) (found string) { // newest email to the reader that contains a text
		t.Helper()
		daemontest.Await(t, "an email with "+part, func() bool {
			for _, m := range relay.Messages() {
				text := strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(string(m.Data))
				if m.To == "you@example.org" && strings.Contains(text, part) {
					found = text
				}
			}
			return found != ""
		})
		return found
	}

	link := regexp.MustCompile(`http\S+/setup\?token=\S+`).FindString(firstSteps(t.Context(), d.cfg, d.store))
	b.Open(link)
	fill("email", "you@example.org")
	fill("password", daemontest.Password)
	choose("Create account", chromedp.WaitVisible(`[name="mail_from"]`))
	fill("name", "Acme")
	fill("mail_from", "news@acme.example")
	choose("Create newsletter", browsertest.Heading("Acme"))

	choose("Set up mail server", browsertest.Heading("Mail server"))
	choose("Other server", browsertest.Heading("Mail server"))
	for name, value := range map[string]string{
		"host": host, "port": port, "tls": "none", "from": "news@acme.example",
		"test_to": "you@example.org",
	} {
		fill(name, value)
	}
	b.Submit(chromedp.Click(`[value="save"]`))
	mailed("Subject: ")
	b.Open(d.cfg.Origin()+"/console", browsertest.Heading("Acme"))

	choose("Create list", chromedp.WaitVisible(`form [name="name"]`))
	fill("name", "Monthly news")
	choose("Create list", browsertest.Heading("Monthly news"))
	choose("People", browsertest.Heading("People"))
	choose("Add person", chromedp.WaitVisible(`[name="email"]`))
	fill("email", "you@example.org")
	b.Submit(chromedp.Click(`//main//button[normalize-space(.)="Add person"]`))
	confirm := mailed("/confirm?")
	_, confirm, _ = strings.Cut(confirm, d.cfg.Origin()+"/confirm?")
	confirm, _, _ = strings.Cut(confirm, "\r\n")
	b.Open(d.cfg.Origin() + "/confirm?" + strings.TrimSpace(confirm))
	b.Submit(chromedp.Click("main form button"))

	b.Open(d.cfg.Origin()+"/console", browsertest.Heading("Acme"))
	choose("Campaigns", browsertest.Heading("Campaigns"))
	choose("New campaign", chromedp.WaitVisible(`[name="subject"]`))
	fill("subject", "News of May")
	choose("Create campaign", chromedp.WaitVisible(`//*[normalize-space(.)="Send test"]`))
	choose("Review and send", browsertest.Heading("Review and send"))
	b.Wait(`document.querySelector("main").innerText.includes("Monthly news")`)
}
