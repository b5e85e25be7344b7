package handlers

import (
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

var (
	columnSelect = regexp.MustCompile(`(?s)<select class="select" id="f-column[^>]* name="(column\.\d+)".*?</select>`)
	columnChoice = regexp.MustCompile(`<option value="([^"]*)"( selected)?>([^<]*)<`)
)

// choices returns the form of an import as a browser would send it, and everything that each of its columns can become.
func (e *peopleEnv) choices(at string) (form url.Values, offered map[string][]string) {
	e.Helper()
	form, offered = url.Values{"agreed": {"active"}}, map[string][]string{}
	for _, column := range columnSelect.FindAllStringSubmatch(e.shows(at, http.StatusOK), -1) {
		for _, choice := range columnChoice.FindAllStringSubmatch(column[0], -1) {
			offered[column[1]] = append(offered[column[1]], choice[1]+" "+choice[3])
			if choice[2] != "" {
				form.Set(column[1], choice[1])
			}
		}
	}
	return form, offered
}

// A status column is recognized even if someone has to select the address column of the file. People who unsubscribed
// in the other system aren't added.
func TestConsoleImportsKnowWhoHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		for _, file := range []string{
			"Adresse;Status;Ort\nstays@reader.example;active;Bonn\nleft@reader.example;unsubscribed;Ulm\n",
			"email;E-Mail;Status\nstays@reader.example;;active\nleft@reader.example;;unsubscribed\n",
		} {
			at := e.uploads(e.list.ID, "a.csv", file)
			e.shows(at, http.StatusOK, `value="*" selected>Subscription status<`, "Choose the column with the email addresses")
			form, _ := e.choices(at)
			form.Set("do", "run")
			form.Set("column.1", map[string]string{"*": "*"}[form.Get("column.1")])
			e.sends(at, http.StatusSeeOther, form)
			e.runImports()
			e.shows(at, http.StatusOK, "Import result")
			if s := e.found("stays@reader.example"); s.Status != core.SubscriptionActive {
				t.Errorf("%s: %+v", file, s)
			}
			left, err := e.store.Subscription(t.Context(), e.list.ID, "left@reader.example")
			if err != nil || left.Status != core.SubscriptionUnsubscribed {
				t.Errorf("%s: whoever has left is brought here: %+v, %v", file, left, err)
			}
		}
	})
}

// After a dry run, the columns offer the same choices as before, and the chosen ones are selected.
func TestConsoleImportsKeepWhatWasChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		const rest = ";Vorname;Kunden Nr.;status;OPTIN_TIME;Stadt\na@reader.example;Ida;12;active;2020-01-01 10:00:00;Bonn\n"
		for _, file := range []string{"email" + rest, "Adresse" + rest} {
			for _, change := range []url.Values{
				{},
				{"column.1": {"Vorname"}},
				{"column.1": {""}, "column.2": {"last_name"}, "column.3": {""}, "column.4": {""}, "column.5": {"tea"}},
			} {
				at := e.uploads(e.list.ID, "a.csv", file)
				form, offered := e.choices(at)
				if len(offered) != 6 || len(form) != 7 {
					t.Fatalf("%v, %v", form, offered)
				}
				for name, values := range change {
					form[name] = values
				}
				if file[0] == 'A' && form.Get("column.1") == "Vorname" {
					form.Set("column.1", "vorname")
				}
				e.sends(at, http.StatusSeeOther, form)
				e.runImports()
				after, then := e.choices(at)
				if !reflect.DeepEqual(after, form) {
					t.Errorf("%.20s: %v was chosen, and %v is", file, form, after)
				}
				if !reflect.DeepEqual(then, offered) {
					t.Errorf("%.20s: there was %q to choose from, and there is %q", file, offered, then)
				}
				e.sends(at+"/cancel", http.StatusSeeOther, url.Values{})
			}
		}
	})
}

// A column of tags is recognized, and another one can be chosen. If a tag in a column is "unsubscribed", the page asks
// about the column.
func TestConsoleImportsTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		at := e.uploads(e.list.ID, "a.csv", "email;Labels;Gruppe\nann@reader.example;VIP,Press;Club\n")
		form, offered := e.choices(at)
		if form.Get("column.1") != "tags" || offered["column.1"][1] != "tags Tags (recognized)" {
			t.Errorf("%v, %q", form, offered["column.1"])
		}
		form.Set("column.2", "tags")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, "<strong>1</strong> with tags from this import", "<strong>3</strong> new tags")
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, "<strong>1</strong> got tags from this import", "<strong>3</strong> tags created")
		tags, err := e.store.TagsAt(t.Context(), e.list.TenantID, "ann@reader.example")
		if err != nil || len(tags) != 3 {
			t.Errorf("%v, %v", tags, err)
		}
		e.shows(at+"/undo", http.StatusOK, "<strong>1</strong> lose the tags from this import")
		e.sends(at+"/undo", http.StatusSeeOther, url.Values{})
		e.runImports()
		e.shows(at, http.StatusOK, "<strong>3</strong> tags removed")

		at = e.uploads(e.list.ID, "c.csv", "email;status\nann@reader.example;active\neva@reader.example;unsubscribed\n")
		form, _ = e.choices(at)
		form.Set("tags", "Spring market; , VIP")
		form.Set("agreed", core.SubscriptionActive)
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, `value="Spring market, VIP"`, "<strong>1</strong> with tags from this import")
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		for email, want := range map[string]int{"ann@reader.example": 2, "eva@reader.example": 0} {
			tags, err := e.store.TagsAt(t.Context(), e.list.TenantID, email)
			if err != nil || len(tags) != want {
				t.Errorf("%s: %v, %v", email, tags, err)
			}
		}
		e.sends(at+"/undo", http.StatusSeeOther, url.Values{})
		e.runImports()
		e.shows(at, http.StatusOK, "<strong>2</strong> tags removed")

		at = e.uploads(e.list.ID, "b.csv", "email;Tags\nbob@reader.example;unsubscribed\ncid@reader.example;VIP\n")
		form, _ = e.choices(at)
		if form.Get("column.1") != "status" {
			t.Errorf("a column that may say who unsubscribed: %v", form)
		}
		form.Set("column.1", "tags")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, "<strong>2</strong> with tags from this import")
	})
}
