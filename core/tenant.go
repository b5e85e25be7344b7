package core

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The statuses of tenants and lists.
const (
	TenantActive    = "active"
	TenantSuspended = "suspended"
	ListActive      = "active"
	ListInactive    = "inactive"
)

// Tenant is a customer of the service. For an empty field, the daemon's own setting applies.
type Tenant struct {
	ID            string  `json:"id" db:"id"`
	Name          string  `json:"name" db:"name"`
	Domains       Strings `json:"domains" db:"domains"` // lower-case A-labels
	Status        string  `json:"status" db:"status" enum:"active|suspended" about:"suspended: its roles grant nothing, its API clients get no tokens, and sending pauses"`
	MailFrom      string  `json:"mail_from,omitempty" db:"mail_from"` // its domain must be one of Domains
	MailFromName  string  `json:"mail_from_name,omitempty" db:"mail_from_name"`
	ReplyTo       string  `json:"reply_to,omitempty" db:"reply_to"`
	PostalAddress string  `json:"postal_address,omitempty" db:"postal_address"`
	PublicURL     string  `json:"public_url,omitempty" db:"public_url"` // link origin in emails
	BrandName     string  `json:"brand_name,omitempty" db:"brand_name"`
	BrandColor    string  `json:"brand_color,omitempty" db:"brand_color"` // #rrggbb
	BrandLogoURL  string  `json:"brand_logo_url,omitempty" db:"brand_logo_url"`
	// logo for dark backgrounds; empty means the logo
	BrandDarkLogoURL string `json:"brand_dark_logo_url,omitempty" db:"brand_dark_logo_url"`
	PrivacyURL       string `json:"privacy_url,omitempty" db:"privacy_url"` // linked from its pages
	// language of its lists' pages and emails; empty means English
	Language string `json:"language,omitempty" db:"language" about:"Language of pages and emails; absent: English"`

	MailTexts MailTexts `json:"mail_texts" db:"mail_texts"`

	// disables tracking of opens and clicks, regardless of a job's setting
	NoTracking bool `json:"no_tracking,omitempty" db:"no_tracking"`
	// counts opens and clicks without identifying subscribers, regardless of a job's setting
	TotalsOnly bool `json:"totals_only,omitempty" db:"totals_only"`
	// identifies subscribers in opens and clicks only if they agreed; others are counted as with totals_only
	TrackingConsent bool `json:"tracking_consent,omitempty" db:"tracking_consent"`

	// recipients of test emails that name no address; editors may send tests only to these
	TestAddresses Strings `json:"test_addresses" db:"test_addresses"`
	// time zone of times without an offset; if empty, such times are refused
	TimeZone string `json:"time_zone,omitempty" db:"time_zone"`

	Approval string `json:"approval" db:"approval" enum:"none|second_person"` // approval that a campaign needs
	FirstFew bool   `json:"first_few" db:"first_few"`                         // first recipients before the rest

	Relays     Relays     `json:"relays,omitempty" db:"relays"` // empty means the daemon's relay
	SendLimits SendLimits `json:"send_limits,omitzero" db:"send_limits"`

	CreatedAt Instant `json:"created_at" db:"created_at"`
	UpdatedAt Instant `json:"updated_at" db:"updated_at"`
}

// Active reports whether the tenant may send emails and accept subscriptions.
func (t *Tenant) Active() bool { return t.Status == TenantActive }

