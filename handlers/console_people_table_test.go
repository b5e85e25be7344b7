package handlers

import (
	"encoding/csv"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/imports"
)

// chosen returns a form with people of the list, given by their addresses.
func (e *peopleEnv) chosen(act string, emails ...core.Email) url.Values {
	form := url.Values{"act": {act}, "back": {"status=active"}}
	for _, email := range emails {
		form.Set("id."+e.found(email).ID, string(email))
	}
	return form
}

// One form unsubscribes, blocks or erases several people. It asks for confirmation and reports what it did. Each change
// is in the audit log. People who no longer exist are left out.
func TestConsolePeopleBulk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.shows("/people", http.StatusOK, `name="id.`+e.found("grace@reader.example").ID+`"`,
			`-value="grace@reader.example" checked`,
			`value="unsubscribe"`, `value="remove"`, `value="block"`, `value="erase"`)
		e.shows("/people?select=page", http.StatusOK, `value="grace@reader.example" checked`)
		e.sends("/people", http.StatusBadRequest, url.Values{"act": {"unsubscribe"}}, "No one is selected")
		e.sends("/people", http.StatusBadRequest, e.chosen("rename", "grace@reader.example"))
		many := url.Values{"act": {"unsubscribe"}, "sure": {"1"}}
		for range 201 {
			many.Set("id."+core.NewID(), "a@reader.example")
		}
		e.sends("/people", http.StatusBadRequest, many, "You can select at most 200 people")

		both := e.chosen("unsubscribe", "grace@reader.example", "joan@reader.example")
		e.sends("/people", http.StatusOK, both, "Unsubscribe 2 people?", "grace@reader.example", "joan@reader.example",
			`/people?status=active"`)
		if s := e.found("grace@reader.example"); s.Status != core.SubscriptionActive {
			t.Fatal("unsubscribed without a question")
		}
		both.Set("sure", "1")
		both.Set("id."+core.NewID(), "gone@reader.example")
		e.sends("/people", http.StatusSeeOther, both)
		e.performs()
		if s := e.found("joan@reader.example"); s.Status != core.SubscriptionUnsubscribed {
			t.Error(s.Status)
		}
		if n := e.seed.Audited("bulk_action.start"); n != 1 {
			t.Errorf("%d entries in the audit trail", n)
		}
		block := e.chosen("block", "wilma@reader.example")
		block.Set("sure", "1")
		e.sends("/people", http.StatusOK, block, "1 address blocked")
		e.shows("/suppressions", http.StatusOK, "wilma@reader.example")
		erase := e.chosen("erase", "wilma@reader.example", "grace@reader.example")
		e.sends("/people", http.StatusOK, erase, "Erase the data of 2 people?")
		time.Sleep(16 * time.Minute)
		erase.Set("sure", "1")
		e.sends("/people", http.StatusOK, erase, `action="/login/confirm"`)
		e.login()
		erase.Set("id."+core.NewID(), "gone@reader.example")
		e.sends("/people", http.StatusOK, erase, "Data of 2 people erased", "1 person skipped",
			"gone@reader.example")
		e.shows("/people", http.StatusOK, "-grace@", "-wilma@", "joan@reader.example")
	})
}

// Users who may not change people get no checkboxes, and their forms are refused. No one can change people of another
// tenant.
func TestConsolePeopleBulkIsForThoseWhoMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleViewer)
		e.shows("/people", http.StatusOK, `-name="id.`)
		e.sends("/people", http.StatusForbidden, e.chosen("unsubscribe", "grace@reader.example"))
		o := newPeopleEnv(t, core.RoleOperator)
		other := o.seed.NewTenant()
		list := o.seed.NewList(func(in *core.ListInput) { in.TenantID = new(other.ID) })
		theirs := o.seed.Active(list.ID, "eve@reader.example")
		o.sends("/people", http.StatusOK, url.Values{
			"act": {"unsubscribe"}, "sure": {"1"}, "id." + theirs.ID: {"eve@reader.example"},
		}, "1 person skipped")
		if s, err := o.store.Subscription(t.Context(), list.ID, "eve@reader.example"); err != nil ||
			s.Status != core.SubscriptionActive {
			t.Errorf("%+v %v", s, err)
		}
	})
}

