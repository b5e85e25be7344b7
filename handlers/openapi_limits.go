package handlers

import (
	"maps"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail/report"
)

// languages are those that the program speaks; empty: the one above, or English.
var languages = web.Object{"enum": append([]string{""}, core.Languages...)}

// specID is what the specification calls a uuid: the form of the ids that other services send.
var specID = web.Object{"format": "uuid"}

// nameLimits are those of the names of records.
var nameLimits = name(200)

// slugLimits are those of the slug of a list.
var slugLimits = web.Object{"maxLength": 80, "pattern": "^([a-z0-9]+(-[a-z0-9]+)*)?$"}

// filled is a string that is not empty.
var filled = web.Object{"minLength": 1}

// readOnly is a property of the record's own form that a change may bring as it stands.
var readOnly = web.Object{"readOnly": true}

// limitsOf are what the documents say about properties beyond their types, by schema and path of the property: forms,
// lengths, bounds. The rules themselves are in core; TestDocumentedLimits holds these against them.
var limitsOf = map[string]map[string]web.Object{
	"TenantInput": withMailTexts(map[string]web.Object{
		"id": readOnly, "relays[].has_password": readOnly,
		"name": nameLimits, "language": languages, "domains": {"maxItems": 100}, "postal_address": text(500),
		"mail_from": addressOrNone(), "reply_to": addressOrNone(), "mail_from_name": line(100), "brand_name": line(60),
		"test_addresses": {"maxItems": core.MaxTestAddresses}, "test_addresses[]": {"format": "email"},
		"time_zone": {
			"maxLength": core.MaxZone,
			"description": "Name of the IANA database in which times without an offset are read; empty: they are " +
				"refused",
		},
		"relays": {"maxItems": core.MaxRelays}, "relays[]": {"required": []string{"host"}},
		"relays[].name":                 worded(line(60), "For logs and figures; empty: the host"),
		"relays[].host":                 {"minLength": 1, "description": "Host name or IP address"},
		"relays[].port":                 orDefault(65535, "587, of tls implicit 465"),
		"relays[].connections":          orDefault(64, "4"),
		"relays[].mails_per_connection": orDefault(1_000_000, "1000"),
		"relays[].username":             {"maxLength": 320, "description": "For AUTH; goes together with a password"},
		"relays[].password": {
			"maxLength":   1024,
			"description": "For AUTH; absent: as it was; never shown",
		},
		"relays[].dkim_skip":             {"description": "Header fields that the relay changes"},
		"relays[].dkim_skip[]":           {"minLength": 1, "maxLength": 60},
		"relays[].limits":                periodOrNone,
		"relays[].limits.per_second":     sendLimit,
		"relays[].limits.per_period":     sendLimit,
		"relays[].limits.per_day":        sendLimit,
		"relays[].limits.period_seconds": periodSeconds,
		"send_limits":                    periodOrNone,
		"send_limits.per_second":         sendLimit,
		"send_limits.per_period":         sendLimit,
		"send_limits.per_day":            sendLimit,
		"send_limits.period_seconds":     periodSeconds,
	}),
	"ListInput": withMailTexts(map[string]web.Object{
		"id": readOnly, "name": nameLimits, "language": languages, "description": text(2000), "consent_text": text(2000),
		"confirm_token": {"enum": []string{"", "live", "receipt", "trusted"}},
		"slug":          slugLimits,
		"fields":        {"maxItems": core.MaxFields},
		"fields[]": never(
			without(where(web.Object{"type": word("choice")}), web.Object{"options": web.Object{"minItems": 1}}),
			where(web.Object{"type": word("text", "boolean"), "options": web.Object{"minItems": 1}}),
		),
		"fields[].name": {
			"minLength": 1, "maxLength": 40, "pattern": "^[A-Za-z][A-Za-z0-9_]*$",
			"description": "Key of the preferences, and name in forms; neither email nor source",
		},
		"fields[].label":     worded(name(200), "What people read"),
		"fields[].options":   {"maxItems": 100, "description": "Of a choice, and needed there"},
		"fields[].options[]": name(200),
	}),
	"ClientInput": {
		"id": readOnly, "scopes[]": word(core.AllScopes...), "grant_types[]": word(core.ClientGrants...),
		"name": nameLimits, "redirect_uris": {"maxItems": 20}, "post_logout_redirect_uris": {"maxItems": 20},
		"token_endpoint_auth_method": {
			"enum":        []string{"", "none", "client_secret_basic", "client_secret_post"},
			"description": "Of a public client none, of a confidential one a secret",
		},
		"": never(
			where(web.Object{
				"client_type":                word("public"),
				"token_endpoint_auth_method": word("client_secret_basic", "client_secret_post"),
			}),
			where(web.Object{"client_type": word("public"), "require_pkce": web.Object{"enum": []bool{false}}}),
			where(web.Object{
				"client_type": word("public"), "grant_types": web.Object{"contains": word("client_credentials")},
			}),
			where(web.Object{"client_type": word("confidential"), "token_endpoint_auth_method": word("none")}),
		),
	},
	"PreferencesRequest": {"list_id": filled},
	"SubscribeRequest":   {"list_id": filled},
	"ListAndEmail":       {"list_id": filled},
	"TokenForm":          {"token": filled},
	"TokenBody":          {"token": filled},
	"InvitationInput":    {"": never(roleInTenant...)},
	"RoleInput":          {"": never(roleInTenant...)},
	"GrantInput":         {"": never(roleInTenant...)},
	"NewUser": {
		"name": line(core.MaxName),
		"":     never(append(roleInTenant, without(where(web.Object{"tenant_id": filled}), web.Object{"role": web.Object{}}))...),
	},
	"UserChange": {"name": line(core.MaxName)},
	"MailText": {
		"subject": worded(line(200), "The subject, with {{email}}, {{list.name}} and {{tenant.name}}"), "text": text(4000),
	},
	"RetryMails": {
		"id": {
			"minimum": 0, "maximum": maxWhole,
			"description": "Number of the mail; 0: all that the other properties say",
		},
		"": never(where(web.Object{"id": positive, "tenant_id": filled}),
			where(web.Object{"id": positive, "kind": filled})),
	},
	"HygieneQuery":     {"months": {"minimum": core.MinSilence, "maximum": core.MaxSilence}},
	"AskInput":         {"months": {"minimum": core.MinSilence, "maximum": core.MaxSilence}},
	"GrowthQuery":      {"days": {"minimum": 1, "maximum": maxGrowth}},
	"DriftQuery":       {"sample": {"minimum": 0, "maximum": maxSample}},
	"ModelChange":      {"name": nameLimits, "description": text(4000)},
	"LibraryQuery":     {"limit": {"minimum": 1, "maximum": maxLibraryLimit}, "q": {"maxLength": maxQuery}},
	"UploadStateQuery": {"key": uploadKeySchema},
	"MediaFilter":      {"q": {"maxLength": maxQuery}},
	"CampaignFilter":   {"q": {"maxLength": maxQuery}},
	"ShareInput": {
		"": never(where(web.Object{"email": filled, "user_id": filled}), web.Object{"not": oneOf("email", "user_id")}),
	},
	"NewSenderDomain":  {"domain": filled},
	"NewWebhookClient": {"name": filledLine(core.MaxOrigin)}, "WebhookClientChange": {"name": filledLine(core.MaxOrigin)},
	"NewProvider": {
		"kind": {"enum": report.Names()},
		"name": {"pattern": "^[a-z0-9][a-z0-9_-]{0,63}$", "description": "Of its webhook: /webhooks/NAME"},
		"secret": {
			"description": "As the provider has given it; of kinds generic, postmark and mailjet one is made where none is given",
		},
		"": never(refusedProviders()...),
	},
	"NewDKIMKey": {
		"domain": {"minLength": 1, "description": "Of the senders: one of the tenant's"},
		"selector": {
			"maxLength": 100, "pattern": "^(" + dnsLabel + `(\.` + dnsLabel + ")*)?$",
			"description": "Its name in the DNS; by default newsletterd, of ed25519 newsletterd-ed",
		},
	},
	"NewTheme": themeLimits(), "ThemeInput": themeLimits(),
	"NewEndpoint":    endpointLimits,
	"EndpointChange": endpointLimits,
	"SecretOverlap":  {"overlap_seconds": {"minimum": 0, "maximum": core.MaxSecretOverlap}},
	"ImportedFile":   {"name": line(core.MaxOrigin)},
	"ImportInput":    {"source": line(core.MaxOrigin)},
	"NewSubscriber":  {"source": line(core.MaxOrigin)},
	"TemplateInput": {
		"name": {
			"minLength": 1, "maxLength": core.MaxTemplateName, "pattern": `^[^/\x00-\x1f\x7f-\x9f]*$`,
		},
		"": never(where(web.Object{"body_html": word(""), "body_text": word("")})),
	},
	"MediaInput": {
		"name": name(200), "alt": line(core.MaxAlt),
		"": never(where(web.Object{"decorative": web.Object{"const": true}, "alt": filled})),
	},
	"NewSuppression":              {"reason": line(core.MaxOrigin)},
	"SuppressionChange":           {"reason": line(core.MaxOrigin)},
	"RegisterRequest":             {"password": {"minLength": 8, "maxLength": 256}},
	"ResetRequest":                {"new_password": {"minLength": 8, "maxLength": 256}},
	"LoginRequest":                {"grant_type": {"enum": []string{"password"}}},
	"RefreshTokenRequest":         {"grant_type": {"enum": []string{"refresh_token"}}},
	"Subscription":                {"status": {"enum": []string{"pending", "active", "unsubscribed"}}},
	"PendingSubscriptionResponse": {"status": {"enum": []string{"pending", "active", "unsubscribed"}}},
	"CreateSendJobRequest": {
		"subject": name(core.MaxSubject), "name": line(core.MaxSubject),
		"": never(web.Object{"not": web.Object{"anyOf": []web.Object{
			where(web.Object{"body_html": filled}), where(web.Object{"body_text": filled}), {"required": []string{"template"}},
		}}}),
	},
	"RecipientFilter": {"code": {"pattern": `^([45]([0-9]{2}|\.[0-9]{1,3}\.[0-9]{1,3}))?$`}},
	"header": {
		"Idempotency-Key": {"minLength": 1, "maxLength": 255, "pattern": "^[ -~]*$"},
		"Upload-Key":      uploadKeySchema,
		"Upload-Offset":   {"minimum": 0},
	},
	"NewCampaign": campaignLimits(onlyKnown),
	"ChangedCampaign": campaignLimits(web.Object{
		"additionalProperties": false, "patternProperties": web.Object{readOnlyKeys(): web.Object{"readOnly": true}},
	}),
	"CampaignFinding": {
		"code": {"description": "A word for programs: reference.md lists them"},
		"hint": {"description": "What to do"},
	},
	"FindingPlace": {
		"field": {"description": "Of the campaign: subject, content.source, from_email"},
		"line":  {"description": "Of the field's text, from 1"}, "block": {"description": "Of kind blocks, from 1"},
	},
	"DraftCheck": {
		"version": {"minimum": 0, "maximum": maxWhole, "description": "0: the one that is written on"},
		"links":   {"description": "Also ask whether the links answer"},
	},
	"UTM": {"source": {"description": "Who refers the visitor"}},
	"CorrectionInput": {
		"":        onlyKnown,
		"subject": worded(line(core.MaxSubject), "Absent: as it was sent"),
		"source":  {"description": "Content in the kind that was sent; absent: as it was", "maxLength": core.MaxBody},
		"text":    {"description": "Text part of kind html; absent: as it was sent", "maxLength": core.MaxBody},
	},
	"DraftPreview": {
		"version": number(0),
		"correction": {
			"additionalProperties": false,
			"description":          "Of a campaign that was sent: what pages would show",
		},
		"correction.subject": worded(line(core.MaxSubject), "Absent: as it was sent"),
		"correction.source": {
			"description": "Content in the kind that was sent; absent: as it was", "maxLength": core.MaxBody,
		},
		"correction.text": {"description": "Text part of kind html; absent: as sent", "maxLength": core.MaxBody},
	},
	"LinkMending": {"target": {
		"maxLength": core.MaxTarget, "pattern": `^(https?://[^\s{}]+|)$`,
		"description": "Where the link leads from now on; empty: to the address as it was written",
	}},
	"CountedVersion": {"version": number(0)},
	"DraftTest": {
		"version": number(0), "to[]": {"format": "email"},
		"to": {"minItems": 1, "maxItems": maxTests, "description": "Absent: the test group"},
	},
	"DraftReview": {"note": {"maxLength": maxNote}},
	"CampaignSending": {
		"":             onlyKnown,
		"scheduled_at": worded(timeOrNone(), "Not before; without an offset in time_zone"),
		"window_start": worded(timeOrNone(), "Nothing goes out before"), "window_end": worded(timeOrNone(), "Nothing goes out after"),
		"time_zone": {
			"maxLength": core.MaxZone, "description": "Name of the IANA database; empty: the tenant's",
		},
		"undo_seconds": {"minimum": 0, "maximum": int(core.MaxUndo / time.Second)}, "version": number(1),
	},
	"DraftApproval": {"version": number(1)},
	"NamedVersion":  {"name": line(core.MaxOrigin)},
	"SubscriptionEvent": {
		"event_id": specID, "tenant_id": specID, "list_id": specID,
		"event_type": {"enum": []string{"subscription.activated", "subscription.unsubscribed", "preferences.updated"}},
	},
	"FullSyncBatch": {
		"sync_id": specID, "tenant_id": specID, "list_id": specID, "batch_no": between(1, core.MaxSyncBatches),
		"batch_total": between(1, core.MaxSyncBatches),
		"subscribers": {"maxItems": core.MaxSyncBatch},
	},
	"SubscriberPayload": {
		"id": specID, "status": {"enum": []string{"active", "unsubscribed", "bounced", "complaint", "suppressed"}},
	},
	"ProviderEvent":     {"message_id": {"minLength": 1, "maxLength": 998}},
	"DeviceInput":       {"name": nameLimits, "agent_id": specID},
	"AgentInput":        {"name": nameLimits, "version": line(100)},
	"VisibilityRequest": {"visibility": {"enum": []string{"private", "tenant", "public"}}},
}