// TenantInput holds the fields of a tenant that a caller sets. A nil field is left unchanged.
type TenantInput struct {
	ID               *string   `json:"id" like:"readonly"`
	Name             *string   `json:"name" like:"name" max:"200"`
	Domains          *[]string `json:"domains" max:"100"`
	Status           *string   `json:"status" enum:"active|suspended" about:"suspended: its roles grant nothing, its API clients get no tokens, and sending pauses"`
	MailFrom         *string   `json:"mail_from" like:"address"`
	MailFromName     *string   `json:"mail_from_name" like:"line" max:"100"`
	ReplyTo          *string   `json:"reply_to" like:"address"`
	PostalAddress    *string   `json:"postal_address" like:"text" max:"500"`
	PublicURL        *string   `json:"public_url"`
	BrandName        *string   `json:"brand_name" like:"line" max:"60"`
	BrandColor       *string   `json:"brand_color"`
	BrandLogoURL     *string   `json:"brand_logo_url"`
	BrandDarkLogoURL *string   `json:"brand_dark_logo_url"`
	PrivacyURL       *string   `json:"privacy_url"`
	Language         *string   `json:"language" like:"language" about:"Language of pages and emails; empty: English"`

	MailTexts *MailTexts `json:"mail_texts"`

	NoTracking      *bool   `json:"no_tracking"`
	TotalsOnly      *bool   `json:"totals_only"`
	TrackingConsent *bool   `json:"tracking_consent"`
	Approval        *string `json:"approval" enum:"none|second_person"`
	FirstFew        *bool   `json:"first_few"`

	TestAddresses *[]string `json:"test_addresses" max:"20" each:"email"`
	TimeZone      *string   `json:"time_zone" max:"64"`

	Relays     *[]Relay    `json:"relays" max:"8"`
	SendLimits *SendLimits `json:"send_limits" like:"period"`
}

// NewTenant returns a new tenant with the fields of in, except the id.
func NewTenant(in TenantInput, now Instant) (Tenant, error) {
	t := Tenant{
		ID: NewID(), Status: TenantActive, Domains: Strings{}, Approval: ApprovalNone, CreatedAt: now, UpdatedAt: now,
	}
	in.ID = nil
	err := t.Change(in, true, now)
	return t, err
}

// Change sets the tenant's fields from in. Only server administrators may set the status and the domains; domains that
// the tenant verifies are added by the DNS check. The error joins the errors of all invalid fields.
func (t *Tenant) Change(in TenantInput, operator bool, now Instant) error {
	if in.ID != nil && *in.ID != t.ID {
		return Invalidf("id", "id can't be changed. Leave it out.")
	}
	was := *t
	take(&t.Name, in.Name)
	take(&t.Status, in.Status)
	take(&t.MailFrom, in.MailFrom)
	take(&t.MailFromName, in.MailFromName)
	take(&t.ReplyTo, in.ReplyTo)
	take(&t.PostalAddress, in.PostalAddress)
	take(&t.PublicURL, in.PublicURL)
	take(&t.BrandName, in.BrandName)
	take(&t.BrandColor, in.BrandColor)
	take(&t.BrandLogoURL, in.BrandLogoURL)
	take(&t.BrandDarkLogoURL, in.BrandDarkLogoURL)
	take(&t.PrivacyURL, in.PrivacyURL)
	take(&t.Language, in.Language)
	take(&t.Approval, in.Approval)
	take(&t.TimeZone, in.TimeZone)
	if in.FirstFew != nil {
		t.FirstFew = *in.FirstFew
	}
	if in.NoTracking != nil {
		t.NoTracking = *in.NoTracking
	}
	if in.TotalsOnly != nil {
		t.TotalsOnly = *in.TotalsOnly
	}
	if in.TrackingConsent != nil {
		t.TrackingConsent = *in.TrackingConsent
	}
	if in.MailTexts != nil {
		t.MailTexts = *in.MailTexts
	}
	if in.Domains != nil {
		t.Domains = Strings(*in.Domains)
	}
	if in.TestAddresses != nil {
		t.TestAddresses = Strings(*in.TestAddresses)
	}
	var wrong []error
	if in.MailFrom != nil && Email(t.MailFrom).Domain() != Email(was.MailFrom).Domain() &&
		IsFreeMail(Email(t.MailFrom).Domain()) {
		wrong = append(wrong, freeMailSender("mail_from"))
	}
	wrong = append(wrong, t.Validate())
	if t.BrandName != was.BrandName {
		wrong = append(wrong, checkBrandName(t.BrandName))
	}
	if t.PrivacyURL != was.PrivacyURL && t.PrivacyURL != "" && !hasWholeHost(t.PrivacyURL) { // old values stay valid
		wrong = append(wrong, Invalidf("privacy_url",
			"privacy_url must have a full host name, for example shop.example."))
	}
	wrong = append(wrong, t.changeRoute(in))
	if err := joined(wrong...); err != nil {
		return err
	}
	if !operator && t.Status != was.Status {
		return Forbiddenf("Only server administrators can set status. Leave it out, or ask a server administrator.")
	}
	if !operator && t.MailFrom == "" && was.MailFrom != "" {
		return Forbiddenf("Only server administrators can leave mail_from empty. Set a sender address.")
	}
	if !operator && !slices.Equal(t.Domains, was.Domains) {
		return Forbiddenf("domains can't be changed here. Add and delete sender domains at /api/admin/sender-domains.")
	}
	if !operator && t.PublicURL != was.PublicURL && t.PublicURL != "" && !t.hasHost(t.PublicURL) {
		return Invalidf("public_url", "public_url must belong to one of the tenant's verified sender domains. Only "+
			"server administrators can set other URLs.")
	}
	if !operator && (t.Relays.bringsPassword() || t.Relays.Column() != was.Relays.Column() ||
		t.SendLimits != was.SendLimits) {
		return Forbiddenf("Only server administrators can set relays and send_limits. Leave them out, or ask a " +
			"server administrator.")
	}
	t.UpdatedAt = now
	return nil
}

