package campaigns

import (
	"cmp"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// reviewFact is one line in the review page's list of facts.
type reviewFact struct{ Name, Text string }

// fillFacts adds facts that the email's body doesn't show, such as attachments and excluded recipients.
func (a ReviewPages) fillFacts(c *web.Call, data *reviewView, l *drafts.Look) (err error) {
	w, f, t := page.WordsOf(c), &l.Draft.Fields, &l.Draft.Content.Tenant
	data.From = cmp.Or(f.FromName, t.SenderName())
	address := t.MailFrom
	if a.Checks != nil {
		if address, err = a.Checks.SenderOf(c, a.Store, t); err != nil {
			return err
		}
	}
	if address != "" {
		data.From = strings.TrimSpace(data.From + " <" + address + ">")
	}
	data.Preheader = f.Preheader
	if data.Files, err = a.Store.AttachmentsOfDraft(c, &l.Draft); err != nil && core.KindOf(err) != core.Invalid {
		return err // deleted files are reported as findings
	}
	facts := []reviewFact{{w.ReviewReplyTo, t.ReplyTo}}
	for i, id := range append([]string{f.SegmentID}, f.ExcludeSegmentIDs...) {
		name, err := a.segmentName(c, t.ID, id)
		if err != nil {
			return err
		}
		label := w.ReviewNotSegment
		if i == 0 {
			label = w.ReviewSegment
		}
		facts = append(facts, reviewFact{label, name})
	}
	for _, id := range f.ExcludeListIDs {
		name, err := a.listName(c, t.ID, id)
		if err != nil {
			return err
		}
		facts = append(facts, reviewFact{w.ReviewExcluded, name})
	}
	for _, id := range f.ExcludeCampaignIDs {
		name, err := a.campaignName(c, t.ID, id)
		if err != nil {
			return err
		}
		facts = append(facts, reviewFact{w.ReviewExcludedSent, name})
	}
	if f.Audience != nil {
		name, err := a.campaignName(c, t.ID, f.Audience.Of)
		if err != nil {
			return err
		}
		facts = append(facts, reviewFact{w.ReviewOnly, page.FillIn(w.OnlyTo(f.Audience.Who), "campaign", name)})
	}
	zone, err := t.ZoneOf("")
	if err != nil {
		return err
	}
	for i := range f.Polls {
		facts = append(facts, pollFacts(w, zone, &f.Polls[i], &l.Draft.Content.List)...)
	}
	archive, err := a.archiveFact(c, &l.Draft.Campaign, f)
	if err != nil {
		return err
	}
	facts = append(facts, archive, reviewFact{w.ReviewTracking, w.TracksAs(t, f.Tracking)},
		reviewFact{w.ReviewUTM, strings.ReplaceAll(f.UTM.Query(), "&", ", ")})
	before := ""
	for _, fact := range facts {
		if fact.Text == "" {
			continue
		}
		if fact.Name == before {
			fact.Name = "" // continues the previous line
		} else {
			before = fact.Name
		}
		data.Facts = append(data.Facts, fact)
	}
	return nil
}

// archiveFact describes whether the public archives of the campaign's lists show it. If there are none, the fact has no
// text.
func (a ReviewPages) archiveFact(c *web.Call, of *core.Campaign, f *core.CampaignFields) (reviewFact, error) {
	w := page.WordsOf(c)
	fact := reviewFact{Name: w.ReviewArchive}
	var names []string
	for _, id := range f.ListIDs {
		l, err := a.Store.List(c, id)
		if err != nil && core.KindOf(err) != core.NotFound {
			return fact, err
		}
		if l.Archive {
			names = append(names, l.Name)
		}
	}
	sent := of.State == core.CampaignSending || of.State == core.CampaignSent
	shown := of.InArchive == core.ArchiveShown || of.InArchive == "" && (sent || !f.Segmented())
	switch {
	case len(names) > 0 && shown:
		fact.Text = page.FillIn(w.ReviewShown, "lists", strings.Join(names, ", "))
	case len(names) > 0:
		fact.Text = w.ReviewHidden
	}
	return fact, nil
}

// pollFacts returns facts about a poll that its buttons in the email don't show. Times are in the given zone.
func pollFacts(w *page.Words, zone *time.Location, p *core.Poll, l *core.List) []reviewFact {
	facts := []reviewFact{{w.ReviewPolls, p.Question}}
	add := func(text string) { facts = append(facts, reviewFact{w.ReviewPolls, text}) }
	for i := range l.Fields {
		if l.Fields[i].Name == p.Field {
			add(page.FillIn(w.ReviewPollField, "field", l.Fields[i].Label))
		}
	}
	if p.ClosesAt != 0 {
		add(page.FillIn(w.ReviewPollCloses, "when", w.When(p.ClosesAt, zone)))
	}
	return facts
}

// listName returns the name of a tenant's list, or its id if the list was deleted.
func (a ReviewPages) listName(c *web.Call, tenant, id string) (string, error) {
	l, err := a.Store.List(c, id)
	if core.KindOf(err) == core.NotFound || err == nil && l.TenantID != tenant {
		return id, nil
	}
	return l.Name, err
}

// segmentName returns the name of a tenant's segment, or its id if the segment was deleted.
func (a ReviewPages) segmentName(c *web.Call, tenant, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	g, err := a.Store.Segment(c, id)
	if core.KindOf(err) == core.NotFound || err == nil && g.TenantID != tenant {
		return id, nil
	}
	return g.Name, err
}

// campaignName returns the name of a tenant's campaign, or its id if the campaign was deleted.
func (a ReviewPages) campaignName(c *web.Call, tenant, id string) (string, error) {
	of, err := a.Store.Campaign(c, id)
	if core.KindOf(err) == core.NotFound || err == nil && of.TenantID != tenant {
		return id, nil
	}
	return cmp.Or(of.Name, core.ListedText(of.Subject, nil), id), err
}
