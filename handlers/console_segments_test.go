package handlers

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/html"

	"newsletterd/core"
)

// controls returns what a browser without scripts sends of the form with an id, except its buttons.
func controls(t *testing.T, page, id string) url.Values {
	t.Helper()
	doc, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	attr := func(n *html.Node, key string) (value string, has bool) {
		for _, a := range n.Attr {
			if a.Key == key {
				return a.Val, true
			}
		}
		return "", false
	}
	form, found := url.Values{}, false
	for n := range doc.Descendants() {
		if own, _ := attr(n, "id"); n.Data != "form" || own != id {
			continue
		}
		found = true
		for in := range n.Descendants() {
			name, named := attr(in, "name")
			if !named {
				continue
			}
			value, _ := attr(in, "value")
			switch kind, _ := attr(in, "type"); in.Data {
			case "input":
				if _, checked := attr(in, "checked"); checked || kind != "checkbox" && kind != "radio" {
					form.Set(name, cmp.Or(value, form.Get(name)))
				}
			case "select":
				for o := range in.Descendants() {
					of, isOption := attr(o, "value")
					if _, selected := attr(o, "selected"); isOption && (selected || !form.Has(name)) {
						form.Set(name, of)
					}
				}
			case "textarea":
				form.Set(name, strings.TrimPrefix(textWithin(in), "\n"))
			}
		}
	}
	if !found {
		t.Fatalf("no form %s in %s", id, textOf(page))
	}
	return form
}

func textWithin(n *html.Node) (s string) {
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			s += c.Data
		}
	}
	return s
}

// segmentEnv is a campaignEnv whose tenant has a list of customers. Two with a yearly plan have been on it for 40 days.
type segmentEnv struct {
	*campaignEnv
	shop core.List
}

func newSegmentEnv(t *testing.T, role string) *segmentEnv {
	t.Helper()
	e := &segmentEnv{campaignEnv: newCampaignEnv(t, role)}
	e.shop = e.seed.NewList(func(in *core.ListInput) {
		in.TenantID, in.Name = new(e.tenant.ID), new("Customers")
		in.Fields = &[]core.Field{
			{Name: "plan", Label: "Plan", Type: core.FieldChoice, Options: core.Strings{"yearly", "monthly"}},
			{Name: "city", Label: "City", Type: core.FieldText},
		}
	})
	join := func(email core.Email, preferences core.Preferences) {
		e.seed.Active(e.shop.ID, email)
		_, err := e.store.SetPreferences(t.Context(), e.shop.ID, email, preferences, e.seed.Time())
		e.must(err)
	}
	join("ada@old.example", `{"plan":"yearly","city":"Bonn"}`)
	join("bea@old.example", `{"plan":"yearly"}`)
	join("cem@old.example", `{"plan":"monthly"}`)
	join("dan@other.example", `{"plan":"yearly"}`)
	e.seed.Deliver()
	time.Sleep(40 * 24 * time.Hour)
	join("eve@old.example", `{"plan":"yearly"}`)
	e.seed.Deliver()
	e.login()
	return e
}

// does submits a form with a button, and returns the page and its form.
func (e *segmentEnv) does(path, do string, form url.Values, texts ...string) (page string, next url.Values) {
	e.Helper()
	form.Set("do", do)
	status, page := e.page("POST", e.at(path), form)
	e.holds("POST "+path+" "+do, status, page, http.StatusOK, texts)
	return page, controls(e.T, page, "segment")
}

// picks checks a value of a field with options.
func (e *segmentEnv) picks(page string, form url.Values, value string) {
	e.Helper()
	name := regexp.MustCompile(`name="(c\d+\.o\.\d+)" value="` + value + `"`).FindStringSubmatch(page)
	if name == nil {
		e.Fatalf("there is no value %s: %s", value, textOf(page))
	}
	form.Set(name[1], value)
}

// saves submits a form and returns the segment.
func (e *segmentEnv) saves(path string, form url.Values) core.Segment {
	e.Helper()
	form.Del("do")
	to := e.sends(path, http.StatusSeeOther, form)
	id, _, _ := strings.Cut(strings.TrimPrefix(to, "/segments/"), "?")
	g, err := e.store.Segment(e.Context(), id)
	e.must(err)
	return g
}

