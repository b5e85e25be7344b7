package members

import (
	"cmp"
	"context"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/members"
)

// suppressions serves /api/admin/suppressions.
type suppressions struct{ store *store.Store }

// block is an entry in the suppression list, without the address.
type block struct {
	Kind       string       `json:"kind" enum:"disabled|bounced|complaint|suppressed|left" about:"disabled: blocked on request; suppressed: by an import or mail provider; left: erased, so no import adds the address again"`
	TenantID   string       `json:"tenant_id,omitempty" about:"Tenant of the block; absent: it applies to all tenants"`
	ListID     string       `json:"list_id,omitempty" about:"List of the block; absent: it applies to all lists"`
	Reason     string       `json:"reason"`
	DisabledBy string       `json:"disabled_by,omitempty"`
	OccurredAt core.Instant `json:"occurred_at"`
}

// blockOf returns the part of a block that the caller may see. A block for all tenants can come from another tenant, so
// only server administrators see its actor and reason.
func blockOf(c *web.Call, s *core.Suppressed) block {
	b := block{s.Kind, s.TenantID, s.ListID, s.Reason, s.DisabledBy, s.OccurredAt}
	if s.TenantID == core.TenantNone && !web.IsOperator(c) {
		b.Reason, b.DisabledBy = "", ""
	}
	return b
}

// suppression is a block and the blocked address.
type suppression struct {
	Email core.Email `json:"email" about:"Email address in lower case"`
	block
}

// suppressionRoutes adds the routes for suppression lists and for the reasons why an address got no email.
func (r *Room) suppressionRoutes(t *web.Table) {
	p := suppressions{r.Store}
	const off = "/api/admin/suppressions"
	may := web.Admin(core.ActionSuppressionManage)
	t.Add("GET", "/api/admin/why", web.Admin(core.ActionPeopleRead), web.Member, web.Query(p.why),
		"Show why an address got no email: its subscriptions, blocks, last emails and server responses").
		Named("explainDelivery").
		Refuses(web.BadEmail)
	t.Add("GET", off, may, web.Member, web.Search(p.list), "List the blocked addresses of a tenant with the reasons").
		Named("listSuppressions").
		Refuses(web.BadEmail, web.Refused("import_id", "Can't be combined with email"))
	t.Add("GET", off+"/count", may, web.Member, web.Query(p.count),
		"Count the blocked addresses of a tenant, up to 50,000").Named("countSuppressions").
		Refuses(web.TenantNamed)
	t.Add("GET", off+"/export", may.Exports(), web.Member,
		web.Write(p.export).Answers("text/csv").Fails(core.NotFound),
		"Export the blocked addresses of a tenant with the reasons, as CSV").Named("exportSuppressions").
		Refuses(web.TenantNamed, web.BadEmail, web.Refused("import_id", "Can't be combined with email"))
	t.Add("POST", off, may, web.Member, web.JSON(p.create).Created().Fails(core.NotFound),
		"Block an address").Named("createSuppression").
		Example(web.Object{"email": "gone@example.org", "tenant_id": web.ExampleID, "reason": "asked by telephone"}).
		Refuses(web.TenantNamed, web.BadEmail)
	t.Add("PUT", off, may, web.Member, web.JSON(p.update).Fails(core.NotFound),
		"Update the reason for blocking an address").Named("updateSuppression").
		Example(web.Object{"email": "off@example.org", "tenant_id": web.ExampleID, "reason": "asked by letter"}).
		Refuses(web.TenantNamed, web.BadEmail)
	t.Add("POST", off+"/lift", may, web.Member, web.JSON(p.lift).Fails(core.NotFound), "Unblock an address").
		Named("liftSuppression").
		Example(web.Object{"email": "off@example.org", "tenant_id": web.ExampleID}).
		Refuses(web.TenantNamed, web.BadEmail)
}

