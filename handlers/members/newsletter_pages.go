package members

import (
	"strings"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/store/members"
	"newsletterd/store/people"
)

// newsletterPages serves the pages that emails to subscribers link to. A GET never changes anything, because link
// scanners follow links. It shows a button whose form makes the change. The pages need neither scripts nor cookies. The
// token is the only proof of identity.
type newsletterPages struct{ newsletter }

// press holds the data for a page with one button (handlers/page/pages/press.html).
type press struct {
	Text, Action, Token, Button string
	Reasons                     []page.Reason // to choose from
	Named                       bool          // the subscriber can instead withdraw consent to individual tracking
	Manage                      string        // URL of the preference page; empty: no link
}

type linkForm struct {
	Token string `form:"token" is:"required"`
}

// newsletterPageRoutes adds the pages that subscription emails link to, and the signup forms of lists.
func (r *Room) newsletterPageRoutes(t *web.Table) {
	mailed := newsletterPages{newsletter{r}}
	t.Add("GET", "/confirm", web.Public(), web.Page,
		web.Query(mailed.askConfirm), "Show the page to confirm a subscription")
	t.Add("POST", "/confirm", web.Public(), web.Page,
		web.Form(mailed.confirm).Fails(core.Forbidden), "Confirm a subscription")
	t.Add("GET", "/unsubscribe", web.Public(), web.Page,
		web.Query(mailed.askUnsubscribe), "Show the unsubscribe page")
	t.Add("GET", "/l/:id", web.Public(), web.Page,
		web.Path(mailed.askSubscribe).Missing(core.ErrListNotFound).Fails(core.Invalid),
		"Show the signup page of a list").Named("showSubscribeForm")
	t.Add("POST", "/l/:id", web.Public(), web.Page,
		web.Values(mailed.subscribe).NeedsRoom(web.MaxWrite).Missing(core.ErrListNotFound).
			Fails(core.NotFound, core.TooMany),
		"Sign up for a list with an HTML form, on the signup page or any site").Named("subscribeByForm")
	t.Add("GET", "/preferences", web.Public(), web.Page,
		web.Query(mailed.askPreferences).Fails(core.NotFound),
		"Show the preference page; without a token, the form to request a link").
		Refuses(web.BadEmail)
	t.Add("GET", "/moved/:tool", web.Public(), web.Page,
		web.Query(mailed.askMoved).Fails(core.NotFound),
		"Show the form to request an unsubscribe link, for emails that were sent with another tool").Named("showMoved")
	t.Add("POST", "/preferences", web.Public(), web.Page,
		web.Values(mailed.changePreferences).
			Fails(core.Forbidden, core.NotFound, core.TooMany).PerAddress(60, time.Hour),
		"Save the preference page; without a token, email a link to it")
	t.Add("POST", "/preferences/export", web.Public(), web.Page,
		web.Form(mailed.export).Answers("application/json").Fails(core.Forbidden, core.NotFound),
		"Download a subscriber's data")
	t.Add("POST", "/preferences/erase", web.Public(), web.Page,
		web.Form(mailed.erase).Fails(core.Forbidden, core.NotFound), "Erase a subscriber's data")
	t.Add("POST", "/unsubscribe", web.Public(), web.Page,
		web.Form(mailed.unsubscribe).Fails(core.Forbidden), "Unsubscribe")
	t.Add("GET", "/undo", web.Public(), web.Page,
		web.Query(mailed.askUndo).Fails(core.NotFound), "Show the page to undo an unsubscribe")
	t.Add("POST", "/undo", web.Public(), web.Page,
		web.Form(mailed.undo).Fails(core.Forbidden, core.NotFound), "Undo an unsubscribe")
	t.Add("GET", "/api/newsletter/unsubscribe", web.Public(), web.Page,
		web.Query(mailed.askUnsubscribe), "Show the unsubscribe page, for email programs that open List-Unsubscribe "+
			"in a browser").
		Named("showUnsubscribePage")
}

