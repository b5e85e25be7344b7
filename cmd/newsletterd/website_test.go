package main

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// TestWebsiteGuide runs the commands of docs/website.md with the list of the quick start.
func TestWebsiteGuide(t *testing.T) {
	daemontest.Parallel(t)
	tools(t, "bash", "curl", "jq")
	script := commandsIn(t, "website.md")
	if strings.Count(script, "\ncurl ") < 2 {
		t.Fatalf("only these commands were found:\n%s", script)
	}
	runGuide(t, quickStart(t)+script+`
newsletterd admin list form --id $LIST > form.html
grep -q '<select name="city" required>' form.html
until ls mail/*.eml 2>/dev/null; do sleep 0.1; done
newsletterd admin list reasons --id $LIST
`)
}

var formInput = regexp.MustCompile(`<input ([^>]*)name="([^"]+)"([^>]*)>`)

// TestWebsiteFormSubscribes fills in the form of docs/website.md and sends it like a browser on another site. The link
// in the email confirms the subscription.
func TestWebsiteFormSubscribes(t *testing.T) {
	daemontest.Parallel(t)
	_, form, ok := strings.Cut(guide(t, "website.md"), "```html\n")
	form, _, _ = strings.Cut(form, "```")
	d := start(t, nil)
	list := d.seed.NewList()
	form = strings.ReplaceAll(strings.ReplaceAll(form, "https://news.example.org", d.cfg.Origin()), "LIST", list.ID)
	action := regexp.MustCompile(`action="([^"]+)" method="post"`).FindStringSubmatch(form)
	if !ok || action == nil {
		t.Fatalf("no form in\n%s", form)
	}
	values := url.Values{}
	for _, in := range formInput.FindAllStringSubmatch(form, -1) {
		switch {
		case strings.Contains(in[0], `type="email"`):
			values.Set(in[2], "ada@example.org")
		case strings.Contains(in[0], "aria-hidden"):
			values.Set(in[2], "") // a browser sends it empty
		default:
			values.Set(in[2], "Ada")
		}
	}
	page := d.Send("POST", action[1], values, "Origin", "https://somebody.example", "Sec-Fetch-Site", "cross-site").OK()
	if !strings.Contains(page.Text, "Check your inbox") {
		t.Fatal(page.Text)
	}
	u, err := url.Parse(d.mailed("/confirm?", "ada@example.org"))
	if err != nil {
		t.Fatal(err)
	}
	d.Send("POST", "/confirm", u.Query()).OK()
	sub, err := d.store.Subscription(t.Context(), list.ID, "ada@example.org")
	if err != nil || sub.Status != core.SubscriptionActive || sub.Preferences != `{"first_name":"Ada"}` {
		t.Errorf("%+v, %v", sub, err)
	}
}