func suppressionRows(c *web.Call, found []core.Suppressed) []suppression {
	rows := make([]suppression, len(found))
	for i := range found {
		rows[i] = suppression{core.Email(found[i].Email), blockOf(c, &found[i])}
	}
	return rows
}

// suppressionPart selects part of the suppression list.
type suppressionPart struct {
	Kind     string `query:"kind" enum:"disabled|bounced|complaint|suppressed" about:"Only blocks of this kind"`
	ImportID string `query:"import_id,uuid" about:"Only addresses that this import added"`
}

// suppressionFilter filters the suppression list.
type suppressionFilter struct {
	suppressionPart
	Email core.Email `query:"email"`
}

// suppressionQuery filters the suppression list of one tenant or, for server administrators, of all tenants.
type suppressionQuery struct {
	TenantID string `query:"tenant_id" about:"Tenant of the blocks; empty: your only tenant or, for server administrators, all tenants"`
	suppressionFilter
}

// countedSuppressions selects the part of a tenant's suppression list to count.
type countedSuppressions struct {
	TenantID string `query:"tenant_id" like:"tenant"`
	suppressionPart
}

// check returns an error for filters that can't be combined.
func (in *suppressionFilter) check() error {
	if in.Email != "" && in.ImportID != "" {
		return core.Invalidf("import_id", "import_id can't be combined with email. Remove one of the two.")
	}
	return nil
}

// The parts of the suppression list, in order.
const (
	partDisabled   = "d"
	partSuppressed = "s"
)

// list returns the addresses that get no email from any of a tenant's lists: first the blocked ones, then those that
// the send side has suppressed. It leaves out blocks on a single list, which are part of the subscriber's status. Rows
// are ordered by part, tenant and address.
func (a suppressions) list(c *web.Call, in suppressionQuery, page core.Page) (rows []suppression, next string,
	err error,
) {
	tenant, err := web.TheTenant(c, in.TenantID)
	if err != nil {
		return nil, "", err
	}
	if err := in.check(); err != nil {
		return nil, "", err
	}
	if in.Email != "" {
		found, err := a.store.Suppressions(c, in.Email, tenant)
		for _, s := range suppressionRows(c, found) {
			if in.Kind == "" || s.Kind == in.Kind {
				rows = append(rows, s)
			}
		}
		return rows, "", err
	}
	part, after, _ := strings.Cut(cmp.Or(page.After, partDisabled), " ")
	var last core.Suppressed
	last.TenantID, last.Email, _ = strings.Cut(after, " ")
	read := a.store.SuppressedAddresses
	switch {
	case in.ImportID != "":
		part = partSuppressed
		read = func(ctx context.Context, tenant string, after core.Suppressed, limit int) ([]core.Suppressed, error) {
			return a.store.ImportedSuppressions(ctx, in.ImportID, in.Kind, tenant, after, limit)
		}
	case part == partDisabled:
		read = a.store.DisabledAddresses
	}
	found, err := read(c, tenant, last, page.Limit)
	if err != nil {
		return nil, "", err
	}
	for _, s := range suppressionRows(c, found) {
		if in.Kind == "" || s.Kind == in.Kind {
			rows = append(rows, s)
		}
	}
	switch {
	case len(found) == page.Limit:
		end := found[len(found)-1]
		next = part + " " + end.TenantID + " " + end.Email
	case part == partDisabled:
		next = partSuppressed
	}
	return rows, next, nil
}

// maxSuppressionCount is the maximum number of blocked addresses that one count reads.
const maxSuppressionCount = 50_000

// suppressionCount is the number of addresses in part of the suppression list.
type suppressionCount struct {
	Addresses int64 `json:"addresses" about:"Number of addresses"`
	More      bool  `json:"more" about:"Not all addresses were read, so the number is a lower limit"`
}

func (a suppressions) count(c *web.Call, in countedSuppressions) (n suppressionCount, err error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return n, err
	}
	n.Addresses, n.More, err = a.store.CountSuppressed(c, tenant, in.Kind, in.ImportID, maxSuppressionCount)
	return n, err
}