// sendLimit bounds one of the numbers of core.SendLimits, periodSeconds the length of its period.
var (
	sendLimit     = web.Object{"minimum": 0, "maximum": 1_000_000_000, "description": "0: no limit"}
	periodSeconds = web.Object{
		"minimum": 0, "maximum": 86400, "description": "Seconds of per_period, and needed with it",
	}
)

// endpointLimits are those of the receivers of events.
var endpointLimits = map[string]web.Object{
	"name": line(core.MaxEndpointName), "url": {"minLength": 1, "maxLength": core.MaxEndpointURL, "pattern": "^https?://[^/]"},
	"list_id":  {"description": "Only events of this list; empty: of every list"},
	"events":   {"description": "Only events of these types; none: all"},
	"events[]": word(core.EventActivated, core.EventUnsubscribed, core.EventPreferences),
}

// addressOrNone is an e-mail address, or empty. It is no union of both, of which generators make a type of its own.
func addressOrNone() web.Object {
	const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
	return web.Object{
		"maxLength": 254,
		"pattern":   `^(` + atom + `(\.` + atom + `)*@` + dnsLabel + `(\.` + dnsLabel + `)*\.[A-Za-z]{2,63}|)$`,
		"not":       web.Object{"pattern": "^[^@]{65}"},
	}
}

