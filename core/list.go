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
	Status   string `json:"status" db:"status" enum:"active|inactive"`
	// empty: the configured default
	ConfirmToken string `json:"confirm_token,omitempty" db:"confirm_token" enum:"live|receipt|trusted"`
	// what an operator set last; no one else sets a looser confirm_token
	ConfirmFloor       string `json:"-" db:"confirm_floor"`
	RequireMailedProof bool   `json:"require_mailed_proof" db:"require_mailed_proof"`
	SyncRemovesAbsent  bool   `json:"sync_removes_absent" db:"sync_removes_absent"`

	// of its pages and mails; empty: the tenant's
	Language    string `json:"language,omitempty" db:"language"`
	Description string `json:"description,omitempty" db:"description"` // above its subscribe form
	// what one agrees to there; each version is kept
	ConsentText string    `json:"consent_text,omitempty" db:"consent_text"`
	Fields      Fields    `json:"fields" db:"fields"`
	MailTexts   MailTexts `json:"mail_texts" db:"mail_texts"`

	// Where a page sends the browser once it has done its work; empty: it says so itself.
	SubscribeRedirectURL   string `json:"subscribe_redirect_url,omitempty" db:"subscribe_redirect_url"`
	ConfirmRedirectURL     string `json:"confirm_redirect_url,omitempty" db:"confirm_redirect_url"`
	UnsubscribeRedirectURL string `json:"unsubscribe_redirect_url,omitempty" db:"unsubscribe_redirect_url"`

	Archive bool   `json:"archive" db:"archive"`     // what was sent is shown to everyone
	Slug    string `json:"slug,omitempty" db:"slug"` // of the archive's address; empty: the id

	CreatedAt Instant `json:"created_at" db:"created_at"`
	UpdatedAt Instant `json:"updated_at" db:"updated_at"`
}

// What the confirm_token in the answer of a subscribe is good for.
const (
	ConfirmLive    = "live"    // it confirms
	ConfirmReceipt = "receipt" // only the mailed token confirms
	ConfirmTrusted = "trusted" // live for callers with newsletter:events.write, else receipt
)

// ConfirmMode returns what the confirm_token in answers is good for, where configured is the daemon's default: what the
// list says, but nothing looser than the operator's word for the list or, without one, the configured default.
func (l *List) ConfirmMode(configured string) string {
	mode, floor := cmp.Or(l.ConfirmToken, configured, ConfirmLive), cmp.Or(l.ConfirmFloor, configured, ConfirmLive)
	if looser(mode, floor) {
		return floor
	}
	return mode
}

// looser reports whether more callers can confirm by the answer under a than under b.
func looser(a, b string) bool {
	order := []string{ConfirmLive, ConfirmTrusted, ConfirmReceipt}
	return slices.Index(order, a) < slices.Index(order, b)
}

// HoldConfirmToken takes a change of confirm_token for that of a tenant_admin: was is the list before it (zero: there
// was none). One that is looser than the operator's word for the list, or than the configured default, is forbidden.
func (l *List) HoldConfirmToken(was List, configured string) error {
	l.ConfirmFloor = was.ConfirmFloor
	if l.ConfirmToken != was.ConfirmToken && looser(cmp.Or(l.ConfirmToken, configured, ConfirmLive),
		l.ConfirmMode(configured)) {
		return Forbiddenf("confirm_token can't be less strict than the server administrator's setting. From strict " +
			"to lenient: receipt, trusted, live.")
	}
	return nil
}

// Active reports whether the list takes subscriptions and send jobs, as far as it is up to the list.
func (l *List) Active() bool { return l.Status == ListActive }

// ListInput is what a caller wants a list to be; nil leaves a field as it is.
type ListInput struct {
	ID                 *string `json:"id" like:"readonly"`
	TenantID           *string `json:"tenant_id"`
	Name               *string `json:"name" like:"name" max:"200"`
	Status             *string `json:"status" enum:"active|inactive"`
	ConfirmToken       *string `json:"confirm_token" oneof:"|live|receipt|trusted"`
	RequireMailedProof *bool   `json:"require_mailed_proof"`
	SyncRemovesAbsent  *bool   `json:"sync_removes_absent"`

	Language    *string    `json:"language" like:"language"`
	Description *string    `json:"description" like:"text" max:"2000"`
	ConsentText *string    `json:"consent_text" like:"text" max:"2000"`
	Fields      *[]Field   `json:"fields" max:"30" each:"field"`
	MailTexts   *MailTexts `json:"mail_texts"`

	SubscribeRedirectURL   *string `json:"subscribe_redirect_url"`
	ConfirmRedirectURL     *string `json:"confirm_redirect_url"`
	UnsubscribeRedirectURL *string `json:"unsubscribe_redirect_url"`

	Archive *bool   `json:"archive"`
	Slug    *string `json:"slug" like:"slug" max:"80"`
}

// NewList makes a list of a tenant. An id in the input is ignored.
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

// Change takes over what the input holds, as an operator's wish. A list stays with its tenant.
func (l *List) Change(in ListInput, now Instant) error {
	if in.ID != nil && *in.ID != l.ID {
		return Invalidf("id", "id can't be changed.")
	}
	if in.TenantID != nil && *in.TenantID != l.TenantID {
		return Invalidf("tenant_id", "tenant_id can't be changed.")
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
	if in.Archive != nil {
		l.Archive = *in.Archive
	}
	if in.Fields != nil {
		l.Fields = Fields(*in.Fields)
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

// validatePages checks what subscribers get to see.
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
			return Invalidf(r[0], "%s must be an absolute https URL. http is only allowed for this machine.", r[0])
		}
	}
	return l.MailTexts.check()
}

// isSecureURL reports whether s is an absolute https URL, or an http one of this machine, for trying things out.
func isSecureURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || !isWebURL(s) {
		return false
	}
	host := u.Hostname()
	return u.Scheme == "https" || host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// ConsentVersion names what a subscriber of the form agreed to; empty where the list says nothing.
func (l *List) ConsentVersion() string {
	if l.ConsentText == "" {
		return ""
	}
	return TextVersion(l.ConsentText)
}
