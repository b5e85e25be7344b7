package handlers

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/members"
)

// subscribePath is the page with the subscribe form of a list.
func subscribePath(listID string) string { return "/l/" + listID }

// honeypot is a field that people don't see. A program that fills it in gets the answer that people get, and nothing
// is stored.
const honeypot = "_website"

// Undeclared fields of a form become preferences too, so many at the most.
const maxFreeFields = 20

// formField is a field of a list as a form shows it (pages/layout.html, "fields").
type formField struct {
	core.Field
	Value   string
	Checked bool
	Wrong   bool
}

// subscribeData is the Data of pages/subscribe.html.
type subscribeData struct {
	Action, Email, Source string
	Description, Consent  []string // paragraphs
	Fields                []formField
	WrongEmail            bool
	Tracking              *trackingBox
}

// subscribeList finds the list of the page, and applies its style.
func (p newsletterPages) subscribeList(c *web.Call, id string) (*core.ListWithTenant, error) {
	list, err := p.store.ListWithTenant(c, id)
	if err != nil {
		return nil, err
	}
	applyList(c, list, "")
	if !list.Active() {
		return nil, linkError(c, core.ErrListInactive)
	}
	return list, nil
}

func (p newsletterPages) askSubscribe(c *web.Call, id string) (web.HTML, error) {
	if p.options.MemberURL != "" {
		return web.HTML{To: p.options.MemberURL + subscribePath(id)}, nil
	}
	list, err := p.subscribeList(c, id)
	if err != nil {
		return web.HTML{}, err
	}
	return p.showSubscribe(c, list, nil, "")
}

// showSubscribe shows the form, with what was filled in and what is wrong with it.
func (p newsletterPages) showSubscribe(c *web.Call, list *core.ListWithTenant, filled map[string]string,
	wrong string,
) (web.HTML, error) {
	w := wordsOf(c)
	data := subscribeData{
		Action: subscribePath(list.ID), Email: filled["email"], Source: filled["source"], WrongEmail: wrong == "email",
		Description: paragraphs(list.Description), Consent: paragraphs(list.ConsentText),
	}
	for _, f := range list.Fields {
		v := filled[f.Name]
		data.Fields = append(data.Fields, formField{Field: f, Value: v, Checked: v != "", Wrong: wrong == f.Name})
	}
	if data.Tracking = trackingBoxOf(&list.Tenant, styleOf(c)); data.Tracking != nil {
		data.Tracking.Checked = filled[core.TrackingMember] != ""
	}
	v := view{Title: styleOf(c).expand(w.SubscribeTitle), Data: data}
	status := 0
	if wrong != "" {
		v.Fault, status = styleOf(c).fault, http.StatusBadRequest
	}
	return render(c, status, "subscribe", v, redirectSource(list.SubscribeRedirectURL)...)
}

func paragraphs(s string) (all []string) {
	for p := range strings.SplitSeq(s, "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			all = append(all, p)
		}
	}
	return all
}

// subscribe takes the form, also from a page of another site: it reads no cookie, and an address proves itself by its
// mail. The answer is the same whether or not the address is subscribed.
func (p newsletterPages) subscribe(c *web.Call, form map[string]string) (web.HTML, error) {
	list, err := p.subscribeList(c, c.ID())
	if err != nil {
		return web.HTML{}, err
	}
	email, err := core.ParseEmail(form["email"])
	if err != nil {
		styleOf(c).fault = wordsOf(c).FaultEmail
		c.LogError(err)
		return p.showSubscribe(c, list, form, "email")
	}
	styleOf(c).email = email
	values, err := list.Fields.Read(func(name string) string { return form[name] })
	if wrong, ok := formFault(c, err); ok {
		return p.showSubscribe(c, list, form, wrong)
	}
	addFree(values, list.Fields, form)
	preferences := core.NoPreferences.With(values)
	if err := preferences.Check("fields"); err != nil {
		return web.HTML{}, err
	}
	if err := p.limits.Check(c, maintains(c, list)); err != nil {
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
		if _, _, err := p.store.Subscribe(c, members.SubscribeRequest{
			ListID: list.ID, Email: email, Preferences: preferences, Origin: requestOrigin(c, source),
			TextVersion: list.ConsentVersion(),
		}, c.Now); err != nil {
			return web.HTML{}, err
		}
	}
	if list.SubscribeRedirectURL != "" {
		return web.HTML{To: list.SubscribeRedirectURL}, nil
	}
	w := wordsOf(c)
	return renderMessage(c, 0, w.CheckTitle, note{
		Lines: []string{styleOf(c).expand(w.CheckText)}, Hint: w.CheckHint, Link: subscribePath(list.ID), LinkText: w.Again,
		Quiet: true,
	}, brand{})
}

// formFault says what is wrong with a field of a form, in the reader's language, and which it is.
func formFault(c *web.Call, err error) (name string, ok bool) {
	fault, ok := errors.AsType[*core.FormFault](err)
	if !ok {
		return "", false
	}
	w := wordsOf(c)
	styleOf(c).field = fault.Label
	c.LogError(err)
	styleOf(c).fault = styleOf(c).expand(map[string]string{
		core.FaultMissing: w.FaultMissing, core.FaultChoice: w.FaultChoice, core.FaultText: w.FaultText,
	}[fault.Fault])
	return fault.Name, true
}

// addFree adds the fields of a form that its list doesn't know: a tenant's own form may have more than it has
// declared. What can't be a preference is left out; of too many the first by name are taken.
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
