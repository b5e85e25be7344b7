package members

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/tenants"
	"newsletterd/handlers/web"
	"newsletterd/store/db"
	"newsletterd/store/members"
)

// newsletter serves /api/newsletter: subscriptions, for subscribers and the team.
type newsletter struct{ *Room }

// proofReceipt marks a decoy token: it looks like a confirmation token but doesn't confirm anything.
const proofReceipt = "receipt"

type subscribeRequest struct {
	ListID      string           `json:"list_id" is:"required" min:"1"`
	Email       core.Email       `json:"email" is:"required"`
	Preferences core.Preferences `json:"preferences"`
	Source      string           `json:"source"`
}

// newsletterRoutes adds the member service's routes for subscriptions.
func (r *Room) newsletterRoutes(t *web.Table) {
	news := newsletter{r}
	open := func(e web.Endpoint) web.Endpoint { return e.CORS(news.tenantOrigin) }
	trusted := web.Optional().Gains("A token with the scope newsletter:events.write raises the rate limit, sets " +
		"fields that are reserved for the team, and confirms without an email if the list allows it")
	t.Add("POST", "/api/newsletter/subscribe", trusted, web.Member,
		open(web.JSON(news.subscribe)).NeedsRoom(web.MaxWrite).Fails(core.NotFound, core.TooMany),
		"Sign up for a list and email a confirmation link").Named("subscribe").
		Example(web.Object{
			"list_id": web.ExampleID, "email": "reader@example.org", "preferences": web.Object{"first_name": "Ada"},
			"source": "website",
		}).
		Refuses(
			web.BadEmail,
			web.Coded("list_inactive", "", "The list isn't accepting signups"),
			web.Refused("preferences", "Too large or nested too deeply"),
			web.Refused("source", "Too long, or contains control characters"),
		)
	t.Add("GET", "/api/newsletter/confirm", web.Public(), web.Member,
		open(web.Query(news.confirm)).Changes().Fails(core.NotFound), "Confirm a subscription").
		Named("confirmSubscription").
		Refuses(web.UnusedToken, web.PastToken, web.Coded("list_inactive", "", "The list isn't accepting signups"))
	t.Add("POST", "/api/newsletter/unsubscribe", web.Public(), web.Member,
		open(oneClick(web.JSON(news.unsubscribe), news.leave)),
		"Unsubscribe with a token in the body or, for one-click (RFC 8058), in the query").Named("unsubscribe").
		Example(web.Object{"token": "u.q7Xk…"}).
		Refuses(web.UnusedToken, web.PastToken)
	t.Add("POST", "/api/newsletter/unsubscribe-token", web.Optional(), web.Member,
		web.JSON(news.unsubscribeToken).NeedsRoom(web.MaxWrite).Fails(core.NotFound, core.TooMany),
		"Request an unsubscribe token").
		Named("createUnsubscribeToken").
		Example(web.Object{"list_id": web.ExampleID, "email": "reader@example.org"}).
		Refuses(web.BadEmail)
	t.Add("GET", "/api/newsletter/preferences", web.Subscription(core.ScopeListRead), web.Member,
		web.Query(news.preferences).Fails(core.NotFound), "Show an address's subscription to a list").
		Named("getPreferences").
		Refuses(web.BadEmail)
	t.Add("POST", "/api/newsletter/preferences", web.Subscription(core.ScopeEventsWrite), web.Member,
		web.JSON(news.setPreferences).Fails(core.NotFound), "Replace the preferences of a subscription").
		Named("setPreferences").
		Example(web.Object{
			"list_id": web.ExampleID, "email": "reader@example.org",
			"preferences": web.Object{"first_name": "Ada", "city": "Bonn"},
		}).
		Refuses(web.BadEmail, web.Refused("preferences", "Too large or nested too deeply"))
	t.Add("GET", "/api/newsletter/subscriptions", web.Bearer(core.ScopeListRead), web.Member,
		web.List(news.subscriptions, func(s core.Subscription) string { return s.ID }).Fails(core.NotFound),
		"List the subscriptions of a list").Named("listSubscriptions")
	disable := web.JSON(news.disable)
	t.Add("POST", "/api/subscriptions/disable", web.Bearer(core.ScopeEventsWrite), web.Member, disable,
		"Block an address and end its subscriptions").Named("disableSubscriptions").
		Example(web.Object{
			"email": "gone@example.org", "reason": "asked by telephone", "disabled_by": "support",
			"occurred_at": "2026-11-21T08:00:00.000Z",
		}).
		Refuses(disabling...)
	// The specification can be read to declare this path, too.
	t.Add("POST", "/api/api/subscriptions/disable", web.Bearer(core.ScopeEventsWrite), web.Member, disable,
		"Same as POST /api/subscriptions/disable, for clients that add /api twice").
		Named("disableSubscriptionsByItsDeclaredPath").
		Example(web.Object{
			"email": "gone@example.org", "reason": "asked by telephone", "disabled_by": "support",
			"occurred_at": "2026-11-21T08:00:00.000Z",
		}).
		Refuses(disabling...)
	t.Add("POST", "/api/admin/newsletter-lists/:id/full-sync", web.Admin(core.ActionListSettings), web.Member,
		web.JSON(news.fullSync).BodyOptional().Accepted().Find(tenants.FindList).
			Missing(core.ErrListNotFound).Fails(core.Conflict),
		"Start a full sync of a list to the send service").Named("startFullSync").
		Example(web.Object{"take_over": false}).
		Refuses(web.Clash("A sync of the list is already running, or another service feeds the list"))
}

