package console

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// importRoutes adds the routes for imports.
func (o *Console) importRoutes(t *web.Table) {
	may := core.ActionPeopleImport
	o.get(t, "/imports", may, o.imports, "The console: imports")
	o.get(t, "/new-import", may, o.newImport, "The console: the form to upload a file of people")
	o.stream(t, "/new-import", may, o.takeImport, "The console: upload a file of people")
	o.get(t, "/imports/:id", may, o.importJob, "The console: an import")
	o.post(t, "/imports/:id", may, o.importJob, "The console: start an import or a dry run")
	o.post(t, "/imports/:id/cancel", may, o.cancelImport, "The console: cancel an import")
	o.get(t, "/imports/:id/undo", may, o.undoImport, "The console: confirm undoing an import")
	o.post(t, "/imports/:id/undo", may, o.undoImport, "The console: undo an import")
	o.post(t, "/imports/:id/posts", may, o.importPosts, "The console: add the posts of an export to the archive")
	o.post(t, "/imports/:id/images", may, o.retryPictures, "The console: try again to copy images of posts")
	o.file(t, "/imports/:id/faults", may, func(p *Page) error {
		return p.Download("/api/admin/imports/" + url.PathEscape(p.Param("id")) + "/faults?spreadsheet=" + p.separator())
	}, "The console: the rows of an import with errors, as CSV")
	o.exportOf(t, "/people-export", core.ActionPeopleExport, (*Page).peopleFile,
		"The console: export the people of a list, or of all lists, as CSV")
}

// ImportBadge returns the badge for the state of an import.
func (p *Page) ImportBadge(j *core.ImportJob) Badge {
	if j.UndoStatus == core.ImportUndoRunning {
		return Badge{p.T("Undoing"), "live"}
	}
	switch j.Status {
	case core.ImportUploading:
		return Badge{p.T("Uploading"), "live"}
	case core.ImportUploaded:
		return Badge{p.T("Dry run needed"), "warn"}
	case core.ImportWaiting:
		return Badge{p.T("Waiting"), "live"}
	case core.ImportRunning:
		if j.DryRun {
			return Badge{p.T("Dry run in progress"), "live"}
		}
		return Badge{p.T("Importing"), "live"}
	case core.ImportChecked:
		return Badge{p.T("Dry run done"), "good"}
	case core.ImportCompleted:
		if j.UndoStatus == core.ImportUndoDone {
			return Badge{p.T("Undone"), ""}
		}
		return Badge{p.T("Completed"), "good"}
	case core.ImportFailed:
		return Badge{p.T("Failed"), "bad"}
	}
	return Badge{p.T("Canceled"), ""}
}

// imports lists the tenant's imports, newest first.
func (o *Console) imports(p *Page) (web.HTML, error) {
	q := p.ofTenant("limit", "30")
	if cursor := p.Query("cursor"); cursor != "" {
		q.Set("cursor", cursor)
	}
	var jobs []core.ImportJob
	next, err := p.Get("/api/admin/imports", q, &jobs)
	if err != nil {
		return web.HTML{}, err
	}
	lists, err := p.peopleLists()
	if err != nil {
		return web.HTML{}, err
	}
	names := map[string]string{}
	for i := range lists {
		names[lists[i].ID] = lists[i].Name
	}
	return p.Show("imports", View{
		Title: p.T("Imports"), Within: []Link{{p.T("People"), p.Path("people")}},
		Data: struct {
			Jobs  []core.ImportJob
			Names map[string]string
			Pager pager
		}{jobs, names, p.Pager(next)},
	})
}

func (p *Page) withinImports() []Link {
	return []Link{{p.T("People"), p.Path("people")}, {p.T("Imports"), p.Path("imports")}}
}

