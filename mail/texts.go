package mail

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	htmltemplate "html/template"
	"math"
	"strconv"
	"strings"
	texttemplate "text/template"
	"time"

	"newsletterd/core"
	"newsletterd/mail/internal/octets"
)

// Notice is the kind of a transactional mail. The words are stable: they are stored in the mail queue.
type Notice string

// The notices, and what URL leads to in each.
const (
	NoticeConfirm      Notice = "confirm"      // the page that confirms the subscription
	NoticeSubscribed   Notice = "subscribed"   // preferences; may be empty
	NoticeUnsubscribed Notice = "unsubscribed" // undo
	NoticePreferences  Notice = "preferences"  // preferences, with the token that may export and erase
	NoticeVerify       Notice = "verify"       // the page that verifies the address
	NoticeRegistered   Notice = "registered"   // sign in
	NoticeReverify     Notice = "reverify"     // verify and choose a new password
	NoticeReset        Notice = "reset"        // choose a new password
	NoticeChange       Notice = "change"       // the page that changes an account's address
	NoticeTaken        Notice = "taken"        // sign in
	NoticeChangeAsked  Notice = "change_asked" // the account
	NoticeChanged      Notice = "changed"      // sign in
)

// Brand is how a tenant, or the daemon itself, shows itself.
type Brand struct {
	Name string
	// Color is #rgb or #rrggbb, of buttons; anything else gives the built-in one.
	Color string
	// LogoURL is an absolute https address; the name is printed where empty.
	LogoURL       string
	PostalAddress string
}

// NoticeData is what a notice says. The caller builds the link.
type NoticeData struct {
	To    string // the address that gets the mail
	List  string // name of the list, where one is spoken of
	URL   string
	Valid time.Duration // how long the link works
	Brand Brand

	Language string        // of core.Languages; empty: the first
	Own      core.MailText // the tenant's own wording, where it has one
}

//go:embed texts
var textFiles embed.FS

var (
	noticeText = texttemplate.Must(texttemplate.ParseFS(textFiles, "texts/notice.txt"))
	noticePage = htmltemplate.Must(htmltemplate.ParseFS(textFiles, "texts/layout.html", "texts/notice.html"))
)

// notice is what the templates see.
type notice struct {
	NoticeData
	Subject    string
	Words      *wordList
	Footer     string
	Hello      string // empty where the tenant's own wording begins
	Line       line
	Paragraphs []paragraph
	After      string
}

// button is the notice's link as a button, with the line that introduces the address itself below it.
type button struct{ URL, Label, Open, Color, OnColor string }

// Button is called by the templates.
func (n notice) Button() button {
	return button{URL: n.URL, Label: n.Line.Button, Open: n.Line.Open, Color: n.Brand.Color, OnColor: onColor(n.Brand.Color)}
}

// AddressLines are the lines of the postal address.
func (n notice) AddressLines() []string { return addressLines(n.Brand.PostalAddress) }

func addressLines(address string) []string {
	return strings.FieldsFunc(address, func(r rune) bool { return r == '\n' || r == '\r' })
}

// OutlookHead keeps Outlook for Windows from scaling pixels on screens of more than 96 dots per inch. html/template drops
// comments, so that it comes as a value.
func (n notice) OutlookHead() htmltemplate.HTML {
	return "<!--[if mso]><xml><o:OfficeDocumentSettings><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml><![endif]-->"
}

// OutlookLogo is the logo for Outlook for Windows, which shows no background images. All others show it as the background of
// its cell: an img element in a mail of few words costs up to 2.8 points in SpamAssassin (HTML_IMAGE_ONLY).
func (n notice) OutlookLogo() htmltemplate.HTML {
	src, alt := html.EscapeString(n.Brand.LogoURL), html.EscapeString(n.Brand.Name)
	return htmltemplate.HTML(`<!--[if mso]><img src="` + src + `" alt="` + alt + //nolint:gosec // escaped
		`" height="40" style="display:block;height:40px;border:0;font:bold 16px/24px Arial,sans-serif;color:#18181b"><![endif]-->`)
}

// Render makes subject, text and HTML of a notice. An unknown kind is an error; the data cannot be.
func (n Notice) Render(d NoticeData) (subject, text, page string, err error) {
	if !d.fills() {
		return n.execute(d)
	}
	c, err := n.cast(d)
	if err != nil {
		return "", "", "", err
	}
	to, url := entities.Replace(d.To), entities.Replace(d.URL)
	return c.subject.fill(d.To, d.URL), c.text.fill(d.To, d.URL), c.html.fill(to, url), nil
}

// execute runs the templates.
func (n Notice) execute(d NoticeData) (subject, text, page string, err error) {
	d.Brand.Name, d.List = octets.CleanLine(d.Brand.Name), octets.CleanLine(d.List)
	if d.Brand.Name == "" {
		d.Brand.Name = "our newsletter service"
	}
	d.Brand.Color = sixDigits(d.Brand.Color)
	v, err := n.data(d)
	if err != nil {
		return "", "", "", err
	}
	var b bytes.Buffer
	if err := noticeText.Execute(&b, v); err != nil {
		return "", "", "", fmt.Errorf("notice %s: %w", n, err)
	}
	b.WriteString("\n-- \n" + v.Footer + "\n")
	for _, l := range v.AddressLines() {
		b.WriteString(l + "\n")
	}
	text = b.String()
	b.Reset()
	if err := noticePage.ExecuteTemplate(&b, "layout", v); err != nil {
		return "", "", "", fmt.Errorf("notice %s: %w", n, err)
	}
	return v.Subject, text, b.String(), nil
}

// onColor is the lighter or the darker of two colors, whichever can be read better on a color of six digits (WCAG 2.2,
// relative luminance). Neither is pure white or black, which some mail programs exchange in their dark mode.
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

// sixDigits is a color as #rrggbb, the form that every mail program knows; the built-in one where s is no color.
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