// timeOrNone is a time with an offset or without one, or empty.
func timeOrNone() web.Object {
	return web.Object{"pattern": `^((19[7-9][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}` +
		`(\.[0-9]+)?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?|)$`}
}

// filledLine is a line that is not empty.
func filledLine(most int) web.Object {
	l := line(most)
	l["minLength"] = 1
	return l
}

// onlyKnown refuses properties that are not named.
var onlyKnown = web.Object{"additionalProperties": false}

// readOnlyKeys is the pattern of the keys of a campaign that a change may bring, and that no caller sets.
func readOnlyKeys() string {
	return "^(" + strings.Join(slices.Sorted(maps.Keys(unsettable)), "|") + ")$"
}

// maxWhole is the largest number up to which all whole ones are numbers of JavaScript, too.
const maxWhole = 1<<53 - 1

// number is a whole number from least on.
func number(least int) web.Object { return between(least, maxWhole) }

func between(least, most int) web.Object { return web.Object{"minimum": least, "maximum": most} }

// mailTexts are the mails whose texts a tenant and a list may write.
var mailTexts = []string{"confirm", "subscribed", "unsubscribed", "preferences"}

// withMailTexts adds the limits of those texts.
func withMailTexts(limits map[string]web.Object) map[string]web.Object {
	for _, of := range mailTexts {
		limits["mail_texts."+of+".subject"], limits["mail_texts."+of+".text"] = line(200), text(4000)
	}
	return limits
}