// importData holds the data for templates/import.html.
type importData struct {
	core.ImportJob
	Rows    int64          `json:"rows"`
	Columns []importColumn `json:"columns"`
	Samples [][]string     `json:"samples"`
	Problem string         `json:"problem"`

	Questions []importQuestion   `json:"questions"`
	AllLeft   bool               `json:"all_left"` // no one in the file is a subscriber, so no consent is needed
	Copies    core.PictureCounts `json:"image_copies"`

	Faults []lineFault `json:"faults"` // first errors

	// People who unsubscribed according to the file and are still subscribed
	StillSubscribed []struct{ ID, Email string } `json:"still_subscribed"`
	StillMore       bool                         `json:"still_more"`

	List    core.List   `json:"-"`
	Live    bool        `json:"-"` // whether it is waiting or running
	Open    bool        `json:"-"` // whether it waits for the column mapping
	Imports bool        `json:"-"` // whether it is queued or running, but not a dry run
	Ready   bool        `json:"-"` // whether it was checked in a dry run and is ready to run
	Faulty  bool        `json:"-"` // whether most lines have an error
	Counted []resultRow `json:"-"`
	Agreed  string      `json:"-"`
	From    field       `json:"-"`
	Keep    bool        `json:"-"`
	TagAll  field       `json:"-"` // input for the tags for everyone

	Blog    *importedPosts `json:"-"` // posts of the export; nil: none
	Undone  int64          `json:"-"` // number of people already processed by the undo
	Touched int64          `json:"-"` // number of people that the undo affects

	guessed bool // whether the address column was guessed
}

// countedRow is a count with its label.
type countedRow struct {
	Text string
	N    int64
}

// resultRow is a count in an import's result.
type resultRow struct {
	countedRow
	Link string // page with the counted people; empty: none
}

// samplesShown is the maximum number of values shown for a column.
const samplesShown = 3

func (p *Page) importPath(parts ...string) string {
	return strings.Join(append([]string{"/api/admin/imports/" + url.PathEscape(p.Param("id"))}, parts...), "/")
}

// importView returns the import in the path and its View. Call readImport before showing it.
func (p *Page) importView() (d *importData, v View, err error) {
	d = &importData{}
	if _, err = p.Get(p.importPath(), nil, d); err != nil {
		return d, v, err
	}
	if d.TenantID != p.Tenant.ID {
		return d, v, web.ErrNotFound
	}
	_, err = p.Get("/api/admin/newsletter-lists/"+d.ListID, nil, &d.List)
	return d, View{
		Title: d.Name, Within: p.withinImports(), State: p.T("Import into “{{list}}”", "list", d.List.Name), Data: d,
	}, err
}

// importJob shows the current stage of an import: column mapping, progress or result.
func (o *Console) importJob(p *Page) (web.HTML, error) {
	d, v, err := p.importView()
	if err != nil {
		return web.HTML{}, err
	}
	if p.IsForm() {
		err := p.runImport(d)
		if err == nil {
			return p.Redirect(p.Path("imports", d.ID), "")
		}
		fault, status, ok := p.FaultOf(err)
		if !ok {
			return web.HTML{}, err
		}
		v.Fault, v.Status = fault, status
		p.readImport(d)
		if wrongOn(err, "mapping", fault) != "" && !d.markOpen(fault) && p.markTwice(d) {
			v.Fault = p.T("Two columns are imported as the same field. Change one of them.")
		}
		return p.Show("import", v)
	}
	p.readImport(d)
	if _, part := p.Partial(); part {
		return p.ShowPart("import", "import", v)
	}
	return p.Show("import", v)
}