// rows returns the addresses on a page of people, in order.
func (e *peopleEnv) rows(query string) (emails []string) {
	e.Helper()
	page := e.shows("/people"+query, http.StatusOK)
	for _, part := range strings.Split(page, `<td class="choose">`)[1:] {
		_, part, _ = strings.Cut(part, `value="`)
		email, _, _ := strings.Cut(part, `"`)
		emails = append(emails, strings.TrimSuffix(email, "@reader.example"))
	}
	return emails
}

// The table can be sorted. It has pages of a chosen size, shows the position, and shows the chosen columns, which the
// browser remembers.
func TestConsolePeopleTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		if got := strings.Join(e.rows("?sort=email"), " "); got != "grace joan wilma" {
			t.Errorf("by address: %s", got)
		}
		if got := strings.Join(e.rows("?sort=-email"), " "); got != "wilma joan grace" {
			t.Errorf("the other way around: %s", got)
		}
		e.shows("/people?sort=email", http.StatusOK, `aria-sort="ascending"`, `sort=-email`, "1–3 of 3")
		time.Sleep(time.Hour)
		for k := range 60 {
			e.seed.Active(e.list.ID, core.Email("r"+strconv.Itoa(100+k)+"@reader.example"))
			time.Sleep(time.Second)
		}
		first := e.rows("")
		page := e.shows("/people", http.StatusOK, "1–50 of 63", "50 per page")
		e.shows("/people?q=r", http.StatusOK, "1–50, more on the next page")
		if len(first) != 50 || first[0] != "r159" || first[49] != "r110" {
			t.Errorf("%d, from %s to %s", len(first), first[0], first[len(first)-1])
		}
		_, next, _ := strings.Cut(page, `<nav class="pager"`)
		_, next, _ = strings.Cut(next, `href="`)
		next, _, _ = strings.Cut(next, `"`)
		next = strings.TrimPrefix(strings.ReplaceAll(next, "&amp;", "&"), e.at("/people"))
		second := e.rows(next)
		e.shows("/people"+next, http.StatusOK, "51–63 of 63", "-Next page")
		if all := slices.Concat(first, second); len(slices.Compact(slices.Sorted(slices.Values(all)))) != 63 {
			t.Errorf("%d of 63 on two pages", len(all))
		}
		if got := len(e.rows("?size=100")); got != 63 {
			t.Errorf("%d on a page of 100", got)
		}
		_, err := e.store.SetPreferences(t.Context(), e.list.ID, "grace@reader.example", `{"city":"Bonn","tea":true}`,
			e.seed.Time())
		e.must(err)
		e.shows("/people?q=grace", http.StatusOK, "-Bonn", "Added to list <span", "1–1 of 1")
		e.shows("/people?q=grace&columns=1&column=field.city", http.StatusOK, "Bonn", "-Added to list <span")
		e.shows("/people?q=grace", http.StatusOK, "Bonn")
		e.shows("/people?q=grace&columns=1", http.StatusOK, "-Bonn")
	})
}

// A field that the list doesn't have is a column if someone on the page has it, for example from an imported file.
func TestConsolePeopleColumnsOfImports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		_, err := e.store.SetPreferences(t.Context(), e.list.ID, "grace@reader.example",
			`{"_tracking":true,"bought":"Fern"}`, e.seed.Time())
		e.must(err)
		e.shows("/people", http.StatusOK, `value="field.bought"`, "-_tracking", "-Fern")
		e.shows("/people?columns=1&column=field.bought", http.StatusOK, "Fern")
		e.shows("/people?q=joan", http.StatusOK, `-value="field.bought"`)
		e.seed.NewList(func(in *core.ListInput) { in.TenantID = new(e.tenant.ID) })
		e.shows("/people", http.StatusOK, `-value="field.bought"`, "-Fern")
		e.shows("/people?list="+e.list.ID, http.StatusOK, "Fern")
	})
}