func (r *subscribeRequest) CheckInput() error { return checkListAnd(r.ListID, r.Preferences) }

func checkListAnd(listID string, p core.Preferences) error {
	if listID == "" {
		return core.Invalidf("list_id", "list_id is empty. Send the ID of a list.")
	}
	return p.Check("preferences")
}

// pendingSubscriptionResponse is the specification's PendingSubscriptionResponse: a subscription with its confirmation
// token.
type pendingSubscriptionResponse struct {
	core.Subscription
	ConfirmToken string `json:"confirm_token"`
}

func (a newsletter) subscribe(c *web.Call, in subscribeRequest) (out pendingSubscriptionResponse, err error) {
	list, err := a.Store.ListWithTenant(c, in.ListID)
	if err != nil {
		return out, err
	}
	hideFromOrigin(c, list)
	if err := a.Subscribes.Check(c, maintains(c, list)); err != nil {
		return out, err
	}
	request := members.SubscribeRequest{
		ListID: list.ID, Email: in.Email, Preferences: in.Preferences,
		Origin: requestOrigin(c, in.Source), Team: maintains(c, list),
	}
	sub, rowID, err := a.Store.Subscribe(c, request, c.Now)
	if err != nil {
		return out, err
	}
	out.Subscription, request.Preferences = sub, sub.Preferences
	out.ConfirmToken, err = a.Store.AnsweredToken(c, rowID, a.proofOf(c, list), request, c.Now)
	return out, err
}

// proofOf returns the purpose of the token in the response.
func (a newsletter) proofOf(c *web.Call, list *core.ListWithTenant) string {
	mode := list.ConfirmMode(a.Options.ConfirmToken)
	trusted := mode == core.ConfirmTrusted && maintains(c, list)
	if mode == core.ConfirmLive || trusted {
		return core.ProofResponse
	}
	return proofReceipt
}

// requestOrigin returns the request's origin for the consent ledger.
func requestOrigin(c *web.Call, source string) core.Origin {
	o := core.Origin{Source: source, UserAgent: c.Request.UserAgent()}
	if c.Remote.IsValid() {
		o.Remote = c.Remote.String()
	}
	return o.Trim()
}

type tokenQuery struct {
	Token string `query:"token" is:"required"`
}

func (a newsletter) confirm(c *web.Call, in tokenQuery) (core.Subscription, error) {
	sub, err := a.Store.Confirm(c, in.Token, requestOrigin(c, ""), c.Now)
	if err == nil {
		a.hideFromOriginOf(c, sub.ListID)
	}
	return sub, err
}

type tokenBody struct {
	Token string `json:"token" is:"required" min:"1"`
}

func (a newsletter) unsubscribe(c *web.Call, in tokenBody) (core.Subscription, error) {
	return a.leave(c, in.Token)
}

// leave ends the subscription that a token identifies. The response is the same if the subscription was deleted or
// never existed. Anyone can request a token for an address, so the response for such a token reveals nothing that the
// token doesn't contain.
func (a newsletter) leave(c *web.Call, token string) (core.Subscription, error) {
	t, err := a.openUnsubscribe(c, token)
	if err != nil {
		return core.Subscription{}, err
	}
	sub, _, err := a.leaveBy(c, t, "", "")
	return sub, err
}

// openUnsubscribe opens an unsubscribe token. If the token has expired, it returns an error.
func (a newsletter) openUnsubscribe(c *web.Call, token string) (auth.UnsubscribeToken, error) {
	t, err := a.Sealer.OpenUnsubscribe(token)
	if err == nil && t.Expired(c.Now) {
		err = core.ErrTokenExpired
	}
	return t, err
}