// add adds a segment as the API would.
func (e *peopleEnv) add(name string, rule core.RuleText) core.Segment {
	e.Helper()
	g, err := core.NewSegment(e.tenant.ID, core.SegmentInput{Name: &name, Rule: rule}, "", e.seed.Time())
	e.must(err)
	e.must(e.store.AddSegment(e.Context(), g))
	return g
}

const yearlyRule = `{"all":[{"field":"plan","is":["yearly"]},{"joined":{"before_days":30}},` +
	`{"not":{"domain":["other.example"]}}]}`

// sameRule reports whether two rules are the same JSON.
func sameRule(a, b core.RuleText) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, err := json.Marshal(x)
	q, err2 := json.Marshal(y)
	return err == nil && err2 == nil && string(p) == string(q)
}

// A segment is built without scripts, counted, used by a campaign, duplicated, and deleted after nothing uses it
// anymore.
func TestConsoleSegments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		e.shows("/people", http.StatusOK, `href="`+e.at("/segments")+`"`)
		e.shows("/segments", http.StatusOK, "No segments yet", "New segment")
		const here = "/new-segment"
		form := controls(t, e.shows(here, http.StatusOK, "Complete the conditions",
			`value="add.with.consented:within_days"`, `value="add.with.consented"`,
			"-add.with.joined", "-day of the import"), "segment")
		form.Set("name", "Yearly")
		form.Set("c1.of", "field.plan")
		page, form := e.does(here, "show", form, "Complete the conditions")
		e.picks(page, form, "yearly")
		_, form = e.does(here, "add", form, ">4</strong>", "Incomplete conditions aren't included in the count.")
		form.Set("c2.of", "joined")
		_, form = e.does(here, "show", form, `value="30"`, "days ago", "Imported people: the day of the import")
		_, form = e.does(here, "count", form, ">3</strong>", "of 7 subscribers match")
		_, form = e.does(here, "add", form)
		form.Set("c3.of", "domain")
		e.sends(here, http.StatusBadRequest, form, "Fix the highlighted conditions",
			"Enter a value.") // the page is not updated yet
		_, form = e.does(here, "show", form)
		form.Set("c3.op", "is_not")
		form.Set("c3.value", "other.example")
		_, form = e.does(here, "add", form, ">2</strong>") // the new condition isn't complete
		form.Del("do")
		e.sends(here, http.StatusBadRequest, form, "Choose a field for this condition, or remove it.")
		_, form = e.does(here, "remove.4", form, ">2</strong>", "-Condition 4")
		form.Set("list", e.list.ID)
		_, form = e.does(here, "count", form, ">0</strong>", "of 2 subscribers match")
		form.Set("list", "")
		g := e.saves(here, form)
		if g.Name != "Yearly" || !sameRule(g.Rule, yearlyRule) {
			t.Errorf("%s: %s", g.Name, g.Rule)
		}
		at := "/segments/" + g.ID
		page = e.shows(at, http.StatusOK, ">2</strong>", "ada@old.example", "bea@old.example", "-cem@", "-dan@",
			"-eve@",
			`<option value="is_not" selected>`)
		if again := e.saves(at, controls(t, page, "segment")); again.Revision != g.Revision {
			t.Errorf("saved unchanged: revision %d", again.Revision)
		}
		e.sends(here, http.StatusConflict, form, "already in use", "-Complete the conditions")
		e.shows("/segments", http.StatusOK, "Yearly", `data-label="people">2<`)

		e.campaign = e.seed.NewCampaign(e.shop)
		form = controls(t, e.shows(e.path("?tab=settings"), http.StatusOK, "Everyone on the lists"), "edit")
		form.Set("segment", g.ID)
		e.sends(e.path(""), http.StatusSeeOther, form)
		e.shows(e.path("?tab=settings"), http.StatusOK, `value="`+g.ID+`" selected`, "2 recipients")
		e.shows(e.path("/send"), http.StatusOK, "<dt>Segment</dt><dd>Yearly</dd>", "3 not in the segment = 2")
		form = controls(t, e.shows(e.path("?tab=settings"), http.StatusOK), "edit")
		form.Set("segment", "")
		form.Set("outside."+g.ID, "1")
		e.sends(e.path(""), http.StatusSeeOther, form)
		e.shows(e.path("/send"), http.StatusOK, "<dt>Excluded segments</dt><dd>Yearly</dd>",
			"2 in an excluded segment = 3")

		sure := url.Values{"do": {"delete"}}
		e.sends(at, http.StatusOK, sure, "Delete the segment “Yearly”?")
		sure.Set("sure", "yes")
		e.sends(at, http.StatusConflict, sure, "uses this segment", `href="`+e.at(e.path(""))+`"`)
		to := e.sends(at, http.StatusSeeOther, url.Values{"do": {"duplicate"}})
		copied, _, _ := strings.Cut(to, "?")
		e.shows(copied, http.StatusOK, "Yearly (copy)")
		if to := e.sends(copied, http.StatusSeeOther, sure); to != "/segments?done=deleted" {
			t.Errorf("leads to %s", to)
		}
		e.shows(copied, http.StatusNotFound)
	})
}

