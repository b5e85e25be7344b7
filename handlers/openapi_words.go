package handlers

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// describer gathers the components of one document.
type describer struct {
	schemas   schemas
	responses obj
	security  obj
}

// declare adds a type that no operation refers to.
func (d describer) declare(v any, tag string) {
	t := reflect.TypeOf(v)
	d.schemas.put(t, inputSchema(fieldsOf(t, tag), d.schemas))
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
		ResponseMode        string `query:"response_mode" enum:"query|form_post"`
	}
)

// words tell who may call, and what is limited.
func (r *Route) words() string {
	out := []string{"Who may call: " + accessWords(r.Who) + "."}
	if n := r.Do.maxBody; n > 0 && r.Do.body != noBody {
		out = append(out, "The body has at most "+sizeWords(n)+".")
	}
	if rate := r.Do.rate; rate != nil {
		out = append(out, fmt.Sprintf("At most %d calls in %s from one address.", rate.n, spanWords(rate.per)))
	}
	if r.Do.list {
		out = append(out, "Without limit the whole list is streamed.")
	}
	return strings.Join(out, " ")
}

func accessWords(a Access) string {
	switch {
	case a.signed:
		return "webhook clients, by a signature"
	case a.provider:
		return "mail providers, by what their kind proves itself with"
	case a.option:
		return "everybody; a token that is sent must be valid"
	case a.people && a.oneOf:
		return "users, by an access token with one of the scopes " + strings.Join(a.scopes, ", ")
	case a.people:
		return "users, by an access token with the scope " + strings.Join(a.scopes, " ")
	case a.oneOf:
		return "whoever has an access token with one of the scopes " + strings.Join(a.scopes, ", ")
	case a.bearer && len(a.scopes) > 0:
		return "whoever has an access token with the scope " + strings.Join(a.scopes, " ")
	case a.bearer:
		return "whoever has an access token"
	default:
		return "everybody"
	}
}

func sizeWords(n int64) string {
	if n >= MiB && n%MiB == 0 {
		return strconv.FormatInt(n/MiB, 10) + " MiB"
	}
	return strconv.FormatInt(n/KiB, 10) + " KiB"
}

func spanWords(d time.Duration) string {
	switch d {
	case time.Hour:
		return "an hour"
	case time.Minute:
		return "a minute"
	default:
		return d.String()
	}
}

// tagOf groups operations by the first word of the path that tells.
func tagOf(path string) string {
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		switch {
		case part == "api" || strings.HasPrefix(part, "{"):
		case strings.HasPrefix(part, "."):
			return "discovery"
		default:
			return strings.TrimSuffix(part, ".json")
		}
	}
	return "root"
}

var tagWords = map[string]string{
	"admin": "Tenants, newsletter lists and OAuth clients.", "auth": "Users and their passwords.", "discovery": "What relying parties read first.",
	"newsletter": "Subscriptions: for websites and their visitors.", "oauth": "OAuth 2.0 and OpenID Connect.", "user": "The caller's own account.",
	"subscriptions": "Switching an address off.", "openapi": "These documents.", "send-jobs": "Newsletters on their way.",
	"webhooks": "What other services report.", "healthz": "For those who run the daemon.", "devices": "Devices of a user.",
	"agents": "Programs that run devices.", "models": "Files, who may view them, and with whom they are shared.",
}

func tagObjects(tags []string) []obj {
	out := make([]obj, len(tags))
	for i, t := range tags {
		words := tagWords[t]
		if words == "" {
			words = "Pages at /" + t + "."
		}
		out[i] = obj{"name": t, "description": words}
	}
	return out
}

// failureWords tell what a status means, with the word that the errors of most endpoints carry.
var failureWords = map[int]struct{ code, message, words string }{
	400: {"invalid_request", "email is missing.", "The request is malformed, a field is missing or wrong, or a token is unknown, used or expired"},
	401: {"invalid_token", "The access token is missing or not valid.", "No credentials, or none that are valid"},
	403: {"insufficient_scope", "The access token does not allow this.", "The caller is known and may not do this"},
	404: {"not_found", "There is no such record.", "There is no such record, or it is not the caller's to see"},
	409: {"conflict", "It exists already.", "It contradicts what is there already"},
	413: {"payload_too_large", "The body is too large.", "The body is too large"},
	415: {"unsupported_media_type", "The body must be application/json.", "The body is of another media type"},
	422: {"validation_error", "list_id is missing.", "The request is not valid"},
	429: {"rate_limited", "Too many requests; try again later.", "Too many requests; Retry-After tells when to try again"},
	500: {"internal", "Something went wrong.", "A fault of the daemon"},
	503: {"storage_unavailable", "The database does not answer; try again.", "The database, the session store, the memory for large bodies or, for what strangers may write, room on the disk is not available now"},
}

