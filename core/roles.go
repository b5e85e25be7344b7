package core

import "slices"

// User roles, from least to most powerful. Each includes the rights of the previous ones.
const (
	RoleViewer      = "viewer"
	RoleEditor      = "editor"
	RolePublisher   = "publisher"
	RoleTenantAdmin = "tenant_admin"
	RoleOperator    = "operator"
)

// Roles lists the values of Role.Role, from least to most powerful. All except operator apply to one tenant.
var Roles = []string{RoleViewer, RoleEditor, RolePublisher, RoleTenantAdmin, RoleOperator}

// Action is the name of an operation that needs a permission. Routes, pages and commands check it with Caller.May.
type Action string

// The actions. Each concerns one tenant's records, unless its comment says otherwise.
const (
	ActionTenantRead   Action = "tenant.read"
	ActionListRead     Action = "list.read"
	ActionFiguresRead  Action = "figures.read"
	ActionPeopleMasked Action = "people.masked"
	ActionSegmentRead  Action = "segment.read"

	ActionCampaignRead  Action = "campaign.read"
	ActionCampaignWrite Action = "campaign.write"
	ActionTemplateRead  Action = "template.read"
	ActionTemplateWrite Action = "template.write"
	ActionMediaRead     Action = "media.read"
	ActionMediaWrite    Action = "media.write"
	ActionTestSend      Action = "test.send"
	ActionSegmentWrite  Action = "segment.write"

	ActionCampaignApprove Action = "campaign.approve"
	ActionCampaignSend    Action = "campaign.send"
	ActionTestAnyone      Action = "test.anyone"
	ActionPeopleRead      Action = "people.read"
	ActionPeopleAdd       Action = "people.add"
	ActionPeopleImport    Action = "people.import"
	ActionPeopleTag       Action = "people.tag"

	ActionPeopleChange      Action = "people.change"
	ActionPeopleExport      Action = "people.export"
	ActionPeopleErase       Action = "people.erase"
	ActionListSettings      Action = "list.settings"
	ActionSuppressionManage Action = "suppression.manage"
	ActionClientManage      Action = "client.manage"
	ActionClientSecret      Action = "client.secret"
	ActionEndpointManage    Action = "endpoint.manage"
	ActionWebhookManage     Action = "webhook.manage"
	ActionDomainPropose     Action = "domain.propose"
	ActionDKIMRead          Action = "dkim.read"
	ActionDKIMManage        Action = "dkim.manage"
	ActionTenantSettings    Action = "tenant.settings"
	ActionTeamRead          Action = "team.read"
	ActionTeamManage        Action = "team.manage"
	ActionAuditRead         Action = "audit.read"

	ActionTenantManage   Action = "tenant.manage"
	ActionDomainVerify   Action = "domain.verify"
	ActionRelayManage    Action = "relay.manage"
	ActionProviderManage Action = "provider.manage"
	ActionKeyManage      Action = "key.manage"
	ActionOutboxManage   Action = "outbox.manage"
	ActionUserManage     Action = "user.manage"
	ActionSystemRead     Action = "system.read"
)

// Permission holds an action's requirements: the lowest role and the token's scopes. With such a scope in its token, a
// client that acts for itself has a tenant_admin's rights, except if People is set.
type Permission struct {
	Action Action
	Least  string   // lowest role; higher roles are permitted, too
	Scopes []string // the token needs one of these
	People bool     // refused to clients that act for themselves
	Text   string   // description of what it permits
}

var (
	byAdmin   = []string{ScopeAdmin}
	byList    = []string{ScopeListRead, ScopeAdmin}
	byEvents  = []string{ScopeEventsWrite, ScopeAdmin}
	bySend    = []string{ScopeSend, ScopeAdmin}
	byReading = []string{ScopeListRead, ScopeSend, ScopeAdmin}
)

