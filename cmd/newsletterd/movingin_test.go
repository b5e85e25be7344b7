package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
	"newsletterd/store/people"
)

// mover moves a newsletter in from another tool: in a browser if there is one, otherwise through the API.
type mover struct {
	*running
	w     *writer // nil: through the API
	list  core.List
	site  *httptest.Server // of the other tool, with the pictures
	n     int              // people
	posts int
}

// unsubscribed reports whether a person of the export had unsubscribed.
func unsubscribed(i int) bool { return i%10 == 3 }

// agreedOn returns when a person of the export subscribed.
func agreedOn(i int) time.Time {
	return time.Date(2021, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(i) * time.Hour)
}

// photos holds photos that were drawn before, by number.
var photos sync.Map

// photo returns a JPEG that no other number has.
func photo(n int) []byte {
	if drawn, ok := photos.Load(n); ok {
		return drawn.([]byte)
	}
	m := image.NewYCbCr(image.Rect(0, 0, 1456, 970), image.YCbCrSubsampleRatio420)
	for i := range m.Y {
		m.Y[i] = uint8(i/m.YStride/8 + i%m.YStride/16 + n)
	}
	for i := range m.Cb {
		m.Cb[i], m.Cr[i] = uint8(n>>4), uint8(i/m.CStride/4)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		panic(err) // writes to memory
	}
	return b.Bytes()
}

// oldSite serves pictures, redirects to them, and answers that are none.
func oldSite(w http.ResponseWriter, r *http.Request) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	n, _ := strconv.Atoi(strings.TrimSuffix(name, ".jpeg"))
	switch kind {
	case "photo":
		w.Header().Set("Content-Type", "image/jpeg")
		_, _ = w.Write(photo(n))
	case "moved":
		http.Redirect(w, r, "/photo/"+name, http.StatusMovedPermanently)
	case "large":
		w.Header().Set("Content-Type", "image/jpeg")
		for range 20 {
			_, _ = w.Write(make([]byte, 1<<20))
		}
	case "page":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>")
	default:
		http.NotFound(w, r)
	}
}

// failing are the paths of pictures that can't be copied. Each tenth post has them.
var failing = []string{"gone", "large", "page"}

// export writes an export in the form of Substack, and returns its path.
func (m *mover) export() string {
	m.Helper()
	f, err := os.Create(filepath.Join(m.seed.TempDir(), "export.zip"))
	m.Must(err)
	defer f.Close()
	z := zip.NewWriter(f)
	file := func(name string) io.Writer {
		w, err := z.Create(name)
		m.Must(err)
		return w
	}
	w := file("email_list.garden.csv")
	fmt.Fprintln(w, "email,active_subscription,expiry,plan,email_disabled,created_at")
	for i := range m.n {
		fmt.Fprintf(w, "%s,false,,other,%t,%s\n", daemontest.Person(i), unsubscribed(i),
			agreedOn(i).Format(time.RFC3339))
	}
	w = file("posts.csv")
	fmt.Fprintln(w, "post_id,post_date,is_published,type,audience,title,subtitle")
	for i := range m.posts {
		fmt.Fprintf(w, "%d.issue-%[1]d,%s,true,newsletter,everyone,Issue %[1]d,\n", i,
			agreedOn(24*i).Format(time.RFC3339))
	}
	for n := range 4 * m.posts {
		photos.Store(n, photo(n)) // so that the figures don't contain drawing them
	}
	for i := range m.posts {
		w = file(fmt.Sprintf("posts/%d.issue-%[1]d.html", i))
		fmt.Fprintf(w, "<p>%s</p>", strings.Repeat("What grew this week. ", 100))
		for k, kind := range []string{"photo", "photo", "photo", "moved"} {
			fmt.Fprintf(w, `<a href="%s/%s/%d.jpeg"><img src="%[1]s/%[2]s/%[3]d.jpeg" alt="A bed"></a>`, m.site.URL,
				kind, 4*i+k)
		}
		for _, kind := range failing {
			if i%10 == 0 {
				fmt.Fprintf(w, `<img src="%s/%s/%d.jpeg">`, m.site.URL, kind, i)
			}
		}
	}
	m.Must(z.Close())
	return f.Name()
}

// until waits until done returns true.
func (m *mover) until(what string, done func() bool) {
	m.Helper()
	daemontest.AwaitWithin(m, 20*time.Minute, what, done)
}

func (m *mover) job(id string) core.ImportJob {
	m.Helper()
	j, err := m.store.ImportJob(m.Context(), id)
	m.Must(err)
	return j
}

// upload uploads the export.
func (m *mover) upload(path string) (id string) {
	m.Helper()
	if m.w == nil {
		f, err := os.Open(path)
		m.Must(err)
		defer f.Close()
		var j core.ImportJob
		m.Send("POST", "/api/admin/imports?list_id="+m.list.ID, f, "Content-Type", "application/zip").OK().JSON(&j)
		return j.ID
	}
	m.w.Open(m.w.at("/new-import?list="+m.list.ID), chromedp.WaitReady("#f-file"),
		chromedp.SetUploadFiles("#f-file", []string{path}))
	m.w.Click("form.drop button.primary", chromedp.WaitVisible("#how"))
	return m.w.Location()[strings.LastIndex(m.w.Location(), "/")+1:]
}