// applyListID applies the style of a token's list to the pages. If the list was deleted, the pages don't name it.
func (p newsletterPages) applyListID(c *web.Call, listID string, email core.Email) *core.ListWithTenant {
	list, err := p.Store.ListWithTenant(c, listID)
	if err != nil {
		*page.StyleOf(c) = page.Style{
			List: page.WordsOf(c).ThisNewsletter, Lang: page.StyleOf(c).Lang,
			Tenant: page.OwnName, Email: email,
		}
		return nil
	}
	page.ApplyList(c, list, email)
	return list
}

// asked opens a confirmation token and returns the token's list.
func (p newsletterPages) asked(c *web.Call, token string) (*core.ListWithTenant, error) {
	list, email, err := p.Store.ConfirmAsked(c, token, c.Now)
	if list != nil {
		page.ApplyList(c, list, email)
		page.StyleOf(c).Link, page.StyleOf(c).LinkText = page.SubscribePath(list.ID),
			page.StyleOf(c).Expand(page.WordsOf(c).SubscribeTitle)
	}
	return list, err
}

func (p newsletterPages) askConfirm(c *web.Call, in tokenQuery) (web.HTML, error) {
	list, err := p.asked(c, in.Token)
	if err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	was, err := p.Store.Confirmed(c, in.Token)
	if err != nil {
		return web.HTML{}, err
	}
	w := page.WordsOf(c)
	if was.Left {
		return web.HTML{}, leftSince(c)
	}
	if was.Done {
		said := page.Note{Lines: []string{page.StyleOf(c).Expand(w.AlreadyText)}}
		if said.Manage, err = p.manageLink(c, list, was); err != nil {
			return web.HTML{}, err
		}
		return page.RenderMessage(c, 0, w.AlreadyTitle, said, page.Brand{})
	}
	return page.Render(c, 0, "press", page.View{Title: w.ConfirmTitle, Data: press{
		Text: page.StyleOf(c).Expand(w.ConfirmText), Action: "/confirm", Token: in.Token, Button: w.ConfirmButton,
	}}, page.RedirectSource(list.ConfirmRedirectURL)...)
}

func (p newsletterPages) confirm(c *web.Call, in linkForm) (web.HTML, error) {
	if err := c.CrossSite(); err != nil {
		return web.HTML{}, err
	}
	list, err := p.asked(c, in.Token)
	var was members.Confirmed
	if err == nil {
		was, err = p.Store.Confirmed(c, in.Token)
	}
	if err == nil && was.Left {
		return web.HTML{}, leftSince(c)
	}
	if err == nil {
		_, err = p.Store.Confirm(c, in.Token, requestOrigin(c, "page"), c.Now)
	}
	if err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	if list.ConfirmRedirectURL != "" {
		return web.HTML{To: list.ConfirmRedirectURL}, nil
	}
	w := page.WordsOf(c)
	title, said := w.ConfirmedTitle, page.Note{
		Lines: []string{page.StyleOf(c).Expand(w.ConfirmedText)}, Hint: w.ConfirmedLeave,
	}
	if len(list.Fields.Open()) > 0 {
		said.Hint = w.ConfirmedLater
	}
	if was.Done {
		title, said.Lines[0] = w.AlreadyTitle, page.StyleOf(c).Expand(w.AlreadyText)
	}
	v := page.View{Title: title}
	if list.Archive {
		said.Link, said.LinkText = page.ArchiveURL(list, c.PublicURL()), w.ArchiveRead
		v.Feed = said.Link + page.FeedName
	}
	if said.Manage, err = p.manageLink(c, list, was); err != nil {
		return web.HTML{}, err
	}
	v.Data = said
	return page.Render(c, 0, "message", v)
}

