package segments

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/audience"
)

// segmentPerson is a subscriber who belongs to a segment.
type segmentPerson struct {
	ID          string           `json:"id"` // id of the subscription
	ListID      string           `json:"list_id"`
	Email       core.Email       `json:"email"`
	Preferences core.Preferences `json:"preferences"`
}

// peopleFilter filters people by list.
type peopleFilter struct {
	ListID string `query:"list_id,required,uuid"`
}

// whyFilter selects one person.
type whyFilter struct {
	peopleFilter
	Subscriber string `path:"subscriber"`
}

func (r *Room) peopleRoutes(t *web.Table) {
	read := web.Sent(core.ActionPeopleRead)
	t.Add("GET", item+"/people", read, web.Member, r.one(web.Search(r.people).Fails(core.NotFound, core.Conflict)),
		"List the active subscribers of a list who belong to a segment; a page can be short even if another follows").
		Named("listSegmentPeople").
		Refuses(undecided)
	t.Add("GET", item+"/people/:subscriber/why", read, web.Member, r.one(web.Query(r.why).Fails(core.Conflict)),
		"Show which conditions of a segment a subscriber matches, and the subscriber's status").
		Named("explainSegment").
		Refuses(undecided)
}

// question returns a question about the segment in the path, for one of its tenant's lists.
func (r *Room) question(c *web.Call, listID string) (q audience.Question, err error) {
	g := found(c)
	l, err := r.Store.List(c, listID)
	if err == nil && l.TenantID != g.TenantID {
		err = core.ErrListNotFound
	}
	if err != nil {
		return q, err
	}
	q = audience.Question{TenantID: g.TenantID, ListIDs: []string{listID}, Now: c.Now}
	q.Rule, err = g.ParsedRule()
	return q, err
}

func (r *Room) people(c *web.Call, in peopleFilter, page core.Page) (rows []segmentPerson, next string, err error) {
	q, err := r.question(c, in.ListID)
	if err != nil {
		return nil, "", err
	}
	err = r.Evaluate(c, page.After != "", func() error {
		matching, after, err := r.Store.PeopleOf(c, q, page)
		rows = web.RowsOf(matching, func(s *core.Subscriber) segmentPerson {
			return segmentPerson{s.ID, s.ListID, s.Email, s.Preferences.OrEmpty()}
		})
		next = after
		return err
	})
	return rows, next, err
}

func (r *Room) why(c *web.Call, in whyFilter) (m core.SegmentMembership, err error) {
	q, err := r.question(c, in.ListID)
	if err != nil {
		return m, err
	}
	m, err = r.Store.WhySegment(c, q, in.Subscriber)
	if core.KindOf(err) == core.NotFound {
		err = core.ErrSubscriptionNotFound
	}
	return m, err
}
