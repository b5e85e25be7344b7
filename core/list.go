package core

import (
	"cmp"
	"net/url"
	"slices"
)

// List is a newsletter list.
type List struct {
	ID       string `json:"id" db:"id"`
	TenantID string `json:"tenant_id" db:"tenant_id"`
	Name     string `json:"name" db:"name"`
	Status   string `json:"status" db:"status" enum:"active|inactive" about:"active: takes signups and campaigns; inactive: neither"`
	// empty means the configured default
	ConfirmToken string `json:"confirm_token,omitempty" db:"confirm_token" enum:"live|receipt|trusted" about:"Whether the confirm_token in the response to a signup confirms the subscription; missing: the server's default"`
	// confirm_token as last set by a server administrator; other callers can't make it less strict
	ConfirmFloor       string `json:"-" db:"confirm_floor"`
	RequireMailedProof bool   `json:"require_mailed_proof" db:"require_mailed_proof"`
	SyncRemovesAbsent  bool   `json:"sync_removes_absent" db:"sync_removes_absent"`

	// language of its pages and emails; empty means the tenant's
	Language    string `json:"language,omitempty" db:"language" about:"Language of pages and emails; absent: the tenant's"`
	Description string `json:"description,omitempty" db:"description" about:"Text above the signup form; absent: none"`
	// consent text of the signup form; every version is kept
	ConsentText string    `json:"consent_text,omitempty" db:"consent_text"`
	Fields      Fields    `json:"fields" db:"fields"`
	MailTexts   MailTexts `json:"mail_texts" db:"mail_texts"`

	// Where pages redirect to on success; if empty, the page shows the result itself.
	SubscribeRedirectURL   string `json:"subscribe_redirect_url,omitempty" db:"subscribe_redirect_url"`
	ConfirmRedirectURL     string `json:"confirm_redirect_url,omitempty" db:"confirm_redirect_url"`
	UnsubscribeRedirectURL string `json:"unsubscribe_redirect_url,omitempty" db:"unsubscribe_redirect_url"`

	Archive bool   `json:"archive" db:"archive"`     // publishes sent campaigns in the public archive
	Slug    string `json:"slug,omitempty" db:"slug"` // path of the archive; empty means the id

	SignupTagID string `json:"signup_tag_id,omitempty" db:"signup_tag_id" about:"Tag that people get when they confirm a signup; absent: none"`

	CreatedAt Instant `json:"created_at" db:"created_at"`
	UpdatedAt Instant `json:"updated_at" db:"updated_at"`
}

// The values of List.ConfirmToken: what the confirm_token in the response to a subscribe request can do.
const (
	ConfirmLive    = "live"    // it confirms the subscription
	ConfirmReceipt = "receipt" // it confirms nothing; only the emailed token confirms
	ConfirmTrusted = "trusted" // live for callers with newsletter:events.write, otherwise receipt
)

// ConfirmMode returns the effective mode of the confirm_token in responses: the list's setting, or the limit if that is
// stricter. The limit is the server administrator's setting for the list. Without one, the limit is configured, which
// is the daemon's default.
func (l *List) ConfirmMode(configured string) string {
	mode, floor := cmp.Or(l.ConfirmToken, configured, ConfirmLive), cmp.Or(l.ConfirmFloor, configured, ConfirmLive)
	if looser(mode, floor) {
		return floor
	}
	return mode
}

// looser reports whether confirm_token mode a is less strict than mode b.
func looser(a, b string) bool {
	order := []string{ConfirmLive, ConfirmTrusted, ConfirmReceipt}
	return slices.Index(order, a) < slices.Index(order, b)
}

// HoldConfirmToken checks a tenant_admin's change of confirm_token. The list before the change is was, which is zero
// for a new list. If the new mode is less strict than the server administrator's setting for the list, or the
// configured default, it returns a Forbidden error.
func (l *List) HoldConfirmToken(was List, configured string) error {
	l.ConfirmFloor = was.ConfirmFloor
	if l.ConfirmToken != was.ConfirmToken && looser(cmp.Or(l.ConfirmToken, configured, ConfirmLive),
		l.ConfirmMode(configured)) {
		return Forbiddenf("confirm_token can't be less strict than the server administrator's setting. From strict " +
			"to lenient: receipt, trusted, live.")
	}
	return nil
}

// Active reports whether the list accepts subscriptions and send jobs. It ignores the state of the tenant.
func (l *List) Active() bool { return l.Status == ListActive }

