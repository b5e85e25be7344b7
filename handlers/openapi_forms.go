package handlers

import (
	"reflect"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/tenants"
	"newsletterd/handlers/web"
	"newsletterd/mail/report"
)

// Patterns that have the same meaning in JavaScript, Python and RE2.
const (
	noControls = `[^\x00-\x1f\x7f-\x9f]*`
	visible    = `[^\s\x00-\x1f\x7f-\x9f]`
	unspaced   = `[^\s{\x00-\x1f\x7f-\x9f]`
	atom       = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
	dnsLabel   = `[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
)

// languages lists the supported languages, preceded by the empty string, which means the default or English.
var languages = append([]string{""}, core.Languages...)

// inputForms holds the patterns and enumerations that the struct tags like and each refer to. The rules themselves are
// in core. TestDocumentedLimits checks that the documents agree with them.
var inputForms = map[string]web.Object{
	// One line of text, one nonempty line, and text with several lines.
	"line": {"pattern": "^" + noControls + "$"},
	"name": {"minLength": 1, "pattern": "^" + noControls + visible + noControls + "$"},
	"text": {"pattern": `^([^\x00-\x1f\x7f-\x9f]|\r?\n)*$`},

	// An email address, or empty. This is one pattern because generators would create a separate type for a union.
	"address": {
		"maxLength": 254,
		"pattern":   `^(` + atom + `(\.` + atom + `)*@` + dnsLabel + `(\.` + dnsLabel + `)*\.[A-Za-z]{2,63}|)$`,
		"not":       web.Object{"pattern": "^[^@]{65}"},
	},
	"email": {"format": "email"},
	// A time with or without an offset, or empty.
	"time": {"pattern": `^((19[7-9][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}` +
		`(\.[0-9]+)?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?|)$`},
	"language": {"enum": languages},
	"tenant":   {"description": "ID of the tenant; required unless you have a role in only one"},
	"uuid":     {"format": "uuid"}, // an id from another service
	"segment": {
		"pattern":     "^([0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|)$",
		"description": "Send only to subscribers in this segment; empty: to all",
	},
	"whole":    {"minimum": 0, "maximum": maxWhole},
	"set":      {"uniqueItems": true},
	"strict":   web.OnlyKnown,
	"readonly": {"readOnly": true}, // only in responses, but a change can contain it unchanged

	"slug": {"pattern": "^([a-z0-9]+(-[a-z0-9]+)*)?$"},
	"key":  {"pattern": "^[A-Za-z][A-Za-z0-9_]*$"},
	"field": web.Never(
		web.Without(web.Where(web.Object{"type": web.Word("choice")}),
			web.Object{"options": web.Object{"minItems": 1}}),
		web.Where(web.Object{"type": web.Word("text", "boolean"), "options": web.Object{"minItems": 1}}),
	),
	// The limit and the length of a period each require the other.
	"period": web.Never(
		web.Without(web.Where(web.Object{"per_period": web.Positive}), web.Object{"period_seconds": web.Positive}),
		web.Without(web.Where(web.Object{"period_seconds": web.Positive}), web.Object{"per_period": web.Positive}),
	),
	"scope":    web.Word(core.AllScopes...),
	"grant":    web.Word(core.ClientGrants...),
	"event":    web.Word(core.EventActivated, core.EventUnsubscribed, core.EventPreferences),
	"receiver": {"pattern": "^https?://[^/]"},
	"provider": {"enum": report.Names()}, "provider_name": {"pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"},
	"provider_secret": {
		"description": "Secret from the provider; generated if left out for generic, postmark and mailjet",
	},
	"selector": {
		"pattern":     "^(" + dnsLabel + `(\.` + dnsLabel + ")*)?$",
		"description": "Selector in DNS; defaults to newsletterd, or newsletterd-ed for ed25519",
	},
	"auth_method": {"enum": []string{"", "none", "client_secret_basic", "client_secret_post"}},

	"template_name": {"pattern": `^[^/\x00-\x1f\x7f-\x9f]*$`},
	"font":          web.Word(core.ThemeFonts...), "weight": {"enum": []int{400, 500, 600, 700, 800}},
	"color":       {"pattern": "^#[0-9A-Fa-f]{6}$"},
	"footer":      {"pattern": `^(([^{\x00-\x1f\x7f-\x9f]|\r?\n)|\{[^{%\x00-\x1f\x7f-\x9f])*\{?$`},
	"picture_url": {"pattern": `^(https://[A-Za-z0-9][A-Za-z0-9.-]*(/` + unspaced + `*)?)?$`},
	"social_name": {"pattern": `^[^{\x00-\x1f\x7f-\x9f]*` + unspaced + `[^{\x00-\x1f\x7f-\x9f]*$`},
	"social_url":  {"pattern": `^https?://[A-Za-z0-9][A-Za-z0-9.-]*(/` + unspaced + `*)?$`},

	"content": {"additionalProperties": false, "not": web.Object{"anyOf": []web.Object{
		web.Without(web.Where(web.Object{"kind": web.Object{}, "text": web.Filled}),
			web.Object{"kind": web.Word(core.ContentHTML)}),
		web.Without(web.Where(web.Object{"kind": web.Object{}, "layout": web.Filled}),
			web.Object{"kind": web.Word(core.ContentHTML, core.ContentText)}),
	}}},
	"theme": {"description": "Of the kinds markdown and blocks: " + strings.Join(core.BuiltInThemes, ", ") +
		", or the ID or name of your own theme; empty: the first"},
	"sender": {"description": "Address in one of the tenant's domains; defaults to the tenant's sender"},
	"tests":  {"description": "Addresses for test emails; defaults to the tenant's test addresses"},
	"corrected": {
		"additionalProperties": false, "description": "Preview of a correction to a sent campaign",
	},
	"target": {
		"pattern":     `^(https?://[^\s{}]+|)$`,
		"description": "New target of the link; empty restores the original",
	},
	"status_code": {"pattern": `^([45]([0-9]{2}|\.[0-9]{1,3}\.[0-9]{1,3}))?$`},

	"idempotency_key": {"minLength": 1, "maxLength": 255, "pattern": "^[ -~]*$"},
	"upload_key":      {"pattern": "^[A-Za-z0-9_-]*$"},
}

// maxWhole is the largest integer up to which JavaScript represents all integers exactly.
const maxWhole = 1<<53 - 1

// limitsOf holds the limits that tags can't express: which properties of an object depend on each other (key ""), and
// limits on properties of responses.
var limitsOf = map[reflect.Type]map[string]web.Object{
	reflect.TypeFor[core.ClientInput](): {"": web.Never(
		web.Where(web.Object{
			"client_type":                web.Word("public"),
			"token_endpoint_auth_method": web.Word("client_secret_basic", "client_secret_post"),
		}),
		web.Where(web.Object{"client_type": web.Word("public"), "require_pkce": web.Object{"enum": []bool{false}}}),
		web.Where(web.Object{
			"client_type": web.Word("public"), "grant_types": web.Object{"contains": web.Word("client_credentials")},
		}),
		web.Where(web.Object{"client_type": web.Word("confidential"), "token_endpoint_auth_method": web.Word("none")}),
	)},
	reflect.TypeFor[tenants.TemplateInput](): {
		"": web.Never(web.Where(web.Object{"body_html": web.Word(""), "body_text": web.Word("")})),
	},
	reflect.TypeFor[core.MediaInput](): {
		"": web.Never(web.Where(web.Object{"decorative": web.Object{"const": true}, "alt": web.Filled})),
	},
	reflect.TypeFor[core.SegmentCount](): {
		"exact": {"description": "Number of subscribers; only with people.read, and if all were counted"},
		"as_of": {"description": "Time of the count"},
		"about": {"description": "Rounded or estimated number; missing if it is small"},
		"low":   {"description": "Lower limit of the number"}, "high": {"description": "Upper limit of the number"},
		"of": {"description": "Subscribers of the lists who may be emailed, each counted once per list"},
	},
	reflect.TypeFor[core.Reason](): {"rule": {"type": "object"}},

	reflect.TypeFor[core.MailText](): {
		"subject": {
			"maxLength": 200, "pattern": "^" + noControls + "$",
		},
		"text": {"maxLength": 4000, "pattern": `^([^\x00-\x1f\x7f-\x9f]|\r?\n)*$`},
	},
	reflect.TypeFor[core.CampaignFinding](): {
		"code":  {"description": "Machine-readable code"},
		"hint":  {"description": "How to fix it"},
		"name":  {"description": "The field, merge tag, image, link or question that the finding is about"},
		"write": {"description": "The placeholder to use instead"},
	},
	reflect.TypeFor[core.FindingPlace](): {
		"field": {"description": "Field of the campaign: subject, content.source or from_email"},
		"line":  {"description": "Line in the field, from 1"}, "block": {"description": "Number of the block, from " +
			"1 (kind blocks)"},
	},
}

// twins holds the camelCase spellings of the send service's fields. A document contains only one spelling, because most
// languages would map both to the same field. The description mentions the other one.
var twins = map[string]string{
	"tenant_id": "tenantId", "list_id": "listId", "segment_id": "segmentId", "campaign_id": "campaignId",
	"send_job_id": "sendJobId", "body_html": "bodyHtml", "body_text": "bodyText", "scheduled_at": "scheduledAt",
	"window_start": "windowStart", "window_end": "windowEnd",
}

// twinned lists the schemas with both spellings.
var twinned = []string{"CreateSendJobRequest", "CreateSendJobResponse", "SendJob"}
