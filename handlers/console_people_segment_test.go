package handlers

import (
	"bytes"
	"encoding/csv"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/store/campaigns"
)

var shownPerson = regexp.MustCompile(`name="id\.[0-9a-f-]+" value="([^"]+)"`)

// shownPeople returns the addresses on the People page, in order.
func (e *segmentEnv) shownPeople(query string) (all []string) {
	e.Helper()
	for _, found := range shownPerson.FindAllStringSubmatch(e.shows("/people?"+query, http.StatusOK), -1) {
		all = append(all, found[1])
	}
	slices.Sort(all)
	return all
}

// exported returns the addresses in the file that the People page links to, in order.
func (e *segmentEnv) exported(query string) (all []string) {
	e.Helper()
	res := e.ask("GET", e.at("/people-export?file=1&"+query), nil)
	body, err := io.ReadAll(res.Body)
	e.must(err)
	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff")))).ReadAll()
	e.must(err)
	at := slices.Index(rows[0], "email")
	if res.StatusCode != http.StatusOK || at < 0 {
		e.Fatalf("%s: %d %v", query, res.StatusCode, rows)
	}
	for _, row := range rows[1:] {
		all = append(all, row[at])
	}
	slices.Sort(all)
	return all
}

// reached sends the campaign and returns the addresses of its recipients, in order.
func (e *segmentEnv) reached() (all []string) {
	e.Helper()
	d, err := e.store.Draft(e.Context(), &e.campaign, 0, func(f *core.CampaignFields, _ *core.Theme, _ *core.List,
		_ *core.Tenant,
	) (html, text string, err error) {
		return "", f.Content.Source, nil
	}, e.seed.Time())
	e.must(err)
	j := e.seed.Start(e.seed.SendDraft(&d))
	rows, err := e.store.Recipients(e.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 100})
	e.must(err)
	for _, r := range rows {
		all = append(all, r.Email)
	}
	slices.Sort(all)
	return all
}

// The People page and its export contain the people of a segment, who are the recipients of a campaign to it.
func TestConsolePeopleInASegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RoleTenantAdmin)
		e.shows("/people?list="+e.shop.ID, http.StatusOK, `-name="segment"`)
		for name, rule := range map[string]core.RuleText{
			"Yearly": yearlyRule, "Old": `{"joined":{"before_days":30}}`, "Bonn": `{"field":"city","exists":true}`,
			"None": `{"domain":"none.example"}`, "Not Bonn": `{"field":"city","is_not":"Bonn"}`,
		} {
			g := e.add(name, rule)
			query := "list=" + e.shop.ID + "&segment=" + g.ID
			e.campaign = e.seed.NewCampaign(e.shop, func(f *core.CampaignFields) { f.SegmentID = g.ID })
			want := e.reached()
			if got := e.shownPeople(query); !slices.Equal(got, want) {
				t.Errorf("%s: the page shows %v, want %v", name, got, want)
			}
			if got := e.exported(query); !slices.Equal(got, want) {
				t.Errorf("%s: the file has %v, want %v", name, got, want)
			}
		}
		g := e.add("Customers", `{"domain":["old.example","other.example"]}`)
		at := "segment=" + g.ID
		page := e.shows("/people?"+at, http.StatusOK, `value="`+g.ID+`" selected`, "1–5 of 5",
			`/people-export?segment=`+g.ID, "-sort=")
		if page == "" || len(e.shownPeople(at)) != 5 {
			t.Error("all lists")
		}
		if got := e.shownPeople(at + "&q=ada"); !slices.Equal(got, []string{"ada@old.example"}) {
			t.Errorf("with a search: %v", got)
		}
		if got := e.exported(at + "&q=ada"); !slices.Equal(got, []string{"ada@old.example"}) {
			t.Errorf("the file of a search: %v", got)
		}
		shop := "list=" + e.shop.ID
		for _, at := range []string{"q=ada", shop + "&q=ada", shop + "&field=plan&value=yearly"} {
			if shown := e.shownPeople(at); len(shown) == 0 || !slices.Equal(e.exported(at), shown) {
				t.Errorf("%s: the page has %v, the file %v", at, shown, e.exported(at))
			}
		}
		res := e.ask("GET", e.at("/people-export?file=1&list="+e.shop.ID+"&"+at), nil)
		if got := res.Header.Get("Content-Disposition"); !strings.Contains(got, `filename="Customers `) {
			t.Errorf("the file is called %s", got)
		}
		e.shows("/segments/"+g.ID, http.StatusOK, `href="`+e.at("/people?segment="+url.QueryEscape(g.ID))+`"`)
		e.shows("/segments/"+g.ID, http.StatusOK, `href="`+e.at("/people-export?segment="+url.QueryEscape(g.ID))+`"`)
		e.shows("/segments/"+g.ID, http.StatusOK, `href="`+e.at("/new-campaign?segment="+g.ID)+`"`)
		e.shows("/new-campaign?segment="+g.ID, http.StatusOK, `name="segment" value="`+g.ID+`"`)
		e.shows("/new-campaign?segment="+core.NewID(), http.StatusNotFound)
		e.shows("/people?segment="+core.NewID(), http.StatusOK, "(deleted)")
		other := e.seed.NewList(func(in *core.ListInput) { in.TenantID = new(e.tenant.ID) })
		g = e.add("On another list", `{"not":{"on_list":"`+core.RuleText(other.ID)+`"}}`)
		e.must(e.store.DeleteList(t.Context(), other.ID, "", e.seed.Time()))
		e.shows("/people?segment="+g.ID, http.StatusOK, "This segment doesn't work", "-ada@")
		e.shows("/people-export?file=1&segment="+g.ID, http.StatusConflict, "-ada@")
	})
}

