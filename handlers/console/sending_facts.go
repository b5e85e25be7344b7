package console

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
)

// sendFact is a fact on the send page: a term and its details.
type sendFact struct {
	Name  string
	Texts []string
}

// lookFurther adds facts that the email's body doesn't show, and the excluded subscribers.
func (p *Page) lookFurther(d *sendData) error {
	c := d.Campaign
	add := func(name string, texts ...string) {
		if len(texts) > 0 && texts[0] != "" {
			d.More = append(d.More, sendFact{name, texts})
		}
	}
	add(p.T("Reply-to address"), cmp.Or(c.ReplyTo, p.Tenant.ReplyTo))
	var files []string
	for _, id := range c.Attachments {
		var m core.MediaView
		found, err := p.readNamed("/api/media/"+url.PathEscape(id), &m)
		if err != nil {
			return err
		}
		if found { // a missing record causes a finding
			full := cmp.Or(m.Full, &m.MediaFileView)
			files = append(files, core.AttachmentName(m.Name, m.Type)+" ("+p.Size(full.Bytes)+")")
		}
	}
	add(p.T("Attachments"), files...)
	if err := p.lookAtNarrowing(c, add); err != nil {
		return err
	}
	add(p.T("Polls"), p.pollFacts(d)...)
	switch {
	case len(d.archives) > 0 && c.Archived():
		add(p.T("Public archive"), p.T("Shown after sending: {{lists}}", "lists", strings.Join(d.archives, ", ")))
	case len(d.archives) > 0:
		add(p.T("Public archive"), p.T("Hidden"))
	}
	add(p.T("UTM parameters"), strings.ReplaceAll(c.UTM.Query(), "&", ", "))
	return nil
}

// sentTo returns the lists and segments to which a campaign was sent, and its exclusions. A visitor may lack permission
// to see anything but the lists.
func (p *Page) sentTo(c *campaignPage, lists []string) (facts []sendFact, err error) {
	var names []string
	for _, id := range lists {
		l := core.List{}
		if _, err := p.readNamed(apiLists+"/"+url.PathEscape(id), &l); err != nil {
			return nil, err
		}
		names = append(names, cmp.Or(l.Name, p.T("(deleted)")))
	}
	add := func(name string, texts ...string) {
		if len(texts) > 0 && texts[0] != "" {
			facts = append(facts, sendFact{name, texts})
		}
	}
	add(p.N("List|Lists", int64(len(names))), names...)
	if p.May(core.ActionCampaignRead) {
		err = p.lookAtNarrowing(c, add)
	}
	return facts, err
}

// lookAtNarrowing adds facts about the subscribers to whom a campaign is limited or whom it excludes.
func (p *Page) lookAtNarrowing(c *campaignPage, add func(name string, texts ...string)) error {
	var lists []string
	for _, id := range c.ExcludeListIDs {
		l := core.List{}
		if _, err := p.readNamed("/api/admin/newsletter-lists/"+url.PathEscape(id), &l); err != nil {
			return err
		}
		lists = append(lists, cmp.Or(l.Name, id))
	}
	add(p.T("Excluded lists"), lists...)
	var sent []string
	for _, id := range c.ExcludeCampaignIDs {
		name, err := p.campaignName(id)
		if err != nil {
			return err
		}
		sent = append(sent, name)
	}
	add(p.T("Excluded: recipients of"), sent...)
	if err := p.lookAtSegments(c, add); err != nil {
		return err
	}
	if c.Audience != nil {
		name, err := p.campaignName(c.Audience.Of)
		if err != nil {
			return err
		}
		add(p.T("Limited to"), p.onlyTo(c.Audience.Who, name))
	}
	return nil
}

// pollFacts describes a campaign's polls: the question, the field that stores the answers, and when the poll closes.
func (p *Page) pollFacts(d *sendData) (facts []string) {
	for i := range d.Campaign.Polls {
		poll := &d.Campaign.Polls[i]
		parts := []string{poll.Question}
		named := func(f core.Field) bool { return f.Name == poll.Field }
		if k := slices.IndexFunc(d.fields, named); k >= 0 {
			parts = append(parts, p.T("saves answers in the field “{{field}}”", "field", d.fields[k].Label))
		}
		if poll.ClosesAt != 0 {
			parts = append(parts, p.T("closes {{when}}", "when", p.Moment(poll.ClosesAt)))
		}
		facts = append(facts, strings.Join(parts, " · "))
	}
	return facts
}

// readNamed reads a record to which a campaign refers. If the record was deleted, found is false.
func (p *Page) readNamed(path string, out any) (found bool, err error) {
	if _, err = p.Get(path, nil, out); core.KindOf(err) == core.NotFound {
		return false, nil
	}
	return err == nil, err
}

// campaignName returns the name of a campaign, or its id if it was deleted.
func (p *Page) campaignName(id string) (string, error) {
	var c core.CampaignView
	_, err := p.readNamed(campaignAPI(id), &c)
	return cmp.Or(c.Name, p.Listed(c.Subject), id), err
}

// onlyTo describes which of another campaign's recipients get a campaign. name is the other campaign's name.
func (p *Page) onlyTo(who, name string) string {
	switch who {
	case core.FollowJoined:
		return p.T("subscribers who joined after “{{campaign}}”", "campaign", name)
	case core.FollowUnopened:
		return p.T("recipients of “{{campaign}}” who didn't open or click", "campaign", name)
	}
	return p.T("recipients of “{{campaign}}”", "campaign", name)
}

// lookAtSegments adds facts about the segments that determine the recipients.
func (p *Page) lookAtSegments(c *campaignPage, add func(name string, texts ...string)) error {
	if c.SegmentID != "" {
		s, err := p.namedSegment(c.SegmentID)
		if err != nil {
			return err
		}
		term := p.SegmentTerm(s)
		add(term[0], term[1])
		c.byTag = p.namedForTag(&s) != "" && len(c.ExcludeSegmentIDs) == 0
	}
	var segments, tags []string
	for _, id := range c.ExcludeSegmentIDs {
		s, err := p.namedSegment(id)
		if err != nil {
			return err
		}
		if tag := p.namedForTag(&s); tag != "" {
			tags = append(tags, tag)
		} else {
			segments = append(segments, s.Name)
		}
	}
	c.withoutTags = len(segments) == 0
	add(p.T("Excluded segments"), segments...)
	add(p.T("Excluded tags"), tags...)
	return nil
}

// outside says why segments leave n subscribers out of a campaign.
func (p *Page) outside(c *campaignPage, n int64) string {
	switch {
	case c.byTag:
		return p.N("1 without the tag|{{n}} without the tag", n)
	case len(c.ExcludeSegmentIDs) == 0:
		return p.N("1 not in the segment|{{n}} not in the segment", n)
	case c.SegmentID != "":
		return p.N("1 not in the segment or excluded|{{n}} not in the segment or excluded", n)
	case c.withoutTags:
		return p.N("1 with an excluded tag|{{n}} with an excluded tag", n)
	}
	return p.N("1 in an excluded segment|{{n}} in an excluded segment", n)
}