// changeRoute sets the tenant's own relays and their send limits from in.
func (t *Tenant) changeRoute(in TenantInput) error {
	if in.Relays != nil {
		if err := t.Relays.change(*in.Relays); err != nil {
			return err
		}
	}
	if in.SendLimits != nil {
		t.SendLimits = *in.SendLimits
	}
	return t.SendLimits.Check("send_limits")
}

func take(to, from *string) {
	if from != nil {
		*to = *from
	}
}

// Origin returns the origin for links in the tenant's emails: its PublicURL or, if that is empty, the daemon's.
func (t *Tenant) Origin(daemon string) string { return cmp.Or(t.PublicURL, daemon) }

// MaxDomains is the maximum number of domains per tenant.
const MaxDomains = 100

// Validate checks every field and normalizes domains and addresses. The error joins the errors of all invalid fields.
func (t *Tenant) Validate() error {
	wrong := []error{checkName(&t.Name, "name")}
	if t.Status != TenantActive && t.Status != TenantSuspended {
		wrong = append(wrong, Invalidf("status", "status must be active or suspended."))
	}
	if !slices.Contains(Approvals, t.Approval) {
		wrong = append(wrong, Invalidf("approval", "approval must be one of %s.", strings.Join(Approvals, ", ")))
	}
	wrong = append(wrong, t.validateDomains())
	group, err := checkTestGroup(t.TestAddresses)
	if err == nil {
		t.TestAddresses = group
	}
	_, zone := ParseZone(t.TimeZone)
	return joined(append(wrong, err, zone, t.validateMail())...)
}

func (t *Tenant) validateDomains() error {
	if len(t.Domains) > MaxDomains {
		return Invalidf("domains", "%s must have at most %d entries.", "domains", MaxDomains)
	}
	domains := Strings{}
	for i, d := range t.Domains {
		a, ok := ParseDomain(d)
		if !ok {
			field := "domains[" + strconv.Itoa(i) + "]"
			return Invalidf(field, "%s is not a domain name. Use a name such as shop.example.", field)
		}
		if !slices.Contains(domains, a) {
			domains = append(domains, a)
		}
	}
	t.Domains = domains
	return nil
}

