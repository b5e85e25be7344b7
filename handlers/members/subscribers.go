package members

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// subscribers serves /api/admin/subscribers.
type subscribers struct{ *Room }

// subscriberFilter filters the list of subscribers.
type subscriberFilter struct {
	TenantID    string     `query:"tenant_id"`
	ListID      string     `query:"list_id,uuid"`
	Status      string     `query:"status" enum:"pending|active|unsubscribed|bounced|complaint|suppressed" about:"Only subscribers with this status"`
	Email       core.Email `query:"email"`
	EmailPrefix string     `query:"email_prefix"`
	Search      string     `query:"search"`
	Field       string     `query:"field" about:"Custom field to filter by"`
	Value       string     `query:"value" about:"Value that the field must have"`
	Sort        string     `query:"sort" enum:"email|-email|created_at|-created_at|status_at|-status_at" about:"Order of the rows; a minus reverses it"`
}

// filterRefusals holds the refusals for subscriberFilter.CheckInput.
var filterRefusals = []web.Refusal{
	web.Refused("field", "Missing although value is set, or contains quotes or backslashes"),
	web.Refused("email_prefix", "Too long"),
	web.Refused("search", "Too long"),
	web.BadEmail,
}

// subscriberRoutes adds the routes with which the team manages subscribers.
func (r *Room) subscriberRoutes(t *web.Table) {
	s := subscribers{r}
	const all, item = "/api/admin/subscribers", "/api/admin/subscribers/:id"
	one := func(e web.Endpoint) web.Endpoint { return e.Find(s.find).Missing(core.ErrSubscriptionNotFound) }
	t.Add("GET", all, web.Admin(core.ActionPeopleMasked), web.Member, web.Search(s.list).Fails(core.NotFound),
		"List subscribers; a page can be short even if another follows").Named("listSubscribers").
		Refuses(append(filterRefusals, web.Refused("sort", "More than 10,000 subscribers to sort"))...)
	t.Add("POST", all, web.Admin(core.ActionPeopleAdd), web.Member,
		web.JSON(s.create).Created().Fails(core.NotFound, core.Conflict).
			DescribesFailure(200, "The address is already on the list; nothing changed"),
		"Add an address to a list; without recorded consent it gets a confirmation email").Named("addSubscriber").
		Example(web.Object{
			"list_id": web.ExampleID, "email": "new@example.org", "status": "pending",
			"source": "signed at the fair",
		}).
		Refuses(
			web.BadEmail,
			web.Coded("list_inactive", "", "The list isn't accepting signups"),
			web.Refused("preferences", "Too large or nested too deeply"),
			web.Clashing("suppressed", "", "The address is blocked"),
			web.ThereIsOne,
			web.Clashing("unsubscribed", "", "The subscriber has unsubscribed"),
			web.Clash("Another service manages the list"),
		)
	s.exportRoute(t, all)
	s.ruledRoutes(t, all)
	t.Add("GET", item, web.Admin(core.ActionPeopleMasked), web.Member,
		one(web.Path(s.show)), "Show a subscriber with its consent history").Named("getSubscriber")
	t.Add("PUT", item, web.Admin(core.ActionPeopleChange), web.Member,
		one(web.JSON(s.update)).Fails(core.Conflict), "Update a subscriber; fields you leave out stay unchanged").
		Named("updateSubscriber").
		Example(web.Object{"preferences": web.Object{"first_name": "Ada", "city": "Bonn"}}).
		Refuses(
			web.Refused("preferences", "Too large or nested too deeply"),
			web.Clash("Another service manages the subscription"),
		)
	s.tagRoutes(t, item)
	t.Add("POST", item+"/unsubscribe", web.Admin(core.ActionPeopleChange), web.Member,
		one(web.Path(s.unsubscribe)), "Unsubscribe a subscriber from the list").Named("unsubscribeSubscriber")
	t.Add("POST", all+"/unsubscribe", web.Admin(core.ActionPeopleChange), web.Member, web.JSON(s.unsubscribeAll),
		"Unsubscribe an address from all lists of a tenant").Named("unsubscribeEverywhere").
		Example(web.Object{"email": "reader@example.org", "tenant_id": web.ExampleID}).
		Refuses(web.TenantNamed, web.BadEmail)
	t.Add("POST", item+"/erase", web.Admin(core.ActionPeopleErase), web.Member,
		one(web.Path(s.erase)), "Erase all data that a tenant has about an address").
		Named("eraseSubscriber")
	t.Add("GET", item+"/export", web.Admin(core.ActionPeopleExport), web.Member,
		one(web.Write(s.exportPerson).Answers("application/json")),
		"Export all data that a tenant has about an address, as JSON").Named("exportSubscriber")
	t.Add("GET", item+"/history", web.Admin(core.ActionPeopleRead), web.Member,
		one(web.List(s.history, core.Mailed.Key)), "List the emails a tenant sent to an address, newest first").
		Named("listMailsToSubscriber")
}

