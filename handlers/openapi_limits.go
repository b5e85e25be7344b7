package handlers

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// specID is what the specification calls a uuid: the form of the ids that other services send.
var specID = web.Object{"format": "uuid"}

// nameLimits are those of the names of records.
var nameLimits = web.Object{"minLength": 1, "maxLength": 200}

// limitsOf are what the documents say about properties beyond their types, by schema and property: forms, lengths,
// bounds. The rules themselves are in core; TestDocumentedLimits holds these against them.
var limitsOf = map[string]map[string]web.Object{
	"TenantInput": {"name": nameLimits, "domains": {"maxItems": 100}, "postal_address": {"maxLength": 500}},
	"ListInput": {
		"name": nameLimits, "description": {"maxLength": 2000}, "consent_text": {"maxLength": 2000},
		"confirm_token": {"enum": []string{"", "live", "receipt", "trusted"}},
	},
	"ClientInput": {
		"name": nameLimits, "redirect_uris": {"maxItems": 20}, "post_logout_redirect_uris": {"maxItems": 20},
		"token_endpoint_auth_method": {"enum": []string{"", "none", "client_secret_basic", "client_secret_post"}},
	},
	"NewSubscriber":               {"source": {"maxLength": core.MaxOrigin}},
	"NewSuppression":              {"reason": {"maxLength": core.MaxOrigin}},
	"SuppressionChange":           {"reason": {"maxLength": core.MaxOrigin}},
	"RegisterRequest":             {"password": {"minLength": 8, "maxLength": 256}},
	"ResetRequest":                {"new_password": {"minLength": 8, "maxLength": 256}},
	"LoginRequest":                {"grant_type": {"enum": []string{"password"}}},
	"RefreshTokenRequest":         {"grant_type": {"enum": []string{"refresh_token"}}},
	"Subscription":                {"status": {"enum": []string{"pending", "active", "unsubscribed"}}},
	"PendingSubscriptionResponse": {"status": {"enum": []string{"pending", "active", "unsubscribed"}}},
	"CreateSendJobRequest":        {"subject": {"minLength": 1, "maxLength": 998}},
	"SubscriptionEvent": {
		"event_id": specID, "tenant_id": specID, "list_id": specID,
		"event_type": {"enum": []string{"subscription.activated", "subscription.unsubscribed", "preferences.updated"}},
	},
	"FullSyncBatch": {
		"sync_id": specID, "tenant_id": specID, "list_id": specID, "batch_no": {"minimum": 1}, "batch_total": {"minimum": 1},
		"subscribers": {"maxItems": core.MaxSyncBatch},
	},
	"SubscriberPayload": {
		"id": specID, "status": {"enum": []string{"active", "unsubscribed", "bounced", "complaint", "suppressed"}},
	},
	"ProviderEvent":     {"message_id": {"minLength": 1, "maxLength": 998}},
	"DeviceInput":       {"name": nameLimits, "agent_id": specID},
	"AgentInput":        {"name": nameLimits, "version": {"maxLength": 100}},
	"VisibilityRequest": {"visibility": {"enum": []string{"private", "tenant", "public"}}},
}

// neededIn are the properties of requests that must be there, beyond what their types say: a check of the whole value
// asks for them.
var neededIn = map[string][]string{
	"CreateSendJobRequest": {"list_id"},
	"SubscriptionEvent":    {"event_id", "event_type", "list_id", "occurred_at", "subscriber", "tenant_id"},
	"FullSyncBatch":        {"batch_no", "batch_total", "list_id", "occurred_at", "subscribers", "sync_id", "tenant_id"},
	"SubscriberPayload":    {"email", "id", "status"},
}

// neededToCreate are the properties without which a record isn't made; a change leaves absent ones as they are.
var neededToCreate = map[string][]string{
	"createTemplate": {"name"},
	"createTenant":   {"name"}, "createNewsletterList": {"name", "tenant_id"}, "createOAuthClient": {"name"},
	"pairDevice": {"name"}, "createAgent": {"name"},
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
