package handlers

import (
	"errors"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/store"
)

// newsletterPages are what mails to subscribers lead to. A GET never changes anything there, for scanners follow links:
// it shows one button, and the form behind it acts. They need no script and no cookie; the token is all the proof there is.
type newsletterPages struct{ newsletter }

// press is the Data of a page with one button (pages/press.html).
type press struct {
	Text, Action, Token, Button string
}

func (p newsletterPages) askConfirm(c *Call, in tokenQuery) (HTML, error) {
	list, err := p.store.ConfirmList(c, in.Token)
	if err != nil {
		return HTML{}, linkError(err)
	}
	return c.render(0, "press", view{Title: "Confirm your subscription", Brand: c.api.brandOfList(list), Data: press{
		Text: "Press the button to subscribe to " + list.Name + ".", Action: "/confirm", Token: in.Token, Button: "Confirm the subscription",
	}})
}

type linkForm struct {
	Token string `form:"token" is:"required"`
}

func (p newsletterPages) confirm(c *Call, in linkForm) (HTML, error) {
	if err := c.crossSite(); err != nil {
		return HTML{}, err
	}
	sub, err := p.store.Confirm(c, in.Token, c.origin("page"), c.Now)
	if err != nil {
		return HTML{}, linkError(err)
	}
	list, err := p.store.ListRecord(c, sub.ListID)
	if err != nil {
		return HTML{}, err
	}
	return c.tell(0, "You are subscribed", note{Lines: []string{"Your subscription to " + list.Name + " is confirmed."}}, c.api.brandOfList(list))
}

func (p newsletterPages) askUnsubscribe(c *Call, in tokenQuery) (HTML, error) {
	t, err := p.sealer.OpenUnsubscribe(in.Token)
	if err == nil && t.Expired(c.Now) {
		err = core.ErrTokenExpired
	}
	if err != nil {
		return HTML{}, linkError(err)
	}
	b, name := p.listOf(c, t)
	return c.render(0, "press", view{Title: "Unsubscribe", Brand: b, Data: press{
		Text: "Press the button and " + string(t.Email) + " gets no more mails of " + name + ".", Action: "/unsubscribe", Token: in.Token, Button: "Unsubscribe",
	}})
}

func (p newsletterPages) unsubscribe(c *Call, in linkForm) (HTML, error) {
	if err := c.crossSite(); err != nil {
		return HTML{}, err
	}
	if _, err := p.leave(c, in.Token); err != nil {
		return HTML{}, linkError(err)
	}
	t, err := p.sealer.OpenUnsubscribe(in.Token)
	if err != nil {
		return HTML{}, err
	}
	b, name := p.listOf(c, t)
	return c.tell(0, "You are unsubscribed", note{Lines: []string{string(t.Email) + " gets no more mails of " + name + "."}}, b)
}

// listOf is brand and name of a token's list, which may be gone: then its mails are spoken of without a name.
func (p newsletterPages) listOf(c *Call, t auth.UnsubscribeToken) (brand, string) {
	list, err := p.store.ListRecord(c, t.ListID)
	if err != nil {
		return brand{}, "this newsletter"
	}
	return c.api.brandOfList(list), list.Name
}

// brandOfList is the brand of a list's tenant.
func (h *Handler) brandOfList(list *store.ListRecord) brand {
	return tenantBrand(h.ownBrand(), &list.Tenant)
}

// linkError says in a reader's words what is wrong with the link of a mail.
func linkError(err error) error {
	e, ok := errors.AsType[*core.Error](err)
	if !ok {
		return err
	}
	said := *e
	said.Field = ""
	switch {
	case errors.Is(err, core.ErrTokenExpired):
		said.Message = "This link has expired. Please ask for a new one."
	case errors.Is(err, core.ErrInvalidToken):
		said.Message = "This link does not work, or not any more. Please use the newest mail, and the whole address in it."
	case e.Kind == core.NotFound:
		said.Message = "What this link was for is gone."
	}
	return &said
}
