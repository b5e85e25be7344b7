package main

import (
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// websiteSection is README's section for websites.
func websiteSection(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## For your website\n")
	section, _, ok2 := strings.Cut(section, "\n## ")
	if !ok || !ok2 {
		t.Fatal("README has no section \"For your website\"")
	}
	return section
}

// TestReadmeForYourWebsite runs the commands of README's section, with the list of its quick start.
func TestReadmeForYourWebsite(t *testing.T) {
	daemontest.Parallel(t)
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("README needs %s, which isn't installed here", tool)
		}
	}
	script := commandsOf(websiteSection(t))
	if strings.Count(script, "\ncurl ") < 2 {
		t.Fatalf("only these commands were found:\n%s", script)
	}
	runGuide(t, `TENANT=$(newsletterd admin tenant create --name Acme --json | jq -r .id)
LIST=$(newsletterd admin list create --tenant $TENANT --name "Monthly news" --json | jq -r .id)
`+script+`
newsletterd admin list form --id $LIST > form.html
grep -q '<select name="city" required>' form.html
until ls mail/*.eml 2>/dev/null; do sleep 0.1; done
newsletterd admin list reasons --id $LIST
`)
}

var formInput = regexp.MustCompile(`<input ([^>]*)name="([^"]+)"([^>]*)>`)

// TestReadmeFormSubscribes fills README's form in and sends it as a browser would from another site; the link of the
// mail makes a subscriber of it.
func TestReadmeFormSubscribes(t *testing.T) {
	daemontest.Parallel(t)
	_, form, ok := strings.Cut(websiteSection(t), "```html\n")
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
	if !strings.Contains(page.Text, "Look into your mail") {
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