// Errors of the API appear at the condition that they are about.
func TestConsoleSegmentMarksConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		form := url.Values{
			"name": {"Wrong"}, "match": {"any"},
			"c1.of": {"field.city"}, "c1.was": {"field.city"}, "c1.op": {"is"}, "c1.value": {"Bonn"},
			"c3.of": {"domain"}, "c3.was": {"domain"}, "c3.op": {"is"}, "c3.value": {"no domain"},
		}
		e.sends("/new-segment", http.StatusBadRequest, form, `id="c3-wrong">“no domain” isn't a domain.`, "-c1-wrong")
		form.Set("c3.of", "field.city")
		form.Set("c3.was", "field.city")
		form.Set("c3.op", "more")
		form.Set("c3.value", "many")
		e.lang = "de"
		e.sends("/new-segment", http.StatusBadRequest, form, `id="c3-wrong">Geben Sie eine Zahl ein`)
		form.Set("c3.value", "2,5")
		if g := e.saves("/new-segment", form); !sameRule(g.Rule,
			`{"any":[{"field":"city","is":["Bonn"]},{"field":"city","more":"2.5"}]}`) {
			t.Error(g.Rule)
		}
	})
}

// If the form can't show a rule, the rule is shown as text and edited as JSON.
func TestConsoleSegmentOfTheAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		yearly := e.add("Yearly", yearlyRule)
		g := e.add("Nested", `{"any":[{"all":[{"field":"city","is":["Bonn, Berlin"]},{"field":"city","exists":true}]},`+
			`{"not":{"segment":"`+core.RuleText(yearly.ID)+`"}}]}`)
		at := "/segments/" + g.ID
		page := e.shows(at, http.StatusOK, "Any of these conditions match:", "All of these conditions match:",
			`City is "Bonn, Berlin"`, "City is filled in", "Not in the segment “Yearly”", "Edit them as JSON",
			`&#34;any&#34;: [`, ">5</strong>", `-name="c1.of"`)
		form := controls(t, page, "segment")
		form.Set("name", "Nested conditions")
		if now := e.saves(at, form); now.Name != "Nested conditions" || now.Rule != g.Rule {
			t.Errorf("%+v", now)
		}
		form.Set("revision", "2")
		form.Set("json", `{"any":`)
		e.sends(at, http.StatusBadRequest, form, "This isn't valid JSON", `{&#34;any&#34;:</textarea>`)
		form.Set("json", `{"any":[]}`)
		e.sends(at, http.StatusBadRequest, form, `{&#34;any&#34;:[]}</textarea>`)
		form.Set("json", `{"not":{"all":[{"segment":"`+yearly.ID+`"},{"field":"city","is":"Rome"}]}}`)
		e.does(at, "count", form, ">7</strong>")
		if now := e.saves(at, form); !sameRule(now.Rule,
			`{"not":{"all":[{"segment":"`+core.RuleText(yearly.ID)+`"},{"field":"city","is":["Rome"]}]}}`) {
			t.Error(now.Rule)
		}
		e.shows("/segments/"+yearly.ID, http.StatusOK, "Used in", "Nested conditions")
		e.lang = "de"
		e.shows(at, http.StatusOK, "Alle Bedingungen sind erfüllt:", "Im Segment „Yearly“")
		e.shows("/segments/"+yearly.ID, http.StatusOK, "mindestens eine", "der folgenden Bedingungen",
			"Andere Bedingung", "von 7 Abonnenten")
	})
}

