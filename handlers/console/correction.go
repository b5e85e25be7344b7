package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// correctionData holds the data for templates/correction.html.
type correctionData struct {
	Campaign              *campaignPage
	Subject, Source, Text string
	HTML                  bool // whether the content is HTML, with a separate plain text
	At                    core.Instant
	Shown                 shownTo
	Fields                fieldChoices // fields of subscribers
	Looks                 string       // design of buttons and boxes for the editor script (JSON)
	Pictures              string
}

// shownTo holds the places where a sent campaign is visible.
type shownTo struct {
	Archives []Link   // archives of its lists that show it
	Hidden   []string // lists whose archives would show it if it weren't hidden
	Link     bool     // whether its email contains a link to the browser view
}

// Anywhere reports whether the campaign is visible anywhere.
func (s *shownTo) Anywhere() bool { return len(s.Archives) > 0 || s.Link }

// shownTo returns the places where a campaign is visible. The link to the browser view may come from one of the
// tenant's layouts.
func (p *Page) shownTo(c *campaignPage) (s shownTo, err error) {
	s.Link = c.Content.Layout != "" || strings.Contains(c.Content.Source+c.Content.Text, "view_url")
	for _, id := range c.ListIDs {
		var l core.List
		_, err := p.Get(apiLists+"/"+url.PathEscape(id), nil, &l)
		if core.KindOf(err) == core.NotFound {
			continue
		}
		if err != nil {
			return s, err
		}
		if !l.Archive {
			continue
		}
		if !c.Archived() {
			s.Hidden = append(s.Hidden, l.Name)
			continue
		}
		links, err := p.linksOf(&l)
		if err != nil {
			return s, err
		}
		s.Archives = append(s.Archives, Link{l.Name, links.Archive})
	}
	return s, nil
}

// showInArchive shows or hides a sent campaign in its lists' archives. Showing it requires permission to send.
func (o *Console) showInArchive(p *Page) (web.HTML, error) {
	id, shown := p.ID(), p.Form["shown"] == "1"
	_, err := p.Ask(web.Question{
		Method: http.MethodPatch, Path: campaignAPI(id), Body: map[string]bool{"archive": shown},
		Header: map[string]string{"If-Match": "*"},
	})
	if fault, status, ok := p.FaultOf(err); ok {
		return p.campaignAgain(fault, status)
	}
	if err != nil {
		return web.HTML{}, err
	}
	notice := "archive-hidden"
	if shown {
		notice = "archive-shown"
	}
	return p.Redirect(p.Path("campaigns", id), notice)
}

// correction shows the form for correcting the web version of a sent campaign.
func (o *Console) correction(p *Page) (web.HTML, error) {
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	d := &correctionData{Campaign: c, Subject: c.Subject, Source: c.Content.Source, Text: c.Content.Text}
	var now core.Correction
	switch _, err := p.Get(campaignAPI(c.ID, "correction"), nil, &now); {
	case err == nil:
		d.Subject, d.Source, d.Text, d.At = now.Subject, now.Source, now.Text, now.At
	case !errors.Is(err, core.ErrNotCorrected):
		return web.HTML{}, err
	}
	return p.showCorrection(d, View{})
}

func (p *Page) showCorrection(d *correctionData, v View) (web.HTML, error) {
	c := d.Campaign
	d.HTML = c.Content.Kind == core.ContentHTML
	var err error
	if d.Shown, err = p.shownTo(c); err != nil {
		return web.HTML{}, err
	}
	lists, err := p.lists(c)
	if err != nil {
		return web.HTML{}, err
	}
	d.Fields, d.Pictures = p.fieldChoices(nil, lists), p.Tenant.PublicURL
	var shown shownMail
	if err := p.Do(http.MethodPost, campaignAPI(c.ID, "preview"), d.body(), &shown); err == nil {
		d.Looks = string(shown.Looks)
	}
	v.Title, v.Data = p.T("Edit web version"), d
	v.Within = []Link{{p.T("Campaigns"), p.Path("campaigns")}, {c.Title(p), p.Path("campaigns", c.ID)}}
	v.State, v.Frames, v.Script = p.T("Emails already sent don't change."), true, ""
	v.writes(c.Content.Kind)
	return p.Show("correction", v)
}

// body returns the API request body for the correction.
func (d *correctionData) body() map[string]any {
	out := map[string]any{"subject": d.Subject, "source": d.Source}
	if d.Campaign.Content.Kind == core.ContentHTML {
		out["text"] = d.Text
	}
	return map[string]any{"correction": out}
}

// correctionOf returns the submitted form's data.
func (p *Page) correctionOf(c *campaignPage) *correctionData {
	line := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") } // browsers send CR LF
	return &correctionData{
		Campaign: c, Subject: p.Form["subject"], Source: line(p.Form["source"]), Text: line(p.Form["text"]),
	}
}

// tryCorrection responds with the browser view for a frame: the current view, or a preview with the form's content.
func (o *Console) tryCorrection(p *Page) (web.HTML, error) {
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	body := map[string]any{"correction": map[string]any{}}
	if !p.isGet() {
		body = p.correctionOf(c).body()
	} else {
		var now core.Correction
		if _, err := p.Get(campaignAPI(c.ID, "correction"), nil, &now); err == nil {
			d := correctionData{Campaign: c, Subject: now.Subject, Source: now.Source, Text: now.Text}
			body = d.body()
		}
	}
	var mail shownMail
	err = p.Do(http.MethodPost, campaignAPI(c.ID, "preview"), body, &mail)
	if text, _, ok := p.FaultOf(err); ok {
		mail, err = shownMail{Text: text}, nil
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.showMail(mail)
}

// correct replaces a campaign's content on web pages, or restores the sent version.
func (o *Console) correct(p *Page) (web.HTML, error) {
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	d, notice := p.correctionOf(c), "corrected"
	if p.Form["do"] == "as-sent" {
		notice = "as-sent"
		err = p.Do(http.MethodDelete, campaignAPI(c.ID, "correction"), nil, nil)
	} else {
		err = p.Do(http.MethodPut, campaignAPI(c.ID, "correction"), d.body()["correction"], nil)
	}
	if fault, status, ok := p.FaultOf(err); ok {
		return p.showCorrection(d, View{Fault: fault, Status: status})
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("campaigns", c.ID), notice)
}
