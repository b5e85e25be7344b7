package console

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// shownMail is an email as rendered by the API.
type shownMail struct {
	Subject, HTML, Text, Beginning string

	Looks json.RawMessage
}

// previewPolicy allows an email in a frame to show its images and styles but no scripts. The frame has the page's
// origin, so that the page can measure its height.
const previewPolicy = "sandbox allow-same-origin; default-src 'none'; img-src https: http: data:; " +
	"style-src 'unsafe-inline'; font-src https: data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// mailPanel holds the data for showing a campaign's email next to a decision about it.
type mailPanel struct {
	Inbox                   inbox // inbox entry; hidden if it has no subject
	Label, DarkLabel, Modes string
	Phone, Desktop, Dark    string
	Frame, FrameDark        string
}

// MailPanel returns the panel with the email that a job sends. Without a job, it shows the campaign's current draft.
func (p *Page) MailPanel(in inbox, campaign, job string) mailPanel {
	q := url.Values{}
	if job != "" {
		q.Set("job", job)
	}
	m := mailPanel{
		Inbox: in, Label: p.T("Email preview"), DarkLabel: p.T("Dark mode preview"), Modes: p.T("Preview mode"),
		Phone: p.T("Phone"), Desktop: p.T("Desktop"), Dark: p.T("Dark"),
	}
	at := p.Path("campaigns", campaign, "preview")
	m.Frame = strings.TrimSuffix(at+"?"+q.Encode(), "?")
	q.Set("view", "dark")
	m.FrameDark = at + "?" + q.Encode()
	return m
}

// InboxOf returns an email's inbox entry.
func (p *Page) InboxOf(from, subject, beginning string) inbox { return inbox{from, subject, beginning} }

// preview renders an email for a frame: unchanged, without images, without its stylesheet, with each link's share of
// clicks, or as text.
func (o *Console) preview(p *Page) (web.HTML, error) {
	body := map[string]any{}
	if as := p.Query("as"); as != "" {
		body["email"] = as
	}
	var mail shownMail
	path := campaignAPI(p.ID(), "preview")
	if job := p.Query("job"); job != "" { // the email as it was sent, with its design at that time
		path = jobAPI(job, "preview")
	}
	err := p.Do(http.MethodPost, path, body, &mail)
	if text, _, ok := p.FaultOf(err); err != nil && ok {
		mail.Text, err = text, nil
		mail.HTML = ""
	}
	if err != nil {
		return web.HTML{}, err
	}
	switch p.Query("view") {
	case "text":
		mail.HTML = ""
	case "pictures":
		return p.framed(inLight(withoutPictures(mail.HTML)))
	case "dark":
		return p.framed(inDark(mail.HTML))
	case "clicks":
		var links []core.Link
		if _, err := p.Get(campaignAPI(p.ID(), "links"), nil, &links); err != nil {
			return web.HTML{}, err
		}
		mail.HTML = p.clickMap(mail.HTML, links)
	case "style":
		mail.HTML = styleElement.ReplaceAllString(mail.HTML, "")
	}
	return p.showMail(mail)
}

// showMail responds with an email for a frame, or with its text if it has no HTML. It always shows light mode, whatever
// the device prefers. Dark mode is a separate view.
func (p *Page) showMail(mail shownMail) (web.HTML, error) {
	if mail.HTML == "" {
		return p.framed(textPage(mail.Text))
	}
	return p.framed(inLight(mail.HTML))
}

// framed responds with an HTML page for a frame.
func (p *Page) framed(page string) (web.HTML, error) {
	h := p.Header()
	h.Set("Content-Security-Policy", previewPolicy)
	h.Set("Referrer-Policy", "no-referrer")
	return web.HTML{Body: []byte(page)}, nil
}

// styleElement matches a style element in an email. GMX and other clients remove these.
var styleElement = regexp.MustCompile(`(?is)<style\b.*?</style\s*>`)

// prefersDark matches the media feature for dark mode in an email's stylesheet.
var prefersDark = regexp.MustCompile(`(?i)\(\s*prefers-color-scheme\s*:\s*dark\s*\)`)

// pictureAddress matches an HTML attribute with the URL of an image or background image.
var pictureAddress = regexp.MustCompile(
	`(?is)(<(?:img|v:fill|v:image|td|table|body|div)\b[^>]*?\s)(src|srcset|background)(\s*=)`)

// backgroundImage matches an image URL in a CSS declaration.
var backgroundImage = regexp.MustCompile(`(?i)url\([^)]*\)`)

// withoutPictures returns an email as shown by clients without images. It removes the image URLs instead of blocking
// the requests.
func withoutPictures(html string) string {
	html = pictureAddress.ReplaceAllString(html, "${1}data-${2}${3}")
	return backgroundImage.ReplaceAllString(html, "none")
}

// inLight returns an email that is always in light mode, whatever the device prefers.
func inLight(html string) string {
	return strings.Replace(prefersDark.ReplaceAllString(html, "(max-width:0)"), `content="light dark"`, `content="light"`, 1)
}

// inDark returns an email in dark mode, as in clients that follow its stylesheet.
func inDark(html string) string {
	return strings.Replace(prefersDark.ReplaceAllString(html, "(min-width:0)"), `content="light dark"`, `content="dark"`, 1)
}

// textPage returns an HTML page that shows text unchanged.
func textPage(text string) string {
	return `<!doctype html><html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><style>` +
		`body{margin:16px;font:14px/1.5 ui-monospace,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}` +
		`</style></head><body>` + html.EscapeString(text) + `</body></html>`
}