// A group of conditions is added, filled and saved with forms alone, and is removed with its last condition.
func TestConsoleSegmentGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		const here = "/new-segment"
		form := controls(t, e.shows(here, http.StatusOK, "Add group", "-Add to group"), "segment")
		form.Set("name", "Grouped")
		form.Set("c1.of", "joined")
		_, form = e.does(here, "show", form)
		_, form = e.does(here, "add.group", form, `id="g2"`, `id="c3"`, `name="c3.in" value="2"`, "Add to group")
		form.Set("c3.of", "field.city")
		page, form := e.does(here, "show", form)
		text, rest, _ := strings.Cut(page, `<optgroup label="For numbers">`)
		numbers, dates, _ := strings.Cut(rest, `<optgroup label="For dates">`)
		if !strings.Contains(text, ">is blank<") || strings.Contains(text, ">is before<") ||
			!strings.Contains(numbers, ">is less than<") || !strings.Contains(dates, ">is today (any year)<") {
			t.Error("the operators for numbers and dates have no heading")
		}
		form.Set("c3.value", "Bonn")
		_, form = e.does(here, "add.2", form, `id="c4"`, ">1</strong>")
		form.Set("c4.of", "domain")
		_, form = e.does(here, "show", form)
		form.Set("c4.value", "other.example")
		_, form = e.does(here, "add", form, `id="c5"`, ">2</strong>")
		form.Set("c5.of", "language")
		_, form = e.does(here, "show", form, "Deutsch")
		form.Set("c5.value", "en")
		form.Set("g2.match", "all")
		_, form = e.does(here, "count", form, ">0</strong>")
		form.Set("g2.match", "any")
		g := e.saves(here, form)
		if !sameRule(g.Rule, `{"all":[{"joined":{"before_days":30}},{"any":[{"field":"city","is":["Bonn"]},`+
			`{"domain":["other.example"]}]},{"language":["en"]}]}`) {
			t.Error(g.Rule)
		}
		at := "/segments/" + g.ID
		page = e.shows(at, http.StatusOK, "ada@old.example", "dan@other.example", "-bea@", ">2</strong>",
			`<option value="any" selected>`)
		form = controls(t, page, "segment")
		if again := e.saves(at, form); again.Revision != g.Revision {
			t.Errorf("saved unchanged: revision %d", again.Revision)
		}
		form.Set("c4.value", "no domain")
		e.sends(at, http.StatusBadRequest, form, `id="c4-wrong">“no domain” isn't a domain.`)
		_, form = e.does(at, "remove.3", form, `id="g2"`)
		e.does(at, "remove.4", form, `-id="g2"`, `id="c5"`)
	})
}

// A viewer sees the rule of a segment and about how many people match, but sees none of the people and can't change
// anything.
func TestConsoleSegmentsOfAViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RoleViewer)
		g := e.add("Yearly", yearlyRule)
		e.shows("/segments", http.StatusOK, "Yearly", "Fewer than", "-New segment")
		e.shows("/segments/"+g.ID, http.StatusOK, "Plan is yearly", "Added to list more than 30 days ago",
			"Rounded because your role doesn't include access to people.", "-JSON",
			"Email domain is not other.example", "Fewer than", "-<form id", "-ada@", "-Save segment")
		e.shows("/new-segment", http.StatusForbidden)
		e.sends("/segments/"+g.ID, http.StatusForbidden, url.Values{"do": {"delete"}, "sure": {"yes"}})
		e.sends("/new-segment", http.StatusForbidden, url.Values{"name": {"x"}})
	})
}

