package handlers

import (
	"archive/zip"
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/text/encoding/unicode"

	"newsletterd/core"
)

// uploads sends the form with a file, checks the page, and returns where the response redirects.
func (e *peopleEnv) uploads(list, name, file string, texts ...string) (to string) {
	e.Helper()
	return e.uploadsTo("list", list, name, file, texts...)
}

// uploadsTo is like uploads, with the list in the given field.
func (e *peopleEnv) uploadsTo(field, list, name, file string, texts ...string) (to string) {
	e.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	e.must(w.WriteField(field, list))
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		e.must(err)
		_, err = io.WriteString(part, file)
		e.must(err)
	}
	e.must(w.Close())
	r := httptest.NewRequest(http.MethodPost, e.at("/new-import"), &b)
	r.Header.Set("Content-Type", w.FormDataContentType())
	for name, value := range e.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	rec := httptest.NewRecorder()
	e.handler.ServeHTTP(rec, r)
	status := http.StatusSeeOther
	if len(texts) > 0 {
		status = http.StatusBadRequest
		if rec.Code == http.StatusUnsupportedMediaType || rec.Code == http.StatusOK { // OK: to sign in again
			status = rec.Code
		}
	}
	e.holds("upload", rec.Code, rec.Body.String(), status, texts)
	return strings.TrimPrefix(rec.Header().Get("Location"), "https://news.example.org"+e.at(""))
}

// If the tenant has no list, the form for uploading a file also creates the list.
func TestConsoleImportCreatesTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
		e.must(err)
		grant := func(role string) {
			e.tenant = e.seed.NewTenant()
			r := core.Role{Role: role, TenantID: e.tenant.ID}
			e.must(e.store.GrantRole(t.Context(), ann.ID, r, false, e.seed.Time()))
		}
		grant(core.RolePublisher)
		e.shows("/new-import", http.StatusOK, "Ask an administrator to create the first one", `-type="file"`)
		grant(core.RoleTenantAdmin)
		e.shows("/new-import", http.StatusOK, `name="name"`, `type="file"`, `-name="list"`)
		e.uploadsTo("name", "", "a.csv", "email\nnew@reader.example\n", `aria-invalid="true"`)
		e.uploadsTo("name", "Herbs", "", "", "Choose a file.", `value="Herbs"`)
		for _, name := range []string{"Herbs", " Herbs "} { // twice is one list
			at := e.uploadsTo("name", name, "a.csv", "email\nnew@reader.example\n")
			e.shows(at, http.StatusOK, "Import into “Herbs”")
		}
		lists, err := e.store.Lists(t.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 10})
		if e.must(err); len(lists) != 1 || lists[0].Name != "Herbs" {
			t.Errorf("%+v", lists)
		}
		e.shows("/new-import", http.StatusOK, `name="list"`, `-name="name"`)
		grant(core.RoleTenantAdmin)
		time.Sleep(core.ProofAge + time.Minute)
		e.uploadsTo("name", "Herbs", "a.csv", "email\nnew@reader.example\n", "password")
		lists, err = e.store.Lists(t.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 10})
		if e.must(err); len(lists) != 0 {
			t.Errorf("a list of a refused upload: %+v", lists)
		}
	})
}

// The wizard reads a file of Excel for Mac in UTF-16. The user says which number in its dates is the day. Unknown
// columns are left out, and likely typos are listed.
func TestConsoleImportsReadFilesAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		file, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(
			"sep=;\rE-Mail-Adresse;Vorname;Joined;Intern\rÄnne <anne@gmial.com>;Änne;3/5/2023;x\r")
		e.must(err)
		at := e.uploads(e.list.ID, "excel.csv", file)
		e.shows(at, http.StatusOK, `value="first_name" selected`,
			"Subscribed on (unclear date format, imported as text)",
			`value="subscribed_at:mdy">Subscribed on (month first)<`, `value="Intern">Save as`, `-value="Intern" selected`)
		form, _ := e.choices(at)
		form.Set("column.2", "subscribed_at:mdy")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, "Possible typos", "gmial.com: did you mean gmail.com?",
			`value="subscribed_at:mdy" selected`)
		form, _ = e.choices(at)
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		s := e.found("anne@gmial.com")
		if s.Preferences != `{"first_name":"Änne"}` {
			t.Errorf("%+v", s)
		}
		consents, err := e.store.Consents(t.Context(), e.list.ID, s.ID)
		e.must(err)
		if at := core.At(time.Date(2023, 3, 5, 0, 0, 0, 0, time.UTC)); len(consents) != 1 ||
			consents[0].Reason != "subscribed 2023-03-05T00:00:00Z" || consents[0].SubscribedAt != at {
			t.Errorf("%+v", consents)
		}
		e.shows("/people/"+url.PathEscape(s.ID)+"?list="+e.list.ID, http.StatusOK, "original signup")
	})
}

