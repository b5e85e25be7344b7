package members

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/store/members"
)

// honeypot is a form field that people don't see. If a bot fills it in, the response is the usual one, but nothing is
// stored.
const honeypot = "_website"

// maxFreeFields is the maximum number of preferences that a form can set besides the list's fields.
const maxFreeFields = 20

// subscribeData holds the data for handlers/page/pages/subscribe.html.
type subscribeData struct {
	Action, Email, Source string
	Description, Consent  []string // paragraphs
	Fields                []page.FormField
	WrongEmail            bool
	Tracking              *page.TrackingBox
}

// subscribeList looks up the list in the path and applies its style to the pages.
func (p newsletterPages) subscribeList(c *web.Call, id string) (*core.ListWithTenant, error) {
	list, err := p.Store.ListWithTenant(c, id)
	if err != nil {
		return nil, err
	}
	page.ApplyList(c, list, "")
	if !list.Active() {
		return nil, page.LinkError(c, core.ErrListInactive)
	}
	return list, nil
}

func (p newsletterPages) askSubscribe(c *web.Call, id string) (web.HTML, error) {
	if p.Options.MemberURL != "" {
		return web.HTML{To: p.Options.MemberURL + page.SubscribePath(id)}, nil
	}
	list, err := p.subscribeList(c, id)
	if err != nil {
		return web.HTML{}, err
	}
	return p.showSubscribe(c, list, nil, "")
}

// showSubscribe shows the form with the submitted values and their errors.
func (p newsletterPages) showSubscribe(c *web.Call, list *core.ListWithTenant, filled map[string]string,
	wrong string,
) (web.HTML, error) {
	w := page.WordsOf(c)
	data := subscribeData{
		Action: page.SubscribePath(list.ID), Email: filled["email"], Source: filled["source"],
		WrongEmail:  wrong == "email",
		Description: page.Paragraphs(list.Description), Consent: page.Paragraphs(list.ConsentText),
	}
	for _, f := range list.Fields.Open() {
		v := filled[f.Name]
		data.Fields = append(data.Fields, page.FormField{Field: f, Value: v, Checked: v != "", Wrong: wrong == f.Name})
	}
	if data.Tracking = page.TrackingBoxOf(&list.Tenant, page.StyleOf(c)); data.Tracking != nil {
		data.Tracking.Checked = filled[core.TrackingMember] != ""
	}
	v := page.View{Title: page.StyleOf(c).Expand(w.SubscribeTitle), Data: data}
	status := 0
	if wrong != "" {
		v.Fault, status = page.StyleOf(c).Fault, http.StatusBadRequest
	}
	return page.Render(c, status, "subscribe", v, page.RedirectSource(list.SubscribeRedirectURL)...)
}

// subscribe processes the form, which other sites can also send. It reads no cookie, because the confirmation email
// proves the address. The response is the same whether or not the address is subscribed.
func (p newsletterPages) subscribe(c *web.Call, form map[string]string) (web.HTML, error) {
	list, err := p.subscribeList(c, c.ID())
	if err != nil {
		return web.HTML{}, err
	}
	email, err := core.ParseEmail(form["email"])
	if err != nil {
		page.StyleOf(c).Fault = page.WordsOf(c).FaultEmail
		c.LogError(err)
		return p.showSubscribe(c, list, form, "email")
	}
	page.StyleOf(c).Email = email
	values, err := list.Fields.Open().Read(func(name string) string { return form[name] })
	if wrong, ok := formFault(c, err); ok {
		return p.showSubscribe(c, list, form, wrong)
	}
	addFree(values, list.Fields, form)
	preferences := core.NoPreferences.With(values)
	if err := preferences.Check("fields"); err != nil {
		return web.HTML{}, err
	}
	if err := p.Subscribes.Check(c, maintains(c, list)); err != nil {
		return web.HTML{}, err
	}
	if form[honeypot] == "" {
		if preferences, err = p.agreeing(c, list, form[core.TrackingMember], preferences); err != nil {
			return web.HTML{}, err
		}
		source := form["source"]
		if source == "" {
			source = "form"
		}
		if _, _, err := p.Store.Subscribe(c, members.SubscribeRequest{
			ListID: list.ID, Email: email, Preferences: preferences, Origin: requestOrigin(c, source),
			TextVersion: list.ConsentVersion(),
		}, c.Now); err != nil {
			return web.HTML{}, err
		}
	}
	if list.SubscribeRedirectURL != "" {
		return web.HTML{To: list.SubscribeRedirectURL}, nil
	}
	w := page.WordsOf(c)
	return page.RenderMessage(c, 0, w.CheckTitle, page.Note{
		Lines: []string{page.StyleOf(c).Expand(w.CheckText)}, Hint: w.CheckHint, Link: page.SubscribePath(list.ID),
		LinkText: w.Again,
		Quiet:    true,
	}, page.Brand{})
}

// formFault sets the message for an error in a form, in the subscriber's language. It returns the name of the field
// with the error.
func formFault(c *web.Call, err error) (name string, ok bool) {
	fault, ok := errors.AsType[*core.FormFault](err)
	if !ok {
		return "", false
	}
	w := page.WordsOf(c)
	page.StyleOf(c).Field = fault.Label
	c.LogError(err)
	page.StyleOf(c).Fault = page.StyleOf(c).Expand(map[string]string{
		core.FaultMissing: w.FaultMissing, core.FaultUnchecked: w.FaultUnchecked, core.FaultChoice: w.FaultChoice,
		core.FaultText: w.FaultText,
	}[fault.Fault])
	return fault.Name, true
}

// addFree adds to values the form's fields that its list doesn't have, because a tenant's own form can contain more
// fields. It leaves out values that can't be a preference. If there are too many fields, it keeps the first ones in
// order of their names.
func addFree(values map[string]any, known core.Fields, form map[string]string) {
	n := 0
	for _, name := range slices.Sorted(maps.Keys(form)) {
		v := form[name]
		switch {
		case name == "email" || name == "source" || name == "submit" || v == "" || !core.IsFieldName(name) ||
			!core.IsFieldText(v):
		case slices.ContainsFunc(known, func(f core.Field) bool { return f.Name == name }):
		case n < maxFreeFields:
			values[name] = v
			n++
		}
	}
}
