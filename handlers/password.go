package handlers

import (
	"errors"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/store"
)

// mailedEdge serves the pages that mails lead to: a new password, a verified address. Opening them changes nothing, for
// scanners open every link; a button does.
type mailedEdge struct{ auth *auth.Provider }

type emailForm struct {
	Email string `form:"email"`
}

func (m mailedEdge) forgotPage(c *Call, _ struct{}) (HTML, error) {
	return m.showForgot(c, "", "", 0)
}

func (m mailedEdge) showForgot(c *Call, email, fault string, status int) (HTML, error) {
	return c.render(status, "forgot", view{Title: "Forgot your password?", Fault: fault, Data: emailForm{cut(email, maxShown)}})
}

// forgot gives every address the same answer.
func (m mailedEdge) forgot(c *Call, in emailForm) (HTML, error) {
	email, err := core.ParseEmail(in.Email)
	if err != nil {
		return m.showForgot(c, in.Email, "This is not an e-mail address.", 400)
	}
	if err := m.auth.Forgot(c, email, c.Now); err != nil {
		return HTML{}, err
	}
	return c.tell(0, "Look into your mail", note{Lines: []string{
		"If there is an account for " + string(email) + ", a mail with a link is on its way. The link is good for one hour.",
		"Nothing comes? Look among the unwanted mail, and at the spelling of the address.",
	}, Link: "/login", LinkText: "Back to sign in"}, brand{})
}

type mailedQuery struct {
	Token string `query:"token"`
	Email string `query:"email"`
}

type mailedForm struct {
	Token    string `form:"token"`
	Email    string `form:"email"`
	Password string `form:"new_password"`
}

type passwordPage struct{ Text, Email, Token, Action string }

func (m mailedEdge) resetPage(c *Call, in mailedQuery) (HTML, error) {
	return m.showPassword(c, store.PurposeReset, mailedForm{Token: in.Token, Email: in.Email}, nil)
}

// showPassword shows the form for a new password, if its token is good.
func (m mailedEdge) showPassword(c *Call, purpose string, in mailedForm, fault error) (HTML, error) {
	email, err := core.ParseEmail(in.Email)
	if err == nil {
		err = c.api.options.Store.CheckUserToken(c, purpose, core.HashToken(in.Token), email, c.Now)
	}
	if err != nil {
		return m.linkFault(c, err)
	}
	p := passwordPage{"Choose a new password for", string(email), in.Token, "/password/reset"}
	title := "New password"
	if purpose == store.PurposeClaim {
		p.Text, p.Action, title = "Somebody registered this address before it was verified. Choose a password, and it is yours alone:", "/verify", "Verify your address"
	}
	v := view{Title: title, Data: p}
	status := 0
	if fault != nil {
		var ok bool
		if v.Fault, status, ok = c.faultOf(fault); !ok {
			return HTML{}, fault
		}
	}
	return c.render(status, "password", v)
}

// linkFault tells that a link is good no more.
func (m mailedEdge) linkFault(c *Call, err error) (HTML, error) {
	if core.KindOf(err) != core.Invalid {
		return HTML{}, err
	}
	c.err = err
	return c.tell(400, "This link is not good any more", note{
		Lines: []string{"It was used already, is too old, or is not whole. Check that the whole address of the mail was opened, or ask for a new mail."},
		Link:  "/password/forgot", LinkText: "Ask for a new mail",
	}, brand{})
}

func (m mailedEdge) reset(c *Call, in mailedForm) (HTML, error) {
	return m.setPassword(c, store.PurposeReset, in, m.auth.ResetPassword)
}

func (m mailedEdge) setPassword(c *Call, purpose string, in mailedForm, redeem auth.RedeemFunc) (HTML, error) {
	email, err := core.ParseEmail(in.Email)
	if err == nil {
		err = redeem(c, email, in.Token, in.Password, "new_password", c.Now)
	}
	switch {
	case errors.Is(err, core.ErrInvalidToken), errors.Is(err, core.ErrTokenExpired):
		return m.linkFault(c, err)
	case err != nil:
		return m.showPassword(c, purpose, in, err)
	}
	if err := c.endSession(); err != nil {
		return HTML{}, err
	}
	return c.tell(0, "Your password is set", note{
		Lines: []string{"Wherever you were signed in, you are signed out now."}, Link: "/login", LinkText: "Sign in",
	}, brand{})
}

// verifyPage asks whether the address is the visitor's; a claim (auth.ClaimAddress) wants a password too.
func (m mailedEdge) verifyPage(c *Call, in mailedQuery) (HTML, error) {
	form := mailedForm{Token: in.Token, Email: in.Email}
	claim, err := m.isClaim(c, form)
	if err != nil {
		return HTML{}, err
	}
	if claim {
		return m.showPassword(c, store.PurposeClaim, form, nil)
	}
	if _, err := core.ParseEmail(in.Email); err != nil || in.Token == "" {
		return m.linkFault(c, core.ErrInvalidToken)
	}
	return c.render(0, "verify", view{Title: "Verify your address", Data: in})
}

func (m mailedEdge) isClaim(c *Call, in mailedForm) (bool, error) {
	email, err := core.ParseEmail(in.Email)
	if err != nil {
		return false, nil
	}
	err = c.api.options.Store.CheckUserToken(c, store.PurposeClaim, core.HashToken(in.Token), email, c.Now)
	if core.KindOf(err) == core.Invalid {
		return errors.Is(err, core.ErrTokenExpired), nil
	}
	return err == nil, err
}

func (m mailedEdge) verify(c *Call, in mailedForm) (HTML, error) {
	claim, err := m.isClaim(c, in)
	if err != nil {
		return HTML{}, err
	}
	if claim {
		return m.setPassword(c, store.PurposeClaim, in, m.auth.ClaimAddress)
	}
	email, err := core.ParseEmail(in.Email)
	if err == nil {
		email, err = m.auth.VerifyEmail(c, email, in.Token, c.Now)
	}
	if err != nil {
		return m.linkFault(c, err)
	}
	return c.tell(0, "Your address is verified", note{Lines: []string{string(email) + " is verified. Thank you."}, Link: accountPath, LinkText: "Go to your account"}, brand{})
}
