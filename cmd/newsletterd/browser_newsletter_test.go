package main

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"newsletterd/auth"
	"newsletterd/core"
)

// axe is the accessibility checker axe-core (axe.min.js), where AXE names its file: `make pages` fetches it where there
// is npm. Without it the pages are tried all the same.
var axe = sync.OnceValues(func() (string, error) {
	name := os.Getenv("AXE")
	if name == "" {
		return "", nil
	}
	b, err := os.ReadFile(name)
	return string(b), err
})

// accessible lets the checker look at a page, in light and dark.
func accessible(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	script, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	if script == "" {
		return
	}
	const run = `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + " (" + v.impact + "): " + v.help + "\n" + v.nodes.map(n => "    " + n.html).join("\n")).join("\n"))`
	for _, scheme := range []string{"light", "dark"} {
		do(t, ctx, emulateScheme(scheme), scripts(true))
		faults, err := chromedp.Run(ctx, chromedp.Evaluate[string]("(() => {"+script+"})(); "+run, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
		if faults != "" {
			t.Errorf("%s, %s:\n%s", name, scheme, faults)
		}
	}
}

// scripts lets pages run scripts, or not.
func scripts(on bool) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	})
}

// reader is a person with a browser without scripts, and a mailbox.
type reader struct {
	*testing.T
	ctx   context.Context
	d     *running
	email core.Email
	lang  string
	words map[string]string // of the pages
}

