package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
)

// A publisher tags a person in the console, uses the tag in a segment, renames it and deletes it.
func TestConsoleTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		person := "/people/" + e.store.SubscriptionIDs(e.shop.ID).Of("ada@old.example")
		e.shows("/tags", http.StatusOK, "No tags yet", "Create tag")
		e.sends("/tags", http.StatusSeeOther, url.Values{"name": {"Press"}})
		e.sends("/tags", http.StatusBadRequest, url.Values{"name": {"a,b"}})
		e.sends("/tags", http.StatusConflict, url.Values{"name": {"PRESS"}})
		for _, name := range []string{"VIP", "press"} { // one of the two tags is new
			e.sends(person+"/tags", http.StatusSeeOther, url.Values{"tag": {name}})
		}
		e.sends(person+"/tags", http.StatusBadRequest, url.Values{"tag": {"a;b"}})
		e.shows(person, http.StatusOK, "VIP", "Press", "Add tag")
		form := url.Values{
			"name": {"Important"}, "match": {"all"}, "c1.of": {"tag"}, "c1.was": {"tag"}, "c1.op": {"is"},
			"c1.value": {"VIP"},
		}
		g := e.saves("/new-segment", form)
		if g.Rule != `{"all":[{"tag":"VIP"}]}` {
			t.Errorf("the rule is %s", g.Rule)
		}
		e.shows("/segments/"+g.ID, http.StatusOK, "VIP", "ada@old.example")
		tags, err := e.store.AllTags(t.Context(), e.tenant.ID)
		if e.must(err); len(tags) != 2 || tags[1].Name != "VIP" {
			t.Fatalf("%+v", tags)
		}
		list := e.shows("/tags", http.StatusOK, "VIP", "1")
		if to := "/people?tagged=" + tags[1].ID; !strings.Contains(list, to+`">VIP<`) {
			t.Errorf("the tag doesn't lead to %s: %s", to, list)
		}
		e.sends("/tags", http.StatusSeeOther, url.Values{"id": {tags[1].ID}, "name": {"Regular"}})
		e.shows("/segments/"+g.ID, http.StatusOK, "Regular", "ada@old.example")
		e.sends("/tags", http.StatusConflict, url.Values{"id": {tags[1].ID}, "do": {"delete"}})
		e.sends(person+"/tags", http.StatusSeeOther, url.Values{"remove": {"Regular"}})
		e.sends("/tags", http.StatusSeeOther, url.Values{"id": {tags[0].ID}, "do": {"delete"}})
		if had, err := e.store.TagsAt(t.Context(), e.tenant.ID, "ada@old.example"); err != nil || len(had) != 0 {
			t.Errorf("%+v, %v", had, err)
		}
	})
}

// A tag is chosen as the recipients of a campaign. The first choice creates a segment, and later ones use it.
func TestConsoleTagAsRecipients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		settings := e.path("?tab=settings")
		e.sends("/tags", http.StatusSeeOther, url.Values{"name": {"Press"}})
		tags, err := e.store.AllTags(t.Context(), e.tenant.ID)
		e.must(err)
		page := e.shows(settings, http.StatusOK, "Segment or tag", "Tag: Press")
		if strings.Contains(page, "outside.tag:") {
			t.Errorf("a tag can be excluded: %s", page)
		}
		var segments []string
		for range 2 {
			form := e.edit(e.shows(settings, http.StatusOK), "segment", "tag:"+tags[0].ID,
				"list."+e.shop.ID, "1")
			e.sends(e.path(""), http.StatusSeeOther, form)
			found, err := e.store.Campaign(t.Context(), e.campaign.ID)
			e.must(err)
			_, f, err := e.store.CampaignVersion(t.Context(), &found, 0)
			e.must(err)
			segments = append(segments, f.SegmentID)
		}
		if segments[0] == "" || segments[0] != segments[1] {
			t.Errorf("the segments are %q", segments)
		}
		e.shows("/segments/"+segments[0], http.StatusOK, "Tag: Press", "Press")
		e.shows("/segments", http.StatusOK, "Created automatically for campaigns to the tag “Press”")
		at := `value="` + segments[0] + `"`
		e.shows("/people?tagged="+tags[0].ID, http.StatusOK, "-"+at, `-name="segment"`)
		e.shows("/people?segment="+segments[0], http.StatusOK, at+" selected")
		e.shows(e.path("/send"), http.StatusOK, "<dt>Tag</dt><dd>Press</dd>", "5 without the tag = 0",
			"no one on the selected lists has the tag", "-Tag: Press", "-not in the segment")
		e.sends(e.path(""), http.StatusBadRequest,
			e.edit(e.shows(settings, http.StatusOK), "segment", "tag:x", "name", "Spring"), `value="Spring"`)
		_, err = e.store.ChangeSegment(t.Context(), segments[0], "test", func(g *core.Segment) error {
			rule := `{"all": [{"tag": "Press"}, {"joined": {"within_days": 30}}]}`
			return g.Change(core.SegmentInput{Rule: core.RuleText(rule)}, "test", core.At(time.Now()))
		})
		e.must(err)
		e.sends(e.path(""), http.StatusSeeOther, e.edit(e.shows(settings, http.StatusOK), "segment", "tag:"+tags[0].ID))
		e.shows(settings, http.StatusOK, "Tag: Press*")
	})
}

// The tag for new subscribers is chosen in the settings of a list. While it is chosen, it can't be deleted.
func TestConsoleTagOfSignups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RoleTenantAdmin)
		settings := "/lists/" + e.shop.ID + "/settings"
		e.shows(settings, http.StatusOK, "You have no tags yet")
		e.sends("/tags", http.StatusSeeOther, url.Values{"name": {"Website"}})
		tags, err := e.store.AllTags(t.Context(), e.tenant.ID)
		e.must(err)
		e.shows(settings, http.StatusOK, "Tag new subscribers with", ">Website<")
		form := url.Values{"name": {e.shop.Name}, "active": {"1"}, "signup_tag_id": {tags[0].ID}}
		e.sends(settings, http.StatusSeeOther, form)
		e.shows(settings, http.StatusOK, `value="`+tags[0].ID+`" selected>Website<`)
		e.sends("/tags", http.StatusConflict, url.Values{"id": {tags[0].ID}, "do": {"delete"}})
		form.Set("signup_tag_id", "")
		e.sends(settings, http.StatusSeeOther, form)
		e.sends("/tags", http.StatusSeeOther, url.Values{"id": {tags[0].ID}, "do": {"delete"}})
	})
}

// A page of the people with a tag says how many there are.
func TestConsoleCountsTaggedPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		var file strings.Builder
		file.WriteString("email,tags\n")
		for i := range 60 {
			fmt.Fprintf(&file, "a%d@reader.example,Press\nb%d@reader.example,\n", i, i)
		}
		at := e.uploads(e.list.ID, "a.csv", file.String())
		form, _ := e.choices(at)
		form.Set("agreed", "active")
		for _, do := range []string{"try", "run"} {
			form.Set("do", do)
			e.sends(at, http.StatusSeeOther, form)
			e.runImports()
		}
		e.seed.Deliver()
		tags, err := e.store.AllTags(t.Context(), e.tenant.ID)
		if e.must(err); len(tags) != 1 {
			t.Fatalf("%+v", tags)
		}
		e.shows("/people?tagged="+tags[0].ID, http.StatusOK, "1–50 of 60")
		e.shows("/people?status=active&tagged="+tags[0].ID+"&list="+e.list.ID, http.StatusOK, "1–50 of 60")
		e.shows("/people?q=nobody", http.StatusOK, "Search finds the beginning of")
	})
}
