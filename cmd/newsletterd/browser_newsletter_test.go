package main

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/core"
)

// reader is a person with a mailbox and a browser without scripts.
type reader struct {
	*browsertest.Browser
	d     *running
	email core.Email
	lang  string
	words map[string]string // texts of the pages
}

// at waits for the page with the title of this key, takes screenshots of it, and checks its form. Then it turns scripts
// off.
func (r *reader) at(name, title string) {
	r.Helper()
	r.Do(r.heading(title))
	r.Look(r.lang + "-" + name)
	r.Fits(name)
	r.Do(browsertest.Scripts(false))
}

// heading waits for a page by the key of its title.
func (r *reader) heading(word string) browsertest.Step {
	title, _, _ := strings.Cut(strings.ReplaceAll(r.words[word], "{{list}}", "{{"), "{{")
	if r.words[word] == "" {
		r.Fatalf("there is no word %s", word)
	}
	return browsertest.Heading(strings.TrimSpace(title))
}

// stories are languages with the texts of a tenant and a reader: short words, and long ones that must not break a page.
var stories = []struct {
	lang, list, brand string
	email             core.Email
	fields            [3]string
	options           core.Strings
}{
	{
		"en", "Monthly news", "Acme Gardens", "ann@example.org",
		[3]string{"First name", "Where do you garden?", "Tell me of workshops too"},
		core.Strings{"In a flat", "On a balcony", "In a garden"},
	},
	{
		"de", "Rundbrief der Kleingärtnervereinsvorsitzendenversammlung", "Kleingärtnervereinsvorsitzendenversammlung",
		"anneliese.von-und-zu-hohenstein-langenburg@newsletter-abonnements.kleingarten.example.org",
		[3]string{"Vorname", "Wo gärtnern Sie?", "Auch Termine der Arbeitsgemeinschaft"},
		core.Strings{"In der Wohnung", "Auf dem Balkon", "Im Garten"},
	},
	{
		"fr", "Nouvelles du jardin", "Jardins Acme", "anne@example.org",
		[3]string{"Prénom", "Où jardinez-vous ?", "Les ateliers aussi"},
		core.Strings{"En appartement", "Sur un balcon", "Au jardin"},
	},
	{
		"es", "Noticias del jardín", "Jardines Acme", "ana@example.org",
		[3]string{"Nombre", "¿Dónde tiene su jardín?", "También los talleres"},
		core.Strings{"En un piso", "En un balcón", "En un jardín"},
	},
}