// set is an array of at most so many elements, each once.
func set(most int) web.Object { return web.Object{"maxItems": most, "uniqueItems": true} }

// campaignLimits are those of what a campaign says. whole are those of the object.
func campaignLimits(whole web.Object) map[string]web.Object {
	inHTML := web.Object{"kind": word(core.ContentHTML)}
	written := web.Object{"kind": word(core.ContentHTML, core.ContentText)}
	return map[string]web.Object{
		"": whole, "name": line(core.MaxSubject), "preheader": line(core.MaxPreheader), "from_name": line(core.MaxName),
		"subject":  worded(line(core.MaxSubject), "The subject, with placeholders"),
		"list_ids": set(core.MaxCampaignLists), "list_ids[]": specID,
		"audience":    {"additionalProperties": false, "required": []string{"who"}},
		"audience.of": specID, "exclude_list_ids": set(core.MaxExclusions), "exclude_list_ids[]": specID,
		"exclude_campaign_ids": set(core.MaxExclusions), "exclude_campaign_ids[]": specID,
		"theme": {"description": "Of the kinds markdown and blocks: " + strings.Join(core.BuiltInThemes, ", ") +
			", or the id or name of an own theme; empty: the first"},
		"language": languages,
		"tracking": {"description": "totals: how often it was opened, and which links were followed; persons: by whom, " +
			"too, of a tenant with tracking_consent those who have agreed"},
		"content": {"additionalProperties": false, "not": web.Object{"anyOf": []web.Object{
			without(where(web.Object{"kind": web.Object{}, "text": filled}), inHTML),
			without(where(web.Object{"kind": web.Object{}, "layout": filled}), written),
		}}},
		"attachments": {
			"maxItems": core.MaxAttachments, "uniqueItems": true,
			"description": "Ids of media, pictures or PDF, that come with the mails: 5 MiB together",
		},
		"attachments[]": specID,
		"test_addresses": {
			"maxItems": core.MaxTestAddresses, "description": "Where its tests go; none: to the tenant's test group",
		},
		"test_addresses[]": {"format": "email"},
		"from_email":       worded(addressOrNone(), "In a domain of the tenant; empty: the tenant's"),
		"reply_to":         worded(addressOrNone(), "Empty: the tenant's"),
		"utm":              {"additionalProperties": false, "description": "Added to links that have no utm parameters"},
		"utm.source":       worded(line(core.MaxUTM), "Who refers the visitor"), "utm.medium": line(core.MaxUTM), "utm.campaign": line(core.MaxUTM),
		"utm.term": line(core.MaxUTM), "utm.content": line(core.MaxUTM),
		"content.source": {"description": "Markdown, blocks as JSON, HTML or text, as kind says", "maxLength": core.MaxBody},
		"content.text":   {"description": "Text part of kind html; empty: made of the HTML", "maxLength": core.MaxBody},
		"content.layout": {"description": "Name of a template around kind html or text"},
	}
}

