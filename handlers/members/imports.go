package members

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/imports"
	"newsletterd/store/subscribercsv"
)

// importsAPI serves /api/admin/imports.
type importsAPI struct {
	store   *store.Store
	uploads *web.Uploads
	limit   int64 // maximum size of a file in bytes
}

// importRoutes adds the routes for imports of subscribers.
func (r *Room) importRoutes(t *web.Table) {
	a := importsAPI{r.Store, r.Uploads, cmp.Or(r.ImportBytes, core.DefaultImportBytes)}
	const all, item = "/api/admin/imports", "/api/admin/imports/:id"
	may := web.Admin(core.ActionPeopleImport)
	one := func(e web.Endpoint) web.Endpoint { return e.Find(a.find).Missing(web.ErrNotFound) }
	t.Add("GET", all, may, web.Member, web.List(a.list, func(j core.ImportJob) string { return j.ID }),
		"List imports, newest first").Named("listImports")
	t.Add("POST", all, may, web.Member,
		web.Stream(a.create).DescribesMedia("text/csv", "application/zip", "application/octet-stream").
			NeedsRoom(web.MaxWrite).Created().
			Fails(core.NotFound, core.Conflict, core.TooLarge, core.TooMany, core.MediaType),
		"Upload a CSV file or the export of another tool as the body; nothing is imported until you run the import").
		Named("uploadImport").
		Refuses(
			web.Refused("", "The file is missing or unreadable"),
			web.Clash("The tenant has reached its limit for open imports, or another service manages the list"),
		)
	t.Add("GET", item, may, web.Member, one(web.Path(a.show)),
		"Show an import with its progress and column mapping").Named("getImport")
	t.Add("POST", item+"/run", may, web.Member, one(web.JSON(a.run).BodyOptional()).Accepted().Fails(core.Conflict),
		"Run an import, or do a dry run; fields you leave out stay unchanged").Named("runImport").
		Example(web.Object{
			"dry_run": true, "mapping": web.Object{"E-Mail": "email", "First name": "first_name"},
			"subscriber_status": "active",
			"source":            "members of the club",
		}).
		Refuses(
			web.Refused("mapping", "The file has no such columns, or two columns map to one field"),
			web.Refused("status", "The status doesn't fit the list"),
			web.Refused("tags", "A name isn't allowed, or there are too many tags"),
			web.Clash("The import has already started or ended"),
		)
	t.Add("POST", item+"/cancel", may, web.Member, one(web.Path(a.cancel)).Fails(core.Conflict),
		"Cancel an import or its upload; rows already imported stay").Named("cancelImport").
		Refuses(web.Clash("The import has ended"))
	t.Add("GET", item+"/undo", may, web.Member, one(web.Path(a.undoPlan)).Fails(core.Conflict),
		"Preview what undoing an import would change").
		Named("planImportUndo").
		Refuses(web.Clash("The import hasn't ended, changed no subscribers, was already undone, or ended over a week ago"))
	t.Add("POST", item+"/undo", may, web.Member, one(web.Path(a.undo)).Accepted().Fails(core.Conflict),
		"Undo an import within a week: remove the subscribers it added and restore the others' fields").
		Named("undoImport").
		Refuses(web.Clash("The import hasn't ended, changed no subscribers, was already undone, or ended over a week ago"))
	t.Add("GET", item+"/faults", may, web.Member, one(web.Write(a.faults).Answers("text/csv")),
		"Download the rows with errors as CSV, or in a format for spreadsheets").
		Named("exportImportFaults")
	t.Add("DELETE", item, may, web.Member, one(web.Path(a.remove)).Fails(core.Conflict),
		"Delete an import and its file").Named("deleteImport").
		Refuses(web.Clash("The import is running or being undone, or its posts are in the archive"))
	a.postRoutes(t, item, one)
}

func (a importsAPI) find(c *web.Call) error {
	j, err := a.store.ImportJob(c, c.ID())
	return web.OwnRecord(c, j.TenantID, core.ActionPeopleMasked, err, web.ErrNotFound)
}

// importFilter filters the list of imports.
type importFilter struct {
	web.TenantFilter
	ListID string `query:"list_id"`
}