// leaveBy is like leave, but takes an opened token. If the token proves that the subscription belongs to the visitor,
// leftAt is the time when the subscription ended. Otherwise leftAt is 0.
func (a newsletter) leaveBy(c *web.Call, t auth.UnsubscribeToken, source, why string) (sub core.Subscription,
	leftAt core.Instant, err error,
) {
	a.hideFromOriginOf(c, t.ListID)
	proof := core.ProofMailed
	if t.Kind == auth.UnsubscribeRequested {
		proof = core.ProofResponse
	}
	sub, err = a.Store.Unsubscribe(c, members.UnsubscribeRequest{
		ListID: t.ListID, SubscriptionID: t.SubscriptionID, Email: t.Email, Proof: proof, JobNo: t.JobNo,
		Origin: requestOrigin(c, source), Reason: why,
	}, c.Now)
	gone := errors.Is(err, core.ErrNotFound)
	if err != nil && !gone {
		return sub, 0, err
	}
	if !gone && t.Kind == auth.UnsubscribeMailed {
		leftAt = sub.ChangedAt
	}
	if gone || t.Kind == auth.UnsubscribeRequested {
		sub = core.Subscription{
			ID: t.SubscriptionID, ListID: t.ListID, Email: t.Email, Status: core.SubscriptionUnsubscribed,
			Preferences: core.NoPreferences, CreatedAt: t.IssuedAt,
		}
	}
	return sub, leftAt, nil
}

// oneClick adds one-click unsubscribe (RFC 8058) to an endpoint with a body. If the query has a token, the body and its
// media type are ignored.
func oneClick[Out any](e web.Endpoint, fn func(*web.Call, string) (Out, error)) web.Endpoint {
	inQuery := func(c *web.Call) bool { return c.Request.URL.Query().Has("token") }
	return e.Or(inQuery, web.Get(func(c *web.Call) (Out, error) { return fn(c, c.Request.URL.Query().Get("token")) }))
}

type listAndEmail struct {
	ListID string     `json:"list_id" is:"required" min:"1"`
	Email  core.Email `json:"email" is:"required"`
}

func (r *listAndEmail) CheckInput() error { return checkListAnd(r.ListID, "") }

type listAndEmailQuery struct {
	ListID string     `query:"list_id" is:"required"`
	Email  core.Email `query:"email" is:"required"`
}

type unsubscribeToken struct {
	Token string `json:"unsubscribe_token" about:"Token for an unsubscribe link; unsubscribes this address from the list"`
}

const (
	unsubscribeTokens       = 10 // per address and unsubscribeTokensWindow
	unsubscribeTokensWindow = time.Hour
)

func (a newsletter) unsubscribeToken(c *web.Call, in listAndEmail) (out unsubscribeToken, err error) {
	if a.Options.UnsubscribeTokenAuth == "bearer" && !c.Caller.Known() {
		return out, core.ErrUnauthenticated
	}
	list, err := a.Store.ListWithTenant(c, in.ListID)
	if err != nil {
		return out, err
	}
	if a.Options.UnsubscribeTokenAuth == "bearer" {
		if err := maySee(c, list, in.Email, core.ScopeEventsWrite, core.ActionPeopleChange); err != nil {
			return out, err
		}
	}
	if err := a.Leaves.Check(c, maintains(c, list)); err != nil {
		return out, err
	}
	wait, err := a.Store.Throttle(c, "unsubscribe-token:"+in.Email.Key(), unsubscribeTokens,
		unsubscribeTokensWindow, c.Now)
	if err != nil {
		return out, err
	}
	if wait > 0 {
		return out, &core.Error{
			Kind: core.TooMany, Code: "rate_limited",
			Message: "Too many tokens were requested. Try again later.", RetryAfter: int(wait/time.Second) + 1,
		}
	}
	out.Token, err = a.Sealer.SealUnsubscribe(auth.UnsubscribeToken{
		Kind: auth.UnsubscribeRequested, ListID: list.ID,
		SubscriptionID: a.Store.SubscriptionID(list.ID, in.Email.Key()), Email: in.Email, IssuedAt: c.Now,
	})
	return out, err
}

// maySee returns an error if the caller may not see the subscription of an address. Seeing it requires either the given
// scope and permission for the action in the list's tenant, or the scope email and ownership of the verified address.
// To clients of other tenants, and to callers without that permission, the list looks unknown. To users with a
// different address, the subscription looks unknown.
func maySee(c *web.Call, list *core.ListWithTenant, email core.Email, scope string,
	action core.Action,
) error {
	if !c.Caller.FirstParty && c.Caller.ClientTenant != list.TenantID {
		return core.ErrListNotFound
	}
	own := c.Caller.UserID != "" && c.Caller.Email.Key() == email.Key()
	switch {
	case c.Caller.Has(scope) && c.Caller.May(action, list.TenantID):
		c.Tenant = list.TenantID
		return nil
	case own && c.Caller.Has(core.ScopeEmail):
	case c.Caller.Has(scope):
		return core.ErrListNotFound
	case !c.Caller.Has(core.ScopeEmail):
		return c.Lacks(true, core.ScopeEmail, scope)
	default:
		return core.ErrSubscriptionNotFound
	}
	if !c.Caller.EmailVerified {
		return core.Forbiddenf("Your email address isn't verified. Verify it first.")
	}
	return nil
}

