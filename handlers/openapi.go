package handlers

import (
	"reflect"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/devices"
	"newsletterd/handlers/segments"
	"newsletterd/handlers/web"
)

// apiVersion is the version of the three APIs.
const apiVersion = "0.1.0"

// api is what the documents say beyond the table.
var api = web.API{
	Version: apiVersion, Documents: documents, DocumentOf: documentOf, TypeNames: typeNames,
	Forms: inputForms, Limits: limitsOf, Twins: twins, Twinned: twinned,
	TextParameters: []string{"provider"}, FieldWords: fieldWords, TagWords: tagWords,
	SampleTexts: sampleTexts, SampleNumbers: sampleNumbers, SampleID: web.ExampleID,
}

// documents are the OpenAPI descriptions that the table makes, and where they are served.
var documents = []web.Document{
	{
		Name: "member", Title: "newsletterd member service",
		Path: "/api/openapi.json", Operation: "getMemberDocument",
		Description: "Sign-in (OAuth 2.0, OpenID Connect), users, newsletter subscriptions with double opt-in, and " +
			"the admin API.",
		Extra: []any{refreshForm{}},
	},
	{
		Name: "send", Title: "newsletterd send service", Path: "/openapi/send.json",
		Description: "Send jobs, signed webhooks from the member service, and events from mail providers.",
	},
	{
		Name: "devices", Title: "newsletterd devices and models", Path: "/openapi/devices.json",
		Description: "Devices, agents, models (files) and their shares.",
	},
	{
		Name: "pages", Title: "newsletterd pages", Path: "/openapi/pages.json",
		Description: "Browser pages, email links, tracking, and documents at the root of the host.",
	},
}

// documentOf returns the name of the one document that describes the route; empty for the console, which is for people
// alone.
func documentOf(r *web.Route) string {
	switch {
	case r.Dialect == web.Console:
		return ""
	case r.Dialect == web.Send:
		return "send"
	case r.Dialect == web.Device:
		return "devices"
	case strings.HasPrefix(r.Path, "/api/"):
		return "member"
	default:
		return "pages"
	}
}

// openAPI answers a document.
func (h *Handler) openAPI(name string) func(*web.Call) (web.Text, error) {
	return func(c *web.Call) (web.Text, error) {
		c.Header().Set("Cache-Control", openAPICache)
		return h.openapi.documents[name].For(c), nil
	}
}

// typeNames are the types whose name in the documents is another than in Go.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[core.List]():            "NewsletterList",
	reflect.TypeFor[core.Client]():          "OAuthClient",
	reflect.TypeFor[clientReply]():          "OAuthClientWithSecret",
	reflect.TypeFor[devices.ModelProfile](): "ModelProfile",

	reflect.TypeFor[segments.CountInput](): "SegmentCountRequest",
	reflect.TypeFor[ruledSubscribers]():    "SubscriberSearchRequest",
	reflect.TypeFor[ruledExport]():         "SubscriberExportRequest",
	reflect.TypeFor[core.Reason]():         "SegmentCondition",

	reflect.TypeFor[core.MediaView]():       "Media",
	reflect.TypeFor[core.MediaFileView]():   "MediaFile",
	reflect.TypeFor[devices.LibraryReply](): "Library",

	// The words of the specification.
	reflect.TypeFor[pendingSubscription]():  "PendingSubscriptionResponse",
	reflect.TypeFor[disableRequest]():       "DisableSubscriptionRequest",
	reflect.TypeFor[refreshRequest]():       "RefreshTokenRequest",
	reflect.TypeFor[refreshForm]():          "RefreshRequest",
	reflect.TypeFor[sendJobRequest]():       "CreateSendJobRequest",
	reflect.TypeFor[tracking]():             "TrackingOptions",
	reflect.TypeFor[createdJob]():           "CreateSendJobResponse",
	reflect.TypeFor[jobStatus]():            "SendJobStatusResponse",
	reflect.TypeFor[core.EventSubscriber](): "SubscriberPayload",
}

// Forms that are described and not read: the specification declares them, and the token endpoint reads them as one.
type (
	authorizationCodeTokenRequest struct {
		GrantType    string `form:"grant_type,required" enum:"authorization_code"`
		Code         string `form:"code,required"`
		RedirectURI  string `form:"redirect_uri,required"`
		CodeVerifier string `form:"code_verifier,required"`
		clientForm
	}
	clientCredentialsTokenRequest struct {
		GrantType string `form:"grant_type,required" enum:"client_credentials"`
		Scope     string `form:"scope"`
		clientForm
	}
	refreshForm struct {
		RefreshToken string `json:"refresh_token" is:"required"`
		ClientID     string `json:"client_id" is:"required"`
	}
	authorizeQuery struct {
		ClientID            string `query:"client_id,required"`
		RedirectURI         string `query:"redirect_uri,required"`
		ResponseType        string `query:"response_type,required" enum:"code"`
		Scope               string `query:"scope,required"`
		CodeChallenge       string `query:"code_challenge,required"`
		CodeChallengeMethod string `query:"code_challenge_method,required" enum:"S256"`
		State               string `query:"state"`
		Nonce               string `query:"nonce"`
		Prompt              string `query:"prompt"`
		MaxAge              string `query:"max_age"`
		LoginHint           string `query:"login_hint"`
		IDTokenHint         string `query:"id_token_hint"`
		Claims              string `query:"claims"`
		ACRValues           string `query:"acr_values"`
		ResponseMode        string `query:"response_mode" enum:"query|form_post"`
	}
	logoutQuery struct {
		IDTokenHint           string `query:"id_token_hint"`
		ClientID              string `query:"client_id"`
		PostLogoutRedirectURI string `query:"post_logout_redirect_uri"`
		State                 string `query:"state"`
	}
)

// tokenForms are the forms of the token endpoint, one for each grant.
var tokenForms = []reflect.Type{
	reflect.TypeFor[authorizationCodeTokenRequest](), reflect.TypeFor[refreshRequest](),
	reflect.TypeFor[clientCredentialsTokenRequest](),
}
