package exports

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"html"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/subscribercsv"
)

// Limits of posts.
const (
	maxPosts     = 5000
	maxPostBytes = 2 << 20
)

// Post is a post from another tool. Its HTML is unchanged.
type Post struct {
	core.ImportedPost
	HTML     string
	Markdown bool // HTML is Markdown that may contain HTML
	Relative bool // set by drafts.EachPost: it has links or images that lack the address of the site
}

// opener opens a file of an export.
type opener func() (io.ReadCloser, error)

// postTable is a CSV file with a row for each post.
type postTable struct {
	open opener
	html int    // index of the column with the HTML; -1: each post has a file
	at   []int  // index of each of postColumns; -1: none
	tool string // program that writes tables with these columns
	late bool   // whether the table has posts that were not published yet, by its name
}

// postColumns lists, for each use, the folded names of columns in a table of posts.
var postColumns = [...][]string{
	postID:       {"postid", "id"},
	postTitle:    {"title", "webtitle", "subject", "subjectline"},
	postSubtitle: {"subtitle", "websubtitle", "previewtext", "description", "excerpt"},
	postSlug:     {"slug", "url", "weburl"},
	postAuthor:   {"author", "authors", "byline"},
	postDate:     {"postdate", "publishdate", "publishedat", "displayeddate", "sentat", "createdat", "created"},
	postKind:     {"type", "kind", "emailtype"},
	postState:    {"ispublished", "status", "state", "poststatus"},
	postAudience: {"audience", "visibility", "tier", "contenttier"},
}

const (
	postID = iota
	postTitle
	postSubtitle
	postSlug
	postAuthor
	postDate
	postKind
	postState
	postAudience
)

var htmlColumns = []string{
	"contenthtml", "html", "bodyhtml", "htmlcontent", "contentweb", "webcontent", "body", "content",
}

// tableOf returns the table of posts with a folded header, or nil if the file is something else.
func tableOf(header []string, open opener) *postTable {
	t := &postTable{open: open, html: indexOf(header, htmlColumns), tool: "beehiiv"}
	for _, names := range postColumns {
		t.at = append(t.at, indexOf(header, names))
	}
	substack := hasAll(header, "postid postdate ispublished title")
	if substack {
		t.html, t.tool = -1, "substack"
	}
	buttondown := t.html < 0 && hasAll(header, "subject publishdate slug")
	if buttondown {
		t.tool = "buttondown"
	}
	if t.at[postTitle] < 0 || !substack && !buttondown && t.html < 0 {
		return nil
	}
	return t
}

// publicStates are the states of posts that everyone or all subscribers could read. Without such a state, a post is a
// draft.
var publicStates = []string{"true", "1", "yes", "published", "sent", "confirmed", "live", "imported"}

func indexOf(header, names []string) int {
	for _, name := range names {
		if i := slices.Index(header, name); i >= 0 {
			return i
		}
	}
	return -1
}

// Posts calls take for each post, up to maxPosts. A post with a date after now is a draft. skipped is the number of
// posts beyond maxPosts, or that are too large or have no content. If a file is damaged, Posts returns a core.Invalid
// error. It also returns the errors of take.
func (e *Export) Posts(ctx context.Context, now core.Instant, take func(Post) error) (skipped int64, err error) {
	r := &postReader{ctx: ctx, now: now, take: take, pages: maps.Clone(e.pages), texts: maps.Clone(e.texts)}
	for _, t := range e.tables {
		if err == nil {
			err = r.table(t)
		}
	}
	if err == nil && e.ghost != nil {
		err = ghostPosts(e.ghost, r.each)
	}
	if err == nil && len(e.tables) == 0 {
		err = e.matterPosts(r)
	}
	if err == nil && len(e.tables) == 0 && e.Tool == "mailchimp" {
		err = e.pagePosts(r)
	}
	return r.skipped, err
}