// Permissions is the only table of permissions. It starts with those that most roles have. An action without a row is
// refused to everyone.
var Permissions = []Permission{
	{ActionTenantRead, RoleViewer, byAdmin, false, "see the tenant's name, domains, sender and design"},
	{ActionListRead, RoleViewer, byList, false, "see lists, their settings and counts"},
	{ActionFiguresRead, RoleViewer, bySend, false, "see send jobs, their statistics and links"},
	{ActionPeopleMasked, RoleViewer, byReading, false, "see subscribers with masked addresses"},
	{ActionSegmentRead, RoleViewer, bySend, false, "see segments and their approximate size, and the names of tags"},

	{ActionCampaignRead, RoleEditor, bySend, false, "read and preview the content of campaigns and send jobs"},
	{ActionCampaignWrite, RoleEditor, bySend, false, "write campaigns"},
	{ActionTemplateRead, RoleEditor, byAdmin, false, "read templates, layouts and themes"},
	{ActionTemplateWrite, RoleEditor, byAdmin, false, "write templates, layouts and themes"},
	{ActionMediaRead, RoleEditor, bySend, false, "see images for emails"},
	{ActionMediaWrite, RoleEditor, bySend, false, "upload, change and delete images for emails"},
	{ActionSegmentWrite, RoleEditor, bySend, false, "create, change and delete segments"},
	{ActionTestSend, RoleEditor, bySend, false, "send test emails to the tenant's test group"},

	{ActionCampaignApprove, RolePublisher, bySend, false, "approve campaigns"},
	{
		ActionCampaignSend, RolePublisher, bySend, false,
		"schedule, send, pause, resume and cancel; show approved campaigns in the archive",
	},
	{ActionTestAnyone, RolePublisher, bySend, false, "send test emails to any address"},
	{ActionPeopleRead, RolePublisher, byReading, false, "see addresses: subscribers, recipients and their history"},
	{ActionPeopleAdd, RolePublisher, byEvents, false, "add subscribers"},
	{ActionPeopleTag, RolePublisher, bySend, false, "tag subscribers; create, rename and delete tags"},
	{
		ActionPeopleImport, RolePublisher, byAdmin, false,
		"import new subscribers and undo your own imports; with people.change, also update subscribers",
	},

	{ActionPeopleChange, RoleTenantAdmin, byEvents, false, "change and unsubscribe subscribers"},
	{ActionPeopleExport, RoleTenantAdmin, byList, false, "read all subscriptions of a list at once, and export them"},
	{ActionPeopleErase, RoleTenantAdmin, byAdmin, false, "erase subscribers"},
	{ActionListSettings, RoleTenantAdmin, byAdmin, false, "create, change, delete and copy lists"},
	{ActionSuppressionManage, RoleTenantAdmin, byEvents, false, "block and unblock addresses"},
	{ActionClientManage, RoleTenantAdmin, byAdmin, false, "see, create, change and delete OAuth clients"},
	{ActionClientSecret, RoleTenantAdmin, byAdmin, false, "replace the secret of OAuth clients"},
	{ActionEndpointManage, RoleTenantAdmin, byAdmin, false, "manage webhook endpoints"},
	{ActionWebhookManage, RoleTenantAdmin, byAdmin, false, "manage webhook sources"},
	{ActionDomainPropose, RoleTenantAdmin, byAdmin, false, "add and check sender domains"},
	{ActionDKIMRead, RoleTenantAdmin, byAdmin, false, "see DKIM keys and the status of their DNS records"},
	{ActionDKIMManage, RoleTenantAdmin, byAdmin, false, "create, activate and delete DKIM keys"},
	{ActionTenantSettings, RoleTenantAdmin, byAdmin, false, "change the tenant's name, design and texts"},
	{ActionTeamRead, RoleTenantAdmin, byAdmin, false, "see the tenant's team"},
	{ActionTeamManage, RoleTenantAdmin, byAdmin, true, "invite people, grant and revoke roles in the tenant"},
	{ActionAuditRead, RoleTenantAdmin, byAdmin, false, "read the audit log"},

	{ActionTenantManage, RoleOperator, byAdmin, false, "create and delete tenants, set status, sender and limits"},
	{ActionDomainVerify, RoleOperator, byAdmin, false, "mark a sender domain as verified"},
	{ActionRelayManage, RoleOperator, byAdmin, false, "set the mail server and the relays of a tenant"},
	{ActionProviderManage, RoleOperator, byAdmin, false, "manage mail providers"},
	{ActionKeyManage, RoleOperator, byAdmin, false, "see and rotate signing keys"},
	{ActionOutboxManage, RoleOperator, byAdmin, false, "see and retry queued or failed events and emails"},
	{ActionUserManage, RoleOperator, byAdmin, true, "manage users and the role operator"},
	{ActionSystemRead, RoleOperator, byAdmin, false, "see the status of the server"},
}

var permissions = func() map[Action]Permission {
	m := make(map[Action]Permission, len(Permissions))
	for _, p := range Permissions {
		m[p.Action] = p
	}
	return m
}()

