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

// shownMail is a mail as the API renders it.
type shownMail struct {
	Subject, HTML, Text, Beginning string

	Looks json.RawMessage
}

// previewPolicy lets a mail in a frame of ours show its pictures and styles. It runs nothing. It is of our origin, so
// that the page around it can tell how high it is.
const previewPolicy = "sandbox allow-same-origin; default-src 'none'; img-src https: http: data:; " +
	"style-src 'unsafe-inline'; font-src https: data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// mailPanel shows the mail of a campaign next to what is to be decided about it.
type mailPanel struct {
	Inbox                   inbox // without subject it is not shown
	Label, DarkLabel, Modes string
	Phone, Desktop, Dark    string
	Frame, FrameDark        string
}

// MailPanel makes the panel of a campaign, as a job sends it; without a job as it is written now.
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

// InboxOf is how a mail program lists a mail of which only this is known.
func (p *Page) InboxOf(from, subject, beginning string) inbox { return inbox{from, subject, beginning} }

// preview answers the mail as a frame shows it: whole, without pictures, without its stylesheet, with
// its clicks, or its text.
func (o *Console) preview(p *Page) (web.HTML, error) {
	body := map[string]any{}
	if as := p.Query("as"); as != "" {
		body["email"] = as
	}
	var mail shownMail
	path := campaignAPI(p.ID(), "preview")
	if job := p.Query("job"); job != "" { // as it went out, whatever the looks are today
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

// showMail answers a mail for a frame of ours, or its text where it has no HTML. What it is in the dark is another view:
// this one is the same whatever the device prefers.
func (p *Page) showMail(mail shownMail) (web.HTML, error) {
	if mail.HTML == "" {
		return p.framed(textPage(mail.Text))
	}
	return p.framed(inLight(mail.HTML))
}

// framed answers a mail for a frame of ours.
func (p *Page) framed(page string) (web.HTML, error) {
	h := p.Header()
	h.Set("Content-Security-Policy", previewPolicy)
	h.Set("Referrer-Policy", "no-referrer")
	return web.HTML{Body: []byte(page)}, nil
}

// styleElement is a stylesheet within a mail, as GMX and others take it out.
var styleElement = regexp.MustCompile(`(?is)<style\b.*?</style\s*>`)

// prefersDark is by which a mail's stylesheet asks for dark surroundings.
var prefersDark = regexp.MustCompile(`(?i)\(\s*prefers-color-scheme\s*:\s*dark\s*\)`)

// pictureAddress is where a tag of a mail has a picture: as one of its own, or beneath it.
var pictureAddress = regexp.MustCompile(
	`(?is)(<(?:img|v:fill|v:image|td|table|body|div)\b[^>]*?\s)(src|srcset|background)(\s*=)`)

// backgroundImage is a picture in a style.
var backgroundImage = regexp.MustCompile(`(?i)url\([^)]*\)`)

// withoutPictures returns a mail as programs show it that load no pictures: nothing is asked for, rather than refused.
func withoutPictures(html string) string {
	html = pictureAddress.ReplaceAllString(html, "${1}data-${2}${3}")
	return backgroundImage.ReplaceAllString(html, "none")
}

// inLight returns a mail as it is shown in light surroundings, whatever the device prefers.
func inLight(html string) string {
	return strings.Replace(prefersDark.ReplaceAllString(html, "(max-width:0)"), `content="light dark"`, `content="light"`, 1)
}

// inDark returns a mail as programs show it in the dark that follow its own stylesheet.
func inDark(html string) string {
	return strings.Replace(prefersDark.ReplaceAllString(html, "(min-width:0)"), `content="light dark"`, `content="dark"`, 1)
}

// textPage is a page that shows a text as it stands.
func textPage(text string) string {
	return `<!doctype html><html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><style>` +
		`body{margin:16px;font:14px/1.5 ui-monospace,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}` +
		`</style></head><body>` + html.EscapeString(text) + `</body></html>`
}
