package handlers

import (
	"reflect"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/campaigns"
	"newsletterd/handlers/devices"
	"newsletterd/handlers/identity"
	"newsletterd/handlers/web"
)

// apiVersion is the version of all three APIs.
const apiVersion = "0.1.0"

// api holds the content of the OpenAPI documents that does not come from the table.
var api = web.API{
	Version: apiVersion, Documents: documents, DocumentOf: documentOf, TypeNames: typeNames,
	Forms: inputForms, Limits: limitsOf, Twins: twins, Twinned: twinned,
	TextParameters: textParameters, PathWords: pathWords, RecordWords: recordWords, FieldWords: fieldWords,
	TagWords:    tagWords,
	SampleTexts: sampleTexts, SampleNumbers: sampleNumbers, SampleID: web.ExampleID,
}

// documents lists the OpenAPI documents that are generated from the table, with their paths.
var documents = []web.Document{
	{
		Name: "member", Title: "newsletterd member service",
		Path: "/api/openapi.json", Operation: "getMemberDocument",
		Description: "Sign-in (OAuth 2.0, OpenID Connect), users, newsletter subscriptions with double opt-in, and " +
			"the admin API.",
		Extra: []any{identity.RefreshRequest{}},
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

// documentOf returns the name of the document that describes the route, or an empty string for console pages, which no
// document describes.
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

// openAPI returns a function that responds with the named document.
func (h *Handler) openAPI(name string) func(*web.Call) (web.Text, error) {
	return func(c *web.Call) (web.Text, error) {
		c.Header().Set("Cache-Control", openAPICache)
		return h.openapi.documents[name].For(c), nil
	}
}

// typeNames maps types to their names in the documents, where these differ from the Go names.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[core.List]():            "NewsletterList",
	reflect.TypeFor[core.Client]():          "OAuthClient",
	reflect.TypeFor[devices.ModelProfile](): "ModelProfile",

	reflect.TypeFor[core.Reason](): "SegmentCondition",

	reflect.TypeFor[core.MediaView]():       "Media",
	reflect.TypeFor[core.MediaFileView]():   "MediaFile",
	reflect.TypeFor[devices.LibraryReply](): "Library",

	// These names are in the specification.
	reflect.TypeFor[campaigns.TrackingOptions](): "TrackingOptions",
	reflect.TypeFor[core.EventSubscriber]():      "SubscriberPayload",
}
