package members

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/segments"
	"newsletterd/handlers/web"
	"newsletterd/store/people"
	"newsletterd/store/subscribercsv"
)

// exported is an export's query: its list or tenant, its filters, and its format.
type exported struct {
	ListID      string     `query:"list_id,uuid"`
	TenantID    string     `query:"tenant_id"`
	Status      string     `query:"status" enum:"pending|active|unsubscribed|bounced|complaint|suppressed" about:"Only subscribers with this status"`
	Email       core.Email `query:"email"`
	EmailPrefix string     `query:"email_prefix"`
	Search      string     `query:"search"`
	Field       string     `query:"field" about:"Custom field to filter by"`
	Value       string     `query:"value" about:"Value that the field must have"`
	Columns     string     `query:"columns" enum:"preferences|fields" about:"preferences (default): one column with JSON; fields: one column for each field"`
	Spreadsheet string     `query:"spreadsheet" enum:"comma|semicolon"`
}

// CheckInput returns an error if neither a list nor a tenant is set, or if the filters are invalid.
func (in *exported) CheckInput() error {
	if in.ListID == "" && in.TenantID == "" {
		return core.Invalidf("list_id", "list_id is missing. Set it, or tenant_id for all lists of the tenant.")
	}
	return in.filter().CheckInput()
}

func (in *exported) filter() *subscriberFilter {
	return &subscriberFilter{
		TenantID: in.TenantID, ListID: in.ListID, Status: in.Status, Email: in.Email, EmailPrefix: in.EmailPrefix,
		Search: in.Search, Field: in.Field, Value: in.Value,
	}
}

// exportedLists reads the lists to export.
func (a subscribers) exportedLists(c *web.Call, in *exported) (lists []core.List, err error) {
	if in.ListID != "" {
		l, err := a.Store.List(c, in.ListID)
		return []core.List{l}, err
	}
	page := core.Page{Limit: web.ExportPage}
	for {
		some, err := a.Store.Lists(c, []string{in.TenantID}, false, page)
		if err != nil {
			return nil, err
		}
		if lists = append(lists, some...); len(some) < page.Limit {
			return lists, nil
		}
		page.After = some[len(some)-1].ID
	}
}

// exportWriter returns functions that write the rows of an export and finish it.
func (a subscribers) exportWriter(c *web.Call, in *exported, lists []core.List, out io.Writer) (
	write func(*people.ListedSubscription) error, end func() error, err error,
) {
	if in.Columns != "fields" {
		w := subscribercsv.NewWriter(out, false, subscribercsv.Comma(in.Spreadsheet))
		return func(l *people.ListedSubscription) error { return w.Write(&l.Subscription, l.Tags) }, w.Close, nil
	}
	names, ids, fields := map[string]string{}, []string{}, []string{}
	for i := range lists {
		names[lists[i].ID], ids = lists[i].Name, append(ids, lists[i].ID)
		for j := range lists[i].Fields {
			if name := lists[i].Fields[j].Name; !slices.Contains(fields, name) {
				fields = append(fields, name)
			}
		}
	}
	known, _, _, err := a.Store.FieldCoverage(c, ids) // including fields from imports and API clients
	if err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !slices.Contains(fields, name) && !strings.Contains(name, ".") && !strings.HasPrefix(name, "_") {
			fields = append(fields, name)
		}
	}
	w := subscribercsv.NewFieldWriter(out, fields, subscribercsv.Comma(in.Spreadsheet))
	return func(l *people.ListedSubscription) error {
		return w.WriteOn(names[l.ListID], &l.Subscription, l.Tags, l.SignedUpAt, l.LeftAt)
	}, w.Close, nil
}

// exportName returns an export's file name, which contains whom it is about, or the list or tenant, and the date.
func (a subscribers) exportName(c *web.Call, in *exported, whom string, lists []core.List) (name string, err error) {
	switch {
	case whom != "":
		name = whom
	case in.ListID != "":
		name = lists[0].Name
	default:
		var t core.Tenant
		t, err = a.Store.Tenant(c, in.TenantID)
		name = t.Name
	}
	if err != nil {
		return "", err
	}
	return name + " " + c.Now.Time().Format(time.DateOnly) + ".csv", nil
}