// CheckInput returns an error if field is set without value, or value without field.
func (f *subscriberFilter) CheckInput() error {
	switch {
	case f.Field == "" && f.Value != "":
		return core.Invalidf("field", "field is missing. Set it together with value.")
	case strings.ContainsAny(f.Field, `"\`):
		return core.Invalidf("field",
			"field must be a key of preferences without quotes or backslashes.")
	case len(f.EmailPrefix) > 254:
		return core.Invalidf("email_prefix", "email_prefix must have at most 254 characters.")
	case len(f.Search) > 254:
		return core.Invalidf("search", "search must have at most 254 characters.")
	}
	return nil
}

// searches reports whether the filter searches personal data. Callers who see only masked addresses must not do that.
func (f *subscriberFilter) searches() bool {
	return f.Email != "" || f.EmailPrefix != "" || f.Search != "" || f.Field != "" || strings.HasSuffix(f.Sort, "email")
}

// subscriber is a subscription as shown to the team.
type subscriber struct {
	ID          string           `json:"id" about:"ID of the subscription; a different one if you may not see addresses"`
	TenantID    string           `json:"tenant_id"`
	ListID      string           `json:"list_id"`
	Email       core.Email       `json:"email" about:"Email address; masked if you may not see addresses"`
	Status      string           `json:"status" enum:"pending|active|unsubscribed|bounced|complaint|suppressed" about:"Status; a block comes before the status of the subscription"`
	Preferences core.Preferences `json:"preferences,omitempty" about:"Custom fields of the subscriber; absent if you may not see addresses"`
	CreatedAt   core.Instant     `json:"created_at"`
	StatusAt    core.Instant     `json:"status_at"`
	Block       string           `json:"block,omitempty" enum:"bounced|complaint|suppressed" about:"Why the address isn't emailed; absent: no block"`
	Tags        []string         `json:"tags,omitempty" about:"Names of the tags; absent if you may not see addresses"`
}

// shown returns the part of a subscription that the caller may see.
func (a subscribers) shown(c *web.Call, l *people.ListedSubscription) subscriber {
	s := subscriber{
		l.ID, l.TenantID, l.ListID, l.Email, l.Shown(), l.Preferences.OrEmpty(), l.CreatedAt,
		cmp.Or(l.ChangedAt, l.CreatedAt), l.Block, l.Tags,
	}
	if !c.Caller.May(core.ActionPeopleRead, l.TenantID) {
		s.ID, s.Email, s.Preferences = a.Store.MaskedSubscriptionID(l.ID), core.Email(l.Email.Mask()), ""
		s.Tags = nil
	}
	return s
}

func (a subscribers) allShown(c *web.Call, found []people.ListedSubscription) ([]subscriber, error) {
	if err := a.Store.ReadTags(c, found); err != nil {
		return nil, err
	}
	rows := make([]subscriber, len(found))
	for i := range found {
		rows[i] = a.shown(c, &found[i])
	}
	return rows, nil
}

// list serves GET /api/admin/subscribers.
func (a subscribers) list(c *web.Call, in subscriberFilter, page core.Page) ([]subscriber, string, error) {
	action := core.ActionPeopleMasked
	if in.searches() {
		action = core.ActionPeopleRead
	}
	f, err := a.filter(c, &in, action)
	if err != nil {
		return nil, "", err
	}
	found, next, err := a.Store.MatchingSubscriptions(c, f, page)
	if err != nil {
		return nil, "", err
	}
	rows, err := a.allShown(c, found)
	// Sort by list and shown id. If ids aren't masked, the rows already have this order. If they are, the rows'
	// original order would reveal the true ids.
	if in.Sort == "" {
		slices.SortStableFunc(rows, func(a, b subscriber) int {
			return cmp.Or(strings.Compare(a.ListID, b.ListID), strings.Compare(a.ID, b.ID))
		})
	}
	return rows, next, err
}

// filter returns the filter for a query. It is limited to tenants in which the caller may perform the action.
func (a subscribers) filter(c *web.Call, in *subscriberFilter, action core.Action) (f people.SubscriptionFilter,
	err error,
) {
	f = people.SubscriptionFilter{
		ListID: in.ListID, Status: in.Status, Email: in.Email, Prefix: core.Email(in.EmailPrefix).Key(), Field: in.Field,
		Value: in.Value, Search: strings.TrimSpace(in.Search), Sort: in.Sort,
	}
	tenant := in.TenantID
	if in.ListID != "" {
		l, err := a.Store.List(c, in.ListID)
		if err = web.OwnRecord(c, l.TenantID, core.ActionPeopleMasked, err, core.ErrListNotFound); err != nil {
			return f, err
		}
		if tenant != "" && tenant != l.TenantID {
			return f, core.ErrListNotFound
		}
		tenant = l.TenantID
	}
	if tenant != "" {
		if err := web.MayFor(c, tenant); err != nil {
			return f, err
		}
		if !c.Caller.May(action, tenant) {
			return f, core.Lacking(action)
		}
		f.Tenants = []string{tenant}
		return f, nil
	}
	if f.Tenants, f.All = c.Caller.TenantsWith(action); !f.All && len(f.Tenants) == 0 {
		return f, core.Lacking(action)
	}
	return f, nil
}

// subscriptionKey is the context key under which find stores the subscription in the path.
type subscriptionKey struct{}

// find returns an error if the subscription in the path doesn't exist or the caller may not perform the route's action
// on it. Callers who may not read addresses can use only its masked id, because the real id would reveal the
// subscriber.
func (a subscribers) find(c *web.Call) error {
	tenants, all := c.Caller.TenantsWith(core.ActionPeopleRead)
	l, err := a.Store.ListedSubscription(c, c.ID(), tenants, all)
	if masked := a.Store.UnmaskedSubscriptionID(c.ID()); core.KindOf(err) == core.NotFound && masked != "" {
		tenants, all = c.Caller.TenantsWith(core.ActionPeopleMasked)
		l, err = a.Store.ListedSubscription(c, masked, tenants, all)
	}
	c.Keep(subscriptionKey{}, &l)
	return web.OwnRecord(c, l.TenantID, core.ActionPeopleMasked, err, core.ErrSubscriptionNotFound)
}

// found returns the subscription that find has read.
func (a subscribers) found(c *web.Call) *people.ListedSubscription {
	return c.Value(subscriptionKey{}).(*people.ListedSubscription)
}

// subscriberRecord is a subscriber with all details, as shown to the team.
type subscriberRecord struct {
	subscriber
	ListName string         `json:"list_name"`
	Means    string         `json:"means"`
	Consents []core.Consent `json:"consents"`
	Blocks   []block        `json:"blocks"`
	Tags     []string       `json:"tags" about:"Names of the person's tags; empty without people.read"`
}

func (a subscribers) show(c *web.Call, _ string) (r subscriberRecord, err error) {
	l := a.found(c)
	r = subscriberRecord{
		subscriber: a.shown(c, l), Means: l.Proof, Consents: []core.Consent{}, Blocks: []block{},
		Tags: []string{},
	}
	list, err := a.Store.List(c, l.ListID)
	if r.ListName = list.Name; err != nil || !c.Caller.May(core.ActionPeopleRead, l.TenantID) {
		return r, err
	}
	consents, err := a.Store.Consents(c, l.ListID, l.ID)
	if err != nil {
		return r, err
	}
	stands, err := a.Store.Suppressions(c, l.Email, l.TenantID)
	for i := range stands {
		back := stands[i].Kind == core.KindLeft && !tenants.ErasedFrom(core.KindLeft, &l.Subscription)
		if on := stands[i].ListID; !back && (on == "" || on == l.ListID) {
			r.Blocks = append(r.Blocks, blockOf(c, &stands[i]))
		}
	}
	r.Consents = append(r.Consents, consents...)
	if err != nil {
		return r, err
	}
	tags, err := a.Store.TagsAt(c, l.TenantID, l.Email.Key())
	r.Tags = tagNames(tags)
	if err != nil || web.IsOperator(c) {
		return r, err
	}
	outside, err := web.Outsiders(c, l.TenantID)
	for i := range r.Consents {
		if k := &r.Consents[i]; k.Proof == core.ProofAdmin && k.Source != web.Actor(c) && outside(k.Source) {
			k.Remote, k.UserAgent = "", ""
		}
	}
	return r, err
}

// newSubscriber is the body of POST /api/admin/subscribers.
type newSubscriber struct {
	ListID string     `json:"list_id" is:"required,uuid"`
	Email  core.Email `json:"email" is:"required"`
	Status string     `json:"status" enum:"pending|active" about:"pending (default): gets a confirmation email; active: has agreed already"`
	Source string     `json:"source" like:"line" max:"255" about:"Where the subscription comes from, for the consent history"`

	Preferences core.Preferences `json:"preferences"`
}

// CheckInput returns an error if the consent history would truncate source, or if preferences are not an object or too
// large.
func (in *newSubscriber) CheckInput() error {
	if err := web.CheckText("source", in.Source); err != nil {
		return err
	}
	return in.Preferences.Check("preferences")
}

func (a subscribers) create(c *web.Call, in newSubscriber) (subscriber, error) {
	list, err := a.Store.List(c, in.ListID)
	if err = web.OwnRecord(c, list.TenantID, core.ActionPeopleMasked, err, core.ErrListNotFound); err != nil {
		return subscriber{}, err
	}
	sub, changed, err := a.Store.AddSubscription(c, imports.SubscriptionInput{
		ListID: in.ListID, Email: in.Email, Status: cmp.Or(in.Status, core.SubscriptionPending),
		Source: cmp.Or(in.Source, web.Actor(c)), Preferences: in.Preferences,
	}, web.Actor(c), c.Now)
	if err == nil && !changed {
		c.SetStatus(200)
	}
	return a.shown(c, &people.ListedSubscription{Subscription: sub, TenantID: list.TenantID}), err
}

// subscriberChange is the body of PUT /api/admin/subscribers/{id}.
type subscriberChange struct {
	Preferences *core.Preferences `json:"preferences"`
}

// CheckInput returns an error if preferences are not an object or too large.
func (in *subscriberChange) CheckInput() error {
	if in.Preferences == nil {
		return nil
	}
	return in.Preferences.Check("preferences")
}

func (a subscribers) update(c *web.Call, in subscriberChange) (subscriber, error) {
	l := a.found(c)
	if in.Preferences == nil {
		return a.shown(c, l), nil
	}
	sub, err := a.Store.SetPreferences(db.By(c, web.Actor(c), c.Now), l.ListID, l.Email, *in.Preferences, c.Now)
	if l.Mirrored && core.KindOf(err) == core.NotFound {
		return subscriber{}, core.Conflictf("conflict", "Another service manages this subscription. Change it there.")
	}
	return a.shown(c, &people.ListedSubscription{Subscription: sub, TenantID: l.TenantID, Block: l.Block}), err
}

func (a subscribers) unsubscribe(c *web.Call, _ string) (subscriber, error) {
	l := a.found(c)
	sub, err := a.Store.Unsubscribe(c, members.UnsubscribeRequest{
		ListID: l.ListID, SubscriptionID: l.ID, Email: l.Email, Proof: core.ProofAdmin, Actor: web.Actor(c),
		Origin: core.Origin{Source: web.Actor(c), Remote: web.RemoteOf(c), UserAgent: c.UserAgent()},
	}, c.Now)
	if l.Mirrored && core.KindOf(err) == core.NotFound { // the subscription is in another member service
		*l, err = a.Store.ListedSubscription(c, l.ID, []string{l.TenantID}, false)
		return a.shown(c, l), err
	}
	return a.shown(c, &people.ListedSubscription{Subscription: sub, TenantID: l.TenantID, Block: l.Block}), err
}

// everywhere is the body of POST /api/admin/subscribers/unsubscribe.
type everywhere struct {
	Email    core.Email `json:"email" is:"required"`
	TenantID string     `json:"tenant_id" like:"tenant"`
}

// unsubscribeAll unsubscribes an address from all of a tenant's lists. It returns the ended subscriptions.
func (a subscribers) unsubscribeAll(c *web.Call, in everywhere) ([]subscriber, error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return nil, err
	}
	left, err := a.Store.UnsubscribeAll(c, tenant, members.UnsubscribeRequest{
		Email: in.Email, Proof: core.ProofAdmin, Actor: web.Actor(c),
		Origin: core.Origin{Source: web.Actor(c), Remote: web.RemoteOf(c), UserAgent: c.UserAgent()},
	}, c.Now)
	return web.RowsOf(left, func(s *core.Subscription) subscriber {
		return a.shown(c, &people.ListedSubscription{Subscription: *s, TenantID: tenant})
	}), err
}

func (a subscribers) erase(c *web.Call, _ string) (web.None, error) {
	l := a.found(c)
	_, err := a.Store.ErasePerson(c, core.Person{Email: l.Email, TenantID: l.TenantID}, web.Actor(c), c.Now)
	return web.None{}, err
}

// history lists the emails that the tenant sent to the address, newest first.
func (a subscribers) history(c *web.Call, _ struct{}, page core.Page) ([]core.Mailed, error) {
	l := a.found(c)
	rows, err := a.Store.History(c, l.Email, []string{l.TenantID}, false, page)
	return web.RowsOf(rows, (*core.HistoryEntry).Mailed), err
}

// exportPerson writes the tenant's data about the subscriber in the path.
func (a subscribers) exportPerson(c *web.Call, _ struct{}) error {
	l := a.found(c)
	data, err := a.Store.ExportPerson(c, core.Person{Email: l.Email, TenantID: l.TenantID})
	if err == nil {
		err = a.Store.NotePersonExport(c, l.TenantID, l.Email, web.Actor(c), c.Now)
	}
	if err != nil {
		return err
	}
	withoutKeepers(&data)
	h := c.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Disposition", web.Attachment(string(l.Email)+".json"))
	e := json.NewEncoder(c.Stream())
	e.SetIndent("", "  ")
	if err := e.Encode(data); err != nil {
		c.Cut(err) // the header is sent: only cutting the connection signals the error
	}
	return nil
}

// tagRoutes adds the routes for the tags of a subscriber.
func (a subscribers) tagRoutes(t *web.Table, item string) {
	one := func(e web.Endpoint) web.Endpoint { return e.Find(a.find).Missing(core.ErrSubscriptionNotFound) }
	t.Add("PUT", item+"/tags", web.Admin(core.ActionPeopleTag), web.Member,
		one(web.JSON(a.tag)), "Replace a subscriber's tags on all lists of the tenant").
		Named("tagSubscriber").
		Example(web.Object{"tags": []string{"VIP"}}).
		Refuses(web.Refused("tags", "No such tag, or more than a person can have"))
	t.Add("PATCH", item+"/tags", web.Admin(core.ActionPeopleTag), web.Member,
		one(web.JSON(a.changeTags)), "Add and remove some of a subscriber's tags on all lists of the tenant").
		Named("changeSubscriberTags").
		Limits(web.OnlyKnown).
		Example(web.Object{"add": []string{"VIP"}}).
		Refuses(
			web.Refused("add", "No such tag, or the person would have too many"),
			web.Refused("remove", "No such tag"),
		)
}

// subscriberTags is the body of a request to replace a person's tags.
type subscriberTags struct {
	Tags []string `json:"tags" is:"required" max:"50" about:"Names of the person's tags on all lists of the tenant"`
}

// changedTags holds the tags to add to a person and to remove. Other tags don't change.
type changedTags struct {
	Add    []string `json:"add" max:"50" about:"Names or IDs of tags to add"`
	Remove []string `json:"remove" max:"50" about:"Names or IDs of tags to remove"`
}

// JudgeKeys rejects unknown keys. Otherwise, a request with tags instead of add would silently change nothing.
func (in *changedTags) JudgeKeys(unknown []string) error {
	return core.JudgeKeys(core.JSONKeys[changedTags](), unknown)
}

// taggedSubscriber holds a person's tags after a change.
type taggedSubscriber struct {
	Tags []string `json:"tags"` // names
}

func tagNames(tags []core.Tag) []string {
	return web.RowsOf(tags, func(t *core.Tag) string { return t.Name })
}

// tag replaces a person's tags.
func (a subscribers) tag(c *web.Call, in subscriberTags) (taggedSubscriber, error) {
	l := a.found(c)
	tags, err := a.Store.SetTags(c, l.TenantID, l.Email, in.Tags, web.Actor(c), c.Now)
	return taggedSubscriber{tagNames(tags)}, err
}

// changeTags adds and removes some of a person's tags.
func (a subscribers) changeTags(c *web.Call, in changedTags) (out taggedSubscriber, err error) {
	l := a.found(c)
	known, err := a.Store.AllTags(c, l.TenantID)
	if err != nil {
		return out, err
	}
	removed := make([]string, len(in.Remove))
	for i, name := range in.Remove {
		at := slices.IndexFunc(known, func(t core.Tag) bool { return t.Named(name) })
		if at < 0 {
			return out, core.Invalidf("remove", "Tag %q not found. Use one of the tenant's tags.", name)
		}
		removed[i] = known[at].ID
	}
	tags, err := a.Store.ChangeTags(c, l.TenantID, l.Email, func(had []string) []string {
		return slices.DeleteFunc(had, func(id string) bool { return slices.Contains(removed, id) })
	}, in.Add, web.Actor(c), c.Now)
	if fault, ok := errors.AsType[*core.Error](err); ok && fault.Field == "tags" {
		err = fault.On("add")
	}
	return taggedSubscriber{tagNames(tags)}, err
}
