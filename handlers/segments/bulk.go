package segments

import (
	"slices"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/audience"
	"newsletterd/store/bulk"
)

const (
	allBulk = "/api/bulk-actions"
	oneBulk = allBulk + "/:id"
)

// bulkInput is the body of POST /api/bulk-actions.
type bulkInput struct {
	ListID    string        `json:"list_id" is:"required,uuid"`
	Action    string        `json:"action" is:"required" enum:"unsubscribe|remove|tag|untag" about:"What to do with each subscriber"`
	Tag       string        `json:"tag" about:"Name or ID of the tag, for the actions tag and untag"`
	Rule      core.RuleText `json:"rule"`
	SegmentID string        `json:"segment_id" is:"uuid"`
	IDs       []string      `json:"ids" like:"set" max:"1000" each:"uuid" about:"IDs of subscribers"`
}

// JudgeKeys rejects unknown keys. Otherwise, a misspelled key would drop the rule, and the action would change
// unintended people.
func (in *bulkInput) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[bulkInput](), unknown)
}

// CheckInput performs the checks that don't need the database.
func (in *bulkInput) CheckInput() error {
	if err := core.CheckBulkTag(in.Action, in.Tag); err != nil {
		return err
	}
	given := 0
	for _, set := range []bool{in.Rule != "", in.SegmentID != "", len(in.IDs) > 0} {
		if set {
			given++
		}
	}
	if given != 1 {
		return core.Invalidf("rule", "Send exactly one of rule, segment_id and ids.")
	}
	if len(in.IDs) > core.MaxBulkIDs {
		return core.Invalidf("ids", "ids must have at most %d entries.", core.MaxBulkIDs)
	}
	for i, id := range in.IDs {
		parsed, ok := core.ParseID(id)
		switch {
		case !ok:
			return core.Invalidf("ids", "%s must contain only UUIDs.", "ids")
		case slices.Contains(in.IDs[:i], parsed):
			return core.Invalidf("ids", "ids contains duplicates. Remove them.")
		}
		in.IDs[i] = parsed
	}
	return nil
}

func (r *Room) bulkRoutes(t *web.Table) {
	may := web.Admin(core.ActionPeopleTag) // and people.change; see mayBulk
	one := func(e web.Endpoint) web.Endpoint { return e.Find(r.findBulk).Missing(web.ErrNotFound) }
	t.Add("GET", allBulk, may, web.Member,
		web.List(r.listBulk, func(a core.BulkAction) string { return a.ID }).Fails(core.NotFound),
		"List the bulk actions on a list, newest first").Named("listBulkActions")
	t.Add("POST", allBulk, may, web.Member,
		web.JSON(r.startBulk).Accepted().Fails(core.NotFound, core.Conflict, core.Unavailable),
		"Unsubscribe, remove, tag or untag many subscribers of a list; unsubscribing and removing need people.change").
		Named("startBulkAction").
		Limits(web.OnlyKnown).
		Example(web.Object{"list_id": web.ExampleID, "action": "unsubscribe", "rule": ExampleRule}).
		Refuses(saidByRule...).
		Refuses(
			web.Refused("rule", "None or several of rule, segment_id and ids are set"),
			web.Refused("ids", "An ID appears twice"),
			web.Refused("tag", "Unknown, missing, or not for this action"),
			undecided,
			web.Clash("The tenant has reached its limit for bulk actions, or another service manages the list"),
		)
	t.Add("GET", oneBulk, may, web.Member, one(web.Path(r.showBulk)), "Show a bulk action with its progress").
		Named("getBulkAction")
	t.Add("POST", oneBulk+"/cancel", may, web.Member, one(web.Path(r.cancelBulk)).Fails(core.Conflict),
		"Cancel a bulk action; people already changed stay changed").Named("cancelBulkAction").
		Refuses(web.Clash("The bulk action has ended"))
	t.Add("POST", oneBulk+"/undo", may, web.Member,
		one(web.Path(r.undoBulk)).Accepted().Fails(core.Conflict),
		"Undo a bulk action within a week; people who have done something since stay as they are").
		Named("undoBulkAction").
		Refuses(web.Clash("The bulk action changed nothing, was already undone, or ended over a week ago; or its list is " +
			"deleted or inactive"))
}

type foundBulk struct{}

// findBulk returns a 404 error if the caller may not see the action.
func (r *Room) findBulk(c *web.Call) error {
	a, err := r.Store.BulkAction(c, c.ID())
	c.Keep(foundBulk{}, &a)
	return web.OwnRecord(c, a.TenantID, core.ActionPeopleMasked, err, web.ErrNotFound)
}

