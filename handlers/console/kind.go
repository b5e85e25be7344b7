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

// kindRoutes adds the routes for the page that converts a campaign's content to another kind.
func (o *Console) kindRoutes(t *web.Table) {
	o.get(t, "/campaigns/:id/kind", core.ActionCampaignWrite, o.askKind,
		"The console: confirm converting a campaign to HTML or Markdown")
	o.post(t, "/campaigns/:id/kind", core.ActionCampaignWrite, o.changeKind,
		"The console: convert a campaign to HTML or back to Markdown")
}

// kindData holds the data for templates/kind.html.
type kindData struct {
	Campaign *campaignPage
	To       string
}

// Kinds returns the kinds to which the campaign's content can be converted.
func (c *campaignPage) Kinds() []string {
	switch c.Content.Kind {
	case core.ContentHTML:
		return []string{core.ContentMarkdown}
	case core.ContentText:
		return []string{core.ContentMarkdown, core.ContentHTML}
	}
	return []string{core.ContentHTML}
}

// mayBecome reports whether a campaign's content can be converted to this kind.
func (c *campaignPage) mayBecome(kind string) bool {
	return written(c.State) && slices.Contains(c.Kinds(), kind)
}

// askKind explains what the conversion loses and asks for confirmation.
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

// changeKind converts the content to another kind and keeps the previous content as a named version.
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

// sourceAs converts a campaign's content to another kind: the HTML or the text of its email, with placeholders.
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
		if mail.HTML == "" { // a plain-text email
			return "<p>" + strings.ReplaceAll(html.EscapeString(c.Content.Source), "\n", "<br>\n") + "</p>\n", nil
		}
		return mail.HTML, nil
	}
	// This line ends the email's text. The footer after it is generated for each subscriber.
	text, _, _ := strings.Cut(mail.Text, "\n-- \n")
	return strings.TrimSpace(text) + "\n", nil
}
