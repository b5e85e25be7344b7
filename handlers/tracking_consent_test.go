package handlers

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/page"
)

var trackingInput = regexp.MustCompile(`<label[^>]*>` +
	`<input type="checkbox" name="_tracking" value="([0-9a-f]*)"([^>]*)>(?:<span>)?([^<]*)<`)

// The checkbox is unchecked and can stay so, on the server's page and in a form on another site, in each language. The
// ledger refers to the text next to the checkbox, which is stored. A form from before the tenant was renamed is still
// valid, with its text.
func TestTrackingBox(t *testing.T) {
	e := newEnv(t)
	e.step(`tenant acme name="Acme & <Sons>"`)
	consent := func(email core.Email, list string) *core.Consent {
		e.step("confirm-mail token email=" + string(email))
		_, err := e.store.Confirm(t.Context(), e.value("token"), core.Origin{}, core.At(time.Now()))
		e.must(err)
		all, err := e.store.Consents(t.Context(), list, e.store.SubscriptionID(list, email.Key()))
		e.must(err)
		for i := range all {
			if all[i].What == core.ConsentTracking {
				return &all[i]
			}
		}
		return nil
	}
	subscribe := func(list string, email core.Email, box ...string) {
		res, err := http.PostForm(e.url+"/l/"+list, url.Values{"email": {string(email)}, core.TrackingMember: box})
		e.must(err)
		if res.Body.Close(); res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
	boxes := func(list string) (ours, own []string) {
		res, err := http.Get(e.url + "/l/" + list)
		e.must(err)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		e.must(err)
		l, err := e.store.ListWithTenant(t.Context(), list)
		e.must(err)
		var form strings.Builder
		e.must(page.WriteForm(&form, l, e.url))
		return trackingInput.FindStringSubmatch(string(b)), trackingInput.FindStringSubmatch(form.String())
	}
	ask := func(name string, asks bool) {
		_, err := e.store.UpdateTenant(t.Context(), e.value("acme"), "test", func(x *core.Tenant) error {
			return x.Change(core.TenantInput{Name: &name, TrackingConsent: &asks}, true, core.At(time.Now()))
		})
		e.must(err)
	}
	for _, lang := range core.Languages {
		e.step("list " + lang + " tenant=acme")
		e.step("look of=" + lang + " language=" + lang)
		list := e.value(lang)
		ask("Acme & <Sons>", false)
		if page, own := boxes(list); page != nil || own != nil {
			t.Errorf("%s: %q %q", lang, page, own)
		}
		subscribe(list, core.Email("unasked@"+lang+".example"), "x")
		ask("Acme & <Sons>", true)
		page, own := boxes(list)
		if page == nil || own == nil || page[1] != own[1] || page[2] != "" || own[2] != "" {
			t.Fatalf("%s: %q %q", lang, page, own)
		}
		subscribe(list, core.Email("ticked@"+lang+".example"), page[1])
		subscribe(list, core.Email("unticked@"+lang+".example"))
		ask("Acme Ltd", true)
		subscribe(list, core.Email("later@"+lang+".example"), page[1])
		subscribe(list, core.Email("own@"+lang+".example"), "yes")
		for name, want := range map[string]string{
			"unasked": "", "unticked": "", "ticked": page[1], "later": page[1], "own": "none",
		} {
			email := core.Email(name + "@" + lang + ".example")
			c := consent(email, list)
			if want == "" {
				if c != nil {
					t.Errorf("%s: %+v", email, c)
				}
				continue
			}
			if c == nil || want == "none" && c.TextVersion != "" || want != "none" && c.TextVersion != want ||
				c.Source != "form" || c.Remote == "" {
				t.Errorf("%s: %+v", email, c)
				continue
			}
			text, err := e.store.ConsentText(t.Context(), list, want)
			if want != "none" && (err != nil || text != html.UnescapeString(strings.TrimSpace(page[3])) ||
				!strings.Contains(text, "Acme & <Sons>")) {
				t.Errorf("%s: %q, %v, want %q", email, text, err, page[3])
			}
		}
	}
}
