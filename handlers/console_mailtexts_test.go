package handlers

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// The default texts of automatic emails are shown, and stay defaults if they are saved unchanged. A custom text can be
// previewed before it is saved, and can be reset.
func TestConsoleShowsDefaultTextsOfMails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		now := func() core.MailTexts {
			l, err := e.store.List(t.Context(), e.list.ID)
			e.must(err)
			return l.MailTexts
		}
		body := func(res *http.Response) string {
			defer res.Body.Close()
			b, err := io.ReadAll(res.Body)
			e.must(err)
			return textOf(string(b))
		}
		const subject, text = "mail_texts.confirm.subject", "mail_texts.confirm.text"
		page := e.path("lists", e.list.ID, "mails")
		general := e.path("settings", "mails")
		for _, at := range []string{page, general} {
			shown := e.shows(at, `value="Confirm your subscription to {{list.name}}"`,
				"Please confirm that you want to get")
			if strings.Contains(shown, `name="reset"`) {
				t.Error(at, "offers to reset a default")
			}
		}
		for _, name := range []string{"confirm", "subscribed", "unsubscribed", "preferences"} {
			preview := body(e.ask("GET", page+"?preview="+name, nil))
			if !strings.Contains(preview, "Hello,") {
				t.Errorf("preview of %s: %q", name, preview)
			}
		}
		form := url.Values{
			subject: {"Confirm your subscription to {{list.name}}"},
			text:    {"Hello,\r\n\r\nPlease confirm that you want to get {{list.name}} at {{email}}."},
		}
		e.sends(page, form)
		if got := now(); got != (core.MailTexts{}) {
			t.Errorf("a default became %+v", got.Confirm)
		}
		form.Set(text, "Dear {{email}}")
		form.Set("preview", "confirm")
		if got := body(e.ask("POST", page, form)); !strings.Contains(got, "Dear ann@user.example") {
			t.Error(got)
		}
		if got := now(); got != (core.MailTexts{}) {
			t.Errorf("the preview has saved %+v", got.Confirm)
		}
		form.Del("preview")
		e.sends(page, form)
		if got := now().Confirm; got == nil || *got != (core.MailText{Text: "Dear {{email}}"}) {
			t.Errorf("%+v", got)
		}
		if got := body(e.ask("GET", page+"?preview=confirm", nil)); !strings.Contains(got, "Dear ann@user.example") {
			t.Error(got)
		}
		e.shows(page, "Dear {{email}}", `name="reset" value="confirm"`)
		form.Set("reset", "confirm")
		if to := e.sends(page, form); !strings.HasSuffix(to, "?done=text-reset") {
			t.Errorf("reset: leads to %s", to)
		}
		if got := now(); got != (core.MailTexts{}) {
			t.Errorf("reset: %+v", got.Confirm)
		}
		// A list without a custom text uses the text in the settings.
		e.sends(general, url.Values{subject: {"Really?"}})
		e.shows(page, `value="Really?"`)
	})
}

// The preview of an automatic email has both logos of the tenant, for light and dark mode.
func TestConsolePreviewsMailsInDarkMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{
			BrandLogoURL: new("https://acme.example/logo.png"), BrandDarkLogoURL: new("https://acme.example/dark.png"),
		})
		e.shows(e.path("settings", "mails")+"?preview=confirm",
			`background="https://acme.example/logo.png"`, `background-image:url("https://acme.example/dark.png")`)
	})
}

var textAreas = regexp.MustCompile(`(?s)<textarea.*?</textarea>`)

// The texts of automatic emails offer their fields by label, to insert them and to show them as in the editor. The page
// itself contains no placeholder.
func TestConsoleNamesFieldsOfMails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		for _, at := range []string{e.path("lists", e.list.ID, "mails"), e.path("settings", "mails")} {
			for lang, labels := range map[string][3]string{
				"en": {"Email address", "List name", "Organization name"},
				"de": {"E-Mail-Adresse", "Name der Liste", "Name der Organisation"},
			} {
				e.lang = lang
				page := e.shows(at, "/console/editor.js", "/console/editor.css",
					`data-fields="[{"name":"email","label":"`+labels[0]+`"}`, `data-insert="{{list.name}}"`+
						` data-into="f-mail_texts-confirm-subject">`+labels[1])
				if said := textOf(textAreas.ReplaceAllString(page, "")); strings.Contains(said, "{{") {
					t.Errorf("%s: a placeholder in %s", at, said)
				}
			}
		}
		e.lang = ""
		e.refuses(e.path("settings", "mails"), url.Values{"mail_texts.confirm.text": {"Hello {{name}}"}},
			http.StatusBadRequest,
			"You can only use the email address, the list name and the organization name as fields.")
	})
}