// postReader reads the posts of an export.
type postReader struct {
	ctx     context.Context
	now     core.Instant
	take    func(Post) error
	pages   map[string]*zip.File // pages that no post has taken yet, for all tables
	texts   map[string]*zip.File // Markdown files, likewise
	n       int                  // number of posts passed to take
	skipped int64
}

// each passes a post to the function take, unless the post has no content.
func (r *postReader) each(p Post) error {
	p.Title, p.Summary = oneLine(p.Title, 200), oneLine(p.Summary, 300)
	p.Author, p.Kind = oneLine(p.Author, 200), oneLine(p.Kind, 40)
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case strings.TrimSpace(p.HTML) == "", len(p.HTML) > maxPostBytes, r.n == maxPosts:
		r.skipped++
		return nil
	}
	p.Title, p.HTML = cmp.Or(p.Title, "Untitled"), strings.ToValidUTF8(p.HTML, "\ufffd")
	p.Draft = p.Draft || p.PostedAt > r.now
	r.n++
	return r.take(p)
}

// text returns the content of an entry, or an empty string if it is too large for a post, or if no more posts are
// taken.
func (r *postReader) text(page *zip.File) (string, error) {
	if r.n == maxPosts || page.UncompressedSize64 > maxPostBytes {
		return "", nil
	}
	f, err := openEntry(page)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

// HasPosts reports whether the export has files with posts.
func (e *Export) HasPosts() bool {
	return len(e.tables) > 0 || e.ghost != nil || len(e.matters) > 0 || e.Tool == "mailchimp" && len(e.pages) > 0
}

// oneLine returns s as one line of at most limit characters, without NUL or invalid UTF-8.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")), " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

// table reads the posts in a table of posts.
func (r *postReader) table(t *postTable) error {
	f, err := t.open()
	if err != nil {
		return err
	}
	defer f.Close()
	in := &allowance{Reader: subscribercsv.Text(f)}
	rows := csv.NewReader(in)
	rows.FieldsPerRecord, rows.LazyQuotes, rows.ReuseRecord = -1, true, true
	for line := 0; ; line++ {
		in.n = 0
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unreadable(err)
		case line == 0:
			continue
		}
		p, err := r.postOf(t, row)
		if err == nil {
			err = r.each(p)
		}
		if err != nil {
			return err
		}
	}
}

// postOf returns the post in a row. It removes the post's page from the pages, because each page belongs to one post.
func (r *postReader) postOf(t *postTable, row []string) (Post, error) {
	cell := func(use int) string {
		if i := t.at[use]; i >= 0 && i < len(row) {
			return strings.Clone(strings.TrimSpace(row[i]))
		}
		return ""
	}
	p := Post{ImportedPost: core.ImportedPost{
		Title: cell(postTitle), Summary: cell(postSubtitle), Author: cell(postAuthor), Kind: cell(postKind),
		PostedAt: timeOf(cell(postDate)), Slug: core.Slug(path.Base("/" + strings.TrimRight(cell(postSlug), "/"))),
	}}
	p.Draft, p.Paid = !slices.Contains(publicStates, fold(cell(postState))), !forEveryone(cell(postAudience))
	id := cell(postID)
	if _, slug, ok := strings.Cut(id, "."); ok && p.Slug == "" {
		p.Slug = core.Slug(slug)
	}
	if t.html >= 0 {
		if t.html < len(row) {
			p.HTML = strings.Clone(row[t.html])
		}
		return p, nil
	}
	pages := r.pages
	if t.tool == "buttondown" { // it writes the sent emails into one table, and others into tables of their own
		pages = r.texts
		p.Draft = t.late || p.PostedAt == 0 || t.at[postState] >= 0 && p.Draft
		p.Kind, p.Paid = "email", !forEveryone(cell(postKind))
		id = cell(postSlug)
	}
	page := pages[id]
	if page == nil {
		return p, nil
	}
	delete(pages, id)
	text, err := r.text(page)
	if p.HTML = text; t.tool == "buttondown" {
		var matter map[string]string
		matter, p.HTML, p.Markdown = matterOf(text)
		p.restrict(matter)
	}
	return p, err
}

