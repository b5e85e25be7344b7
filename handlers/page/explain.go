package page

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/identity"
)

// Explain returns an error's message in the page's language. If there is no translation, it returns the message
// unchanged.
func Explain(c *web.Call, s core.Sentence) string { return WordsOf(c).Explain(s) }

// Explain returns an error's message in the language of w. If there is no translation, it returns the message
// unchanged.
func (w *Words) Explain(s core.Sentence) string {
	all := w.explanations()
	return cmp.Or(all[s.Text], all[s.Format], s.Text)
}

// explanations maps messages from core, auth and this package, by format or full text, to the language of w.
func (w *Words) explanations() map[string]string {
	return map[string]string{
		web.ErrNoRoute.Message:  w.MissingText,
		web.ErrNotFound.Message: w.RecordText,
		// opened the URL that a form posts to
		"GET is not allowed here. See the Allow header.": w.MissingText,
		core.ErrListNotFound.Message:                     w.ListText,
		web.ErrBusy.Message:                              w.BusyText,
		web.ErrRateLimited.Message:                       w.ManyText,
		web.ErrSession.Message:                           w.UnavailableText,
		web.MessageOf(core.TooMany):                      w.ManyText,
		web.MessageOf(core.Unavailable):                  w.UnavailableText,
		web.MessageOf(core.Internal):                     w.InternalText,
		core.ErrInvalidEmail.Message:                     w.FaultEmail,
		"This form was submitted from another site. Open it on this site and try again.": w.SiteText,
		"The parameters are malformed. Check the URL encoding.":                          w.MalformedText,
		"The request is malformed. Go back and start again.":                             w.MalformedText,
		"The server is busy. Try again in a moment.":                                     w.BusyText,
		auth.ErrBadCredentials.Message:                                                   w.FaultCredentials,
		"The password must have at least 8 characters.":                                  w.FaultShort,
		"The password must have at most 256 characters.":                                 w.FaultLong,
		"This password is too common. Choose another one.":                               w.FaultCommon,
		"Sign-up is closed. Ask an administrator for an invitation.":                     w.FaultClosed,
		"Too many failed sign-ins from this IP address. Try again later.":                w.LoginsText,
		"Too many failed sign-ins to this account. Try again later.":                     w.LoginsText,
		"Too many wrong codes for this account. Try again later.":                        w.CodesText,

		"The name must have at most %d characters and no control characters.": w.FaultName,
		"The name must have 1 to %d characters.":                              w.FaultName,
		auth.ErrBadCode.Message:                                               w.FaultCode,
		auth.ErrPendingOver.Message:                                           w.FaultOver,
		auth.ErrPasskeyRefused.Message:                                        w.FaultPasskey,
		identity.ErrPasskeyGone.Message:                                       w.FaultPasskeyGone,
		identity.ErrChallengeUsed.Message:                                     w.FaultPasskey,
		identity.ErrPasskeyCopied.Message:                                     w.FaultPasskeyCopied,
		identity.ErrPasskeyKnown.Message:                                      w.FaultPasskeyKnown,
		identity.ErrPasskeysFull.Message:                                      w.FaultPasskeysFull,
		auth.ErrPasskeyNeeded.Message:                                         w.FaultPasskeyNeeded,
		auth.ErrNoPasskeys.Message:                                            w.FaultPasskey,
		auth.ErrFactorUnverified.Message:                                      w.FaultUnverified,
	}
}

// Fill replaces the placeholders in text. pairs contains alternating names and values.
func (v View) Fill(text string, pairs ...any) string { return FillIn(text, pairs...) }

// Strong is like Fill, but returns HTML with emphasized values.
func (v View) Strong(text string, pairs ...any) template.HTML { return Strong(text, pairs...) }

// Strong is like FillIn, but returns HTML with emphasized values.
func Strong(text string, pairs ...any) template.HTML {
	for i := 1; i < len(pairs); i += 2 {
		pairs[i] = "<strong>" + template.HTMLEscapeString(fmt.Sprint(pairs[i])) + "</strong>"
	}
	return template.HTML(FillIn(template.HTMLEscapeString(text), pairs...)) //nolint:gosec // escaped
}

// FillIn replaces the placeholders in text. pairs contains alternating names and values.
func FillIn(text string, pairs ...any) string {
	names := make([]string, len(pairs))
	for i, p := range pairs {
		if names[i] = fmt.Sprint(p); i%2 == 0 {
			names[i] = "{{" + names[i] + "}}"
		}
	}
	return core.Placeholders(names...).Replace(text)
}

// FaultOf returns the message and the status for an error that the visitor can fix in a form. For other errors, ok is
// false.
func FaultOf(c *web.Call, err error) (text string, status int, ok bool) {
	e, is := errors.AsType[*core.Error](err)
	if !is {
		return "", 0, false
	}
	switch {
	case errors.Is(err, auth.ErrBadCredentials), e.Kind == core.Invalid, e.Kind == core.TooMany,
		e.Kind == core.Unavailable && e.Code == "busy":
		c.RetryAfter(e)
		c.LogError(err)
		return Explain(c, e.Sentence()), web.StatusOf(web.Page, e.Kind), true
	}
	return "", 0, false
}

// ErrorPage renders an error page.
func ErrorPage(c *web.Call, status int, e web.ErrorBody) (web.HTML, error) {
	n := Note{Lines: []string{Explain(c, e.Said)}}
	if e.Field != "" {
		n.Details = [][2]string{{"Field", e.Field}}
	}
	if s := StyleOf(c); status == http.StatusBadRequest || status == http.StatusNotFound {
		n.Link, n.LinkText = s.Link, s.LinkText
	}
	return Render(c, status, "message", View{Title: WordsOf(c).errorTitle(status), RequestID: c.RequestID, Data: n})
}

func (w *Words) errorTitle(status int) string {
	switch {
	case status == http.StatusNotFound:
		return w.MissingTitle
	case status == http.StatusTooManyRequests:
		return w.ManyTitle
	case status >= 500:
		return w.FailedTitle
	}
	return w.WrongTitle
}

// LinkError returns err with a message that explains to subscribers what is wrong with an emailed link. If the link is
// valid or the list is inactive, the error page doesn't offer a new link.
func LinkError(c *web.Call, err error) error {
	e, ok := errors.AsType[*core.Error](err)
	if !ok {
		return err
	}
	said, w := *e, WordsOf(c)
	said.Field = ""
	switch {
	case errors.Is(err, core.ErrTokenExpired):
		said.Message = w.LinkExpired
	case errors.Is(err, core.ErrInvalidToken):
		said.Message = w.LinkBroken
	case errors.Is(err, core.ErrListInactive):
		said.Message, StyleOf(c).Link = w.ListInactive, ""
	case e.Kind == core.NotFound:
		said.Message = w.LinkGone
	default:
		StyleOf(c).Link = ""
	}
	return &said
}

// Blame shows an error in a signed-in user's form and returns the HTTP status for it. If the user can't fix the error,
// Blame returns the error unchanged.
func (v *View) Blame(c *web.Call, fault error) (status int, err error) {
	if fault == nil {
		return 0, nil
	}
	var ok bool
	if v.Fault, status, ok = FaultOf(c, fault); !ok {
		return 0, fault
	}
	if fault == error(auth.ErrBadCredentials) { // the user has not entered an address
		v.Fault = WordsOf(c).FaultPassword
	}
	if e, is := errors.AsType[*core.Error](fault); is {
		v.Field = e.Field
	}
	return status, nil
}