// The values shown for a column are the first that are not empty. Columns are saved under their names in the file.
func TestConsoleImportShowsValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		at := e.uploads(e.list.ID, "people.csv", "email,Shoe Size\na@reader.example,\nb@reader.example,\n"+
			"c@reader.example,\nd@reader.example,\ne@reader.example,\nf@reader.example,37\n")
		e.shows(at, http.StatusOK, `<span class="sub">37</span>`, ">Save as “Shoe Size”<",
			`<span class="sub">c@reader.example</span>`, `-<span class="sub">d@reader.example</span>`)
		form, _ := e.choices(at)
		form.Set("agreed", core.SubscriptionActive)
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, "<strong>6</strong> new subscribers", "Dry run result",
			`Not imported: Shoe Size · <a href="#columns"`, `id="columns"`)
		form.Set("column.1", "shoe_size")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, "Dry run result", "-Not imported:")
	})
}

// The zip export of another tool is imported unchanged. People who unsubscribed according to the name of their file
// aren't added, and an undo reverts everything.
func TestConsoleImportsAnExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for name, rows := range map[string]string{
			"subscribed_members_export_1.csv":   "ann@reader.example,Ann,2,2023-05-03 10:12:00,1,a\n",
			"unsubscribed_members_export_1.csv": "bob@reader.example,Bob,2,,2,b\n",
			"cleaned_members_export_1.csv":      "cy@reader.example,Cy,2,,3,c\n",
		} {
			w, err := z.Create(name)
			e.must(err)
			_, err = io.WriteString(w, "Email Address,First Name,MEMBER_RATING,OPTIN_TIME,LEID,EUID\n"+rows)
			e.must(err)
		}
		e.must(z.Close())
		at := e.uploads(e.list.ID, "audience.zip", b.String())
		e.shows(at, http.StatusOK, "This is an export from Mailchimp.")
		form, _ := e.choices(at)
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		j, err := e.store.ImportJob(t.Context(), at[len("/imports/"):])
		e.must(err)
		if j.Tool != "mailchimp" || j.Added != 1 || j.Unsubscribed != 1 || j.Bounced != 1 || j.Failed != 0 {
			t.Errorf("%+v", j)
		}
		if s := e.found("ann@reader.example"); s.Status != core.SubscriptionActive {
			t.Errorf("ann is %s", s.Status)
		}
		if s := e.found("bob@reader.example"); s.Status != core.SubscriptionUnsubscribed {
			t.Errorf("bob is %s", s.Status)
		}
		e.uploads(e.list.ID, "pictures.zip", "PK\x05\x06"+strings.Repeat("\x00", 18),
			"This zip archive has no CSV file")
	})
}

// The errors of an archive with several files of people name the file and the line in it.
func TestConsoleNamesTheFileOfAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, file := range [][2]string{
			{"one.csv", "email,status\nann@reader.example,active\nbob@reader.example,unsubscribed\n"},
			{"two.csv", "email,status\ncy@reader.example,active\nnobody,active\nbob@reader.example,active\n"},
		} {
			w, err := z.Create(file[0])
			e.must(err)
			_, err = io.WriteString(w, file[1])
			e.must(err)
		}
		e.must(z.Close())
		at := e.uploads(e.list.ID, "audience.zip", b.String())
		form, _ := e.choices(at)
		form.Set("agreed", core.SubscriptionActive)
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		e.shows(at, http.StatusOK, "two.csv, line 3: “nobody” isn't an email address.",
			"two.csv, line 4: Unsubscribed according to line 3 of one.csv.")
		e.shows(at+"/faults", http.StatusOK, "two.csv:3,", "two.csv:4,unsubscribed according to line 3 of one.csv")
	})
}

// A workbook is rejected before any of it is stored. A file in UTF-16 is stored as UTF-8 text, in which an erasure
// finds addresses.
func TestUploadsOfImportsKeepText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.uploads(e.list.ID, "empty.csv", "", "the file is empty")
		jobs := func() (n int) {
			all, err := e.store.ImportJobs(t.Context(), nil, true, "", core.Page{Limit: 10})
			e.must(err)
			return len(all)
		}
		before := jobs()
		if to := e.uploads(e.list.ID, "book.xlsx", "PK\x03\x04 [Content_Types].xml", "Excel workbook"); to != "" {
			t.Errorf("leads to %s", to)
		}
		if n := jobs(); n != before {
			t.Errorf("%d imports are kept", n-before)
		}
		file, err := unicode.UTF16(unicode.BigEndian,
			unicode.UseBOM).NewEncoder().String("email\tname\rann@reader.example\tÄnn\r")
		e.must(err)
		at := e.uploads(e.list.ID, "a.txt", file)
		got := make([]byte, 100)
		n, err := e.store.ImportFile(t.Context(), at[len("/imports/"):]).Read(got)
		if want := "email\tname\nann@reader.example\tÄnn\n"; err != nil || string(got[:n]) != want {
			t.Errorf("%q, %v", got[:n], err)
		}
	})
}