// mayBulk returns an error if the caller may not perform this kind of bulk action on a tenant's people.
func mayBulk(c *web.Call, kind, tenant string) error {
	if right := core.BulkRight(kind); !c.Caller.May(right, tenant) {
		return core.Lacking(right)
	}
	return nil
}

// theBulk returns the action in the path. If the caller may not perform it, it returns an error.
func theBulk(c *web.Call) (*core.BulkAction, error) {
	a := c.Value(foundBulk{}).(*core.BulkAction)
	return a, mayBulk(c, a.Kind, a.TenantID)
}

// ownList returns the list with this id. If the caller may not change people on it, it returns core.ErrListNotFound.
func (r *Room) ownList(c *web.Call, id string) (core.List, error) {
	l, err := r.Store.List(c, id)
	return l, web.OwnRecord(c, l.TenantID, core.ActionPeopleMasked, err, core.ErrListNotFound)
}

// bulkFilter filters bulk actions by list.
type bulkFilter struct {
	ListID string `query:"list_id,required,uuid"`
}

func (r *Room) listBulk(c *web.Call, in bulkFilter, page core.Page) ([]core.BulkAction, error) {
	if _, err := r.ownList(c, in.ListID); err != nil {
		return nil, err
	}
	return r.Store.BulkActions(c, in.ListID, page)
}

// startBulk starts a bulk action. It first counts the matching people. If there are more than core.BulkUnproved, it
// requires a fresh sign-in (see proven).
func (r *Room) startBulk(c *web.Call, in bulkInput) (a core.BulkAction, err error) {
	l, err := r.ownList(c, in.ListID)
	if err == nil {
		err = mayBulk(c, in.Action, l.TenantID)
	}
	if err != nil {
		return a, err
	}
	req := bulk.Request{
		ListID: l.ID, Kind: in.Action, Tag: in.Tag, IDs: in.IDs, Of: int64(len(in.IDs)), Actor: web.Actor(c),
	}
	most := req.Of
	if len(in.IDs) == 0 {
		q := audience.Question{ListIDs: []string{l.ID}, Now: c.Now}
		err := r.askFor(c, &q, &segmentCountRequest{TenantID: l.TenantID, Rule: in.Rule, SegmentID: in.SegmentID})
		if err != nil {
			return a, err
		}
		var n core.SegmentCount
		if err := r.Evaluate(c, false, func() (err error) {
			n, err = r.Store.CountSegment(c, q)
			return Unsaved(in.Rule, err)
		}); err != nil {
			return a, err
		}
		req.Rule = q.Rule
		if n.Exact != nil {
			req.Of, most = *n.Exact, *n.Exact
		} else {
			req.Of, most = *n.About, *n.High
		}
	}
	if err := r.proven(c, l.ID, most); err != nil {
		return a, err
	}
	return r.Store.StartBulk(c, req, c.Now)
}

// bulkPage is the number of bulk actions in one read.
const bulkPage = 100

// proven returns core.ErrProofOld if the caller needs a fresh sign-in to change n people. The people on the list whom
// the caller has changed since the last sign-in became too old count toward n.
func (r *Room) proven(c *web.Call, listID string, n int64) error {
	old := c.FreshProof()
	if old == nil {
		return nil
	}
	since := c.Caller.ProvedAt.Add(core.ProofAge)
	for page := (core.Page{Limit: bulkPage}); n <= core.BulkUnproved; {
		actions, err := r.Store.BulkActions(c, listID, page)
		if err != nil {
			return err
		}
		for i := range actions {
			if actions[i].CreatedAt < since {
				return nil
			}
			if actions[i].CreatedBy != web.Actor(c) {
				continue
			}
			if n += actions[i].Of; n > core.BulkUnproved {
				return old
			}
		}
		if len(actions) < bulkPage {
			return nil
		}
		page.After = actions[len(actions)-1].ID
	}
	return old
}

func (r *Room) showBulk(c *web.Call, _ string) (core.BulkAction, error) {
	return *c.Value(foundBulk{}).(*core.BulkAction), nil
}

func (r *Room) cancelBulk(c *web.Call, id string) (core.BulkAction, error) {
	if _, err := theBulk(c); err != nil {
		return core.BulkAction{}, err
	}
	return r.Store.CancelBulk(c, id, web.Actor(c), c.Now)
}

func (r *Room) undoBulk(c *web.Call, id string) (core.BulkAction, error) {
	a, err := theBulk(c)
	if err != nil {
		return core.BulkAction{}, err
	}
	if a.Changed > core.BulkUnproved {
		if err := c.FreshProof(); err != nil {
			return core.BulkAction{}, err
		}
	}
	return r.Store.UndoBulk(c, id, web.Actor(c), c.Now)
}
