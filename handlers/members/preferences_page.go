package members

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/store/members"
)

// holder is a subscriber on the preference page. A token from any newsletter opens its own subscription. Because emails
// are forwarded, seeing the tenant's other data, exporting it or erasing it requires the link that only the
// subscriber's mailbox receives.
type holder struct {
	auth.UnsubscribeToken
	token   string
	list    *core.ListWithTenant // shown list
	manages bool                 // opened with the link that only the mailbox receives
	sent    bool                 // the link was just sent
}

// manageData holds the data for handlers/page/pages/preferences.html.
type manageData struct {
	Token, List string
	Fields      []page.FormField
	Held        []heldRow
	Manages     bool
	Sent        bool // the link with full access was sent
	Leave       bool // there is an active subscription
	Bare        bool // only the subscription itself can be changed
	Others      bool // the page offers to end all subscriptions
	Subscribe   string
	Named       bool              // the subscriber has consented to individual tracking
	Tracking    *page.TrackingBox // consent checkbox
}

// heldRow is one of the tenant's lists that the address is or was on.
type heldRow struct {
	ListID, Name, Status string
	Active, Here, Fields bool
}

type preferencesQuery struct {
	Token string `query:"token"`
	List  string `query:"list" about:"ID of the list; used without a token"`
}

func (p newsletterPages) askPreferences(c *web.Call, in preferencesQuery) (web.HTML, error) {
	if list, ok := core.ParseID(in.List); ok && in.Token == "" && p.Options.MemberURL != "" {
		return web.HTML{To: p.Options.MemberURL + page.PreferencesPath(list)}, nil
	}
	if in.Token == "" {
		return p.askLink(c, in.List, "", "")
	}
	h, err := p.holder(c, in.Token, in.List)
	if err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	if p.Options.MemberURL != "" { // the member service can't read this token
		return web.HTML{To: p.Options.MemberURL + page.PreferencesPath(h.list.ID)}, nil
	}
	return p.showPreferences(c, h, page.View{}, 0, nil, "")
}

// holder opens a token for the page. If listID is not empty, it selects another list of the same tenant.
func (p newsletterPages) holder(c *web.Call, token, listID string) (h holder, err error) {
	h.token = token
	if h.UnsubscribeToken, err = p.Sealer.OpenManage(token); err == nil {
		h.manages = true
	} else if h.UnsubscribeToken, err = p.Sealer.OpenUnsubscribe(token); err != nil {
		return h, err
	}
	if h.list = p.applyListID(c, h.ListID, h.Email); h.list != nil {
		page.StyleOf(c).Link, page.StyleOf(c).LinkText = page.PreferencesPath(h.list.ID), page.WordsOf(c).LinkNew
	}
	switch {
	case h.Kind == auth.UnsubscribeRequested: // anyone can request such a token
		return h, core.ErrInvalidToken
	case h.Expired(c.Now):
		return h, core.ErrTokenExpired
	case h.list == nil:
		return h, core.ErrListNotFound
	case listID == "" || listID == h.ListID:
		return h, nil
	}
	other, err := p.Store.ListWithTenant(c, listID)
	if err != nil || !h.manages || other.TenantID != h.list.TenantID {
		return h, core.ErrListNotFound
	}
	h.list = other
	h.ListID, h.SubscriptionID = other.ID, p.Store.SubscriptionID(other.ID, h.Email.Key())
	page.ApplyList(c, other, h.Email)
	return h, nil
}

