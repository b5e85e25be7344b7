package console

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// Review is the page on which a campaign is approved or sent back. It stands alone, since a mail leads to it, on a
// telephone as well; what it says is made where the decision is taken.
type Review struct {
	Title, Fault string
	Lang         string // of what it says: pages speak more languages than the console
	Status       int
	Tenant       core.Tenant
	Data         any // of templates/review.html
}

// sentBack is what a page says of a campaign that was sent back.
type sentBack struct{ Who, Note string }

// SentBackBy says who has sent a campaign back, when and why.
func (p *Page) SentBackBy(s *core.SentBack) sentBack {
	if s.Name == "" {
		return sentBack{p.T("Changes requested {{when}}.", "when", p.When(s.At)), s.Note}
	}
	return sentBack{p.T("{{who}} requested changes {{when}}.", "who", s.Name, "when", p.When(s.At)), s.Note}
}

// ShowReview makes the page in the looks of the tenant's console.
func (o *Console) ShowReview(c *web.Call, who core.Visitor, r Review) (web.HTML, error) {
	p, err := o.page(c, who)
	if err != nil {
		return web.HTML{}, err
	}
	p.Tenant, p.Lang = r.Tenant, r.Lang
	return p.Show("review", View{Title: r.Title, Fault: r.Fault, Status: r.Status, Plain: true, Frames: true, Data: r.Data})
}
