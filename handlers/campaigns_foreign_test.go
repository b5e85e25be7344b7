package handlers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store/storetest"
)

// The check of a campaign finds merge tags of other products anywhere in the source, and reports the line in the
// source.
func TestCheckOfForeignTags(t *testing.T) {
	e := newEnv(t)
	s := storetest.Seeder{TB: t, Store: e.store}
	list := s.NewList()
	list, err := e.store.UpdateList(t.Context(), list.ID, "test", func(l *core.List) error {
		l.Fields = core.Fields{{Name: "Vorname", Label: "First name", Type: core.FieldText}}
		return nil
	})
	s.Must(err)
	d := drafts.Drafts{Store: e.store, Sealer: e.handler.sealer, Origin: "http://news.test"}
	for _, tt := range []struct {
		name, kind, source, text string
		want                     []string
	}{
		{"Markdown", core.ContentMarkdown, "Hello\n\nHi *|FNAME|*, {city}\n", "", []string{
			`content.source 3 0 *|FNAME|*: write {{ preferences.Vorname | default: "…" }}.`,
		}},
		{"HTML and its text", core.ContentHTML, "<p>\nHi %%last_name%%</p>", "Hi\n\n[email,fallback=]", []string{
			"content.text 3 0 [email,fallback=]: write {{ email }}.",
			`content.source 2 0 %%last_name%%: write {{ preferences.last_name | default: "…" }}.`,
		}},
		{"text", core.ContentText, "Hi %recipient.name%", "", []string{
			`content.source 1 0 %recipient.name%: write {{ preferences.name | default: "…" }}.`,
		}},
		{"blocks", core.ContentBlocks, `{"version": 1, "blocks": [{"type": "divider"}, {"type": "button", "text": "Leave", ` +
			`"href": "https://x.example/*|MC:TOC|*"}]}`, "", []string{
			`content.source 0 2 *|MC:TOC|*: remove it.`,
		}},
		{"an error as well", core.ContentMarkdown, "Hi\n\n{{ contact.FNAME }} *|EMAIL|*", "", []string{
			`content.source 3 0 does_not_compile line 3, column 1: unknown name "contact": ` +
				`write {{ preferences.first_name | default: "…" }}`,
			"content.source 3 0 *|EMAIL|*: write {{ email }}.",
		}},
	} {
		c := s.NewCampaign(list, func(f *core.CampaignFields) {
			f.Subject = "Hi {{ preferences.Vorname | default: 'you' }} {first_name}"
			f.Content = core.CampaignContent{Kind: tt.kind, Source: tt.source, Text: tt.text}
		})
		l, err := d.Look(t.Context(), &c, 0, s.Time())
		s.Must(err)
		var got []string
		for _, f := range l.Findings {
			place := f.Where
			at := fmt.Sprint(place.Field, " ", place.Line, " ", place.Block, " ")
			switch {
			case f.Code == "does_not_compile":
				got = append(got, at+f.Code+" "+f.Message)
			case f.Code == "placeholder_foreign" && place.Field != "subject":
				got = append(got, at+strings.Replace(f.Message, " is a merge tag from another newsletter service", "",
					1))
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
		if !slices.ContainsFunc(l.Findings, func(f core.CampaignFinding) bool {
			return f.Code == "placeholder_foreign" && f.Where.Field == "subject"
		}) {
			t.Errorf("%s: nothing of the subject", tt.name)
		}
	}
}
