package handlers

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// The holder of an emailed confirmation or unsubscribe link gets to the preference page. The holder of a token that
// anyone can request doesn't.
func TestEmailedLinksLeadToThePreferencePage(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	e.step("subscription s list=weekly email=ann@b.example status=pending")
	e.step("confirm-mail confirm email=ann@b.example")
	e.step("unsubscribe-link mailed list=weekly email=ann@b.example")
	e.step("unsubscribe-link requested list=weekly email=ann@b.example kind=requested")
	link := regexp.MustCompile(`href="(/preferences\?token=[^"]+)"`)
	w := wordsOfPages()["en"]
	leads := func(body string, want bool) {
		t.Helper()
		found := link.FindStringSubmatch(body)
		if (found != nil) != want {
			t.Fatalf("a link: %t, want %t: %s", found != nil, want, textOf(body))
		}
		if !want {
			return
		}
		_, _, body = e.page(found[1])
		for _, part := range []string{w.ManageTitle, w.StatusActive, w.NoDetails, w.LinkButton} {
			if !strings.Contains(body, part) {
				t.Errorf("no %q in %s", part, textOf(body))
			}
		}
		if strings.Contains(body, w.Erase) {
			t.Errorf("the link allows to erase: %s", textOf(body))
		}
	}
	post := func(path string, form url.Values) string {
		t.Helper()
		res, err := http.PostForm(e.url+path, form)
		e.must(err)
		body, err := io.ReadAll(res.Body)
		e.must(err)
		e.must(res.Body.Close())
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
		return string(body)
	}
	confirm := url.Values{"token": {e.value("confirm")}}
	leads(post("/confirm", confirm), true)
	leads(post("/confirm", confirm), true)
	_, _, body := e.page("/confirm?" + confirm.Encode())
	leads(body, true)
	_, _, body = e.page("/unsubscribe?token=" + url.QueryEscape(e.value("mailed")))
	leads(body, true)
	_, _, body = e.page("/unsubscribe?token=" + url.QueryEscape(e.value("requested")))
	leads(body, false)
	res, err := http.Post(e.url+"/api/newsletter/subscribe", "application/json",
		strings.NewReader(`{"list_id":"`+e.value("weekly")+`","email":"cy@b.example"}`))
	e.must(err)
	var answered struct {
		Token string `json:"confirm_token"`
	}
	e.must(json.NewDecoder(res.Body).Decode(&answered))
	e.must(res.Body.Close())
	leads(post("/confirm", url.Values{"token": {answered.Token}}), false)

	// The page shows that the address is subscribed, so the notice doesn't question that.
	sent := textOf(post("/preferences", url.Values{"token": {e.value("mailed")}, "action": {"link"}}))
	if !strings.Contains(sent, strings.ReplaceAll(w.LinkMailed, "{{email}}", "ann@b.example")) {
		t.Errorf("the link was requested: %s", sent)
	}
	known := post("/preferences", url.Values{"list": {e.value("weekly")}, "email": {"ann@b.example"}})
	unknown := post("/preferences", url.Values{"list": {e.value("weekly")}, "email": {"bob@b.example"}})
	if strings.ReplaceAll(known, "ann@", "bob@") != unknown {
		t.Errorf("%s, but for strangers %s", textOf(known), textOf(unknown))
	}
}