// runs does a dry run, or imports the people.
func (m *mover) runs(id string, dry bool) {
	m.Helper()
	end, press := core.ImportCompleted, "run"
	if dry {
		end, press = core.ImportChecked, "try"
	}
	if m.w == nil {
		m.Send("POST", "/api/admin/imports/"+id+"/run", map[string]any{"dry_run": dry}).OK()
	} else {
		if dry {
			m.w.Click(`input[name=agreed][value=active]`)
		}
		m.w.Click(`button[name=do][value=` + press + `]`)
	}
	m.until(press, func() bool { return m.job(id).Status == end })
	if m.w != nil && dry {
		m.w.Do(chromedp.WaitVisible(`button[name=do][value=run]`))
	}
}

// press presses a button on the page of an import, or sends the same request.
func (m *mover) press(id, selector, path string) {
	m.Helper()
	if m.w == nil {
		m.Send("POST", "/api/admin/imports/"+id+path, nil).OK()
		return
	}
	page := "/imports/" + id
	if path == "/undo" {
		page += path
	}
	m.w.Open(m.w.at(page), chromedp.WaitVisible(selector))
	m.w.Submit(chromedp.Click(selector))
}

// copied waits until no picture waits to be copied.
func (m *mover) copied(id string) (c core.PictureCounts) {
	m.Helper()
	m.until("copying", func() bool {
		var err error
		c, err = m.store.PictureCounts(m.Context(), id)
		m.Must(err)
		return c.Waiting == 0 && m.number("SELECT count(*) FROM import_post WHERE fetching = 1") == 0
	})
	return c
}

// number returns a number in the database.
func (m *mover) number(query string, args ...any) (n int) {
	m.Helper()
	m.Must(m.store.Get(m.Context(), &n, query, args...))
	return n
}

// counts returns the number of rows of each table.
func (m *mover) counts() map[string]int {
	m.Helper()
	var tables []string
	m.Must(m.store.All(m.Context(), &tables, "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"))
	all := map[string]int{}
	for _, name := range tables {
		all[name] = m.number("SELECT count(*) FROM " + name)
	}
	return all
}

// logs are the tables whose rows outlive an undo: they say what has happened, or count it.
const logs = " audit sessions browser family refresh known_device sync sync_batch received_sync seen_event " +
	"seen_nonce seen_batch list_count mark sqlite_sequence sqlite_stat1 throttle purpose_key outbox fed_list " +
	"issue_search_data issue_search_idx issue_search_docsize total home "

// sending are the tables of the campaign that was sent meanwhile.
const sending = " recipient send_job frozen_content frozen_body campaign campaign_version campaign_copy " +
	"campaign_list attempt "

// TestMovingIn moves in from Substack: subscribers, unsubscribed people, consent dates, old issues and their pictures,
// of which some are gone. No one who had unsubscribed can be emailed, and undoing it leaves nothing. With
// NEWSLETTERD_FIGURES=50000 and NEWSLETTERD_BROWSER it takes 50,000 people and 300 posts through a browser.
func TestMovingIn(t *testing.T) {
	m := &mover{site: httptest.NewServer(http.HandlerFunc(oldSite)), n: 300, posts: 11}
	t.Cleanup(m.site.Close)
	t.Cleanup(photos.Clear)
	if n, err := strconv.Atoi(os.Getenv(figurestest.Env)); err == nil {
		m.n, m.posts = max(n, m.n), max(n*300/50_000, m.posts)
	}
	picturesAllow = []string{m.site.Listener.Addr().String()}
	t.Cleanup(func() { picturesAllow = nil })
	change := func(cfg *config.Config) { toServer(t, cfg) }
	if os.Getenv("NEWSLETTERD_BROWSER") != "" {
		m.w = newWriterOf(t, change)
		m.running, m.list = m.w.d, m.w.list
		admin := core.Role{Role: core.RoleTenantAdmin, TenantID: m.w.tenant.ID}
		m.Must(m.store.GrantRole(t.Context(), m.w.user.ID, admin, false, now()))
	} else {
		m.running = start(t, change)
		m.list = m.seed.NewList()
		m.operator(core.ScopeAdmin)
	}
	_, err := m.store.UpdateList(t.Context(), m.list.ID, "test", func(l *core.List) error {
		return l.Change(core.ListInput{Archive: new(true), Slug: new("garden")}, now())
	})
	m.Must(err)
	m.movesIn()
}