// manageLink returns the path of the preference page for a visitor with an emailed confirmation link. Like the link in
// a newsletter, the path opens only this subscription. For other tokens, which anyone can request, it returns an empty
// string.
func (p newsletterPages) manageLink(c *web.Call, list *core.ListWithTenant, was members.Confirmed) (string, error) {
	if !was.Mailed {
		return "", nil
	}
	email := page.StyleOf(c).Email
	token, err := p.Sealer.SealUnsubscribe(auth.UnsubscribeToken{
		Kind: auth.UnsubscribeMailed, ListID: list.ID, SubscriptionID: p.Store.SubscriptionID(list.ID, email.Key()),
		Email: email, IssuedAt: c.Now,
	})
	return preferencesOf(token), err
}

// leftSince returns the error for a confirmation link that was opened after the subscriber unsubscribed. The error page
// links to the signup form.
func leftSince(c *web.Call) error {
	said := *core.ErrInvalidToken
	said.Message = page.StyleOf(c).Expand(page.WordsOf(c).LinkLeft)
	return &said
}

type leaveForm struct {
	Token  string `form:"token" is:"required"`
	Reason string `form:"reason" enum:"too_many|content|never_asked|other" about:"Reason for unsubscribing; optional"`
	Words  string `form:"words" about:"Comment in the person's own words; optional"`
}

// why returns the reason for unsubscribing in the form that the consent ledger stores.
func (f *leaveForm) why() string {
	switch {
	case f.Words == "":
		return f.Reason
	case f.Reason == "":
		return core.TrimText("other: " + f.Words)
	}
	return core.TrimText(f.Reason + ": " + f.Words)
}

// leaving opens an unsubscribe token and applies the style of the token's list to the pages.
func (p newsletterPages) leaving(c *web.Call, token string) (auth.UnsubscribeToken, *core.ListWithTenant, error) {
	t, err := p.openUnsubscribe(c, token)
	if t.ListID == "" {
		return t, nil, err
	}
	list := p.applyListID(c, t.ListID, t.Email)
	if list != nil {
		page.StyleOf(c).Link, page.StyleOf(c).LinkText = page.PreferencesPath(list.ID), page.WordsOf(c).LinkNew
	}
	return t, list, err
}

func (p newsletterPages) askUnsubscribe(c *web.Call, in tokenQuery) (web.HTML, error) {
	t, list, err := p.leaving(c, in.Token)
	if err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	w, to, manage := page.WordsOf(c), "", ""
	if list != nil {
		to = list.UnsubscribeRedirectURL
		if t.Kind == auth.UnsubscribeMailed { // anyone can request a token of a different kind
			manage = preferencesOf(in.Token)
		}
	}
	return page.Render(c, 0, "press", page.View{Title: w.LeaveTitle, Data: press{
		Text: page.StyleOf(c).Expand(w.LeaveText), Action: "/unsubscribe", Token: in.Token, Button: w.LeaveButton,
		Reasons: w.Reasons(), Named: p.named(c, list, t), Manage: manage,
	}}, page.RedirectSource(to)...)
}

func (p newsletterPages) unsubscribe(c *web.Call, in leaveForm) (web.HTML, error) {
	if err := c.CrossSite(); err != nil {
		return web.HTML{}, err
	}
	t, list, err := p.leaving(c, in.Token)
	if err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	_, leftAt, err := p.leaveBy(c, t, "page", in.why())
	if err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	if list != nil && list.UnsubscribeRedirectURL != "" {
		return web.HTML{To: list.UnsubscribeRedirectURL}, nil
	}
	return p.left(c, t, leftAt, "")
}

// left holds the data for the page after unsubscribing (handlers/page/pages/left.html). Undo contains undo tokens,
// separated by blanks. It is empty if the subscriber has the token in an email.
type left struct {
	Lines      []string
	Undo, Back string
}

