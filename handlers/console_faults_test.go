package handlers

import (
	"html"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// Error messages of the API about refused values are in German on German pages, and use the labels that pages have for
// fields.
func TestConsoleFaultsInGerman(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.lang = "de"
		campaign := e.seed.NewCampaign(e.list)
		list, long := "lists/"+e.list.ID+"/settings", strings.Repeat("x", 600)
		for _, c := range []struct{ path, form, wants string }{
			{"settings", "name=x&brand_color=red", "Wählen Sie eine Farbe, oder geben Sie ihren Code ein"},
			{"settings", "name=x&brand_logo_url=x", "Logo: Geben Sie eine URL ein, die mit https:// beginnt."},
			{"settings", "name=x&reply_to=x@y@z", "Antwortadresse: Geben Sie eine gültige E-Mail-Adresse ein."},
			{"settings", "name=x&mail_from_name=" + long, "Absendername: Geben Sie höchstens 100 Zeichen ein."},
			{"settings", "name=x&time_zone=Mars", "Unbekannte Zeitzone „Mars“."},
			{"settings", "name=x&test_addresses=a@b@c", "„a@b@c“ ist keine gültige E-Mail-Adresse."},
			{
				"settings/mails", "mail_texts.confirm.subject={{job.subject}}",
				"Als Felder sind nur die E-Mail-Adresse, der Name der Liste und der Name der Organisation möglich.",
			},
			{"settings/domains", "domain=not a domain", "Geben Sie einen Domainnamen ein"},
			{"settings/endpoints", "url=gopher://x.example", "die mit https:// beginnt und höchstens"},
			{"settings/clients", "name=Shop&redirect_uris=nowhere", "Geben Sie in jeder Zeile eine URL ein"},
			{"settings/team", "email=x@y@z&role=editor", "Geben Sie eine gültige E-Mail-Adresse ein."},
			{"new-list", "name=", "Geben Sie einen Namen ein."},
			{"new-list", "name=" + long, "Name: Geben Sie höchstens 200 Zeichen ein."},
			{list, "name=x&slug=Ä Ö", "Kleinbuchstaben (a–z), Ziffern und einzelne Bindestriche"},
			{list, "name=x&confirm_redirect_url=x", "Nach der Bestätigung: Geben Sie eine URL ein, die mit https:// beginnt."},
			{"new-person", "list=" + e.list.ID + "&email=x@y@z", "Geben Sie eine gültige E-Mail-Adresse ein."},
			{"suppressions", "email=x@y@z", "Geben Sie eine gültige E-Mail-Adresse ein."},
			{"looks/themes", "name=letter&base=letter", "Dieser Name ist reserviert."},
			{
				"campaigns/" + campaign.ID + "/send", "version=1&tag=none&key=1",
				"inzwischen geändert. Prüfen Sie sie noch einmal. Kampagne: geändert von ",
			},
		} {
			form, err := url.ParseQuery(c.form)
			e.must(err)
			status, page := e.page("POST", e.path(c.path), form)
			page = html.UnescapeString(page)
			if status < 400 || status >= 500 || !strings.Contains(page, c.wants) ||
				strings.Contains(page, "Da ist etwas schiefgelaufen") {
				t.Errorf("%s %.80s: %d, no %q in %s", c.path, c.form, status, c.wants, textOf(page))
			}
		}
	})
}