func (a importsAPI) list(c *web.Call, in importFilter, page core.Page) ([]core.ImportJob, error) {
	tenants, all, err := web.TenantsFor(c, in.TenantFilter)
	if err != nil {
		return nil, err
	}
	return a.store.ImportJobs(c, tenants, all, in.ListID, page)
}

// importedFile holds the query of an upload: the list, and the file's name.
type importedFile struct {
	ListID string `query:"list_id,required,uuid"`
	Name   string `query:"name" like:"line" max:"255"`
}

// CheckInput returns an error if the consent history would truncate the name.
func (in *importedFile) CheckInput() error { return web.CheckText("name", in.Name) }

// importRecord is an import, with the meaning of its columns as long as its file exists.
type importRecord struct {
	core.ImportJob
	Rows            int64                    `json:"rows" about:"Number of rows processed so far"`
	Columns         []subscribercsv.Column   `json:"columns" about:"Columns of the file, while it is stored"`
	Samples         [][]string               `json:"samples" about:"First lines of the file; cells are cut to 200 characters"`
	Problem         string                   `json:"problem,omitempty" about:"Why the columns can't be recognized, so the import needs mapping; absent: they can"`
	Questions       []subscribercsv.Question `json:"questions,omitempty" about:"Columns that may show who unsubscribed; mapping must contain each of them"`
	AllLeft         bool                     `json:"all_left,omitempty" about:"Every row is unsubscribed, bounced or blocked, so the import subscribes no one"`
	Faults          []importFault            `json:"faults" about:"The first lines with errors, while they are stored"`
	StillSubscribed []stillSubscribed        `json:"still_subscribed,omitempty" about:"Up to 20 people who unsubscribed according to the file but are still subscribed; kept for a week"`
	StillMore       bool                     `json:"still_more,omitempty" about:"Whether there are more of them"`
	Copies          core.PictureCounts       `json:"image_copies" about:"Images of published posts, by progress"`
}

// stillSubscribed is a person who is still subscribed to the list.
type stillSubscribed struct {
	ID    string     `json:"id"`
	Email core.Email `json:"email"`
}

// stillShown is the maximum number of still subscribed people in a response.
const stillShown = 20

// readStill adds people to r who unsubscribed according to the file but are still subscribed.
func (a importsAPI) readStill(c *web.Call, r *importRecord) error {
	if r.Status != core.ImportCompleted || r.Kept+r.NotPermitted == 0 {
		return nil
	}
	found, more, err := a.store.StillSubscribed(c, &r.ImportJob, stillShown)
	for i := range found {
		r.StillSubscribed = append(r.StillSubscribed, stillSubscribed{found[i].ID, found[i].Email})
	}
	r.StillMore = more
	return err
}

// sampleLines is the maximum number of lines in a file's preview.
const sampleLines = 30

// record returns an import's record, which requires reading the start of the file.
func (a importsAPI) record(c *web.Call, j *core.ImportJob) (importRecord, error) {
	r := importRecord{
		ImportJob: *j, Rows: j.ImportCounts.Rows(), Columns: []subscribercsv.Column{},
		Samples: [][]string{},
	}
	var err error
	if r.Faults, err = a.firstFaults(c, j); err != nil {
		return r, err
	}
	if j.Pictures > 0 {
		if r.Copies, err = a.store.PictureCounts(c, j.ID); err != nil {
			return r, err
		}
	}
	if j.Ended() || j.Status == core.ImportUploading {
		return r, a.readStill(c, &r)
	}
	p, ended, err := a.previewUnlessEnded(c, j, j.Mapping, j.KnownOnly)
	switch {
	case err != nil:
		return r, err
	case ended != nil:
		return a.record(c, ended)
	}
	r.Columns, r.Samples, r.Problem, r.Questions, r.AllLeft = p.Columns, p.Samples, p.Problem, p.Questions, p.AllLeft
	return r, nil
}

