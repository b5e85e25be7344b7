package notice

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html"
	htmltemplate "html/template"
	"net/url"
	texttemplate "text/template"
	"time"

	"newsletterd/core"
	"newsletterd/mail/internal/octets"
	"newsletterd/mail/internal/words"
)

// Kind is the kind of a notice. Its values are stable: the mail queue stores them.
type Kind string

// The kinds, each with the page that Data.URL leads to.
const (
	Confirm      Kind = "confirm"      // page that confirms the subscription
	AskAgain     Kind = "ask_again"    // page that confirms the subscription
	Subscribed   Kind = "subscribed"   // preference page; may be empty
	Unsubscribed Kind = "unsubscribed" // undo page
	Preferences  Kind = "preferences"  // preference page, with the token that may export and erase
	Verify       Kind = "verify"       // page that verifies the address
	Registered   Kind = "registered"   // sign-in page
	Reverify     Kind = "reverify"     // page to verify the address and choose a new password
	Reset        Kind = "reset"        // page to choose a new password
	Change       Kind = "change"       // page that changes an account's address
	Taken        Kind = "taken"        // sign-in page
	ChangeAsked  Kind = "change_asked" // account page
	Changed      Kind = "changed"      // sign-in page
	Invitation   Kind = "invitation"   // page that accepts the invitation

	Review         Kind = "review"          // page of the review
	ReviewApproved Kind = "review_approved" // page of the review
	ReviewRejected Kind = "review_rejected" // page of the review
	ReviewMissed   Kind = "review_missed"   // page of the review
	Mending        Kind = "mending"         // report of the campaign

	ClientAdded    Kind = "client_added"    // clients of the tenant
	ClientsAdded   Kind = "clients_added"   // clients of the tenant
	ServerChanged  Kind = "server_changed"  // page of the mail server
	PasskeyAdded   Kind = "passkey_added"   // account page
	PasskeyRemoved Kind = "passkey_removed" // account page
	TwoStepOn      Kind = "two_step_on"     // account page
	TwoStepOff     Kind = "two_step_off"    // account page
	RecoveryCodes  Kind = "recovery_codes"  // account page
)

// Brand holds the name, color, logo and addresses with which a notice presents the tenant or the daemon.
type Brand struct {
	Name string
	// Color is the color of buttons, #rgb or #rrggbb; any other value means that of the first theme.
	Color string
	// LogoURL is an absolute https URL; if empty, the name is shown instead.
	LogoURL string
	// DarkLogoURL is the absolute https URL of the logo for dark mode. It is ignored if LogoURL is empty. If only
	// DarkLogoURL is empty, the email has no dark mode, because the logo could be invisible on a dark background.
	DarkLogoURL   string
	PostalAddress string
}

// BrandOf returns the brand for a tenant's emails.
func BrandOf(t *core.Tenant) Brand {
	return Brand{
		Name: cmp.Or(t.BrandName, t.Name), Color: t.BrandColor, LogoURL: t.BrandLogoURL,
		DarkLogoURL: t.BrandDarkLogoURL, PostalAddress: t.PostalAddress,
	}
}

// Data holds the values that differ between notices of the same kind. The caller creates the link in URL.
type Data struct {
	To    string // recipient address
	List  string // name of the list, if any
	URL   string
	Valid time.Duration // lifetime of the link
	Brand Brand

	Review     core.ReviewMail     // for reviews: the campaign and the people involved
	Invitation core.InvitationMail // for invitations: the inviting person and the role
	Client     core.ClientMail     // for a new client
	Server     core.ServerMail     // for a changed mail server

	Zone     *time.Location // time zone of times in the text; nil means UTC
	Language string         // one of core.Languages; any other value means the first
	Own      core.MailText  // the tenant's own wording; empty fields mean the built-in one
}

//go:embed texts
var texts embed.FS

var (
	textTemplate = texttemplate.Must(texttemplate.ParseFS(texts, "texts/notice.txt"))
	htmlTemplate = htmltemplate.Must(htmltemplate.ParseFS(texts, "texts/layout.html", "texts/notice.html"))
)