// export writes the subscriptions to one list, or to all of a tenant's lists, as CSV. Their number is not limited.
func (a subscribers) export(c *web.Call, in exported) error {
	f, err := a.filter(c, in.filter(), core.ActionPeopleExport)
	if err != nil {
		return err
	}
	return a.writeMatches(c, &in, "", func(page core.Page) ([]people.ListedSubscription, string, error) {
		return a.Store.MatchingSubscriptions(c, f, page)
	})
}

// writeMatches writes the subscriptions that read returns, page by page. whom is as for exportName.
func (a subscribers) writeMatches(c *web.Call, in *exported, whom string,
	read func(core.Page) ([]people.ListedSubscription, string, error),
) error {
	lists, err := a.exportedLists(c, in)
	if err != nil {
		return err
	}
	name, err := a.exportName(c, in, whom, lists)
	if err != nil {
		return err
	}
	return web.Export[people.ListedSubscription]{
		Name: name,
		Read: func(page core.Page) ([]people.ListedSubscription, string, error) {
			rows, next, err := read(page)
			if err == nil {
				err = a.Store.ReadTags(c, rows)
			}
			if err == nil && in.Columns == "fields" {
				err = a.Store.ReadSignups(c, rows)
			}
			for i := range rows {
				rows[i].Status = rows[i].Shown()
			}
			return rows, next, err
		},
		Note: func() error {
			for i := range lists {
				if err := a.Store.NoteExport(c, lists[i].ID, web.Actor(c), c.Now); err != nil {
					return err
				}
			}
			return nil
		},
		Open: func(out io.Writer) (func(*people.ListedSubscription) error, func() error, error) {
			return a.exportWriter(c, in, lists, out)
		},
	}.Write(c)
}

// subscriberSearchRequest is the body of a search for subscribers on a list who match a rule.
type subscriberSearchRequest struct {
	TenantID    string        `json:"tenant_id" is:"uuid"`
	ListID      string        `json:"list_id" is:"uuid"`
	Rule        core.RuleText `json:"rule"`
	SegmentID   string        `json:"segment_id" is:"uuid"`
	Status      string        `json:"status" enum:"pending|active|unsubscribed|bounced|complaint|suppressed" about:"Only subscribers with this status"`
	EmailPrefix string        `json:"email_prefix" max:"254"`
	Search      string        `json:"search" max:"254"`
	Field       string        `json:"field" about:"Custom field to filter by"`
	Value       string        `json:"value" about:"Value that the field must have"`
}

// JudgeKeys rejects unknown keys. Otherwise, a misspelled key would drop the rule, and the result would contain
// unintended people.
func (in *subscriberSearchRequest) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[subscriberSearchRequest](), unknown)
}

// CheckInput does the checks that don't need the database.
func (in *subscriberSearchRequest) CheckInput() error {
	if err := segments.CheckOne(in.Rule, in.SegmentID); err != nil {
		return err
	}
	return in.filter().CheckInput()
}

func (in *subscriberSearchRequest) filter() *subscriberFilter {
	return &subscriberFilter{
		TenantID: in.TenantID, ListID: in.ListID, Status: in.Status, EmailPrefix: in.EmailPrefix, Search: in.Search,
		Field: in.Field, Value: in.Value,
	}
}

// subscriberExportRequest is the body of a request to export subscribers who match a rule.
type subscriberExportRequest struct {
	subscriberSearchRequest
	Columns     string `json:"columns" enum:"preferences|fields" about:"preferences (default): one column with JSON; fields: one column for each field"`
	Spreadsheet string `json:"spreadsheet" enum:"comma|semicolon"`
}

// JudgeKeys rejects unknown keys.
func (in *subscriberExportRequest) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[subscriberExportRequest](), unknown)
}

// exportRoute adds the route whose filter is in the query.
func (a subscribers) exportRoute(t *web.Table, all string) {
	t.Add("GET", all+"/export", web.Admin(core.ActionPeopleExport), web.Member,
		web.Write(a.export).Answers("text/csv").Fails(core.NotFound),
		"Export the subscriptions of a list, or of all lists of a tenant, as CSV").Named("exportSubscribers").
		Refuses(append(filterRefusals, web.Refused("list_id", "list_id and tenant_id are both missing"))...)
}