// If a condition refers to something that was deleted, the page of the segment says so, as does the page that sends a
// campaign.
func TestConsoleSegmentThatCantBeEvaluated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		other := e.seed.NewList(func(in *core.ListInput) { in.TenantID = new(e.tenant.ID) })
		g := e.add("On another list", `{"on_list":"`+core.RuleText(other.ID)+`"}`)
		e.must(e.store.DeleteList(t.Context(), other.ID, "", e.seed.Time()))
		e.shows("/segments/"+g.ID, http.StatusOK, "This segment doesn't work", "(deleted)")
		e.shows("/segments", http.StatusOK, "can't be counted")
		e.campaign = e.seed.NewCampaign(e.shop, func(f *core.CampaignFields) { f.SegmentID = g.ID })
		e.shows(e.path("/send"), http.StatusOK, "This segment doesn't work", "Fix 1 error", "-Send now to")
	})
}

// If the count can only be 0, the page explains why. A user who saves an older version of a segment gets a warning.
func TestConsoleSegmentExplainsAndWarns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		const note = "This condition counts only campaigns that track opens and clicks per subscriber."
		g := e.add("Openers", `{"all":[{"not":{"clicked":{"last":3}}}]}`)
		e.shows("/segments/"+g.ID, http.StatusOK, ">0</strong>", note)
		g = e.add("Nobody", `{"domain":"none.example"}`)
		at := "/segments/" + g.ID
		form := controls(t, e.shows(at, http.StatusOK, ">0</strong>", "-"+note), "segment")
		_, err := e.store.ChangeSegment(t.Context(), g.ID, "test", func(g *core.Segment) error {
			return g.Change(core.SegmentInput{Name: new("Somebody")}, "test", e.seed.Time())
		})
		e.must(err)
		e.sends(at, http.StatusPreconditionFailed, form, "This has changed since you opened it")
		e.shows(at, http.StatusOK, "Somebody")
	})
}

// The editor counts the people who get the campaign. People of whom it isn't known whether they are in an excluded
// segment get it. People on an excluded list don't.
func TestConsoleCountsASegmentAsItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		g := e.add("Silent", `{"not":{"opened":{"last":1}}}`)
		other := e.seed.NewList(func(in *core.ListInput) { in.TenantID = new(e.tenant.ID) })
		e.seed.Active(other.ID, "ada@old.example")
		e.seed.Deliver()
		e.campaign = e.seed.NewCampaign(e.shop, func(f *core.CampaignFields) {
			f.ExcludeSegmentIDs, f.ExcludeListIDs = []string{g.ID}, []string{other.ID}
		})
		e.shows(e.path("?tab=settings"), http.StatusOK, "· 4 recipients")
		e.shows(e.path("/send"), http.StatusOK, "1 excluded = 4")
	})
}

// The list of segments doesn't look for the uses of each segment.
func TestConsoleSegmentsInATable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		g := e.add("Yearly", yearlyRule)
		e.campaign = e.seed.NewCampaign(e.shop, func(f *core.CampaignFields) { f.SegmentID = g.ID })
		e.shows("/segments", http.StatusOK, "Yearly", "-Used in", "-used once")
		e.shows("/segments/"+g.ID, http.StatusOK, "Used in", `href="`+e.at(e.path(""))+`"`)
	})
}

// An editor builds segments without seeing people: counts are rounded, including those of a campaign.
func TestConsoleSegmentsOfAnEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RoleEditor)
		g := e.add("Yearly", yearlyRule)
		form := controls(t, e.shows("/segments/"+g.ID, http.StatusOK, "Fewer than", "-ada@", "-People who match</h2>"),
			"segment")
		if again := e.saves("/segments/"+g.ID, form); again.Rule != g.Rule {
			t.Error(again.Rule)
		}
		e.campaign = e.seed.NewCampaign(e.shop, func(f *core.CampaignFields) { f.SegmentID = g.ID })
		e.shows(e.path("/send"), http.StatusOK, "<strong>About ", "Rounded because", "-not in the segment")
		e.shows(e.path("?tab=settings"), http.StatusOK, "· About ")
	})
}