// oauthCodes are the words of RFC 6749 where they differ.
var oauthCodes = map[int]string{400: "invalid_grant", 401: "invalid_client", 503: "temporarily_unavailable"}

const exampleID = "0198f3a0-5c1e-7c3a-9d52-1f0e6a7b8c9d"

// failure refers to the answer of a dialect for a status, which all its operations share.
func (d Dialect) failure(status int, names describer) obj {
	name := strings.ReplaceAll(http.StatusText(status), " ", "")
	if d == page {
		return obj{"description": failureWords[status].words, "content": obj{"text/html": obj{"schema": obj{"type": "string"}}}}
	}
	if d == oauth {
		name = "OAuth" + name
	}
	w := failureWords[status]
	example := obj{"error": w.code, "message": w.message, "request_id": exampleID}
	switch d {
	case oauth:
		if code := oauthCodes[status]; code != "" {
			example["error"] = code
		}
		example["error_description"] = w.message
	case device:
		example["code"] = w.code
	case send:
		if status == http.StatusUnprocessableEntity {
			example["reason"] = "list_id"
		}
	}
	response := obj{
		"description": w.words,
		"content":     obj{"application/json": obj{"schema": d.schema(names.schemas), "example": example}},
	}
	if header := map[int]string{401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}[status]; header != "" {
		response["headers"] = obj{header: obj{"schema": obj{"type": "string"}}}
	}
	names.responses[name] = response
	return obj{"$ref": "#/components/responses/" + name}
}

// example is a media type with its schema and a value that fits it.
func (d describer) example(schema obj) obj {
	return obj{"schema": schema, "example": d.sample("", schema)}
}

// sample makes a value of a schema: of the property's name, of its format, or of its type.
func (d describer) sample(name string, schema obj) any {
	if ref, ok := schema["$ref"].(string); ok {
		schema = d.schemas[strings.TrimPrefix(ref, schemaRef)].(obj)
	}
	if forms, ok := schema["anyOf"].([]obj); ok {
		return d.sample(name, forms[0])
	}
	if enum, ok := schema["enum"].([]string); ok {
		return enum[0]
	}
	kind := schema["type"]
	if both, ok := kind.([]any); ok {
		kind = both[0]
	}
	switch kind {
	case "object":
		out := obj{}
		props, _ := schema["properties"].(obj)
		for _, key := range slices.Sorted(maps.Keys(props)) {
			out[key] = d.sample(key, props[key].(obj))
		}
		return out
	case "array":
		return []any{d.sample(strings.TrimSuffix(name, "s"), schema["items"].(obj))}
	case "integer", "number":
		return sampleNumber(name)
	case "boolean":
		return true
	case "string":
		return sampleText(name, schema["format"])
	}
	return obj{}
}

func sampleNumber(name string) int {
	if n, ok := map[string]int{"expires_in": 900, "recipients": 2, "sent": 2, "size": 1048576, "batch_no": 1, "batch_total": 1}[name]; ok {
		return n
	}
	return 1
}

func sampleText(name string, format any) string {
	switch {
	case format == "email":
		return "reader@example.org"
	case format == "date-time":
		return "2026-11-21T08:00:00.000Z"
	case format == "uuid" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "Id") || name == "id" || name == "sub":
		return exampleID
	}
	if v := sampleTexts[name]; v != "" {
		return v
	}
	if strings.HasSuffix(name, "_uri") || strings.HasSuffix(name, "_url") || strings.HasSuffix(name, "_endpoint") {
		return "https://app.example.org/callback"
	}
	return "text"
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

// pathWords tell what a parameter of a path is.
func pathWords(name string) string {
	if name == "id" {
		return "Id of the record"
	}
	return "The " + strings.ReplaceAll(name, "_", " ")
}

// worded adds what is known of a field to its schema, but not to a reference, which has a description of its own.
func worded(name string, s obj) obj {
	if words := fieldWords[name]; words != "" && s["$ref"] == nil {
		s["description"] = words
	}
	return s
}