// PermissionFor returns an action's permission. ok is false if there is none.
func PermissionFor(a Action) (p Permission, ok bool) {
	p, ok = permissions[a]
	return p, ok
}

// Allows reports whether a role has the permission. Server administrators have it for all tenants, other roles only for
// their own.
func (p Permission) Allows(role string) bool {
	least := slices.Index(Roles, p.Least)
	return least >= 0 && slices.Index(Roles, role) >= least
}

// AllowsClients reports whether a client that acts for itself has the permission in its tenant, if its token has the
// scope.
func (p Permission) AllowsClients() bool { return !p.People && p.Allows(RoleTenantAdmin) }

// May reports whether the caller may perform an action on a tenant's records. TenantNone stands for records without a
// tenant, or for all tenants. The user needs a role, or the caller must be the tenant's own client, and the token needs
// a scope. A token that a user granted to a tenant's client is limited to that tenant; there, a server administrator
// has a tenant_admin's rights.
func (c Caller) May(a Action, tenant string) bool {
	p, ok := c.permission(a)
	switch {
	case !ok || c.ClientTenant != TenantNone && c.ClientTenant != tenant:
		return false
	case c.UserID == "":
		return c.ClientTenant != TenantNone && p.AllowsClients()
	}
	for _, r := range c.Roles {
		switch {
		case r.Pending:
		case r.Role == RoleOperator && c.ClientTenant == TenantNone:
			return p.Allows(RoleOperator)
		case r.Role == RoleOperator && p.Allows(RoleTenantAdmin),
			r.Role != RoleOperator && tenant != TenantNone && r.TenantID == tenant && p.Allows(r.Role):
			return true
		}
	}
	return false
}

// TenantsWith returns the tenants in which the caller may perform an action. all is true, and the list empty, for a
// server administrator whose client is not bound to a tenant.
func (c Caller) TenantsWith(a Action) (tenants []string, all bool) {
	switch {
	case c.May(a, c.ClientTenant):
		if c.ClientTenant == TenantNone {
			return nil, true
		}
		return []string{c.ClientTenant}, false
	case c.ClientTenant != TenantNone || c.UserID == "":
		return nil, false
	}
	for _, r := range c.Roles {
		if r.TenantID != TenantNone && !slices.Contains(tenants, r.TenantID) && c.May(a, r.TenantID) {
			tenants = append(tenants, r.TenantID)
		}
	}
	return tenants, false
}

// HasRole reports whether the caller is a user with an active role, or a tenant's own client. No other caller may see
// any records.
func (c Caller) HasRole() bool {
	if c.UserID == "" {
		return c.ClientTenant != TenantNone
	}
	return slices.ContainsFunc(c.Roles, func(r Role) bool { return !r.Pending })
}

// MaySomewhere reports whether the caller may perform an action in at least one tenant.
func (c Caller) MaySomewhere(a Action) bool {
	tenants, all := c.TenantsWith(a)
	return all || len(tenants) > 0
}

// permission returns an action's permission. ok is false if there is none, or if the token lacks its scopes.
func (c Caller) permission(a Action) (Permission, bool) {
	p, ok := permissions[a]
	return p, ok && slices.ContainsFunc(p.Scopes, c.Has)
}

// Lacking returns the error for a caller who may not perform an action. Its message names the action and the lowest
// role that permits it.
func Lacking(a Action) *Error {
	return Forbiddenf("You need the permission %s. Ask an administrator for the role %s.", a, permissions[a].Least)
}

// AllowedScopes returns the scopes that the user's roles allow for a token. The token's client belongs to clientTenant,
// or to no tenant if that is TenantNone. A role in one tenant gives no scopes to another tenant's client.
func AllowedScopes(roles []Role, clientTenant string) []string {
	var most int
	for _, r := range roles {
		if !r.Pending && (r.Role == RoleOperator || clientTenant == TenantNone || r.TenantID == clientTenant) {
			most = max(most, 1+slices.Index(Roles, r.Role))
		}
	}
	if most == 0 {
		return UserScopes
	}
	switch Roles[most-1] {
	case RoleViewer, RoleEditor:
		return editorScopes
	case RolePublisher:
		return publisherScopes
	}
	return AllScopes
}

var (
	publisherScopes = slices.Concat(UserScopes, []string{ScopeSend, ScopeAdmin})
	editorScopes    = slices.Concat(UserScopes, []string{ScopeAdmin})
)