// previewUnlessEnded is like preview. If the import has ended and the worker has removed the file, it returns the ended
// import instead.
func (a importsAPI) previewUnlessEnded(c *web.Call, j *core.ImportJob, m core.ColumnMapping, knownOnly bool) (
	p subscribercsv.Preview, ended *core.ImportJob, err error,
) {
	p, err = a.preview(c, j, m, knownOnly)
	if err == nil {
		return p, nil, nil
	}
	now, failure := a.store.ImportJob(c, j.ID)
	switch {
	case failure != nil:
		return p, nil, failure
	case now.Ended():
		return p, &now, nil
	}
	return p, nil, err
}

// preview returns a preview of the start of a file. An error in the header is the caller's fault.
func (a importsAPI) preview(c *web.Call, j *core.ImportJob, m core.ColumnMapping, knownOnly bool) (
	p subscribercsv.Preview, err error,
) {
	o := subscribercsv.Options{Map: m, KnownOnly: knownOnly}
	if o.Survey, err = a.survey(c, j.ID); err != nil {
		return p, err
	}
	list, err := a.store.List(c, j.ListID)
	if err != nil {
		return p, err
	}
	o.Fields = list.Fields
	p, err = subscribercsv.NewPreview(a.store.ImportFile(c, j.ID), o, sampleLines)
	return p, unreadable(err)
}

// unreadable converts an error in an uploaded file to an Invalid error.
func unreadable(err error) error {
	if err == nil || core.KindOf(err) == core.Unavailable || core.KindOf(err) == core.MediaType {
		return err
	}
	return core.Invalidf("", "The file can't be read: %s.", err.Error())
}

// checkFileMedia returns an error if the body's media type is that of a different kind of file. It ignores types that
// clients set by default, such as application/octet-stream.
func checkFileMedia(c *web.Call) error {
	if media := mediaOf(c); strings.HasPrefix(media, "multipart/") {
		return wrongMedia(media)
	}
	return nil
}

// refuseJSON returns an error if the body is JSON but not an export from another tool.
func refuseJSON(c *web.Call) error {
	if media := mediaOf(c); media == "application/json" {
		return wrongMedia(media)
	}
	return nil
}