// readImport sets the data for an import's page.
func (p *Page) readImport(d *importData) {
	d.Live = d.UndoStatus == core.ImportUndoRunning || d.Status == core.ImportWaiting ||
		d.Status == core.ImportRunning ||
		d.Status == core.ImportUploading
	d.Open = d.Status == core.ImportUploaded || d.Status == core.ImportChecked
	d.Imports = !d.DryRun && (d.Status == core.ImportWaiting || d.Status == core.ImportRunning)
	d.Ready = d.Status == core.ImportChecked && d.FailureReason == ""
	d.Faulty = 2*d.Failed > d.Rows
	if d.Status != core.ImportUploading {
		d.Blog = p.postsOf(d)
	}
	tried := d.DryRun && d.Status == core.ImportCancelled               // it had no effect
	if d.Status == core.ImportCompleted && d.Rows == 0 && d.Posts > 0 { // an export without people
		return
	}
	if d.Status != core.ImportUploaded && d.Status != core.ImportUploading && !tried {
		d.Counted = p.countedRows(d)
	}
	d.Undone = d.UndoRemoved + d.UndoPending + d.UndoKept + d.UndoRestored + d.UndoUnrestored + d.UndoResumed +
		d.UndoLifted
	d.Undone += min(d.UndoUntagged, d.Tagged)
	d.Touched = d.Brought + d.Replaced + d.Barred + d.Said + d.Tagged
	for i := range d.Columns {
		p.readColumn(d, i)
	}
	d.Keep, d.Agreed = d.KeepFields, ""
	if d.Status == core.ImportChecked {
		d.Agreed = d.SubscriberStatus
		if d.Suppress {
			d.Agreed = agreedSuppress
		}
	}
	d.From = field{
		Name: "source", Label: p.T("Source of consent"), Value: d.Source, Type: "text", Max: core.MaxOrigin,
		Hint: p.T("Required for people who agreed: where and when they did. Kept as proof on each person's page."),
	}.Like(p.T("Example: paper list at the spring market 2026"))
	d.TagAll = field{
		Name: "tags", Label: p.T("Tag everyone in this import (optional)"), Value: strings.Join(d.Tags, ", "),
		Type: "text", Complete: "off",
		Hint: p.T("Separate several tags with commas. Unknown tags are created."),
	}.Like(p.T("Example: Spring market 2026"))
	if d.Status == core.ImportUploaded {
		if d.Source == "import "+d.Name { // the API's default
			d.From.Value = p.T("Import: {{file}}", "file", d.Name)
		}
		if d.isList() { // the name of pasted text says nothing about its origin
			d.From.Value = ""
		} else if d.Source == "import "+d.Name && d.ToolName() == "" {
			d.From.Hint = p.T("The file name alone proves little. If these people agreed, write where and when, for " +
				"example “Paper list, spring market 2026”. Kept as proof on each person's page.")
		}
		d.From.Value = cmp.Or(d.ToolName(), d.From.Value)
	}
	if p.IsForm() {
		d.AllLeft = d.AllLeft && d.keepsStatus(p)
		d.Agreed, d.From.Value, d.Keep = p.Form["agreed"], p.Form["source"], p.Form["keep"] != ""
		d.TagAll.Value = p.Form["tags"]
	}
}

// countedRows returns an import's counts with their labels.
func (p *Page) countedRows(d *importData) (rows []resultRow) {
	add := func(text string, n int64, link string) {
		if n > 0 {
			rows = append(rows, resultRow{countedRow{text, n}, link})
		}
	}
	barred := func(kind core.Status) string {
		if d.DryRun || d.UndoStatus != "" || !p.May(core.ActionSuppressionManage) {
			return ""
		}
		return p.Path("suppressions") + "?" + url.Values{"import": {d.ID}, "kind": {string(kind)}}.Encode()
	}
	added := p.N("new subscriber|new subscribers", d.Added)
	if d.SubscriberStatus == core.SubscriptionPending {
		added = p.N("new person to ask for confirmation|new people to ask for confirmation", d.Added)
	}
	add(added, d.Added, "")
	add(p.T("already on the list or repeated in this import, with new values"), d.Updated, "")
	add(p.T("already on the list or repeated in this import, unchanged"), d.Unchanged, "")
	add(p.T("skipped: already unsubscribed, bounced or blocked, or unsubscribed in the file but signed up here "+
		"later"), d.Kept, "")
	add(p.T("skipped: unsubscribed according to another row"), d.Contradicted, "")
	add(p.T("skipped: never signed up or never confirmed in the other system"), d.Pending, "")
	add(p.T("imported as unsubscribed"), d.Unsubscribed, "")
	add(p.T("bounced: added to the suppression list"), d.Bounced, barred(core.StatusBounced))
	add(p.T("marked as spam: added to the suppression list"), d.Complained, barred(core.StatusComplaint))
	add(p.T("blocked: added to the suppression list"), d.Suppressed, barred(core.StatusSuppressed))
	add(p.T("skipped: only administrators can block or unsubscribe people through an import"), d.NotPermitted, "")
	add(p.T("skipped: no email address"), d.NoAddress, "")
	add(p.N("row with an error|rows with errors", d.Failed), d.Failed, "")
	if d.DryRun {
		add(p.T("with tags from this import"), d.Tagged, "")
		add(p.N("new tag|new tags", d.NewTags), d.NewTags, "")
	} else {
		add(p.T("got tags from this import"), d.Tagged, "")
		add(p.N("tag created|tags created", d.NewTags), d.NewTags, "")
	}
	add(p.T("tags skipped: too long, invalid, or more than {{one}} per person or {{all}} in total", "one",
		core.MaxTagsOfOne, "all", core.MaxTags), d.TagsSkipped, "")
	return rows
}

