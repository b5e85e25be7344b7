package handlers

// tagWords say what the operations of a group are for.
var tagWords = map[string]string{
	"admin": "Tenants, newsletter lists and OAuth clients.", "auth": "Users and their passwords.", "discovery": "What relying parties read first.",
	"newsletter": "Subscriptions: for websites and their visitors.", "oauth": "OAuth 2.0 and OpenID Connect.", "user": "The caller's own account.",
	"subscriptions": "Switching an address off.", "openapi": "These documents.", "send-jobs": "Newsletters on their way.",
	"webhooks": "What other services report.", "healthz": "For those who run the daemon.", "devices": "Devices of a user.",
	"agents": "Programs that run devices.", "models": "Files, who may view them, and with whom they are shared.",
}

// sampleTexts are values of properties by their names.
var sampleTexts = map[string]string{
	"grant_type": "refresh_token", "token_type": "Bearer", "scope": "openid email", "scopes": "openid", "username": "reader@example.org",
	"password": "a long password", "new_password": "a longer password", "subject": "Our news in May", "name": "Monthly news",
	"body_html": "<p>Hello {{preferences.first_name | default: \"you\"}}</p>", "body_text": "Hello", "source": "website", "status": "active",
	"domain": "example.org", "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "content_type": "model/stl",
	"visibility": "private", "permission": "read", "event_type": "delivery", "reason": "asked by telephone", "disabled_by": "support",
	"access_token": "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9…", "id_token": "eyJhbGciOiJSUzI1NiJ9…", "refresh_token": "Zc3o…",
	"code": "SplxlOBeZQQYbYS6WxSbIA", "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "token": "q7Xk…",
	"confirm_token": "q7Xk…", "unsubscribe_token": "u.q7Xk…", "redirect_uri": "https://app.example.org/callback", "version": "1.0",
}

// sampleNumbers are values of properties by their names.
var sampleNumbers = map[string]int{
	"expires_in": 900, "recipients": 2, "sent": 2, "size": 1048576, "batch_no": 1, "batch_total": 1,
}

// fieldWords tell what a field means, by its name.
var fieldWords = map[string]string{
	"id": "Id of the record", "tenant_id": "Id of the tenant", "list_id": "Id of the newsletter list", "email": "E-mail address; spelling is kept, case does not matter",
	"preferences": "Free fields of the subscriber, for placeholders", "source": "Where the subscription came from, for the record of the consent",
	"confirm_token": "What the mailed link carries; whether it confirms is a setting of the list", "token": "The token of the mailed link",
	"status": "State of the record", "created_at": "When it was made", "updated_at": "When it was changed last", "email_verified": "The address has proved to be the user's",
	"password": "8 to 256 characters", "new_password": "8 to 256 characters", "grant_type": "The grant (RFC 6749)", "username": "The e-mail address",
	"scope": "Scopes, parted by spaces", "client_id": "Id of the client", "client_secret": "Secret of a confidential client, unless it comes by HTTP Basic",
	"refresh_token": "Good once: each use answers its successor", "access_token": "A JWT (RFC 9068)", "id_token": "A JWT (OpenID Connect)",
	"token_type": "Bearer", "expires_in": "Seconds", "redirect_uri": "One of those that the client is registered with, compared exactly",
	"code": "The authorization code, good once, for 60 seconds", "code_verifier": "What the code_challenge was made of (RFC 7636)",
	"code_challenge": "BASE64URL(SHA256(code_verifier))", "code_challenge_method": "S256 alone", "response_type": "code alone",
	"state": "Comes back as it is", "nonce": "Comes back in the id token", "domains": "Domains that the tenant may mail from", "client_type": "public or confidential",
	"redirect_uris": "At most 20, https or those of native apps", "reason": "Why, for the record", "disabled_by": "Who asked for it", "disable_scope": "How far it reaches; absent: as the operator has set it", "occurred_at": "When it happened",
	"subject": "The subject, with placeholders; at most 998 characters", "body_html": "The HTML part, with placeholders", "body_text": "The text part; without it it is made of the HTML",
	"template": "Settings: unsubscribe_url (with {{unsubscribe_token}}), mailer_template_name", "scheduled_at": "Not before", "window_start": "Send from here on",
	"window_end": "Send until here; what is left then is not sent", "tracking": "Both off unless they are asked for", "event_id": "The same event is accepted once",
	"event_type": "What happened", "subscriber": "The subscriber after the event", "sync_id": "The same batch of a sync is accepted once", "batch_no": "From 1 to batch_total",
	"batch_total": "Batches of the sync", "subscribers": "At most 1,000", "message_id": "Message-ID of the mail", "bounce_type": "hard or soft", "limit": "Rows of a page",
	"cursor": "next_cursor of the page before", "q": "Words of name and description", "owner": "me: one's own alone", "name": "Name that people see", "size": "Bytes",
	"sha256": "Of the file, in hex", "visibility": "private, tenant or public", "representative": "It stands for its owner and can't be registered",
	"registered": "It is registered", "error": "A word for programs", "message": "A sentence for people", "Idempotency-Key": "The same key and body again: the first answer again",
	"prompt": "none, login or consent", "max_age": "Seconds since the sign-in at most", "login_hint": "Address to begin with", "response_mode": "How the answer comes back",
}
