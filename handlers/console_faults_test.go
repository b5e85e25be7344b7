package handlers

import (
	"html"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// What the API says of values that it refuses is German on German pages, and names the fields as the pages do.
func TestConsoleFaultsInGerman(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.lang = "de"
		campaign := e.seed.NewCampaign(e.list)
		list, long := "lists/"+e.list.ID+"/settings", strings.Repeat("x", 600)
		for _, c := range []struct{ path, form, wants string }{
			{"settings", "name=x&brand_color=red", "Geben Sie eine Hex-Farbe ein"},
			{"settings", "name=x&brand_logo_url=x", "Die Adresse des Logos beginnt mit https://."},
			{"settings", "name=x&reply_to=x@y@z", "Antwortadresse: Das ist keine gültige E-Mail-Adresse."},
			{"settings", "name=x&mail_from_name=" + long, "Absendername: höchstens 100 Zeichen."},
			{"settings", "name=x&time_zone=Mars", "Die Zeitzone „Mars“ gibt es nicht"},
			{"settings", "name=x&test_addresses=a@b@c", "„a@b@c“ ist keine gültige E-Mail-Adresse."},
			{"settings/mails", "mail_texts.confirm.subject={{job.subject}}", "Eingesetzt werden hier nur {{email}}"},
			{"settings/domains", "domain=not a domain", "Das ist kein Name einer Domain."},
			{"settings/endpoints", "url=gopher://x.example", "Die Adresse beginnt mit https:// und hat höchstens"},
			{"settings/clients", "name=Shop&redirect_uris=nowhere", "Jede Zeile ist eine Adresse mit https://"},
			{"settings/team", "email=x@y@z&role=editor", "gültige E-Mail-Adresse."},
			{"new-list", "name=", "Der Name fehlt."},
			{"new-list", "name=" + long, "Name: höchstens 200 Zeichen."},
			{list, "name=x&slug=Ä Ö", "dazwischen einzelne Bindestriche."},
			{list, "name=x&confirm_redirect_url=x", "Nach der Bestätigung: Geben Sie eine URL ein, die mit https:// beginnt."},
			{"new-person", "list=" + e.list.ID + "&email=x@y@z", "gültige E-Mail-Adresse."},
			{"suppressions", "email=x@y@z", "gültige E-Mail-Adresse."},
			{"looks/themes", "name=letter&base=letter", "Diesen Namen hat schon ein fertiges Design"},
			{
				"campaigns/" + campaign.ID + "/send", "version=1&tag=none&key=1",
				"seit Sie sie geöffnet haben. Prüfen Sie sie noch einmal. Kampagne: geändert von ",
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
