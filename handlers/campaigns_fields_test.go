package handlers

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
)

// The check reports how many subscribers lack a field that the email prints, and what they see instead. It also lists
// the fields that subscribers have, including those of imported columns. The editor offers these fields and shows the
// same text.
func TestCheckOfFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleEditor) // two subscribers with no details
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Subject = "News for {{ preferences.Vorname | default: \"you\" }}"
			f.Content.Kind = core.ContentMarkdown
			f.Content.Source = "Dear {{ preferences.Vorname | default: \"friend\" }} of " +
				"{{ preferences.Ort | default: \"ours\" }}\n\n" +
				"{% if preferences.shoe %}{{ preferences.shoe }}{% endif %}\n"
		})
		for i, p := range []core.Preferences{
			`{"Vorname":"Joan","Ort":"Bonn","newsletterd_none":null}`, `{"Vorname":"","Ort":"Ulm","a b":"x"}`,
			`{"Ort":"Kiel","more":{"shoe":43}}`,
		} {
			email := core.Email(fmt.Sprintf("r%d@reader.example", i))
			e.seed.Active(e.list.ID, email)
			_, err := e.store.SetPreferences(t.Context(), e.list.ID, email, p, e.seed.Time())
			e.must(err)
		}
		e.seed.Deliver()
		d := drafts.Drafts{Store: e.store, Sealer: e.handler.sealer, Origin: "http://news.test"}
		checked, err := d.Check(t.Context(), &e.campaign, 0, false, e.seed.Time())
		e.must(err)
		var lacking []string
		for _, f := range checked.Findings {
			if f.Code == "field_missing" {
				lacking = append(lacking, f.Where.Field+": "+f.Message)
			}
		}
		if want := []string{
			"subject: 4 of 5 subscribers have no preferences.Vorname and see the fallback “you”.",
			"content.source: 2 of 5 subscribers have no preferences.Ort and see the fallback “ours”.",
		}; !slices.Equal(lacking, want) {
			t.Errorf("%q", lacking)
		}
		for _, want := range []core.FieldCoverage{
			{Name: "Vorname", Known: 1, Readers: 5, Used: true, Default: "you"},
			{Name: "Ort", Known: 3, Readers: 5, Used: true, Default: "ours"},
			{Name: "more.shoe", Known: 1, Readers: 5},
		} {
			if !slices.Contains(checked.Fields, want) {
				t.Errorf("no %+v in %+v", want, checked.Fields)
			}
		}
		e.shows(e.path(""), http.StatusOK,
			"“Vorname” is blank for 4 of 5 recipients. They see “you” instead (fallback).",
			`{&#34;name&#34;:&#34;preferences.Vorname&#34;,&#34;label&#34;:&#34;Vorname&#34;,&#34;fallback&#34;:&#34;you&#34;}`,
			`&#34;preferences.more.shoe&#34;`, `&#34;preferences.first_name&#34;`, "-a b", "-newsletterd_none")
	})
}

// A field with a fallback is a hint that needs no confirmation. For a campaign to a segment, it has no numbers: fields
// are counted on lists.
func TestConsoleFallbacksAreHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		text := func(source, segment string) {
			e.campaign = e.seed.NewCampaign(e.shop, func(f *core.CampaignFields) {
				f.Content.Kind, f.Content.Source, f.SegmentID = core.ContentMarkdown, source, segment
			})
		}
		const fallback = "Roses in {{ preferences.city | default: \"your town\" }}\n"
		g := e.add("Bonn", `{"field":"city","is":["Bonn"]}`)
		text(fallback, "")
		counted := "“City” is blank for 4 of 5 recipients. They see “your town” instead (fallback)."
		without := e.shows(e.path(""), http.StatusOK, counted)
		e.shows(e.path("/send"), http.StatusOK, counted)
		text("Roses\n", "")
		warnings := regexp.MustCompile(`\d+ warnings?|No problems found`)
		is, want := warnings.FindString(without), warnings.FindString(e.shows(e.path(""), http.StatusOK))
		if is != want {
			t.Errorf("%q with a fallback, %q without the field", is, want)
		}
		text(fallback, g.ID)
		e.shows(e.path(""), http.StatusOK, "Recipients without “City” see “your town” instead (fallback).",
			"-is blank for")
		text("Roses in {{ preferences.city }}\n", g.ID)
		e.shows(e.path(""), http.StatusOK, "“City” has no fallback. If the field is blank, recipients see a gap.",
			"-is blank for")
	})
}