// TestReaderInABrowser lets a reader subscribe, confirm, change details, unsubscribe, resubscribe, export the data and
// have it erased, in a browser without scripts and in each language.
func TestReaderInABrowser(t *testing.T) {
	for _, s := range stories {
		t.Run(s.lang, func(t *testing.T) {
			r := &reader{Browser: browsertest.New(t), d: start(t, nil), email: s.email, lang: s.lang}
			b, err := os.ReadFile("../../handlers/page/pages/words/" + s.lang + ".json")
			if err == nil {
				err = json.Unmarshal(b, &r.words)
			}
			if err != nil {
				t.Fatal(err)
			}
			r.d.seed.NewTenant(func(in *core.TenantInput) {
				in.BrandName, in.BrandColor, in.PrivacyURL = &s.brand, new("#2f7d4f"),
					new("https://acme.example/privacy")
			})
			list := r.d.seed.NewList(func(in *core.ListInput) {
				in.Name, in.Language = &s.list, &s.lang
				in.Description = new("What happens in our garden, once a month.\n\nNo advertisements.")
				in.ConsentText = new("I agree to get this newsletter by mail. I can withdraw my consent at any " +
					"time by the link in each mail.")
				in.Fields = &[]core.Field{
					{Name: "first_name", Label: s.fields[0], Type: core.FieldText},
					{Name: "place", Label: s.fields[1], Type: core.FieldChoice, Options: s.options, Required: true},
					{Name: "events", Label: s.fields[2], Type: core.FieldBoolean},
				}
			})
			r.Do(browsertest.Scripts(false), chromedp.Navigate(r.d.cfg.Origin()+"/l/"+list.ID))
			r.at("subscribe", "subscribe_title")
			r.Do(chromedp.SetValue("#email", string(r.email)), chromedp.SetValue("#f-first_name", "Ann"),
				chromedp.SetValue("#f-place", s.options[1]))
			r.Click("main button")
			r.at("check-mail", "check_title")
			r.Open(r.d.mailed("/confirm?", string(r.email)))
			r.at("confirm", "confirm_title")
			r.Click("main button")
			r.at("confirmed", "confirmed_title")

			// Invalid inputs get errors.
			r.Open(r.d.cfg.Origin()+"/l/"+list.ID, r.heading("subscribe_title"),
				chromedp.RemoveAttribute("#f-place", "required"),
				chromedp.SetValue("#email", "bob@example.org"))
			r.Click("main button")
			r.Do(chromedp.WaitVisible("#fault"))
			r.at("subscribe-fault", "subscribe_title")

			// The reader requests the link to the preference page without having any link.
			r.Open(r.d.cfg.Origin() + "/preferences?list=" + list.ID)
			r.at("ask-link", "ask_title")
			r.Do(chromedp.SetValue("#email", string(r.email)))
			r.Click("main button")
			r.Do(chromedp.WaitVisible(".notice"))
			r.at("link-sent", "ask_title")
			r.Open(r.d.mailed("/preferences?", string(r.email)))
			r.at("preferences", "ask_title")

			r.Click(`input[name="p.events"]`)
			r.Click(`button[value="save"]`)
			r.Do(chromedp.WaitVisible(".notice"))
			r.at("preferences-saved", "ask_title")
			want := core.Preferences(`{"events":true,"first_name":"Ann","place":"` + s.options[1] + `"}`)
			if sub, err := r.d.store.Subscription(r.Context(), list.ID, r.email); err != nil || sub.Preferences != want {
				r.Errorf("%+v, %v", sub, err)
			}
			r.Click(`button[value="leave"]`)
			r.at("left-one", "left_title")
			r.Click("form button")
			r.at("undone", "undone_title")

			// A newsletter's link leads to the subscription that it was sent for.
			token, err := r.d.keys.Sealer.SealUnsubscribe(auth.UnsubscribeToken{
				Kind: auth.UnsubscribeMailed, ListID: list.ID, SubscriptionID: r.d.store.SubscriptionID(list.ID, r.email.Key()),
				Email: r.email, IssuedAt: now(),
			})
			if err != nil {
				r.Fatal(err)
			}
			r.Open(r.d.cfg.Origin() + "/preferences?token=" + token)
			r.at("preferences-by-newsletter", "manage_title")
			r.Open(r.d.cfg.Origin() + "/unsubscribe?token=" + token)
			r.at("unsubscribe-by-newsletter", "leave_title")

			r.byRequestedToken(list)
			r.takeDataAway(list)

			// These links lead nowhere.
			if _, err := r.d.store.UpdateList(r.Context(), list.ID, "test", func(l *core.List) error {
				return l.Change(core.ListInput{Status: new(core.ListInactive)}, now())
			}); err != nil {
				r.Fatal(err)
			}
			r.Open(r.d.cfg.Origin() + "/l/" + list.ID)
			r.at("inactive", "wrong_title")
			for name, path := range map[string]string{
				"link-broken":    "/preferences?token=x",
				"confirm-broken": "/confirm?token=x",
			} {
				r.Open(r.d.cfg.Origin()+path, browsertest.Heading("That didn’t work")) // its owner is not known
				r.Look(r.lang + "-" + name)
			}
		})
	}
}

// byRequestedToken is unsubscribed by a stranger who requested a token, and undoes that with the link in the email
// about it.
func (r *reader) byRequestedToken(list core.List) {
	r.Helper()
	token := r.d.Send("POST", "/api/newsletter/unsubscribe-token", map[string]string{
		"list_id": list.ID, "email": string(r.email),
	}).OK().Field("unsubscribe_token")
	r.Open(r.d.cfg.Origin()+"/unsubscribe?token="+token, r.heading("leave_title"),
		chromedp.Click("summary"))
	r.at("unsubscribe", "leave_title")
	r.Click(`input[value="too_many"]`)
	r.Click("main button")
	r.at("unsubscribed", "left_title")
	r.Open(r.d.mailed("/undo?", string(r.email)))
	r.at("undo", "undo_title")
	r.Click("main button")
	r.Do(r.heading("undone_title"))
}

func (r *reader) takeDataAway(list core.List) {
	r.Helper()
	r.Open(r.d.cfg.Origin()+"/preferences?list="+list.ID, r.heading("ask_title"),
		chromedp.SetValue("#email", string(r.email)))
	r.Click("main button")
	r.Open(r.d.mailed("/preferences?", string(r.email)))
	r.Do(r.heading("ask_title"))
	where := r.Location()
	u, err := url.Parse(where)
	if err != nil {
		r.Fatal(err)
	}
	data := r.d.Send("POST", "/preferences/export", url.Values{"token": {u.Query().Get("token")}})
	if !strings.Contains(data.Text, `"reason": "too_many"`) ||
		!strings.Contains(data.Header.Get("Content-Disposition"), "attachment") {
		r.Errorf("%v %s", data.Header, data.Text)
	}
	r.Do(chromedp.RemoveAttribute(`input[name="sure"]`, "required"))
	r.Click(`form[action="/preferences/erase"] button`)
	r.Do(chromedp.WaitVisible(".fault"))
	r.at("erase-unsure", "ask_title")
	r.Click(`input[name="sure"]`)
	r.Click(`form[action="/preferences/erase"] button`)
	r.at("erased", "erased_title")
	if _, err := r.d.store.Subscription(r.Context(), list.ID, r.email); core.KindOf(err) != core.NotFound {
		r.Errorf("the subscription is there: %v", err)
	}
	r.Open(where)
	r.at("after-erasing", "ask_title")
}