func (m *mover) movesIn() {
	m.Helper()
	path, before, here := m.export(), m.counts(), m.number("SELECT count(*) FROM subscription")
	cpu := daemontest.CPU(os.Getpid())
	line := func(what string, since time.Time) {
		used := daemontest.CPU(os.Getpid()) - cpu
		fmt.Printf("%-44s %v, with %v of CPU until then\n", "moving in: "+what,
			time.Since(since).Round(10*time.Millisecond), used.Round(10*time.Millisecond))
	}
	began := time.Now()
	id := m.upload(path)
	line("upload", began)
	from := time.Now()
	m.runs(id, true)
	line("dry run", from)
	from = time.Now()
	m.runs(id, false)
	line("people", from)
	from = time.Now()
	m.press(id, `button[name=do][value=add]`, "/posts")
	line("posts", from)
	from = time.Now()
	copies := m.copied(id)
	line("pictures", from)
	line("all", began)
	if took := time.Since(began); took > 10*time.Minute {
		m.Errorf("it takes %v", took)
	}
	m.hasArrived(id, here, copies)

	from = time.Now()
	m.press(id, `button[name=do][value=remove]`, "/posts/undo")
	m.press(id, `form button.danger`, "/undo")
	m.until("undo", func() bool { return m.job(id).UndoStatus == core.ImportUndoDone })
	m.until("removing pictures", func() bool { return m.number("SELECT count(*) FROM media") == before["media"] })
	line("undo", from)
	m.Must(m.store.DeleteImport(m.Context(), id, "test", now()))
	m.until("deleting", func() bool {
		_, err := m.store.Housekeeping(m.Context(), people.Retention{}, now())
		m.Must(err)
		return m.number("SELECT (SELECT count(*) FROM import_job) + (SELECT count(*) FROM media_file)") == 0
	})
	for name, n := range m.counts() {
		// The send side remembers who was unsubscribed, so that older events don't bring them back.
		if n != before[name] && !strings.Contains(logs+sending, " "+name+" ") && name != "subscriber" {
			m.Errorf("%s has %d rows, %d before", name, n, before[name])
		}
	}
	if n := m.number("SELECT count(*) FROM subscriber WHERE word = 'active'"); n != here {
		m.Errorf("%d can still be emailed", n)
	}
}

// hasArrived checks what the import has brought.
func (m *mover) hasArrived(id string, here int, copies core.PictureCounts) {
	m.Helper()
	left := 0
	for i := range m.n {
		if unsubscribed(i) {
			left++
		}
	}
	j := m.job(id)
	if j.Added != int64(m.n-left) || j.Unsubscribed != int64(left) || j.Failed != 0 {
		m.Errorf("%+v", j.ImportCounts)
	}
	active := m.n - left + here
	m.until("the send side", func() bool {
		return m.number("SELECT count(*) FROM subscriber WHERE list_id = ? AND word = 'active'", m.list.ID) == active
	})
	for i := range m.n {
		if !unsubscribed(i) || i%1000 != 3 && i > 100 {
			continue
		}
		const of = " WHERE list_id = ? AND email = ? AND "
		if n := m.number("SELECT count(*) FROM subscriber"+of+"word = 'active'", m.list.ID,
			daemontest.Person(i)); n != 0 {
			m.Errorf("%s could be emailed", daemontest.Person(i))
		}
		if n := m.number("SELECT count(*) FROM subscription"+of+"status = 'unsubscribed'", m.list.ID,
			daemontest.Person(i)); n != 1 {
			m.Errorf("%s is not unsubscribed", daemontest.Person(i))
		}
	}
	if m.n <= 1000 {
		sent := m.seed.NewJob(m.list.ID)
		m.until("sending", func() bool { return m.seed.Reload(sent).Status.Final() })
		if n := m.seed.Reload(sent).Sent; n != int64(active) {
			m.Errorf("%d emails for %d subscribers", n, active)
		}
	}
	with := m.number(`SELECT count(*) FROM consent WHERE list_id = ? AND reason LIKE '%' || ? || '%'`, m.list.ID,
		agreedOn(7).Format("2006-01-02T15:04:05"))
	if with != 1 {
		m.Errorf("%d records with the date of consent of one person", with)
	}
	bad := int64(len(failing) * ((m.posts + 9) / 10))
	if want := (core.PictureCounts{Stored: int64(4 * m.posts), Failed: bad}); copies != want {
		m.Errorf("%+v, not %+v", copies, want)
	}
	page := m.Get("/a/garden/issue-10").OK()
	if strings.Count(page.Text, "/m/") < 8 || strings.Contains(page.Text, m.site.URL+"/photo") ||
		!strings.Contains(page.Text, m.site.URL+"/gone/10.jpeg") {
		m.Errorf("%s", page.Text)
	}
	policy := m.Get("/a/garden/issue-1").OK().Header.Get("Content-Security-Policy")
	if strings.Contains(policy, m.site.URL) {
		m.Errorf("a page with copies only allows pictures of the old site: %s", policy)
	}
	if index := m.Get("/a/garden/").OK().Text; strings.Contains(index, m.site.URL) || !strings.Contains(index, "/m/") {
		m.Errorf("the index of the archive shows pictures of the old site: %s", index)
	}
}