// view holds the values for the templates.
type view struct {
	Data
	Subject    string
	Footer     string
	Hello      string // empty if the email starts with the tenant's own wording
	Line       words.Notice
	OrOpen     string // introduction to the URL in the HTML part
	Paragraphs []paragraph
	After      string
}

// button describes the notice's link as a button. Open is the line below it that introduces the URL.
type button struct{ URL, Label, Open, Color, OnColor string }

// Button returns the link as a button.
func (v view) Button() button {
	colors, _ := core.DesignColors(v.Brand.Color)
	return button{URL: v.URL, Label: v.Line.Button, Open: v.OrOpen, Color: colors.Accent, OnColor: colors.On}
}

// AddressLines returns the lines of the postal address.
func (v view) AddressLines() []string { return words.Lines(v.Brand.PostalAddress) }

// OutlookHead returns markup that prevents Outlook for Windows from scaling pixels on screens of more than 96 dpi. It
// is not part of the template because html/template removes comments.
func (v view) OutlookHead() htmltemplate.HTML {
	return "<!--[if mso]><xml><o:OfficeDocumentSettings><o:PixelsPerInch>96</o:PixelsPerInch>" +
		"</o:OfficeDocumentSettings></xml><![endif]-->"
}

// OutlookLogo returns the logo for Outlook for Windows, which shows no background images. All other email clients show
// it as the background of its cell, because an img element in a short email costs up to 2.8 points in SpamAssassin
// (HTML_IMAGE_ONLY).
func (v view) OutlookLogo() htmltemplate.HTML {
	src, alt := html.EscapeString(v.Brand.LogoURL), html.EscapeString(v.Brand.Name)
	return htmltemplate.HTML(`<!--[if mso]><img src="` + src + `" alt="` + alt + //nolint:gosec // escaped
		`" height="40" style="display:block;height:40px;border:0;` +
		`font:bold 16px/24px Arial,sans-serif;color:#26272b"><![endif]-->`)
}

// Render returns the subject, text and HTML of a notice. It returns an error only for an unknown kind.
func (k Kind) Render(d Data) (subject, text, page string, err error) {
	d.setName() // before the link is replaced
	if !d.fills() {
		return k.execute(d)
	}
	c, err := k.compile(d)
	if err != nil {
		return "", "", "", err
	}
	to, link := entities.Replace(d.To), entities.Replace(d.URL)
	return c.subject.fill(d.To, d.URL), c.text.fill(d.To, d.URL), c.html.fill(to, link), nil
}

// setName sets the brand name if there is none: to the host of the link or, without a link, to "newsletterd".
func (d *Data) setName() {
	if d.Brand.Name = octets.CleanLine(d.Brand.Name); d.Brand.Name != "" {
		return
	}
	d.Brand.Name = "newsletterd"
	if u, err := url.Parse(d.URL); err == nil && u.Hostname() != "" {
		d.Brand.Name = u.Hostname()
	}
}

// execute renders a notice with the templates.
func (k Kind) execute(d Data) (subject, text, page string, err error) {
	d.setName()
	d.List = octets.CleanLine(d.List)
	d.Brand.Color = sixDigits(d.Brand.Color)
	v, err := k.view(d)
	if err != nil {
		return "", "", "", err
	}
	var b bytes.Buffer
	if err := textTemplate.Execute(&b, v); err != nil {
		return "", "", "", fmt.Errorf("notice %s: %w", k, err)
	}
	b.WriteString("\n-- \n" + v.Footer + "\n")
	for _, l := range v.AddressLines() {
		b.WriteString(l + "\n")
	}
	text = b.String()
	b.Reset()
	if err := htmlTemplate.ExecuteTemplate(&b, "layout", v); err != nil {
		return "", "", "", fmt.Errorf("notice %s: %w", k, err)
	}
	return v.Subject, text, b.String(), nil
}

// sixDigits returns a color as #rrggbb in lower case, the form that every email client supports. If s is not a color,
// it returns an empty string.
func sixDigits(s string) string {
	if len(s) == 4 {
		s = string([]byte{s[0], s[1], s[1], s[2], s[2], s[3], s[3]})
	}
	c, ok := core.ParseColor(s)
	if !ok {
		return ""
	}
	return c.String()
}