// showPreferences shows the page. filled holds the submitted values of a refused form, and wrong is the field with the
// error.
func (p newsletterPages) showPreferences(c *web.Call, h holder, v page.View, status int, filled map[string]string,
	wrong string,
) (web.HTML, error) {
	held, err := p.Store.SubscriptionsAt(c, h.list.TenantID, h.Email)
	if err != nil {
		return web.HTML{}, err
	}
	w := page.WordsOf(c)
	data := manageData{
		Token: h.token, List: h.list.ID, Manages: h.manages, Sent: h.sent,
		Subscribe: page.SubscribePath(h.list.ID),
	}
	statuses := map[string]string{
		core.SubscriptionActive: w.StatusActive, core.SubscriptionPending: w.StatusPending,
		core.SubscriptionUnsubscribed: w.StatusUnsubscribed,
	}
	here, stays := heldRow{ListID: h.list.ID, Name: h.list.Name, Status: w.StatusUnsubscribed, Here: true}, 0
	for i := range held {
		s := &held[i]
		row := heldRow{
			ListID: s.ListID, Name: s.ListName, Status: statuses[s.Status],
			Active: s.Status != core.SubscriptionUnsubscribed, Here: s.ListID == h.ListID,
		}
		if row.Active {
			stays++
		}
		if row.Here {
			here = row
			if data.Named = namedBy(h.list, s.Status, s.Preferences); !data.Named && h.manages &&
				s.Status == core.SubscriptionActive {
				data.Tracking = page.TrackingBoxOf(&h.list.Tenant, page.StyleOf(c))
			}
			if row.Active {
				data.Fields = fieldsOfList(h.list, s.Preferences, filled, wrong)
			}
		} else if other, err := p.Store.ListWithTenant(c, s.ListID); err == nil {
			row.Fields = len(other.Fields.Open()) > 0
		}
		if h.manages {
			data.Held = append(data.Held, row)
		}
	}
	if !h.manages || len(data.Held) == 0 {
		data.Held = []heldRow{here}
	}
	data.Leave, data.Others = here.Active, stays > 1
	data.Bare = here.Active && len(data.Held) == 1 && len(data.Fields) == 0 && !data.Named && data.Tracking == nil
	if h.sent {
		v.Notice = page.StyleOf(c).Expand(w.LinkSent)
		if here.Active { // the page shows that the address is known
			v.Notice = page.StyleOf(c).Expand(w.LinkMailed)
		}
	}
	if v.Title = w.AskTitle; !h.manages {
		v.Title = w.ManageTitle
		// People who have the forwarded email must not learn whether this subscriber is on more lists. Only whether the
		// tenant has more lists counts.
		lists, err := p.Store.Lists(c, []string{h.list.TenantID}, false, core.Page{Limit: 2})
		if err != nil {
			return web.HTML{}, err
		}
		data.Others = here.Active && len(lists) > 1
	}
	v.Data = data
	return page.Render(c, status, "preferences", v)
}

// fieldsOfList returns a list's fields with the subscriber's values.
func fieldsOfList(list *core.ListWithTenant, preferences core.Preferences, filled map[string]string,
	wrong string,
) (fields []page.FormField) {
	said := preferences.Values()
	for _, f := range list.Fields.Open().Holding(preferences) {
		ff := page.FormField{Field: f, Wrong: f.Name == wrong}
		if raw, ok := said[f.Name]; ok {
			_ = json.Unmarshal(raw, &ff.Value) // a value that is not a string counts as empty
			_ = json.Unmarshal(raw, &ff.Checked)
		}
		if filled != nil {
			ff.Value, ff.Checked = filled[f.Name], filled[f.Name] != ""
		}
		fields = append(fields, ff)
	}
	return fields
}

// Actions of the page's buttons.
const (
	actSave     = "save"
	actLeave    = "leave"
	actLeaveAll = "leave_all"
	actLink     = "link"
	actTrack    = "track"
	actUntrack  = "untrack"
)

func (p newsletterPages) changePreferences(c *web.Call, form map[string]string) (web.HTML, error) {
	if err := c.CrossSite(); err != nil {
		return web.HTML{}, err
	}
	if form["token"] == "" {
		return p.sendLink(c, form["list"], form["email"])
	}
	h, err := p.holder(c, form["token"], form["list"])
	if err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	switch form["action"] {
	case actSave:
		return p.savePreferences(c, h, form)
	case actLeave:
		h.Kind = auth.UnsubscribeMailed // it proves as much
		_, leftAt, err := p.leaveBy(c, h.UnsubscribeToken, "preferences", "")
		if err != nil {
			return web.HTML{}, page.LinkError(c, err)
		}
		return p.left(c, h.UnsubscribeToken, leftAt, preferencesOf(h.token))
	case actTrack, actUntrack:
		return p.setTracking(c, h, form["action"], form[core.TrackingMember])
	case actLeaveAll:
		gone, err := p.Store.UnsubscribeAll(c, h.list.TenantID,
			members.UnsubscribeRequest{Email: h.Email, Proof: core.ProofMailed, Origin: requestOrigin(c, "preferences")},
			c.Now)
		if err != nil {
			return web.HTML{}, err
		}
		return p.leftAll(c, h, gone)
	case actLink:
		if err := p.Store.RequestPreferencesLink(c, h.list.ID, h.Email, c.Now); err != nil {
			return web.HTML{}, err
		}
		h.sent = true
		return p.showPreferences(c, h, page.View{}, 0, nil, "")
	}
	return web.HTML{}, core.Invalidf("action", "The request is malformed. Go back and start again.")
}

