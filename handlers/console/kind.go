package console

import (
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// kindRoutes are the page on which the text of a campaign becomes one of another kind.
func (o *Console) kindRoutes(t *web.Table) {
	o.get(t, "/campaigns/:id/kind", core.ActionCampaignWrite, o.askKind,
		"The console: what is lost where a campaign becomes HTML, or Markdown again")
	o.post(t, "/campaigns/:id/kind", core.ActionCampaignWrite, o.changeKind,
		"The console: make a campaign HTML of one's own, or Markdown again")
}

// kindData is the Data of templates/kind.html.
type kindData struct {
	Campaign *campaignPage
	To       string
}

// Kinds are the kinds of content that the one at hand can be changed to.
func (c *campaignPage) Kinds() []string {
	switch c.Content.Kind {
	case core.ContentHTML:
		return []string{core.ContentMarkdown}
	case core.ContentText:
		return []string{core.ContentMarkdown, core.ContentHTML}
	}
	return []string{core.ContentHTML}
}

// mayBecome reports whether a campaign's content can be changed to a kind.
func (c *campaignPage) mayBecome(kind string) bool {
	return written(c.State) && slices.Contains(c.Kinds(), kind)
}

// askKind says what is lost, and asks.
func (o *Console) askKind(p *Page) (web.HTML, error) {
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	return p.showKind(&kindData{c, p.Query("to")}, nil)
}

func (p *Page) showKind(d *kindData, fault error) (web.HTML, error) {
	c := d.Campaign
	if !c.mayBecome(d.To) {
		return p.Redirect(p.Path("campaigns", c.ID), "")
	}
	title := p.T("Switch to custom HTML?")
	if d.To == core.ContentMarkdown {
		title = p.T("Switch to the visual editor?")
	}
	v := View{
		Title: title, Within: []Link{{p.T("Campaigns"), p.Path("campaigns")}, {c.Title(p), p.Path("campaigns", c.ID)}},
		Data: d,
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	return p.Show("kind", v)
}

// changeKind makes the content one of another kind. What it was stays among the versions, by a name.
func (o *Console) changeKind(p *Page) (web.HTML, error) {
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	d := &kindData{c, p.Form["to"]}
	if !c.mayBecome(d.To) {
		return p.Redirect(p.Path("campaigns", c.ID), "")
	}
	source, err := p.sourceAs(c, d.To)
	if err == nil {
		name := map[string]string{
			core.ContentHTML:     p.T("Before switching to custom HTML"),
			core.ContentMarkdown: p.T("Before switching to the visual editor"),
		}[d.To]
		version := campaignAPI(c.ID, "versions", strconv.FormatInt(c.Version, 10))
		err = p.Do(http.MethodPut, version, map[string]string{"name": name}, nil)
	}
	if err == nil {
		content := map[string]string{"kind": d.To, "source": source}
		if d.To == core.ContentMarkdown {
			content["text"], content["layout"] = "", ""
		}
		_, err = p.Ask(web.Question{
			Method: http.MethodPatch, Path: campaignAPI(c.ID), Body: map[string]any{"content": content},
			Header: map[string]string{"If-Match": c.Revision},
		})
	}
	if err != nil {
		return p.showKind(d, err)
	}
	return p.Redirect(p.Path("campaigns", c.ID), "saved")
}

// sourceAs returns the content of a campaign as one of another kind: the HTML of its mail, with its placeholders, or
// the text of it.
func (p *Page) sourceAs(c *campaignPage, kind string) (string, error) {
	if c.Content.Kind == core.ContentText && kind == core.ContentMarkdown {
		return c.Content.Source, nil
	}
	if kind == core.ContentMarkdown && c.Content.Text != "" {
		return c.Content.Text, nil
	}
	var mail shownMail
	body := map[string]any{"placeholders": kind == core.ContentHTML}
	if err := p.Do(http.MethodPost, campaignAPI(c.ID, "preview"), body, &mail); err != nil {
		return "", err
	}
	if kind == core.ContentHTML {
		if mail.HTML == "" { // of a text
			return "<p>" + strings.ReplaceAll(html.EscapeString(c.Content.Source), "\n", "<br>\n") + "</p>\n", nil
		}
		return mail.HTML, nil
	}
	// The line that ends the text of a mail; what follows it is made for each reader.
	text, _, _ := strings.Cut(mail.Text, "\n-- \n")
	return strings.TrimSpace(text) + "\n", nil
}