// forEveryone reports whether everyone can read posts with the given audience. An empty string means everyone.
func forEveryone(audience string) bool {
	return slices.Contains([]string{"", "everyone", "public", "free", "all", "both"}, fold(audience))
}

// pagePosts reads posts that are HTML files with a title, as Mailchimp exports emails and templates. No file says which
// were sent, so all are drafts.
func (e *Export) pagePosts(r *postReader) error {
	for _, name := range slices.Sorted(maps.Keys(e.pages)) {
		page := e.pages[name]
		text, err := r.text(page)
		if err != nil {
			return err
		}
		p := Post{HTML: mergeTag.ReplaceAllString(text, ""), ImportedPost: core.ImportedPost{
			Title: titleOf(text, name), PostedAt: core.At(page.Modified), Kind: "email", Draft: true,
		}}
		if page.Modified.Year() < 1990 { // the archive has no time
			p.PostedAt = 0
		}
		if err := r.each(p); err != nil {
			return err
		}
	}
	return nil
}

var (
	titleTag = regexp.MustCompile(`(?i)<title[^>]*>([^<]*)<`)
	// mergeTag matches a Mailchimp placeholder.
	mergeTag = regexp.MustCompile(`\s?\*\|[A-Za-z][\w:, =!<>"'-]{0,100}\|\*`)
	// fileNumber matches the number at the beginning of Mailchimp's file names.
	fileNumber = regexp.MustCompile(`^\d+[_-]+`)
)

// mailchimpMarks are strings that only Mailchimp emails contain.
var mailchimpMarks = []string{
	"*|MC:", "*|MC_", "*|UNSUB", "*|ARCHIVE", "*|LIST:", "*|FNAME", `class="mcn`, " mc:edit=",
	"mcusercontent.com", ".list-manage",
}

// mailchimpFolder is the folder with the emails in the export of a Mailchimp account.
const mailchimpFolder = "campaigns_content"

// isMailchimp reports whether a page with this beginning is a Mailchimp email.
func isMailchimp(head []byte) bool {
	return slices.ContainsFunc(mailchimpMarks, func(mark string) bool { return bytes.Contains(head, []byte(mark)) })
}

// titleOf returns the title of a page. If that is a placeholder, it returns the title in the file's name.
func titleOf(page, name string) string {
	m := titleTag.FindStringSubmatch(page[:min(len(page), headBytes)])
	if m != nil && !strings.Contains(m[1], "*|") && strings.TrimSpace(m[1]) != "" {
		return html.UnescapeString(m[1])
	}
	name = fileNumber.ReplaceAllString(name, "")
	return strings.TrimSpace(strings.NewReplacer("-", " ", "_", " ").Replace(name))
}

// rowBytes is the maximum size of a row in a table of posts or in JSON. A row is held in memory.
const rowBytes = 8 * maxPostBytes

// allowance is a reader that fails if more than rowBytes are read for a row.
type allowance struct {
	io.Reader
	n int
}

func (a *allowance) Read(p []byte) (int, error) {
	if a.n > rowBytes {
		return 0, core.Invalidf("", "A post in the file is too large (limit: %s). Shorten it, or remove "+
			"it.", core.ByteSize(rowBytes))
	}
	n, err := a.Reader.Read(p)
	a.n += n
	return n, err
}

// timeForms lists the formats of times in exports. Times without a zone are UTC.
var timeForms = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 MST", "2006-01-02 15:04",
	time.DateOnly, time.RFC1123Z, time.RFC1123, time.UnixDate,
}

// timeOf returns a time in an export, or 0 if it can't be read.
func timeOf(s string) core.Instant {
	for _, form := range timeForms {
		if at, err := time.Parse(form, s); err == nil && at.Year() > 1970 && at.Year() < 2200 {
			return core.At(at)
		}
	}
	return 0
}