// undoTokens is the maximum total size in bytes of the undo tokens in a form. It is enough for at least 24 lists, and
// usually for about 75.
const undoTokens = 12 * web.KiB

// leftAll offers to undo all unsubscribes together. The form contains an undo token for each list.
func (p newsletterPages) leftAll(c *web.Call, h holder, gone []core.Subscription) (web.HTML, error) {
	w := page.WordsOf(c)
	said := left{Lines: []string{page.StyleOf(c).Expand(w.LeftAll)}, Back: preferencesOf(h.token)}
	var tokens strings.Builder
	for i := range gone {
		token, err := p.undoToken(c, auth.UnsubscribeToken{
			ListID: gone[i].ListID, SubscriptionID: gone[i].ID,
			Email: gone[i].Email,
		}, gone[i].ChangedAt)
		if err != nil {
			return web.HTML{}, err
		}
		if token != "" && tokens.Len()+len(token) < undoTokens {
			tokens.WriteString(token + " ")
		}
	}
	said.Undo = strings.TrimSpace(tokens.String())
	return page.Render(c, 0, "left", page.View{Title: w.LeftTitle, Data: said})
}

// preferencesOf returns the path of the preference page that a token opens.
func preferencesOf(token string) string { return "/preferences?token=" + url.QueryEscape(token) }

func (p newsletterPages) savePreferences(c *web.Call, h holder, form map[string]string) (web.HTML, error) {
	sub, err := p.Store.Subscription(c, h.ListID, h.Email)
	if err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	values, err := h.list.Fields.Open().Holding(sub.Preferences).Read(func(name string) string {
		return strings.TrimSpace(form[fieldPrefix+name])
	})
	if wrong, ok := formFault(c, err); ok {
		filled := map[string]string{}
		for _, f := range h.list.Fields {
			filled[f.Name] = form[fieldPrefix+f.Name]
		}
		return p.showPreferences(c, h, page.View{Fault: page.StyleOf(c).Fault}, http.StatusBadRequest, filled, wrong)
	}
	if _, err := p.Store.SetFields(c, h.ListID, h.Email, values, c.Now); err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	return p.showPreferences(c, h, page.View{Notice: page.WordsOf(c).Saved}, 0, nil, "")
}

// fieldPrefix distinguishes the list's own fields from other fields of the form.
const fieldPrefix = "p."

// askMoved shows the page for unsubscribe and preference links in another tool's emails. It asks for the address,
// because newsletterd can't read their tokens.
func (p newsletterPages) askMoved(c *web.Call, in movedPath) (web.HTML, error) {
	tool := core.ToolName(in.Tool)
	if tool == "" {
		return web.HTML{}, web.ErrNotFound
	}
	if in.List == "" {
		owners, err := p.Store.TenantsAt(c, web.HostOf(c.Request.Host))
		if err != nil {
			return web.HTML{}, err
		}
		for k := range owners {
			lists, err := p.Store.Lists(c, []string{owners[k].ID}, false, core.Page{Limit: 1})
			if err != nil {
				return web.HTML{}, err
			}
			if len(lists) > 0 {
				in.List = lists[0].ID // the emailed link leads to all lists of the tenant
				break
			}
		}
	}
	list, err := p.Store.ListWithTenant(c, in.List)
	if err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	if p.Options.MemberURL != "" {
		return web.HTML{To: p.Options.MemberURL + page.PreferencesPath(list.ID)}, nil
	}
	page.ApplyList(c, list, "")
	w := page.WordsOf(c)
	return page.Render(c, 0, "asklink", page.View{Title: w.MovedTitle, Data: linkRequest{
		List: list.ID, Text: page.StyleOf(c).Expand(strings.ReplaceAll(w.MovedText, "{{tool}}", tool)),
	}})
}

