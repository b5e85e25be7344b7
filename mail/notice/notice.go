package notice

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	htmltemplate "html/template"
	"math"
	"strconv"
	texttemplate "text/template"
	"time"

	"newsletterd/core"
	"newsletterd/mail/internal/octets"
	"newsletterd/mail/internal/words"
)

// Kind is the kind of a notice. Its values are stable: the mail queue stores them.
type Kind string

// The kinds, and what Data.URL leads to in each.
const (
	Confirm      Kind = "confirm"      // the page that confirms the subscription
	AskAgain     Kind = "ask_again"    // the page that confirms the subscription
	Subscribed   Kind = "subscribed"   // preferences; may be empty
	Unsubscribed Kind = "unsubscribed" // undo
	Preferences  Kind = "preferences"  // preferences, with the token that may export and erase
	Verify       Kind = "verify"       // the page that verifies the address
	Registered   Kind = "registered"   // sign in
	Reverify     Kind = "reverify"     // verify and choose a new password
	Reset        Kind = "reset"        // choose a new password
	Change       Kind = "change"       // the page that changes an account's address
	Taken        Kind = "taken"        // sign in
	ChangeAsked  Kind = "change_asked" // the account
	Changed      Kind = "changed"      // sign in
	Invitation   Kind = "invitation"   // the page that accepts it

	Review         Kind = "review"          // the page of the review
	ReviewApproved Kind = "review_approved" // the page of the review
	ReviewRejected Kind = "review_rejected" // the page of the review
	ReviewMissed   Kind = "review_missed"   // the page of the review
	Mending        Kind = "mending"         // the report of the campaign

	ClientAdded    Kind = "client_added"    // the clients of the tenant
	ClientsAdded   Kind = "clients_added"   // the clients of the tenant
	ServerChanged  Kind = "server_changed"  // the page of the mail server
	PasskeyAdded   Kind = "passkey_added"   // the account
	PasskeyRemoved Kind = "passkey_removed" // the account
	TwoStepOn      Kind = "two_step_on"     // the account
	TwoStepOff     Kind = "two_step_off"    // the account
	RecoveryCodes  Kind = "recovery_codes"  // the account
)

// Brand is how a tenant, or the daemon itself, appears in a notice.
type Brand struct {
	Name string
	// Color is that of buttons, #rgb or #rrggbb; anything else means the built-in one.
	Color string
	// LogoURL is an absolute https address; if empty, the name is printed.
	LogoURL       string
	PostalAddress string
}

// Data is what differs between notices of a kind. The caller makes the link.
type Data struct {
	To    string // the address that gets the mail
	List  string // the name of the list that it is about, if any
	URL   string
	Valid time.Duration // how long the link works
	Brand Brand

	Review     core.ReviewMail     // of the review kinds: the campaign, and who does what
	Invitation core.InvitationMail // of an invitation: who invites, and as what
	Client     core.ClientMail     // of a new client
	Server     core.ServerMail     // of a changed mail server

	Language string        // of core.Languages; any other means the first
	Own      core.MailText // the tenant's own wording; its empty fields mean ours
}

//go:embed texts
var texts embed.FS

var (
	textTemplate = texttemplate.Must(texttemplate.ParseFS(texts, "texts/notice.txt"))
	htmlTemplate = htmltemplate.Must(htmltemplate.ParseFS(texts, "texts/layout.html", "texts/notice.html"))
)

// view is what the templates see.
type view struct {
	Data
	Subject    string
	Footer     string
	Hello      string // empty if the tenant's own wording begins the mail
	Line       words.Notice
	Paragraphs []paragraph
	After      string
}

// button is the notice's link as a button, and the line that introduces the address below it.
type button struct{ URL, Label, Open, Color, OnColor string }

// Button returns the link as a button.
func (v view) Button() button {
	c := v.Brand.Color
	return button{URL: v.URL, Label: v.Line.Button, Open: v.Line.Open, Color: c, OnColor: onColor(c)}
}

// AddressLines returns the lines of the postal address.
func (v view) AddressLines() []string { return words.Lines(v.Brand.PostalAddress) }

// OutlookHead returns what keeps Outlook for Windows from scaling pixels on screens of more than 96 dots per inch. It
// is no part of the template because html/template drops comments.
func (v view) OutlookHead() htmltemplate.HTML {
	return "<!--[if mso]><xml><o:OfficeDocumentSettings><o:PixelsPerInch>96</o:PixelsPerInch>" +
		"</o:OfficeDocumentSettings></xml><![endif]-->"
}

// OutlookLogo returns the logo for Outlook for Windows, which shows no background images. All others show it as the
// background of its cell: an img element in a mail of few words costs up to 2.8 points in SpamAssassin
// (HTML_IMAGE_ONLY).
func (v view) OutlookLogo() htmltemplate.HTML {
	src, alt := html.EscapeString(v.Brand.LogoURL), html.EscapeString(v.Brand.Name)
	return htmltemplate.HTML(`<!--[if mso]><img src="` + src + `" alt="` + alt + //nolint:gosec // escaped
		`" height="40" style="display:block;height:40px;border:0;` +
		`font:bold 16px/24px Arial,sans-serif;color:#18181b"><![endif]-->`)
}

// Render returns the subject, the text and the HTML of a notice. The only error is that of an unknown kind.
func (k Kind) Render(d Data) (subject, text, page string, err error) {
	if !d.fills() {
		return k.execute(d)
	}
	c, err := k.compile(d)
	if err != nil {
		return "", "", "", err
	}
	to, url := entities.Replace(d.To), entities.Replace(d.URL)
	return c.subject.fill(d.To, d.URL), c.text.fill(d.To, d.URL), c.html.fill(to, url), nil
}

// execute renders a notice by the templates.
func (k Kind) execute(d Data) (subject, text, page string, err error) {
	d.Brand.Name, d.List = octets.CleanLine(d.Brand.Name), octets.CleanLine(d.List)
	if d.Brand.Name == "" {
		d.Brand.Name = words.Of(d.Language).Service
	}
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

// onColor returns the lighter or the darker of two colors, the one that is easier to read on a color of six digits
// (WCAG 2.2, relative luminance). Neither is pure white or black, which some mail programs swap in dark mode.
func onColor(color string) string {
	n, _ := strconv.ParseUint(color[1:], 16, 32)
	var l float64
	for i, weight := range [3]float64{0.0722, 0.7152, 0.2126} {
		v := float64(n>>(8*i)&0xff) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		l += weight * v
	}
	if 1.05/(l+0.05) >= (l+0.05)/0.05 {
		return "#fefefe"
	}
	return "#030303"
}

// sixDigits returns a color as #rrggbb, the form that every mail program knows; the built-in one if s is no color.
func sixDigits(s string) string {
	if len(s) == 4 {
		s = string([]byte{s[0], s[1], s[1], s[2], s[2], s[3], s[3]})
	}
	if len(s) != 7 || s[0] != '#' {
		return builtInColor
	}
	if _, err := strconv.ParseUint(s[1:], 16, 32); err != nil {
		return builtInColor
	}
	return s
}

const builtInColor = "#1d4ed8"
