package handlers

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"

	"newsletterd/auth"
	"newsletterd/core"
)

// authorizeEdge serves the authorization endpoint and the pages that it needs: login and consent.
//
// An authorization request is kept nowhere but in the address: login and consent carry it along and come back to it, so
// that any number of them may be under way in one browser, and strangers write no rows.
type authorizeEdge struct {
	auth *auth.Provider
}

const (
	authorizePath = "/api" + auth.PathAuthorize
	accountPath   = "/account"
	verifyPath    = "/verify"
)

// authorize judges a request by GET (RFC 6749 section 4.1.1).
func (a authorizeEdge) authorize(c *Call, _ struct{}) (HTML, error) {
	q, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return HTML{}, core.Invalidf("", "The parameters are not well-formed.").With(err)
	}
	return a.answer(c, q, auth.AuthorizeRequest{})
}

// authorizePost sends a request by POST (OpenID Connect Core section 3.1.2.1) to itself as GET: behind another site's form
// the browser brings no cookie, behind the redirect it does.
func (a authorizeEdge) authorizePost(c *Call, body []byte) (HTML, error) {
	return again(c, authorizePath, body)
}

func again(c *Call, path string, body []byte) (HTML, error) {
	q, err := url.ParseQuery(string(body))
	if err != nil {
		return HTML{}, core.Invalidf("", "The parameters are not well-formed.").With(err)
	}
	return HTML{To: c.api.publicURL + path + "?" + q.Encode()}, nil
}

func (a authorizeEdge) answer(c *Call, q url.Values, r auth.AuthorizeRequest) (HTML, error) {
	r.Query, r.BrowserID, r.Fresh, r.Remote, r.UserAgent = q, c.browserID(), c.isFresh(q), c.Remote, c.UserAgent()
	reply, err := a.auth.Authorize(c, r, c.Now)
	if fault, ok := errors.AsType[*auth.AuthorizeError](err); ok {
		return a.distrust(c, q, fault)
	}
	if err != nil {
		return HTML{}, err
	}
	c.Tenant = reply.Request.Client.TenantID
	switch reply.Step {
	case auth.StepLogin:
		return HTML{To: c.api.publicURL + "/login?" + url.Values{"continue": {authorizePath + "?" + q.Encode()}}.Encode()}, nil
	case auth.StepConsent:
		return a.askConsent(c, q, reply)
	}
	if err := c.answered(); err != nil {
		return HTML{}, err
	}
	return a.handOver(c, reply)
}

// distrust tells what is wrong with a request that must not be answered at its redirect URI.
func (a authorizeEdge) distrust(c *Call, q url.Values, e *auth.AuthorizeError) (HTML, error) {
	n := note{
		Lines: []string{
			"The program that sent you here asked for a login in a way that can't be answered. Go back to it, or tell its makers what stands below.",
			e.Description,
		},
		Details: [][2]string{{"Parameter", e.Parameter}},
	}
	if e.Client != nil {
		n.Details = append(n.Details, [2]string{"Client", e.Client.Name + " (" + e.Client.ID + ")"})
	} else if id := q.Get("client_id"); id != "" {
		n.Details = append(n.Details, [2]string{"client_id", cut(id, maxShown)})
	}
	if e.Parameter == "redirect_uri" {
		if uri := q.Get("redirect_uri"); uri != "" {
			n.Details = append(n.Details, [2]string{"Sent", cut(uri, maxShown)})
		}
		for _, uri := range e.Client.RedirectURIs {
			n.Details = append(n.Details, [2]string{"Registered", uri})
		}
	}
	c.err = e
	return c.render(http.StatusBadRequest, "message", view{Title: "This login can't go on", RequestID: c.RequestID, Data: n})
}

// maxShown is how much of a parameter a page repeats, in bytes.
const maxShown = 300

// scopeWords say what a scope lets a program do.
var scopeWords = map[string]string{
	core.ScopeOpenID:      "know who you are",
	core.ScopeProfile:     "see your name, and since when you have this account",
	core.ScopeEmail:       "see your e-mail address",
	core.ScopeOffline:     "keep this access when you have signed out",
	core.ScopeDevices:     "see and change your devices and agents",
	core.ScopeModelsRead:  "see and download your models and those that others share with you",
	core.ScopeModelsWrite: "upload models in your name, delete yours, and decide who may see them",
	core.ScopeListRead:    "read the subscriptions of the lists that you manage",
	core.ScopeEventsWrite: "change the subscriptions of the lists that you manage",
	core.ScopeSend:        "send newsletters in the name of the tenants that you manage",
	core.ScopeAdmin:       "administer this service with all the rights that you have",
}

func (a authorizeEdge) askConsent(c *Call, q url.Values, reply auth.AuthorizeReply) (HTML, error) {
	client := &reply.Request.Client
	b, err := c.api.brandOf(c, client.TenantID)
	if err != nil {
		return HTML{}, err
	}
	data := struct {
		Client, Request, User, Target, Other string
		Email                                core.Email
		Scopes                               []string
	}{
		Client: client.Name, Request: q.Encode(), User: reply.Visitor.User.ID, Email: reply.Visitor.User.Email, Target: originOf(reply.Request.RedirectURI),
		Other: "/login?" + url.Values{"continue": {authorizePath + "?" + q.Encode()}}.Encode(),
	}
	for _, s := range reply.Scopes {
		words := scopeWords[s]
		if s == core.ScopeEmail && client.TenantID != "" {
			words += ", and see and change what you have told the newsletters of " + b.Name
		}
		data.Scopes = append(data.Scopes, words)
	}
	return c.render(0, "consent", view{Title: "Allow access?", Brand: b, Data: data}, originOf(reply.Request.RedirectURI))
}

type consentForm struct {
	Request  string `form:"request,required"`
	User     string `form:"user"` // who was asked: another one is asked anew
	Decision string `form:"decision,required" enum:"allow|deny"`
}

// consent takes the user's decision. The request is judged anew: what comes with the form is trusted no more than
// what comes with the address.
func (a authorizeEdge) consent(c *Call, in consentForm) (HTML, error) {
	q, err := url.ParseQuery(in.Request)
	if err != nil {
		return HTML{}, core.Invalidf("request", "The request is not well-formed.").With(err)
	}
	if in.Decision == "deny" {
		return a.answer(c, q, auth.AuthorizeRequest{Denied: true})
	}
	return a.answer(c, q, auth.AuthorizeRequest{AgreedBy: in.User})
}

// submitScript sends the form of the response mode form_post; without it there is a button.
const submitScript = "document.forms[0].submit()"

var submitScriptHash = sourceHash(submitScript)

// handOver gives the answer to the client (RFC 6749 section 4.1.2, OAuth 2.0 Form Post Response Mode section 2).
func (a authorizeEdge) handOver(c *Call, reply auth.AuthorizeReply) (HTML, error) {
	if reply.Request.ResponseMode != "form_post" {
		c.Header().Set("Referrer-Policy", "no-referrer")
		return HTML{To: reply.Location}, nil
	}
	b, err := c.api.brandOf(c, reply.Request.Client.TenantID)
	if err != nil {
		return HTML{}, err
	}
	v := view{Title: "One moment", Brand: b, Data: struct {
		Client string
		Action template.URL
		Fields [][2]string
		Script template.HTML
	}{
		reply.Request.Client.Name, template.URL(reply.Request.RedirectURI), reply.Fields, //nolint:gosec // registered, and checked when it was
		template.HTML("<script>" + submitScript + "</script>"),
	}}
	c.pageHeaders(b, submitScriptHash, originOf(reply.Request.RedirectURI))
	return fill(0, "post", v)
}