// orDefault bounds a number of which 0 means the default.
func orDefault(most int, value string) web.Object {
	return web.Object{"minimum": 0, "maximum": most, "description": "0: " + value}
}

// neededIn are the properties of requests that must be there, beyond what their types say: a check of the whole value
// asks for them.
var neededIn = map[string][]string{
	"CreateSendJobRequest": {"list_id"},
	"SubscriptionEvent":    {"event_id", "event_type", "list_id", "occurred_at", "subscriber", "tenant_id"},
	"FullSyncBatch": {
		"batch_no", "batch_total", "list_id", "occurred_at", "subscribers", "sync_id",
		"tenant_id",
	},
	"SubscriberPayload": {"email", "id", "status"},
}

// twins are the camelCase spellings of the send service's fields. A document names one spelling, since two would be
// one field in most languages, and names the other in its description.
var twins = map[string]string{
	"tenant_id": "tenantId", "list_id": "listId", "campaign_id": "campaignId", "send_job_id": "sendJobId",
	"body_html": "bodyHtml",
	"body_text": "bodyText", "scheduled_at": "scheduledAt", "window_start": "windowStart", "window_end": "windowEnd",
}

// twinned are the schemas with both spellings.
var twinned = []string{"CreateSendJobRequest", "CreateSendJobResponse", "SendJob"}