// An export has a column for each field, and its file name contains the list and the day. Preferences without a field
// are not lost: an import of the file restores everything.
func TestConsoleExportsFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		other := e.seed.NewList(func(in *core.ListInput) { in.TenantID, in.Name = new(e.tenant.ID), new("Größe 1/2") })
		e.seed.Active(other.ID, "olga@reader.example")
		rows := importRows(map[core.Email]core.Preferences{
			"ada@reader.example": `{"city":"Bonn, Beuel","first_name":"Ada","tags":["a","b"],"status":"=x"}`,
		})
		rows[0].Evidence = "opted in 2019-05-01T09:58:00Z from 203.0.113.9"
		e.seed.Import(e.list.ID, core.SubscriptionActive, rows...)
		e.seed.Deliver()
		e.shows("/people", http.StatusOK, `href="`+e.at("/people-export")+`?"`)
		e.shows("/lists/"+e.list.ID, http.StatusOK, "/people-export?list="+e.list.ID)
		read := func(query, name string) map[string]map[string]string {
			t.Helper()
			e.shows("/people-export?"+query, http.StatusOK, "Your file is ready", "-reader.example",
				`href="`+e.at("/people")+`" aria-current="page"`)
			res := e.ask("GET", e.at("/people-export?file=1&"+query), nil)
			if got := res.Header.Get("Content-Disposition"); !strings.Contains(got, name) {
				t.Errorf("the file is called %s, want %s", got, name)
			}
			body, err := io.ReadAll(res.Body)
			e.must(err)
			text, marked := strings.CutPrefix(string(body), "\ufeff")
			rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			if e.must(err); len(rows) == 0 || !marked {
				t.Fatalf("%.100q", body)
			}
			people := map[string]map[string]string{}
			for _, row := range rows[1:] {
				one := map[string]string{}
				for i, name := range rows[0] {
					one[name] = row[i]
				}
				people[one["email"]] = one
			}
			return people
		}
		day := e.seed.Time().Time().Format(time.DateOnly)
		got := read("list="+e.list.ID, `filename="Weekly `+day+`.csv"`)
		ada := got["ada@reader.example"]
		if len(got) != 4 || ada["city"] != "Bonn, Beuel" || ada["first_name"] != "Ada" || ada["status"] != "active" ||
			ada["list"] != "Weekly" || ada["signed_up_at"] != "2019-05-01T09:58:00.000Z" ||
			got["grace@reader.example"]["signed_up_at"] != got["grace@reader.example"]["created_at"] ||
			ada["preferences"] != `{"status":"=x","tags":["a","b"]}` {
			t.Errorf("%d people, %v", len(got), ada)
		}
		if _, ok := ada["tea"]; !ok {
			t.Errorf("a field that nobody has filled in has no column: %v", ada)
		}
		if got := read("list="+e.list.ID+"&status=pending", "Weekly"); len(got) != 1 {
			t.Errorf("%d pending", len(got))
		}
		got = read("", e.tenant.Name+" "+day+".csv")
		if len(got) != 5 || got["olga@reader.example"]["list"] != "Größe 1/2" {
			t.Errorf("%d people on all lists: %v", len(got), got["olga@reader.example"])
		}
		if n := e.seed.Audited("subscription.export"); n != 4 {
			t.Errorf("%d lists in the audit trail", n)
		}
	})
}

func importRows(people map[core.Email]core.Preferences) (rows []imports.ImportRow) {
	for email, said := range people {
		rows = append(rows, imports.ImportRow{Email: email, Preferences: said})
	}
	return rows
}
