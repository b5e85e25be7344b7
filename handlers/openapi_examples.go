package handlers

import "newsletterd/handlers/web"

// requestExamples are the bodies that the documents show, by operationId. A test posts each as it stands, against
// records with the id exampleID.
var requestExamples = map[string]web.Object{
	"createTenant": {"name": "Acme", "domains": []string{"acme.example"}},
	"updateTenant": {
		"brand_name": "Acme Gardens", "brand_color": "#2f7d4f",
		"relays": []web.Object{{
			"name": "Postfix beside us", "host": "127.0.0.1", "port": 25, "tls": "none", "connections": 2,
			"mails_per_connection": 500, "dkim_skip": []string{"Reply-To"}, "limits": web.Object{"per_second": 10},
		}},
	},
	"createNewsletterList": {"tenant_id": exampleID, "name": "Monthly news"},
	"askAgain":             {"who": "unconfirmed"},
	"updateNewsletterList": {
		"language": "en", "consent_text": "I would like to get this newsletter.",
		"fields": []web.Object{
			{"name": "plan", "label": "Plan", "type": "choice", "options": []string{"free", "paid"}, "required": true},
			{"name": "first_name", "label": "First name", "type": "text", "required": false},
		},
	},
	"createOAuthClient": {
		"tenant_id": exampleID, "name": "Shop", "client_type": "public",
		"redirect_uris": []string{"https://app.example.org/callback"},
	},
	"updateOAuthClient": {"redirect_uris": []string{
		"https://app.example.org/callback",
		"https://app.example.org/again",
	}},

	"rotateOAuthClientSecret": {"overlap_seconds": 86400},
	"logoutUserEverywhere":    {"disable_clients": true}, "eraseUser": {"disable_clients": true},

	"createInvitation": {"tenant_id": exampleID, "email": "eve@acme.example", "role": "editor"},

	"createUser":     {"email": "max@acme.example", "name": "Max", "role": "publisher", "tenant_id": exampleID},
	"updateUser":     {"name": "Maximilian"},
	"grantRole":      {"role": "editor", "tenant_id": exampleID},
	"revokeRole":     {"role": "editor", "tenant_id": exampleID},
	"updateTeammate": {"tenant_id": exampleID, "role": "publisher"},

	"testRelay":           {"email": "ann@acme.example"},
	"proposeSenderDomain": {"tenant_id": exampleID, "domain": "news.acme.example"},

	"createWebhookClient": {"tenant_id": exampleID, "name": "member service"},
	"startFullSync":       {"take_over": false},
	"updateWebhookClient": {"name": "Shop", "disabled": false},

	"createWebhookEndpoint": {
		"tenant_id": exampleID, "name": "CRM", "url": "https://crm.example.org/hooks/newsletter",
		"events": []string{"subscription.activated", "subscription.unsubscribed"},
	},
	"updateWebhookEndpoint":       {"url": "https://crm.example.org/hooks/news", "disabled": false},
	"createDKIMKey":               {"domain": "acme.example", "selector": "news", "algorithm": "rsa", "status": "inactive"},
	"createMailProvider":          {"name": "eu-mailer", "kind": "generic"},
	"rotateMailProviderSecret":    {"secret": "whsec_bmV3c2xldHRlcmQtZXhhbXBsZS1zZWNyZXQtMzJiISE="},
	"updateMailProvider":          {"disabled": false},
	"updateDKIMKey":               {"status": "active"},
	"rotateWebhookEndpointSecret": {"overlap_seconds": 7200},

	"updateMedia": {"name": "Our logo", "alt": "Acme"},

	"retryOutboxEvent": {"endpoint_id": exampleID},
	"retryDeadLetters": {"tenant_id": exampleID, "event_type": "subscription.activated"},
	"retryMails":       {"tenant_id": exampleID, "kind": "confirm"},

	"addSubscriber": {
		"list_id": exampleID, "email": "new@example.org", "status": "pending",
		"source": "signed at the fair",
	},
	"unsubscribeEverywhere": {"email": "reader@example.org", "tenant_id": exampleID},

	"updateSubscriber": {"preferences": web.Object{"first_name": "Ada", "city": "Bonn"}},

	"runImport": {
		"dry_run": true, "mapping": web.Object{"E-Mail": "email", "First name": "first_name"},
		"subscriber_status": "active",
		"source":            "members of the club",
	},

	"createSuppression": {"email": "gone@example.org", "tenant_id": exampleID, "reason": "asked by telephone"},
	"updateSuppression": {"email": "off@example.org", "tenant_id": exampleID, "reason": "asked by letter"},
	"liftSuppression":   {"email": "off@example.org", "tenant_id": exampleID},

	"tryTheme": {
		"base": "lantern", "light": web.Object{"accent": "#7a1f3d"}, "tenant_id": exampleID,
	},
	"createTheme": {
		"tenant_id": exampleID, "name": "Ours", "base": "journal", "font": "georgia", "radius": 4,
		"light":  web.Object{"accent": "#7a1f3d", "link": "#7a1f3d"},
		"social": []web.Object{{"name": "Mastodon", "url": "https://social.example/@acme"}},
	},
	"updateTheme": {"footer_text": "Sent with care by Acme.", "width": 620},
	"createTemplate": {
		"tenant_id": exampleID, "name": "frame", "body_html": "<h1>Acme</h1>{{content}}",
		"body_text": "Acme\n\n{{content}}",
	},
	"updateTemplate": {"body_html": "<h1>Acme Gardens</h1>{{content}}"},
	"tryTemplate":    {"tenant_id": exampleID, "layout": "", "body_html": "<p>Hello {{email}}</p>"},

	"register":       {"email": "new@example.org", "password": "a long password"},
	"login":          {"grant_type": "password", "username": "reader@example.org", "password": "a long password"},
	"logout":         {"refresh_token": "Zc3o…"},
	"forgotPassword": {"email": "reader@example.org"},
	"resetPassword":  {"email": "reader@example.org", "token": "q7Xk…", "new_password": "a longer password"},
	"refreshToken":   {"grant_type": "refresh_token", "refresh_token": "Zc3o…"},
	"createToken": {
		"grant_type": "authorization_code", "code": "SplxlOBeZQQYbYS6WxSbIA",
		"redirect_uri":  "https://app.example.org/callback",
		"code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "client_id": exampleID,
	},
	"revokeToken":     {"token": "Zc3o…", "client_id": exampleID},
	"introspectToken": {"token": "Zc3o…", "client_id": exampleID, "client_secret": "q7Xk…"},

	"subscribe": {
		"list_id": exampleID, "email": "reader@example.org", "preferences": web.Object{"first_name": "Ada"},
		"source": "website",
	},
	"setPreferences": {
		"list_id": exampleID, "email": "reader@example.org",
		"preferences": web.Object{"first_name": "Ada", "city": "Bonn"},
	},
	"unsubscribe":            {"token": "u.q7Xk…"},
	"createUnsubscribeToken": {"list_id": exampleID, "email": "reader@example.org"},
	"disableSubscriptions": {
		"email": "gone@example.org", "reason": "asked by telephone", "disabled_by": "support",
		"occurred_at": "2026-11-21T08:00:00.000Z",
	},
	"disableSubscriptionsByItsDeclaredPath": {
		"email": "gone@example.org", "reason": "asked by telephone", "disabled_by": "support",
		"occurred_at": "2026-11-21T08:00:00.000Z",
	},

	"createCampaign": {
		"list_ids": []string{exampleID}, "subject": "Our news in May",
		"content": web.Object{"kind": "markdown", "source": "# Hello {{preferences.first_name | default: \"you\"}}"},
	},
	"updateCampaign":      {"preheader": "What we did in spring"},
	"patchCampaign":       {"preheader": "What we did in spring"},
	"previewCampaign":     {"version": 1},
	"checkCampaign":       {"version": 1},
	"testCampaign":        {"to": []string{"reader@example.org"}},
	"requestReview":       {"note": "Is the price right?", "wanted_at": "2027-01-04T08:00:00.000Z"},
	"rejectCampaign":      {"note": "The price of the bulbs is last year's."},
	"approveCampaign":     {"version": 1},
	"sendCampaign":        {"version": 1, "undo_seconds": 60},
	"correctCampaign":     {"source": "<p>The prices of May.</p>"},
	"mendCampaignLink":    {"target": "https://shop.example/spring"},
	"proposeCampaignLink": {"target": "https://shop.example/summer"},
	"nameCampaignVersion": {"name": "before the prices changed"},

	"createJob": {
		"list_id": exampleID, "name": "May", "subject": "Our news in May",
		"body_html": "<p>Hello {{preferences.first_name | default: \"you\"}}</p>",
		"tracking":  web.Object{"open": false, "click": false},
	},
	"previewJob":   {"email": "reader@example.org"},
	"sendTestMail": {"email": "reader@example.org"},
	"receiveSubscriptionEvent": {
		"event_id": exampleID, "event_type": "subscription.activated", "tenant_id": exampleID, "list_id": exampleID,
		"subscriber": web.Object{
			"id": exampleID, "email": "reader@example.org", "status": "active",
			"preferences": web.Object{"first_name": "Ada"},
		},
		"occurred_at": "2026-11-21T08:00:00.000Z",
	},
	"receiveFullSyncBatch": {
		"sync_id": exampleID, "batch_no": 1, "batch_total": 1, "tenant_id": exampleID, "list_id": exampleID,
		"subscribers": []web.Object{{"id": exampleID, "email": "reader@example.org", "status": "active"}},
		"occurred_at": "2026-11-21T08:00:00.000Z",
	},
	"receiveProviderEvents": {
		"event_type": "delivery", "message_id": "<5f1c.1@example.org>", "tenant_id": exampleID,
		"email":       "reader@example.org",
		"occurred_at": "2026-11-21T08:00:00.000Z",
	},

	"pairDevice":         {"name": "Printer"},
	"updateDevice":       {"name": "Printer upstairs"},
	"createAgent":        {"name": "Gateway", "version": "1.0"},
	"updateAgent":        {"version": "1.1"},
	"createModelShare":   {"email": "friend@example.org", "permission": "read"},
	"updateModelShare":   {"permission": "read"},
	"updateModel":        {"description": "Holds a shelf of up to 5 kg."},
	"setModelVisibility": {"visibility": "public"},
}