// suppressionInput holds an address and a tenant. Only server administrators may leave out the tenant, which then means
// all tenants.
type suppressionInput struct {
	Email    core.Email `json:"email" is:"required"`
	TenantID string     `json:"tenant_id" about:"Tenant of the block; empty: your only tenant or, for server administrators, all tenants"`
}

// newSuppression is the body of POST /api/admin/suppressions.
type newSuppression struct {
	suppressionInput
	Reason string `json:"reason" like:"line" max:"255"`
}

// CheckInput returns an error for a reason that the record would cut.
func (in *newSuppression) CheckInput() error { return web.CheckText("reason", in.Reason) }

// suppressedAddress is the result of blocking an address.
type suppressedAddress struct {
	Email         core.Email `json:"email"`
	Disabled      bool       `json:"disabled" about:"Always true"`
	Subscriptions int        `json:"subscriptions" about:"Number of subscriptions that were ended"`
}

func (a suppressions) create(c *web.Call, in newSuppression) (s suppressedAddress, err error) {
	tenant, err := web.TheTenant(c, in.TenantID)
	if err != nil {
		return s, err
	}
	n, err := a.store.Suppress(c, members.DisableRequest{
		Email: in.Email, TenantID: tenant, Reason: cmp.Or(in.Reason, "by "+web.Actor(c)), DisabledBy: web.Actor(c),
		OccurredAt: c.Now,
	}, web.Actor(c), c.Now)
	return suppressedAddress{in.Email, true, n}, web.UnknownTenant(err)
}

// suppressionChange is the body of PUT /api/admin/suppressions.
type suppressionChange struct {
	suppressionInput
	Reason string `json:"reason" is:"required" like:"line" max:"255"`
}

// CheckInput returns an error for a reason that the record would cut.
func (in *suppressionChange) CheckInput() error { return web.CheckText("reason", in.Reason) }

func (a suppressions) update(c *web.Call, in suppressionChange) ([]suppression, error) {
	tenant, err := web.TheTenant(c, in.TenantID)
	if err != nil {
		return nil, err
	}
	changed, err := a.store.SetSuppressionReason(c, in.Email, tenant, in.Reason, web.Actor(c), c.Now)
	return suppressionRows(c, changed), err
}

func (a suppressions) lift(c *web.Call, in suppressionInput) ([]suppression, error) {
	tenant, err := web.TheTenant(c, in.TenantID)
	if err != nil {
		return nil, err
	}
	lifted, err := a.store.Lift(c, in.Email, tenant, web.Actor(c), c.Now)
	return suppressionRows(c, lifted), err
}

// whyQuery selects the address that got no email.
type whyQuery struct {
	Email    core.Email `query:"email,required"`
	TenantID string     `query:"tenant_id"`
}

// whyAnswer holds the reasons why an address got no email.
type whyAnswer struct {
	Email         core.Email             `json:"email"`
	Subscriptions []core.WhySubscription `json:"subscriptions" about:"Subscriptions of the address"`
	Blocks        []block                `json:"blocks"`
	Mails         []core.WhyMail         `json:"mails" about:"Transactional emails to the address, newest first"`
	Campaigns     []core.Mailed          `json:"campaigns" about:"Emails of campaigns to the address, newest first"`
}

// why returns the reasons why an address got no email.
func (a suppressions) why(c *web.Call, in whyQuery) (out whyAnswer, err error) {
	tenants, all, err := web.TenantsFor(c, web.TenantFilter{TenantID: in.TenantID})
	if err != nil {
		return out, err
	}
	w, err := a.store.Why(c, in.Email, tenants, all)
	out = whyAnswer{
		w.Email, w.Subscriptions,
		web.RowsOf(w.Blocks, func(s *core.Suppressed) block { return blockOf(c, s) }), w.Mails,
		web.RowsOf(w.Campaigns, (*core.HistoryEntry).Mailed),
	}
	return out, err
}