func (a newsletter) preferences(c *web.Call, in listAndEmailQuery) (sub core.Subscription, err error) {
	list, err := a.Store.ListWithTenant(c, in.ListID)
	if err != nil {
		return sub, err
	}
	if err := maySee(c, list, in.Email, core.ScopeListRead, core.ActionPeopleRead); err != nil {
		return sub, err
	}
	return a.Store.Subscription(c, list.ID, in.Email)
}

type preferencesRequest struct {
	ListID      string           `json:"list_id" is:"required" min:"1"`
	Email       core.Email       `json:"email" is:"required"`
	Preferences core.Preferences `json:"preferences" is:"required"`
}

func (r *preferencesRequest) CheckInput() error { return checkListAnd(r.ListID, r.Preferences) }

func (a newsletter) setPreferences(c *web.Call, in preferencesRequest) (sub core.Subscription, err error) {
	list, err := a.Store.ListWithTenant(c, in.ListID)
	if err != nil {
		return sub, err
	}
	if err := maySee(c, list, in.Email, core.ScopeEventsWrite, core.ActionPeopleChange); err != nil {
		return sub, err
	}
	if !c.Caller.Has(core.ScopeEventsWrite) || !c.Caller.May(core.ActionPeopleChange, list.TenantID) {
		return a.Store.SetOwnPreferences(c, list.ID, in.Email, in.Preferences, c.Now)
	}
	return a.Store.SetPreferences(c, list.ID, in.Email, in.Preferences, c.Now)
}

type listQueryOf struct {
	ListID string `query:"list_id" is:"required"`
}

// subscriptions returns a list's subscriptions, whatever their status.
func (a newsletter) subscriptions(c *web.Call, in listQueryOf, page core.Page) ([]core.Subscription, error) {
	list, err := a.Store.ListWithTenant(c, in.ListID)
	if err != nil {
		return nil, err
	}
	if !c.Caller.May(core.ActionPeopleExport, list.TenantID) {
		return nil, core.ErrListNotFound
	}
	c.Tenant = list.TenantID
	return a.Store.Subscriptions(c, list.ID, page.After, page.Limit)
}

type syncStarted struct {
	SyncID string `json:"sync_id"`
}

// fullSyncInput is the body of POST /api/admin/newsletter-lists/:id/full-sync.
type fullSyncInput struct {
	TakeOver bool `json:"take_over" about:"Also sync a list that another webhook source feeds, and replace that source"`
}

// fullSync starts to copy the whole list to the send service.
func (a newsletter) fullSync(c *web.Call, in fullSyncInput) (out syncStarted, err error) {
	if in.TakeOver {
		if err = a.Store.TakeOver(c, c.ID(), web.Actor(c), c.Now); err != nil && core.KindOf(err) != core.NotFound {
			return out, err
		}
	}
	out.SyncID, err = a.Store.RequestSync(db.By(c, web.Actor(c), c.Now), c.ID(), c.Now)
	return out, err
}

// siteOf returns the host of an https origin with the default port, or an empty string if the origin is of a different
// kind.
func siteOf(origin string) string {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" || u.Port() != "" || u.Path != "" || u.User != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// hideFromOrigin revokes the origin's permission to read the response if its site doesn't belong to the list's tenant.
// The preflight can only check whether the site belongs to any tenant.
func hideFromOrigin(c *web.Call, list *core.ListWithTenant) {
	if origin := c.Request.Header.Get("Origin"); origin != "" && !slices.Contains(list.Tenant.Domains, siteOf(origin)) {
		c.Header().Del("Access-Control-Allow-Origin")
	}
}

func (a newsletter) hideFromOriginOf(c *web.Call, listID string) {
	if c.Request.Header.Get("Origin") == "" {
		return
	}
	if list, err := a.Store.ListWithTenant(c, listID); err == nil {
		hideFromOrigin(c, list)
	} else {
		c.Header().Del("Access-Control-Allow-Origin")
	}
}

// tenantOrigin reports whether an origin is a tenant's https site.
func (a newsletter) tenantOrigin(r *http.Request, origin string) bool {
	host := siteOf(origin)
	if host == "" {
		return false
	}
	ok, err := a.Store.HasDomain(r.Context(), host)
	return err == nil && ok
}

// maintains reports whether the caller may write events for a list.
func maintains(c *web.Call, list *core.ListWithTenant) bool {
	return c.Caller.Has(core.ScopeEventsWrite) && c.Caller.May(core.ActionPeopleAdd, list.TenantID)
}