func (t *Tenant) validateMail() error {
	var wrong []error
	if err := checkAddress(&t.MailFrom, "mail_from"); err != nil {
		wrong = append(wrong, err)
	} else if t.MailFrom != "" && !slices.Contains(t.Domains, Email(t.MailFrom).Domain()) {
		wrong = append(wrong, Invalidf("mail_from",
			"mail_from must be at one of the tenant's verified sender domains."))
	}
	wrong = append(wrong, checkAddress(&t.ReplyTo, "reply_to"))
	for _, f := range []struct {
		text      *string
		name      string
		max       int
		multiline bool
	}{
		{&t.MailFromName, "mail_from_name", 100, false},
		{&t.PostalAddress, "postal_address", 500, true},
		{&t.BrandName, "brand_name", 100, false},
	} {
		wrong = append(wrong, checkText(f.text, f.name, f.max, f.multiline))
	}
	if t.PublicURL = strings.TrimSuffix(t.PublicURL, "/"); t.PublicURL != "" && !isOrigin(t.PublicURL) {
		wrong = append(wrong, Invalidf("public_url",
			"public_url must be an origin, for example https://news.example.com."))
	}
	if t.BrandLogoURL != "" && !isSecureURL(t.BrandLogoURL) {
		wrong = append(wrong, Invalidf("brand_logo_url",
			"brand_logo_url must be an absolute https URL. http is only allowed for localhost."))
	}
	if t.BrandDarkLogoURL != "" && !isSecureURL(t.BrandDarkLogoURL) {
		wrong = append(wrong, Invalidf("brand_dark_logo_url",
			"brand_dark_logo_url must be an absolute https URL. http is only allowed for localhost."))
	}
	if _, ok := ParseColor(t.BrandColor); !ok && t.BrandColor != "" {
		wrong = append(wrong, Invalidf("brand_color", "%s must be a hex color such as #1d6b52.", "brand_color"))
	}
	if t.PrivacyURL != "" && !isWebURL(t.PrivacyURL) {
		wrong = append(wrong, Invalidf("privacy_url", "privacy_url must be an absolute http or https URL."))
	}
	return joined(append(wrong, checkLanguage(t.Language), t.MailTexts.check())...)
}

// maxName is the maximum length of a record's name, in characters.
const maxName = 200

func checkName(s *string, field string) error {
	if err := checkText(s, field, maxName, false); err != nil {
		return err
	}
	if *s == "" {
		return Invalidf(field, "%s is empty. Enter a value.", field)
	}
	return nil
}

// checkText trims white space around s and refuses control characters. If multiline is set, line ends are allowed and
// become LF.
func checkText(s *string, field string, limit int, multiline bool) error {
	t := strings.TrimSpace(*s)
	if multiline {
		t = strings.ReplaceAll(t, "\r\n", "\n")
	}
	if utf8.RuneCountInString(t) > limit {
		return Invalidf(field, "%s must have at most %d characters.", field, limit)
	}
	for _, r := range t {
		if unicode.IsControl(r) && !(multiline && r == '\n') {
			return Invalidf(field, "%s contains control characters. Remove them.", field)
		}
	}
	*s = t
	return nil
}

func checkAddress(s *string, field string) error {
	if *s == "" {
		return nil
	}
	e, err := ParseEmail(*s)
	if err != nil {
		return ErrInvalidEmail.On(field).Sayf("%s is not a valid email address.", field)
	}
	*s = string(e)
	return nil
}

// isWebURL reports whether s is an absolute http or https URL without user information. Its host must be plain, because
// a page's content security policy may have to name it.
func isWebURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && len(s) <= maxURL && (u.Scheme == "https" || u.Scheme == "http") && validHost(u) &&
		u.User == nil &&
		strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || unicode.IsControl(r) }) < 0
}

// hasWholeHost reports whether a URL's host contains a dot, is an IP address, or is localhost, which is allowed for
// testing. Any other single label is usually an incomplete host name.
func hasWholeHost(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (strings.ContainsAny(u.Hostname(), ".:") || u.Hostname() == "localhost")
}

func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && isWebURL(s) && u.Path == "" && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" &&
		!strings.HasSuffix(s, "#")
}

// maxURL is the maximum length of a record's URL, in bytes.
const maxURL = 2000

// SenderName returns the sender name for the tenant's emails: the first of MailFromName, BrandName and Name that is
// set.
func (t *Tenant) SenderName() string { return cmp.Or(t.MailFromName, t.BrandName, t.Name) }