// The People page filters by tag, alone and with other filters. It shows tags in a column, and links to an action on
// everyone whom the filter finds.
func TestConsolePeopleByTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RoleTenantAdmin)
		e.shows("/people?list="+e.shop.ID, http.StatusOK, `-name="tagged"`)
		for _, name := range []string{"VIP", "Press"} {
			e.sends("/tags", http.StatusSeeOther, url.Values{"name": {name}})
		}
		tags, err := e.store.AllTags(t.Context(), e.tenant.ID)
		e.must(err)
		press, vip := tags[0].ID, tags[1].ID
		for _, email := range []core.Email{"ada@old.example", "bea@old.example", "cem@old.example"} {
			_, err := e.store.SetTags(t.Context(), e.tenant.ID, email, []string{"vip"}, "user:1",
				e.seed.Time())
			e.must(err)
		}
		list := "list=" + e.shop.ID
		g := e.add("Yearly", `{"field":"plan","is":"yearly"}`)
		for query, want := range map[string][]string{
			list + "&tagged=" + vip: {
				"ada@old.example", "bea@old.example", "cem@old.example",
			},
			list + "&tagged=" + vip + "&status=active": {
				"ada@old.example", "bea@old.example", "cem@old.example",
			},
			list + "&tagged=" + vip + "&segment=" + g.ID:       {"ada@old.example", "bea@old.example"},
			list + "&tagged=" + vip + "&field=city&value=Bonn": {"ada@old.example"},
			list + "&tagged=" + vip + "&field=city":            {"bea@old.example", "cem@old.example"},
			list + "&tagged=" + vip + "&q=cem":                 {"cem@old.example"},
			list + "&tagged=" + press:                          nil,
			list + "&tagged=" + core.NewID():                   nil,
			list + "&tagged=" + vip + "&status=unsubscribed":   nil,
		} {
			if got := e.shownPeople(query); !slices.Equal(got, want) {
				t.Errorf("%s: the page shows %v, want %v", query, got, want)
			}
		}
		if got := e.exported(list + "&tagged=" + vip); len(got) != 3 {
			t.Errorf("the file has %v", got)
		}
		for query, name := range map[string]string{"": "VIP", "&segment=" + g.ID: "Yearly, VIP"} {
			res := e.ask("GET", e.at("/people-export?file=1&"+list+"&tagged="+vip+query), nil)
			if got := res.Header.Get("Content-Disposition"); !strings.Contains(got, `filename="`+name+` 2`) {
				t.Errorf("the file of %s is called %s", name, got)
			}
		}
		e.shows("/people?"+list+"&tagged="+vip+"&status=unsubscribed", http.StatusOK,
			"only find people with the status")
		e.shows("/people?"+list+"&tagged="+vip, http.StatusOK, "only find people with the status")
		e.shows("/people?"+list+"&tagged="+vip+"&status=active", http.StatusOK, "-only find people with the status")
		e.shows("/people?"+list, http.StatusOK, "-only find people with the status")
		e.shows("/people?"+list+"&tagged="+vip+"&columns=1&column=tags", http.StatusOK, `<td class="soft">VIP</td>`)
		e.shows("/people?"+list+"&q=ada", http.StatusOK, "-/new-bulk?", "-clear the search")
		e.shows("/people?"+list, http.StatusOK, "-/new-bulk?", "-on all pages together") // there is one page

		e.shows("/people?"+list+"&tagged="+vip, http.StatusOK, "Edit all 3 matching people…")
		e.shows("/new-bulk?"+list+"&q=ada", http.StatusNotFound)
		form := url.Values{"list": {e.shop.ID}, "act": {"untag"}, "tagged": {vip}, "field": {"city"}, "value": {"Bonn"}}
		e.sends("/new-bulk", http.StatusOK, form, "Remove a tag from 1 person?", "<strong>Bonn</strong>")

		// The filter finds everyone who is subscribed. The action's tag is not the filter's.
		e.shows("/people?"+list+"&status=active", http.StatusOK, "/new-bulk?")
		form = url.Values{"list": {e.shop.ID}, "act": {"tag"}, "status": {"active"}}
		e.sends("/new-bulk", http.StatusOK, form, "Add a tag to 5 people?", "<strong>Subscribed</strong>")
		form.Set("sure", "1")
		form.Set("tag", press)
		form.Set("tagged", vip)
		e.sends("/new-bulk", http.StatusSeeOther, form)
		actions, err := e.store.BulkActions(t.Context(), e.shop.ID, core.Page{Limit: 10})
		if err != nil || len(actions) != 1 || actions[0].TagID != press ||
			string(actions[0].Rule) != `{"tag":"`+vip+`"}` {
			t.Errorf("%+v, %v", actions, err)
		}
	})
}
