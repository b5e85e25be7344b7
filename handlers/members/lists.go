package members

import (
	"cmp"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/tenants"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// listExtras serves a list's counts, forms, hygiene and comparisons, for server and tenant administrators.
type listExtras struct {
	store  *store.Store
	origin string   // URL for forms of tenants without their own
	turn   web.Turn // held while a request reads a whole ledger or list
	away   bool     // another service sends the emails
}

// leaveReason counts the people who gave a reason for unsubscribing.
type leaveReason struct {
	Reason    string       `json:"reason" about:"Reason for unsubscribing; empty: none was given"`
	Leavers   int64        `json:"leavers" about:"Number of people who gave it"`
	LastAt    core.Instant `json:"last_at" about:"When someone last gave it"`
	LastWords string       `json:"last_words,omitempty" about:"Newest comment with this reason; absent: none, or you may not see people"`
}

// listRoutes adds the routes for further information about a list.
func (r *Room) listRoutes(t *web.Table) {
	l := listExtras{r.Store, cmp.Or(r.Options.MemberURL, r.Origin), web.NewTurn(), r.Options.SendElsewhere}
	const item = "/api/admin/newsletter-lists/:id"
	read := web.Admin(core.ActionListRead)
	one := func(e web.Endpoint) web.Endpoint { return e.Find(tenants.FindList).Missing(core.ErrListNotFound) }
	t.Add("GET", item+"/reasons", read, web.Member, one(web.Path(l.reasons)), "Count the reasons people gave for "+
		"unsubscribing").
		Named("getLeaveReasons")
	t.Add("GET", item+"/growth", read, web.Member, one(web.Query(l.growth)),
		"Show a list's daily subscriber counts, oldest first").Named("getListGrowth")
	change := web.Admin(core.ActionPeopleChange)
	t.Add("GET", item+"/hygiene", read, web.Member, one(web.Query(l.hygiene)),
		"Count a list's bounced, unconfirmed and inactive subscribers").Named("getListHygiene")
	t.Add("POST", item+"/ask-again", change, web.Member, one(web.JSON(l.askAgain)).Fails(core.Conflict),
		"Email unconfirmed or inactive subscribers of a list to ask if they want to stay").
		Named("askAgain").
		Example(web.Object{"who": "unconfirmed"}).
		Refuses(
			web.Coded("list_inactive", "", "The list isn't accepting signups"),
			web.Clash("Opens and clicks weren't tracked in these months"),
		)
	t.Add("POST", item+"/unsubscribe-silent", change, web.Member, one(web.Path(l.unsubscribeSilent)),
		"Unsubscribe people who didn't answer the reminder within 14 days").
		Named("unsubscribeSilent")
	t.Add("POST", item+"/remove-unconfirmed", change, web.Member, one(web.Path(l.removeUnconfirmed)),
		"Remove people who didn't confirm within 7 days").Named("removeUnconfirmed")
	t.Add("GET", item+"/form", read, web.Member, one(web.Path(l.form)), "Show the signup form of a list for "+
		"embedding in a website").
		Named("getSubscribeForm")
	t.Add("GET", item+"/drift", web.Admin(core.ActionListSettings), web.Member,
		one(web.Query(l.drift)).Fails(core.Conflict),
		"Compare a list's subscribers in the member and send services without changing them").Named("compareNewsletterList").
		Refuses(web.Clash("Another service does the sending"))
}

// syncRoutes adds the routes for full syncs of lists.
func (r *Room) syncRoutes(t *web.Table) {
	read := web.Admin(core.ActionListRead)
	y := syncs{r.Store}
	t.Add("GET", "/api/admin/syncs", read, web.Member, web.List(y.list, syncState.key),
		"List full syncs, newest first").Named("listSyncs")
	t.Add("GET", "/api/admin/syncs/:id", read, web.Member, web.Path(y.show).Find(y.find).Missing(web.ErrNotFound),
		"Show the progress of a full sync").Named("getSync")
}

// reasons counts how many people gave each reason for unsubscribing. It reads the list's whole ledger, so requests
// take turns.
func (a listExtras) reasons(c *web.Call, id string) ([]leaveReason, error) {
	if err := a.turn.Take(c); err != nil {
		return nil, err
	}
	defer a.turn.End()
	l, err := a.store.List(c, id)
	if err != nil {
		return nil, err
	}
	found, err := a.store.LeaveReasons(c, id)
	rows := make([]leaveReason, len(found))
	for i, r := range found {
		rows[i] = leaveReason{r.Reason, r.Leavers, r.LastAt, r.LastWords}
		if !c.Caller.May(core.ActionPeopleRead, l.TenantID) {
			rows[i].LastWords = ""
		}
	}
	return rows, err
}

// growthQuery holds the number of days for which counts are returned.
type growthQuery struct {
	Days *int `query:"days" min:"1" max:"366" about:"Number of days, up to today; default 30"`
}

const defaultGrowth, maxGrowth = 30, 366

// CheckInput returns an error if the number of days is too small or too large.
func (in *growthQuery) CheckInput() error {
	if in.Days != nil && (*in.Days < 1 || *in.Days > maxGrowth) {
		return core.Invalidf("days", "days must be from 1 to %d.", maxGrowth)
	}
	return nil
}

// growth returns a list's counts at the end of each day.
func (a listExtras) growth(c *web.Call, in growthQuery) ([]core.DayCounts, error) {
	days := defaultGrowth
	if in.Days != nil {
		days = *in.Days
	}
	return a.store.ListGrowth(c, c.ID(), c.Now, days)
}

// driftQuery holds the maximum number of differing subscriptions in the response.
type driftQuery struct {
	Sample *int `query:"sample" min:"0" max:"100" about:"Maximum number of differing subscriptions to return; default 10"`
}

const defaultSample, maxSample = 10, 100

// CheckInput returns an error if the sample size is negative or too large.
func (in *driftQuery) CheckInput() error {
	if in.Sample != nil && (*in.Sample < 0 || *in.Sample > maxSample) {
		return core.Invalidf("sample", "sample must be from 0 to %d.", maxSample)
	}
	return nil
}

// drift compares the member side and the send side of a list. Requests take turns, because it reads both sides
// completely.
func (a listExtras) drift(c *web.Call, in driftQuery) (d core.Drift, err error) {
	if a.away {
		return d, core.Conflictf("conflict",
			"Another service sends for this list, so its subscriptions can't be compared here. Compare them in that "+
				"service.")
	}
	if err := a.turn.Take(c); err != nil {
		return d, err
	}
	defer a.turn.End()
	sample := defaultSample
	if in.Sample != nil {
		sample = *in.Sample
	}
	return a.store.Drift(c, c.ID(), sample)
}

// listForm is a list's signup form for the tenant's own site.
type listForm struct {
	HTML       string `json:"html" about:"HTML of a signup form for your site"`
	ArchiveURL string `json:"archive_url,omitempty" about:"Public URL of the list's archive; absent: it has none"`
}

func (a listExtras) form(c *web.Call, id string) (listForm, error) {
	l, err := a.store.ListWithTenant(c, id)
	if err != nil {
		return listForm{}, err
	}
	var b strings.Builder
	err = page.WriteForm(&b, l, a.origin)
	form := listForm{HTML: b.String()}
	if l.Archive {
		form.ArchiveURL = page.ArchiveURL(l, a.origin)
	}
	return form, err
}

// syncs serves /api/admin/syncs: requested full syncs.
type syncs struct{ store *store.Store }

// syncState is a full sync with its progress.
type syncState struct {
	ID         string       `json:"sync_id"`
	TenantID   string       `json:"tenant_id"`
	ListID     string       `json:"list_id"`
	State      string       `json:"state" enum:"waiting|running|finished|failed" about:"State of the sync"`
	BatchTotal int          `json:"batch_total" about:"Number of batches in the sync; 0: not planned yet"`
	Done       int          `json:"done" about:"Number of delivered batches"`
	StartedAt  core.Instant `json:"started_at" about:"Time up to which the sync contains all changes"`
	FinishedAt core.Instant `json:"finished_at,omitzero"`
	FailedAt   core.Instant `json:"failed_at,omitzero" about:"Time of the failure; absent: it didn't fail"`
	Reason     string       `json:"reason,omitempty" about:"Why the sync failed; absent: it didn't"`
}

func (s syncState) key() string { return s.ID }

func syncStateOf(y *core.Sync) syncState {
	return syncState{
		y.ID, y.TenantID, y.ListID, y.State(), y.BatchTotal, y.Done, y.StartedAt, y.FinishedAt, y.FailedAt, y.Reason,
	}
}

// syncFilter filters the list of syncs.
type syncFilter struct {
	web.TenantFilter
	ListID string `query:"list_id"`
}

func (a syncs) list(c *web.Call, in syncFilter, page core.Page) ([]syncState, error) {
	tenants, all, err := web.TenantsFor(c, in.TenantFilter)
	if err != nil {
		return nil, err
	}
	found, err := a.store.SyncsAmong(c, tenants, all, in.ListID, page)
	return web.RowsOf(found, syncStateOf), err
}

func (a syncs) find(c *web.Call) error {
	y, err := a.store.Sync(c, c.ID())
	return web.OwnRecord(c, y.TenantID, core.ActionListRead, err, web.ErrNotFound)
}

func (a syncs) show(c *web.Call, id string) (syncState, error) {
	y, err := a.store.Sync(c, id)
	return syncStateOf(&y), err
}