func (p newsletterPages) left(c *web.Call, t auth.UnsubscribeToken, leftAt core.Instant, back string) (web.HTML,
	error,
) {
	w := page.WordsOf(c)
	said := left{Lines: []string{page.StyleOf(c).Expand(w.LeftText)}, Back: back}
	if t.Kind == auth.UnsubscribeRequested {
		said.Lines = append(said.Lines, page.StyleOf(c).Expand(w.LeftAsked))
	}
	if leftAt > 0 {
		undo, err := p.undoToken(c, t, leftAt)
		if err != nil {
			return web.HTML{}, err
		}
		said.Undo = undo
	}
	return page.Render(c, 0, "left", page.View{Title: w.LeftTitle, Data: said})
}

// undoToken returns the token that undoes an unsubscribe. t is the token that was used to unsubscribe, and leftAt the
// time. If the unsubscribe can't be undone, it returns an empty string.
func (p newsletterPages) undoToken(c *web.Call, t auth.UnsubscribeToken, leftAt core.Instant) (string, error) {
	t.Kind, t.IssuedAt = auth.UnsubscribeUndo, leftAt
	if _, err := p.Store.CanUndo(c, undoing(t, core.Origin{}), c.Now); err != nil || t.Expired(c.Now) {
		return "", nil
	}
	return p.Sealer.SealUnsubscribe(t)
}

// openUndo opens an undo token and returns the request to undo the unsubscribe.
func (p newsletterPages) openUndo(c *web.Call, token string) (u people.UndoRequest, err error) {
	t, err := p.Sealer.OpenUndo(token)
	if err != nil {
		return u, err
	}
	if list := p.applyListID(c, t.ListID, t.Email); list != nil {
		page.StyleOf(c).Link, page.StyleOf(c).LinkText = page.SubscribePath(list.ID),
			page.StyleOf(c).Expand(page.WordsOf(c).SubscribeTitle)
	}
	if t.Expired(c.Now) {
		err = core.ErrTokenExpired
	}
	return undoing(t, requestOrigin(c, "page")), err
}

// isRefusal reports whether an error is due to the link, not the server.
func isRefusal(err error) bool {
	kind := core.KindOf(err)
	return kind != core.Unavailable && kind != core.Internal
}

func undoing(t auth.UnsubscribeToken, o core.Origin) people.UndoRequest {
	return people.UndoRequest{ListID: t.ListID, SubscriptionID: t.SubscriptionID, LeftAt: t.IssuedAt, Origin: o}
}

func (p newsletterPages) askUndo(c *web.Call, in tokenQuery) (web.HTML, error) {
	u, err := p.openUndo(c, in.Token)
	if err == nil {
		_, err = p.Store.CanUndo(c, u, c.Now)
	}
	if err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	w := page.WordsOf(c)
	return page.Render(c, 0, "press", page.View{Title: w.UndoTitle, Data: press{
		Text: page.StyleOf(c).Expand(w.UndoText), Action: "/undo", Token: in.Token, Button: w.UndoButton,
	}})
}

// undo undoes one unsubscribe, or all those that leftAll offered to undo. It skips those that can't be undone.
func (p newsletterPages) undo(c *web.Call, in linkForm) (web.HTML, error) {
	if err := c.CrossSite(); err != nil {
		return web.HTML{}, err
	}
	var lists []string
	var failed error = core.ErrInvalidToken
	for token := range strings.FieldsSeq(in.Token) {
		u, err := p.openUndo(c, token)
		if err == nil {
			_, err = p.Store.Undo(c, u, c.Now)
		}
		if err == nil {
			lists = append(lists, page.StyleOf(c).List)
			continue
		}
		if failed = err; !isRefusal(err) { // sending the form again undoes the rest
			return web.HTML{}, err
		}
	}
	if len(lists) == 0 {
		return web.HTML{}, page.LinkError(c, failed)
	}
	page.StyleOf(c).List = strings.Join(lists, ", ")
	w := page.WordsOf(c)
	return page.RenderMessage(c, 0, w.UndoneTitle, page.Note{Lines: []string{page.StyleOf(c).Expand(w.UndoneText)}},
		page.Brand{})
}