// ruledRoutes adds the routes whose filter is in the body, because URLs appear in logs.
func (a subscribers) ruledRoutes(t *web.Table, all string) {
	said := append([]web.Refusal{
		web.TenantNamed, web.Refused("field", "Missing although value is set, or contains quotes or backslashes"),
	}, segments.Refusals...)
	example := web.Object{"list_id": web.ExampleID, "rule": segments.ExampleRule}
	t.Add("POST", all+"/search", web.Admin(core.ActionPeopleRead), web.Member,
		web.SearchJSON(a.search).Fails(core.NotFound, core.Conflict),
		"List the active subscribers who match a segment or an unsaved rule; a page can be short even if another "+
			"follows").
		Named("searchSubscribers").Limits(segments.RuleOrSegment).Example(example).Refuses(said...)
	t.Add("POST", all+"/export", web.Admin(core.ActionPeopleExport), web.Member,
		web.WriteJSON(a.exportRuled).Answers("text/csv").Fails(core.NotFound, core.Conflict),
		"Export the active subscribers who match a segment or an unsaved rule, as CSV").
		Named("exportMatchingSubscribers").Limits(segments.RuleOrSegment).Example(example).Refuses(said...)
}

// ruled returns a request's filter, and a function that reads a page of matching subscribers.
func (a subscribers) ruled(c *web.Call, in *subscriberSearchRequest) (f people.SubscriptionFilter,
	read func(core.Page) ([]people.ListedSubscription, string, error), err error,
) {
	if f, err = a.filter(c, in.filter(), c.Action()); err != nil {
		return f, nil, err
	}
	tenant := in.TenantID
	if in.ListID != "" {
		tenant = f.Tenants[0]
	}
	if tenant, f.Rule, err = a.Rules.RuleFor(c, tenant, in.Rule, in.SegmentID); err != nil {
		return f, nil, err
	}
	f.Tenants, f.All, f.Now = []string{tenant}, false, c.Now
	return f, func(page core.Page) (rows []people.ListedSubscription, next string, err error) {
		err = a.Rules.Evaluate(c, page.After != "", func() error {
			rows, next, err = a.Store.MatchingSubscriptions(c, f, page)
			return segments.Unsaved(in.Rule, err)
		})
		return rows, next, err
	}, nil
}

// search serves POST /api/admin/subscribers/search.
func (a subscribers) search(c *web.Call, in subscriberSearchRequest, page core.Page) ([]subscriber, string, error) {
	_, read, err := a.ruled(c, &in)
	if err != nil {
		return nil, "", err
	}
	found, next, err := read(page)
	if err != nil {
		return nil, "", err
	}
	rows, err := a.allShown(c, found)
	return rows, next, err
}

// exportRuled serves POST /api/admin/subscribers/export.
func (a subscribers) exportRuled(c *web.Call, in subscriberExportRequest) error {
	f, read, err := a.ruled(c, &in.subscriberSearchRequest)
	if err != nil {
		return err
	}
	whom, err := a.whom(c, &in.subscriberSearchRequest, f.Tenants[0])
	if err != nil {
		return err
	}
	return a.writeMatches(c, &exported{
		TenantID: f.Tenants[0], ListID: in.ListID, Columns: in.Columns, Spreadsheet: in.Spreadsheet,
	}, whom, read)
}

// whom returns the names of the segments and tags that all subscribers in a search have.
func (a subscribers) whom(c *web.Call, in *subscriberSearchRequest, tenantID string) (string, error) {
	rule, names := &core.Rule{Segment: in.SegmentID}, []string{}
	if in.Rule != "" {
		var err error
		if rule, err = core.ParseRule("rule", []byte(in.Rule)); err != nil {
			return "", err
		}
	}
	for _, r := range append([]core.Rule{*rule}, rule.All...) {
		if r.Segment != "" {
			s, err := a.Store.Segment(c, r.Segment)
			if err != nil {
				return "", err
			}
			names = append(names, s.Name)
		}
		if r.Tag != "" { // a name or an id
			t, err := a.Store.Tag(c, r.Tag)
			if err != nil && !errors.Is(err, core.ErrTagNotFound) {
				return "", err
			}
			if err == nil && t.TenantID == tenantID {
				r.Tag = t.Name
			}
			names = append(names, r.Tag)
		}
	}
	return strings.Join(names, ", "), nil
}