// ListInput holds the fields of a list that a caller sets. A nil field is left unchanged.
type ListInput struct {
	ID                 *string `json:"id" like:"readonly"`
	TenantID           *string `json:"tenant_id" about:"Tenant of the list; can't be changed"`
	Name               *string `json:"name" like:"name" max:"200"`
	Status             *string `json:"status" enum:"active|inactive" about:"active: takes signups and campaigns; inactive: neither"`
	ConfirmToken       *string `json:"confirm_token" oneof:"|live|receipt|trusted" about:"Whether the confirm_token in the response to a signup confirms the subscription. live: it does; receipt: only the link in the email does; trusted: it does for callers with newsletter:events.write; empty: the server's default"`
	RequireMailedProof *bool   `json:"require_mailed_proof"`
	SyncRemovesAbsent  *bool   `json:"sync_removes_absent"`

	Language    *string    `json:"language" like:"language" about:"Language of pages and emails; empty: the tenant's"`
	Description *string    `json:"description" like:"text" max:"2000" about:"Text above the signup form; empty: none"`
	ConsentText *string    `json:"consent_text" like:"text" max:"2000"`
	Fields      *[]Field   `json:"fields" max:"30" each:"field"`
	MailTexts   *MailTexts `json:"mail_texts"`

	SubscribeRedirectURL   *string `json:"subscribe_redirect_url"`
	ConfirmRedirectURL     *string `json:"confirm_redirect_url"`
	UnsubscribeRedirectURL *string `json:"unsubscribe_redirect_url"`

	Archive *bool   `json:"archive"`
	Slug    *string `json:"slug" like:"slug" max:"80"`

	SignupTagID *string `json:"signup_tag_id" about:"ID or name of a tag that people get when they confirm a signup; empty: none"`
}

// NewList returns a new list created from in. It ignores in's id, but requires a tenant_id.
func NewList(in ListInput, now Instant) (List, error) {
	l := List{ID: NewID(), Status: ListActive, SyncRemovesAbsent: true, CreatedAt: now}
	take(&l.TenantID, in.TenantID)
	if l.TenantID == "" {
		return l, Invalidf("tenant_id", "tenant_id is missing.")
	}
	in.ID, in.TenantID = nil, nil
	err := l.Change(in, now)
	return l, err
}

// Change applies the fields of in with a server administrator's rights. A list can't move to another tenant.
func (l *List) Change(in ListInput, now Instant) error {
	if in.ID != nil && *in.ID != l.ID {
		return Invalidf("id", "id can't be changed. Leave it out.")
	}
	if in.TenantID != nil && *in.TenantID != l.TenantID {
		return Invalidf("tenant_id", "tenant_id can't be changed. Leave it out.")
	}
	take(&l.Name, in.Name)
	take(&l.Status, in.Status)
	take(&l.ConfirmToken, in.ConfirmToken)
	take(&l.ConfirmFloor, in.ConfirmToken)
	take(&l.Language, in.Language)
	take(&l.Description, in.Description)
	take(&l.ConsentText, in.ConsentText)
	take(&l.SubscribeRedirectURL, in.SubscribeRedirectURL)
	take(&l.ConfirmRedirectURL, in.ConfirmRedirectURL)
	take(&l.UnsubscribeRedirectURL, in.UnsubscribeRedirectURL)
	take(&l.Slug, in.Slug)
	take(&l.SignupTagID, in.SignupTagID)
	if in.Archive != nil {
		l.Archive = *in.Archive
	}
	if in.Fields != nil {
		fields := slices.Clone(Fields(*in.Fields))
		fields.keepSetBy(l.Fields)
		l.Fields = fields
	}
	if in.MailTexts != nil {
		l.MailTexts = *in.MailTexts
	}
	if in.RequireMailedProof != nil {
		l.RequireMailedProof = *in.RequireMailedProof
	}
	if in.SyncRemovesAbsent != nil {
		l.SyncRemovesAbsent = *in.SyncRemovesAbsent
	}
	l.UpdatedAt = now
	return l.Validate()
}

// Validate checks every field.
func (l *List) Validate() error {
	if err := checkName(&l.Name, "name"); err != nil {
		return err
	}
	if l.Status != ListActive && l.Status != ListInactive {
		return Invalidf("status", "status must be active or inactive.")
	}
	switch l.ConfirmToken {
	case "", ConfirmLive, ConfirmReceipt, ConfirmTrusted:
	default:
		return Invalidf("confirm_token", "confirm_token must be live, receipt or trusted.")
	}
	return l.validatePages()
}

// validatePages checks the fields that appear on subscribers' pages.
func (l *List) validatePages() error {
	if err := checkLanguage(l.Language); err != nil {
		return err
	}
	if err := checkText(&l.Description, "description", 2000, true); err != nil {
		return err
	}
	if err := checkText(&l.ConsentText, "consent_text", 2000, true); err != nil {
		return err
	}
	if err := l.Fields.Check(); err != nil {
		return err
	}
	if err := checkSlug(l.Slug); err != nil {
		return err
	}
	for _, r := range [][2]string{
		{"subscribe_redirect_url", l.SubscribeRedirectURL},
		{"confirm_redirect_url", l.ConfirmRedirectURL},
		{"unsubscribe_redirect_url", l.UnsubscribeRedirectURL},
	} {
		if r[1] != "" && !isSecureURL(r[1]) {
			return Invalidf(r[0], "%s must be an absolute https URL. http is only allowed for localhost.", r[0])
		}
	}
	return l.MailTexts.check()
}

// isSecureURL reports whether s is an absolute https URL. For testing, it also accepts http on this machine.
func isSecureURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || !isWebURL(s) {
		return false
	}
	host := u.Hostname()
	return u.Scheme == "https" || host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// ConsentVersion returns the version of the consent text that subscribers agree to, or "" if the list has no such
// text.
func (l *List) ConsentVersion() string {
	if l.ConsentText == "" {
		return ""
	}
	return TextVersion(l.ConsentText)
}