// beyond is how far anything stands out of the page, or of its card, once that is laid out anew.
const beyond = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(Math.max(document.documentElement.scrollWidth - innerWidth,
	...[...document.querySelectorAll("main *")].map(e => Math.floor(e.getBoundingClientRect().right - document.querySelector("main").getBoundingClientRect().right)))))))`

// at takes pictures of a page, which is known by the word of its title, and lets the checker look at it, in light and
// dark. Nothing stands out of it, on a small telephone or on a desk.
func (r *reader) at(name, title string) {
	r.Helper()
	do(r.T, r.ctx, r.heading(title))
	shots(r.T, r.ctx, r.lang+"-"+name)
	for _, width := range []int64{320, 1280} {
		do(r.T, r.ctx, scripts(true), chromedp.EmulateViewport(width, 600))
		over, err := chromedp.Run(r.ctx, chromedp.Evaluate[float64](beyond, chromedp.EvalAwaitPromise))
		if err != nil || over > 0 {
			r.Errorf("%s, %d pixels wide: something stands out by %g (%v)", name, width, over, err)
		}
	}
	do(r.T, r.ctx, scripts(false))
}

// heading waits for a page by the word of its title.
func (r *reader) heading(word string) chromedp.Action[chromedp.Void] {
	title, _, _ := strings.Cut(strings.ReplaceAll(r.words[word], "{{list}}", "{{"), "{{")
	if r.words[word] == "" {
		r.Fatalf("there is no word %s", word)
	}
	return heading(strings.TrimSpace(title))
}

// open waits for a new mail with a link and opens it.
func (r *reader) open(path string) {
	r.Helper()
	do(r.T, r.ctx, chromedp.Navigate(r.d.mailed(path, string(r.email))))
}

// press clicks a button.
func (r *reader) press(selector string) {
	r.Helper()
	do(r.T, r.ctx, chromedp.Click(selector))
}

// story is a language with what a tenant and a reader bring: short words, and long ones that must not break a page.
type story struct {
	lang, list, brand string
	email             core.Email
	fields            [3]string
	options           core.Strings
}

var stories = []story{
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

// A reader subscribes, confirms, changes details, leaves, comes back, and takes the data away and has it erased: with a
// browser that runs no script, in each language.
func TestReaderInABrowser(t *testing.T) {
	for _, s := range stories {
		t.Run(s.lang, func(t *testing.T) {
			r := &reader{T: t, ctx: newBrowser(t), d: start(t, nil), email: s.email, lang: s.lang}
			b, err := os.ReadFile("../../handlers/pages/words/" + s.lang + ".json")
			if err == nil {
				err = json.Unmarshal(b, &r.words)
			}
			if err != nil {
				t.Fatal(err)
			}
			r.tell(s)
		})
	}
}

func (r *reader) tell(s story) {
	r.Helper()
	r.d.seed.NewTenant(func(in *core.TenantInput) {
		in.BrandName, in.BrandColor, in.PrivacyURL = &s.brand, new("#2f7d4f"), new("https://acme.example/privacy")
	})
	list := r.d.seed.NewList(func(in *core.ListInput) {
		in.Name, in.Language = &s.list, &s.lang
		in.Description = new("What happens in our garden, once a month.\n\nNo advertisements.")
		in.ConsentText = new("I agree to get this newsletter by mail. I can withdraw my consent at any time by the link in " +
			"each mail.")
		in.Fields = &[]core.Field{
			{Name: "first_name", Label: s.fields[0], Type: core.FieldText},
			{Name: "place", Label: s.fields[1], Type: core.FieldChoice, Options: s.options, Required: true},
			{Name: "events", Label: s.fields[2], Type: core.FieldBoolean},
		}
	})
	do(r.T, r.ctx, scripts(false), chromedp.Navigate(r.d.cfg.Origin()+"/l/"+list.ID))
	r.at("subscribe", "subscribe_title")
	do(r.T, r.ctx, chromedp.SetValue("#email", string(r.email)), chromedp.SetValue("#f-first_name", "Ann"),
		chromedp.SetValue("#f-place", s.options[1]))
	r.press("main button")
	r.at("check-mail", "check_title")
	r.open("/confirm?")
	r.at("confirm", "confirm_title")
	r.press("main button")
	r.at("confirmed", "confirmed_title")

	// what is not right
	do(r.T, r.ctx, chromedp.Navigate(r.d.cfg.Origin()+"/l/"+list.ID), r.heading("subscribe_title"),
		chromedp.RemoveAttribute("#f-place", "required"),
		chromedp.SetValue("#email", "bob@example.org"))
	r.press("main button")
	do(r.T, r.ctx, chromedp.WaitVisible("#fault"))
	r.at("subscribe-fault", "subscribe_title")

	// the link to one's own data, without any link at hand
	do(r.T, r.ctx, chromedp.Navigate(r.d.cfg.Origin()+"/preferences?list="+list.ID))
	r.at("ask-link", "ask_title")
	do(r.T, r.ctx, chromedp.SetValue("#email", string(r.email)))
	r.press("main button")
	do(r.T, r.ctx, chromedp.WaitVisible(".notice"))
	r.at("link-sent", "ask_title")
	r.open("/preferences?")
	r.at("preferences", "ask_title")

	do(r.T, r.ctx, chromedp.Click(`input[name="p.events"]`))
	r.press(`button[value="save"]`)
	do(r.T, r.ctx, chromedp.WaitVisible(".notice"))
	r.at("preferences-saved", "ask_title")
	want := core.Preferences(`{"events":true,"first_name":"Ann","place":"` + s.options[1] + `"}`)
	if sub, err := r.d.store.Subscription(r.Context(), list.ID, r.email); err != nil || sub.Preferences != want {
		r.Errorf("%+v, %v", sub, err)
	}
	r.press(`button[value="leave"]`)
	r.at("left-one", "left_title")
	r.press("form button")
	r.at("undone", "undone_title")

	r.byNewsletter(list)
	r.byRequestedToken(list)
	r.takeDataAway(list)

	// what leads nowhere
	if _, err := r.d.store.UpdateList(r.Context(), list.ID, "test", func(l *core.List) error {
		return l.Change(core.ListInput{Status: new(core.ListInactive)}, now())
	}); err != nil {
		r.Fatal(err)
	}
	do(r.T, r.ctx, chromedp.Navigate(r.d.cfg.Origin()+"/l/"+list.ID))
	r.at("inactive", "wrong_title")
	for name, path := range map[string]string{
		"link-broken":    "/preferences?token=x",
		"confirm-broken": "/confirm?token=x",
	} {
		do(r.T, r.ctx, chromedp.Navigate(r.d.cfg.Origin()+path), heading("This does not work")) // its owner is not known
		shots(r.T, r.ctx, r.lang+"-"+name)
	}
}

// byNewsletter follows the link of a newsletter to the subscription that it came by.
func (r *reader) byNewsletter(list core.List) {
	r.Helper()
	token, err := r.d.keys.sealer.SealUnsubscribe(auth.UnsubscribeToken{
		Kind: auth.UnsubscribeMailed, ListID: list.ID, SubscriptionID: r.d.store.SubscriptionID(list.ID, r.email.Key()),
		Email: r.email, IssuedAt: now(),
	})
	if err != nil {
		r.Fatal(err)
	}
	do(r.T, r.ctx, chromedp.Navigate(r.d.cfg.Origin()+"/preferences?token="+token))
	r.at("preferences-by-newsletter", "manage_title")
}

// byRequestedToken is unsubscribed by a stranger who asked for a token, and undoes it by the link in the mail about it.
func (r *reader) byRequestedToken(list core.List) {
	r.Helper()
	token := r.d.Send("POST", "/api/newsletter/unsubscribe-token", map[string]string{
		"list_id": list.ID, "email": string(r.email),
	}).OK().Field("unsubscribe_token")
	do(r.T, r.ctx, chromedp.Navigate(r.d.cfg.Origin()+"/unsubscribe?token="+token), r.heading("leave_title"),
		chromedp.Click("summary"))
	r.at("unsubscribe", "leave_title")
	do(r.T, r.ctx, chromedp.Click(`input[value="too_many"]`))
	r.press("main button")
	r.at("unsubscribed", "left_title")
	r.open("/undo?")
	r.at("undo", "undo_title")
	r.press("main button")
	do(r.T, r.ctx, r.heading("undone_title"))
}

func (r *reader) takeDataAway(list core.List) {
	r.Helper()
	do(r.T, r.ctx, chromedp.Navigate(r.d.cfg.Origin()+"/preferences?list="+list.ID), r.heading("ask_title"),
		chromedp.SetValue("#email", string(r.email)))
	r.press("main button")
	r.open("/preferences?")
	do(r.T, r.ctx, r.heading("ask_title"))
	where, err := chromedp.Run(r.ctx, chromedp.Location())
	if err != nil {
		r.Fatal(err)
	}
	u, err := url.Parse(where)
	if err != nil {
		r.Fatal(err)
	}
	data := r.d.Send("POST", "/preferences/export", url.Values{"token": {u.Query().Get("token")}})
	if !strings.Contains(data.Text, `"reason": "too_many"`) ||
		!strings.Contains(data.Header.Get("Content-Disposition"), "attachment") {
		r.Errorf("%v %s", data.Header, data.Text)
	}
	do(r.T, r.ctx, chromedp.RemoveAttribute(`input[name="sure"]`, "required"))
	r.press(`form[action="/preferences/erase"] button`)
	do(r.T, r.ctx, chromedp.WaitVisible(".fault"))
	r.at("erase-unsure", "ask_title")
	do(r.T, r.ctx, chromedp.Click(`input[name="sure"]`))
	r.press(`form[action="/preferences/erase"] button`)
	r.at("erased", "erased_title")
	if _, err := r.d.store.Subscription(r.Context(), list.ID, r.email); core.KindOf(err) != core.NotFound {
		r.Errorf("the subscription is there: %v", err)
	}
	do(r.T, r.ctx, chromedp.Navigate(where))
	r.at("after-erasing", "ask_title")
}
