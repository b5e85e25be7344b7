package handlers

import (
	"newsletterd/core"
	"newsletterd/handlers/segments"
	"newsletterd/handlers/web"
	"newsletterd/store/people"
)

// ruledSubscribers says which subscribers who match a rule are listed. Each is judged on their list.
type ruledSubscribers struct {
	TenantID    string        `json:"tenant_id" is:"uuid"`
	ListID      string        `json:"list_id" is:"uuid"`
	Rule        core.RuleText `json:"rule" about:"A condition such as {field: city, is: [Berlin]}, or a group with all, any or not"`
	SegmentID   string        `json:"segment_id" is:"uuid"`
	Status      string        `json:"status" enum:"pending|active|unsubscribed|bounced|complaint|suppressed"`
	EmailPrefix string        `json:"email_prefix" max:"254"`
	Search      string        `json:"search" max:"254"`
	Field       string        `json:"field"`
	Value       string        `json:"value"`
}

// JudgeKeys refuses unknown keys. A rule that is left out by mistake would list other people than the caller means.
func (in *ruledSubscribers) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[ruledSubscribers](), unknown)
}

// CheckInput checks what needs no database.
func (in *ruledSubscribers) CheckInput() error {
	if err := segments.CheckOne(in.Rule, in.SegmentID); err != nil {
		return err
	}
	return in.filter().CheckInput()
}

func (in *ruledSubscribers) filter() *subscriberFilter {
	return &subscriberFilter{
		TenantID: in.TenantID, ListID: in.ListID, Status: in.Status, EmailPrefix: in.EmailPrefix, Search: in.Search,
		Field: in.Field, Value: in.Value,
	}
}

// ruledExport says which subscribers who match a rule are exported.
type ruledExport struct {
	ruledSubscribers
	Columns string `json:"columns" enum:"preferences|fields"`
}

// JudgeKeys refuses unknown keys.
func (in *ruledExport) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[ruledExport](), unknown)
}

// ruledRoutes adds the routes whose filter is in the body, because addresses of requests land in logs.
func (a subscribers) ruledRoutes(t *web.Table, all string) {
	said := append([]web.Refusal{
		web.TenantNamed, web.Refused("field", "Missing although value is set, or contains quotes or backslashes"),
	}, segments.Refusals...)
	example := web.Object{"list_id": web.ExampleID, "rule": segments.ExampleRule}
	t.Add("POST", all+"/search", web.Admin(core.ActionPeopleRead), web.Member,
		web.SearchJSON(a.search).Fails(core.NotFound, core.Conflict),
		"List the active subscribers who match a segment or an unsaved rule; a page can be short even if another "+
			"follows").
		Named("searchSubscribers").Example(example).Refuses(said...)
	t.Add("POST", all+"/export", web.Admin(core.ActionPeopleExport), web.Member,
		web.WriteJSON(a.exportRuled).Answers("text/csv").Fails(core.NotFound, core.Conflict),
		"Export the active subscribers who match a segment or an unsaved rule, as CSV").
		Named("exportMatchingSubscribers").Example(example).Refuses(said...)
}

// ruled returns the filter of a request, and what reads a page of the subscribers who match.
func (a subscribers) ruled(c *web.Call, in *ruledSubscribers) (f people.SubscriptionFilter,
	read func(core.Page) ([]people.ListedSubscription, string, error), err error,
) {
	if f, err = a.filter(c, in.filter(), c.Action()); err != nil {
		return f, nil, err
	}
	tenant := in.TenantID
	if in.ListID != "" {
		tenant = f.Tenants[0]
	}
	if tenant, f.Rule, err = a.rules.RuleFor(c, tenant, in.Rule, in.SegmentID); err != nil {
		return f, nil, err
	}
	f.Tenants, f.All, f.Now = []string{tenant}, false, c.Now
	begun := false
	return f, func(page core.Page) (rows []people.ListedSubscription, next string, err error) {
		err = a.rules.Evaluate(c, begun, func() error {
			rows, next, err = a.store.MatchingSubscriptions(c, f, page)
			return err
		})
		begun = true
		return rows, next, err
	}, nil
}

// search serves POST /api/admin/subscribers/search.
func (a subscribers) search(c *web.Call, in ruledSubscribers, page core.Page) ([]subscriber, string, error) {
	_, read, err := a.ruled(c, &in)
	if err != nil {
		return nil, "", err
	}
	found, next, err := read(page)
	return a.allShown(c, found), next, err
}

// exportRuled serves POST /api/admin/subscribers/export.
func (a subscribers) exportRuled(c *web.Call, in ruledExport) error {
	f, read, err := a.ruled(c, &in.ruledSubscribers)
	if err != nil {
		return err
	}
	return a.writeMatches(c, &exported{TenantID: f.Tenants[0], ListID: in.ListID, Columns: in.Columns}, read)
}
