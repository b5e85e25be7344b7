package console

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// Review is the data of the page for approving a campaign or requesting changes. The page has no navigation, since an
// email links to it, and fits a phone. Package handlers provides its content.
type Review struct {
	Title, Fault string
	Lang         string // language of the content: pages support more languages than the console
	Status       int
	Tenant       core.Tenant
	Data         any // for templates/review.html
}

// sentBack holds who requested changes to a campaign, and the note.
type sentBack struct{ Who, Note string }

// SentBackBy describes who requested changes to a campaign, when and why.
func (p *Page) SentBackBy(s *core.SentBack) sentBack {
	if s.Name == "" {
		return sentBack{p.T("Changes requested {{when}}.", "when", p.When(s.At)), s.Note}
	}
	return sentBack{p.T("{{who}} requested changes {{when}}.", "who", s.Name, "when", p.When(s.At)), s.Note}
}

// ShowReview renders the review page in the design of the tenant's console.
func (o *Console) ShowReview(c *web.Call, who core.Visitor, r Review) (web.HTML, error) {
	p, err := o.page(c, who)
	if err != nil {
		return web.HTML{}, err
	}
	p.Tenant, p.Lang = r.Tenant, r.Lang
	return p.Show("review", View{
		Title: r.Title, Fault: r.Fault, Status: r.Status, Plain: true, Frames: true,
		Data: r.Data,
	})
}
