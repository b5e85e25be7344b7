package identity

import (
	"errors"
	"net/http"
	"net/url"
	"reflect"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// authorizations serves the authorization endpoint and its pages for sign-in and consent.
//
// An authorization request is stored only in the URL: sign-in and consent pass it along and return to it. One browser
// can thus have any number of them in progress, and anonymous requests write no rows.
type authorizations struct {
	auth *auth.Provider
}

const (
	authorizePath = "/api" + auth.PathAuthorize
	verifyPath    = "/verify"
)

// authorizeRoutes adds the authorization endpoint and the consent form.
func (r *Room) authorizeRoutes(t *web.Table) {
	a := authorizations{r.Auth}
	t.Add("GET", "/api/oauth/authorize", web.Public(), web.Page,
		web.Query(web.Visited(a.authorize)).Changes().DescribesQuery(reflect.TypeFor[authorizeQuery]()).
			DescribesStatus(302).Fails(core.Invalid),
		"Request an authorization code (RFC 6749 section 4.1.1)").Named("authorize")
	t.Add("POST", "/api/oauth/authorize", web.Public(), web.Page,
		web.Raw(a.authorizePost).MaxBody(web.MaxForm).DescribesMedia("application/x-www-form-urlencoded").
			Fails(core.Invalid),
		"Request an authorization code with a form; redirects to GET").Named("authorizeByForm")
	t.Add("POST", "/consent", web.Public(), web.Page,
		web.Form(web.Visited(a.consent)).Fails(core.Forbidden), "Allow or deny a connected app access")
}

// authorize evaluates a request sent by GET (RFC 6749 section 4.1.1).
func (a authorizations) authorize(c *web.Call, _ struct{}) (web.HTML, error) {
	q, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return web.HTML{}, core.Invalidf("", "The parameters are malformed. Check the URL encoding.").With(err)
	}
	return a.answer(c, q, auth.AuthorizeRequest{})
}

// authorizePost redirects a request sent by POST (OpenID Connect Core section 3.1.2.1) to the same endpoint by GET. The
// browser sends no cookie with a form from another site, but it does after the redirect.
func (a authorizations) authorizePost(c *web.Call, body []byte) (web.HTML, error) {
	return again(c, authorizePath, body)
}

func again(c *web.Call, path string, body []byte) (web.HTML, error) {
	q, err := url.ParseQuery(string(body))
	if err != nil {
		return web.HTML{}, core.Invalidf("", "The parameters are malformed. Check the URL encoding.").With(err)
	}
	return web.HTML{To: c.PublicURL() + path + "?" + q.Encode()}, nil
}

func (a authorizations) answer(c *web.Call, q url.Values, r auth.AuthorizeRequest) (web.HTML, error) {
	r.Query, r.BrowserID, r.Fresh, r.Remote, r.UserAgent = q, c.BrowserID(), c.IsFresh(q), c.Remote, c.UserAgent()
	reply, err := a.auth.Authorize(c, r, c.Now)
	if fault, ok := errors.AsType[*auth.AuthorizeError](err); ok {
		return a.distrust(c, q, fault)
	}
	if err != nil {
		return web.HTML{}, err
	}
	c.Tenant = reply.Request.Client.TenantID
	if reply.Fault != nil {
		c.LogError(reply.Fault)
	}
	switch reply.Step {
	case auth.StepLogin:
		return web.HTML{To: c.PublicURL() + page.LoginPath(authorizePath+"?"+q.Encode())}, nil
	case auth.StepConsent:
		return a.askConsent(c, q, reply)
	}
	if err := c.AnswerLogin(); err != nil {
		return web.HTML{}, err
	}
	return a.handOver(c, reply)
}