func mediaOf(c *web.Call) string {
	media, _, _ := strings.Cut(c.Request.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}

func wrongMedia(media string) error {
	return (&core.Error{Kind: core.MediaType, Code: "unsupported_media_type"}).
		Sayf("The body was sent as %s. Send the file itself, as text/csv.", media)
}

func (a importsAPI) create(c *web.Call, in importedFile) (r importRecord, err error) {
	if err = checkFileMedia(c); err != nil {
		return r, err
	}
	list, err := a.store.List(c, in.ListID)
	if err = web.OwnRecord(c, list.TenantID, core.ActionPeopleMasked, err, core.ErrListNotFound); err != nil {
		return r, err
	}
	done, err := a.uploads.Begin(web.Actor(c), c.Remote)
	if err != nil {
		return r, err
	}
	defer done()
	switch size := c.Request.ContentLength; {
	case size == 0:
		return r, core.Invalidf("", "The body is empty. Send the file as the body.")
	case size > a.limit:
		return r, core.ImportTooLarge(a.limit)
	}
	name := cmp.Or(in.Name, "subscribers.csv")
	up, err := a.store.NewImportUpload(c, core.ImportJob{
		ID: core.NewID(), ListID: in.ListID, Name: name, CreatedBy: web.Actor(c), CreatedAt: c.Now,
	}, a.limit)
	if err != nil {
		return r, err
	}
	// Remove an incomplete upload even if the caller has disconnected.
	defer up.Close(context.WithoutCancel(c))
	body := web.NewArriving(c)
	now := func() core.Instant { return core.At(time.Now()) }
	people, err := a.people(c, up, body, now)
	if err != nil {
		return r, body.Explain(err)
	}
	defer people.Close()
	if up.PostsOnly {
		return a.commit(c, up, now())
	}
	if people.made == nil {
		if err := refuseJSON(c); err != nil {
			return r, err
		}
	}
	text, looked := subscribercsv.LookWhile(c, people)
	err = up.ReadFrom(c, text, a.uploads.Grow(c), now)
	survey, fault := looked()
	switch {
	case err != nil && (fault == nil || body.Broke() || !errors.Is(err, fault)):
		return r, body.Explain(err)
	case fault != nil:
		return r, unreadable(fault)
	}
	if people.sources != nil {
		survey.Sources = people.sources()
	}
	if err := a.keep(c, up, survey); err != nil {
		return r, err
	}
	return a.commit(c, up, now())
}

func (a importsAPI) commit(c *web.Call, up *imports.ImportUpload, now core.Instant) (importRecord, error) {
	j, err := up.Commit(c, now)
	if err != nil {
		return importRecord{}, err
	}
	return a.record(c, &j)
}

func (a importsAPI) show(c *web.Call, id string) (importRecord, error) {
	j, err := a.store.ImportJob(c, id)
	if err != nil {
		return importRecord{}, err
	}
	return a.record(c, &j)
}

func (a importsAPI) run(c *web.Call, in core.ImportInput) (r importRecord, err error) {
	j, err := a.store.ImportJob(c, c.ID())
	if err != nil {
		return r, err
	}
	if in.Mapping == nil {
		in.Mapping = j.Mapping
	}
	if in.Tags == nil {
		in.Tags = j.Tags
	}
	if in.Tags, err = core.TagNames(in.Tags); err != nil {
		return r, err
	}
	if len(in.Tags) > 0 && !c.Caller.May(core.ActionPeopleTag, j.TenantID) {
		return r, core.Lacking(core.ActionPeopleTag)
	}
	in.SubscriberStatus = cmp.Or(in.SubscriberStatus, j.SubscriberStatus)
	in.Source = cmp.Or(in.Source, j.Source)
	if err := web.CheckText("source", in.Source); err != nil {
		return r, err
	}
	if in.Suppress == nil {
		in.Suppress = &j.Suppress
	}
	in.MayEnd = c.Caller.May(core.ActionPeopleChange, j.TenantID)
	in.MaySuppress = c.Caller.May(core.ActionSuppressionManage, j.TenantID)
	if *in.Suppress && !in.MaySuppress {
		return r, core.Lacking(core.ActionSuppressionManage)
	}
	in.KeepFields = in.KeepFields || !in.MayEnd
	if !j.Ended() && j.Status != core.ImportUploading {
		p, _, err := a.previewUnlessEnded(c, &j, in.Mapping, in.KnownOnly) // RunImport refuses an import that has ended
		if err != nil {
			return r, err
		}
		if p.Problem != "" {
			return r, core.Invalidf("mapping", "The columns don't match the file: %s. Choose what each column "+
				"contains.", p.Problem)
		}
		if !*in.Suppress {
			if err := cmp.Or(unasked(p.Questions), mayTag(c, &j, p.Columns)); err != nil {
				return r, err
			}
		}
	}
	if j, err = a.store.RunImport(c, j.ID, in, web.Actor(c), c.Now); err != nil {
		return r, err
	}
	return a.record(c, &j)
}

func (a importsAPI) cancel(c *web.Call, id string) (importRecord, error) {
	j, err := a.store.CancelImport(c, id, web.Actor(c), c.Now)
	if err != nil {
		return importRecord{}, err
	}
	return a.record(c, &j)
}

// mayUndo returns an error if the caller may undo only their own imports and this one belongs to another person.
// Undoing an import removes subscribers.
func (a importsAPI) mayUndo(c *web.Call, id string) error {
	j, err := a.store.ImportJob(c, id)
	if err != nil || j.CreatedBy == web.Actor(c) || c.Caller.May(core.ActionPeopleChange, j.TenantID) {
		return err
	}
	return core.Lacking(core.ActionPeopleChange)
}

func (a importsAPI) undoPlan(c *web.Call, id string) (core.ImportUndoPlan, error) {
	if err := a.mayUndo(c, id); err != nil {
		return core.ImportUndoPlan{}, err
	}
	return a.store.ImportUndoPlan(c, id, c.Now)
}

func (a importsAPI) undo(c *web.Call, id string) (importRecord, error) {
	if err := a.mayUndo(c, id); err != nil {
		return importRecord{}, err
	}
	j, err := a.store.UndoImport(c, id, web.Actor(c), c.Now)
	if err != nil {
		return importRecord{}, err
	}
	return a.record(c, &j)
}

func (a importsAPI) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.DeleteImport(c, id, web.Actor(c), c.Now)
}