type movedPath struct {
	Tool string `path:"tool,text"`
	List string `query:"list" about:"ID of the list, for tenants without their own domain"`
}

// linkRequest holds the data for handlers/page/pages/asklink.html.
type linkRequest struct{ List, Text string }

// askLink shows the page on which a visitor without a link can request one.
func (p newsletterPages) askLink(c *web.Call, listID, fault, notice string) (web.HTML, error) {
	list, err := p.Store.ListWithTenant(c, listID)
	if err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	page.ApplyList(c, list, page.StyleOf(c).Email)
	w, status := page.WordsOf(c), 0
	if fault != "" {
		status = http.StatusBadRequest
	}
	data := linkRequest{List: list.ID, Text: page.StyleOf(c).Expand(w.AskText)}
	return page.Render(c, status, "asklink", page.View{Title: w.AskTitle, Fault: fault, Notice: notice, Data: data})
}

// sendLink emails the preference page link to a subscriber. The response is the same whether or not the address is
// known.
func (p newsletterPages) sendLink(c *web.Call, listID, address string) (web.HTML, error) {
	list, err := p.Store.ListWithTenant(c, listID)
	if err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	page.ApplyList(c, list, "")
	email, err := core.ParseEmail(address)
	if err != nil {
		c.LogError(err)
		return p.askLink(c, listID, page.WordsOf(c).FaultEmail, "")
	}
	page.StyleOf(c).Email = email
	if err := p.Store.RequestPreferencesLink(c, list.ID, email, c.Now); err != nil {
		return web.HTML{}, err
	}
	return p.askLink(c, listID, "", page.StyleOf(c).Expand(page.WordsOf(c).LinkSent))
}

// manager opens a token that permits exporting and erasing the subscriber's data.
func (p newsletterPages) manager(c *web.Call, token string) (holder, core.Person, error) {
	if err := c.CrossSite(); err != nil {
		return holder{}, core.Person{}, err
	}
	h, err := p.holder(c, token, "")
	if err == nil && !h.manages {
		err = core.ErrInvalidToken
	}
	if err != nil {
		return h, core.Person{}, page.LinkError(c, err)
	}
	return h, core.Person{Email: h.Email, TenantID: h.list.TenantID}, nil
}

// export returns the tenant's data about the subscriber as a file.
func (p newsletterPages) export(c *web.Call, in linkForm) (out web.Text, err error) {
	_, person, err := p.manager(c, in.Token)
	if err != nil {
		return out, err
	}
	data, err := p.Store.ExportPerson(c, person)
	if err != nil {
		return out, err
	}
	withoutKeepers(&data)
	b, err := json.MarshalIndent(data, "", "  ")
	c.Header().Set("Content-Disposition", `attachment; filename="newsletter-data.json"`)
	return web.Text{Type: "application/json", Body: append(b, '\n')}, err
}

// withoutKeepers removes the team's addresses and browsers, which subscribers must not see in their data.
func withoutKeepers(data *core.PersonData) {
	for _, s := range data.Subscriptions {
		for i := range s.Consents {
			if k := &s.Consents[i]; k.Proof == core.ProofAdmin {
				k.Remote, k.UserAgent = "", ""
			}
		}
	}
}

type eraseForm struct {
	Token string `form:"token" is:"required"`
	Sure  string `form:"sure" about:"Must be yes"`
}

// erase deletes the tenant's data about the subscriber.
func (p newsletterPages) erase(c *web.Call, in eraseForm) (web.HTML, error) {
	h, person, err := p.manager(c, in.Token)
	if err != nil {
		return web.HTML{}, err
	}
	w := page.WordsOf(c)
	if in.Sure != "yes" {
		return p.showPreferences(c, h, page.View{Fault: w.EraseUnsure}, http.StatusBadRequest, nil, "")
	}
	if _, err := p.Store.ErasePerson(c, person, "subscriber", c.Now); err != nil {
		return web.HTML{}, err
	}
	return page.RenderMessage(c, 0, w.ErasedTitle, page.Note{Lines: []string{page.StyleOf(c).Expand(w.ErasedText)}},
		page.Brand{})
}