// distrust shows an error page for a request whose redirect URI isn't trusted to receive the error.
func (a authorizations) distrust(c *web.Call, q url.Values, e *auth.AuthorizeError) (web.HTML, error) {
	n := page.Note{
		Lines: []string{
			page.WordsOf(c).LoginFaultText,
			e.Description,
		},
		Details: [][2]string{{"Parameter", e.Parameter}},
	}
	if e.Client != nil {
		n.Details = append(n.Details, [2]string{"Client", e.Client.Name + " (" + e.Client.ID + ")"})
	} else if id := q.Get("client_id"); id != "" {
		n.Details = append(n.Details, [2]string{"client_id", web.Truncate(id, maxShown)})
	}
	if e.Parameter == "redirect_uri" {
		if uri := q.Get("redirect_uri"); uri != "" {
			n.Details = append(n.Details, [2]string{"Requested", web.Truncate(uri, maxShown)})
		}
		for _, uri := range e.Client.RedirectURIs {
			n.Details = append(n.Details, [2]string{"Registered", uri})
		}
	}
	c.LogError(e)
	return page.Render(c, http.StatusBadRequest, "message",
		page.View{Title: page.WordsOf(c).LoginFaultTitle, RequestID: c.RequestID, Data: n})
}

// maxShown is the maximum number of bytes of a parameter shown on a page.
const maxShown = 300

func (a authorizations) askConsent(c *web.Call, q url.Values, reply auth.AuthorizeReply) (web.HTML, error) {
	client := &reply.Request.Client
	b, err := page.BrandOf(c, client.TenantID)
	if err != nil {
		return web.HTML{}, err
	}
	data := struct {
		Client, Request, User, Target, Other string
		Email                                core.Email
		Scopes                               []string
	}{
		Client: client.Name, Request: q.Encode(), User: reply.Visitor.User.ID, Email: reply.Visitor.User.Email,
		Target: web.SourceOf(reply.Request.RedirectURI),
		Other:  page.LoginPath(authorizePath + "?" + q.Encode()),
	}
	for _, s := range reply.Consent {
		words := page.WordsOf(c).Scope(s)
		if s == core.ScopeEmail && client.TenantID != "" {
			words = page.FillIn(page.WordsOf(c).ScopeNewsletters, "tenant", b.Name)
		}
		data.Scopes = append(data.Scopes, words)
	}
	return page.Render(c, 0, "consent", page.View{Title: page.WordsOf(c).ConsentTitle, Brand: b, Data: data},
		web.SourceOf(reply.Request.RedirectURI))
}

type consentForm struct {
	Request  string `form:"request,required" about:"Parameters of the authorization request, as a query string"`
	User     string `form:"user" about:"ID of the user who was asked; any other user is asked again"`
	Decision string `form:"decision,required" enum:"allow|deny" about:"Whether the user agrees"`
}

// consent processes the user's decision. It evaluates the request again, because the form's fields are as untrusted as
// the URL's parameters.
func (a authorizations) consent(c *web.Call, in consentForm) (web.HTML, error) {
	q, err := url.ParseQuery(in.Request)
	if err != nil {
		return web.HTML{}, core.Invalidf("request", "The request is malformed. Go back and start again.").With(err)
	}
	if in.Decision == "deny" {
		return a.answer(c, q, auth.AuthorizeRequest{Denied: true})
	}
	return a.answer(c, q, auth.AuthorizeRequest{AgreedBy: in.User})
}

// submitScript submits the form of the form_post response mode. Without scripts, the user presses a button instead.
const submitScript = "document.forms[0].submit()"

var submitScriptHash = page.SourceHash(submitScript)

// handOver sends the response to the client (RFC 6749 section 4.1.2, OAuth 2.0 Form Post Response Mode section 2).
func (a authorizations) handOver(c *web.Call, reply auth.AuthorizeReply) (web.HTML, error) {
	if reply.Request.ResponseMode != "form_post" {
		c.Header().Set("Referrer-Policy", "no-referrer")
		return web.HTML{To: reply.Location}, nil
	}
	b, err := page.BrandOf(c, reply.Request.Client.TenantID)
	if err != nil {
		return web.HTML{}, err
	}
	// The URL was checked when it was registered.
	return renderPost(c, reply.Request.Client.Name, reply.Request.RedirectURI, reply.Fields, b)
}