// DropsFields reports whether the import drops fields of people in the file who aren't subscribers.
func (d *importData) DropsFields() bool {
	return d.Unsubscribed+d.Bounced+d.Complained+d.Suppressed > 0 && slices.ContainsFunc(d.Columns,
		func(c importColumn) bool { return c.Use == "preference" || c.Use == "preferences" })
}

// FaultsTitle returns the heading for the line errors on the page.
func (d *importData) FaultsTitle(p *Page) string {
	switch n := d.Failed + d.Contradicted; {
	case n > int64(len(d.Faults)):
		return p.T("First errors")
	case n > 1:
		return p.T("Errors")
	}
	return p.T("Error")
}

// ImportReason describes why an import failed.
func (p *Page) ImportReason(reason string) string {
	switch reason {
	case core.ImportNobody:
		return p.T("Every row has an error, so no one was imported.")
	case core.ImportExpired:
		return p.T("This import wasn't started within a week, so the file was deleted. Upload it again.")
	case core.ImportErased:
		return p.T("The file was deleted because it contained a person whose data has been erased. Upload a file " +
			"without that person.")
	}
	if fault := p.MappingFault(reason); fault != reason {
		return p.T("This file can't be imported. {{reason}}.", "reason", fault)
	}
	return p.T("This file can't be imported: {{reason}}.", "reason", reason)
}

// runImport makes the API start an import or a dry run.
func (p *Page) runImport(d *importData) error {
	agreed := p.Form["agreed"]
	suppress := agreed == agreedSuppress
	switch {
	case suppress:
		agreed = core.SubscriptionActive
	case agreed == agreedLeft && d.AllLeft && d.keepsStatus(p):
		agreed = core.SubscriptionPending // applies to no one
	}
	if agreed != core.SubscriptionActive && agreed != core.SubscriptionPending {
		return core.Invalidf("agreed", "Choose whether these people gave their consent.")
	}
	from, sent := p.Form["source"]
	if sent && strings.TrimSpace(from) == "" && p.Form["agreed"] == core.SubscriptionActive {
		return core.Invalidf("source", "Enter where you got the consent, so that you can prove it later.")
	}
	mapping, open := core.ColumnMapping{}, false
	maps.Copy(mapping, d.Mapping)
	for i := range d.Columns {
		c := &d.Columns[i]
		sent, ok := p.Form["column."+strconv.Itoa(i)]
		switch {
		case !ok || c.Name == "" || sent == c.value() && d.Problem == "" && d.question(c.Name) == nil:
		case sent == openColumn:
			open = true
		case sent == keepColumn:
			delete(mapping, c.Name)
		default:
			mapping[c.Name] = sent
		}
	}
	if open && !suppress {
		return core.Invalidf("mapping", "Choose what this column contains.")
	}
	tags := core.Strings{}
	if p.May(core.ActionPeopleTag) {
		tags = tags.With(strings.FieldsFunc(p.Form["tags"], func(r rune) bool { return r == ',' || r == ';' })...)
		tags = slices.DeleteFunc(tags, func(name string) bool { return strings.TrimSpace(name) == "" })
	}
	return p.Do(http.MethodPost, p.importPath("run"), core.ImportInput{
		DryRun: p.Form["do"] != "run", Mapping: mapping, SubscriberStatus: agreed, Source: p.Form["source"],
		KeepFields: p.Form["keep"] != "", Suppress: &suppress, Tags: tags,
	}, nil)
}

// cancelImport cancels an import. Rows that are already imported stay.
func (o *Console) cancelImport(p *Page) (web.HTML, error) {
	err := p.Do(http.MethodPost, p.importPath("cancel"), nil, nil)
	if err != nil && core.KindOf(err) != core.Conflict { // the import has ended in the meantime
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("imports", p.ID()), "")
}
