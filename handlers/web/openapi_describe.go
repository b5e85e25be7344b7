package web

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
)

// describer collects the components of one document.
type describer struct {
	api       *API
	schemas   obj // name → JSON Schema
	responses obj
	security  obj
}

// declare adds a type that no operation uses.
func (names *describer) declare(v any, tag string) {
	t := reflect.TypeOf(v)
	names.put(t, inputSchema(fieldsOf(t, tag), names))
}

// words returns the route's description for the documents: who may call it, and its limits.
func (r *Route) words() string {
	out := []string{"Access: " + accessWords(r.Who) + "."}
	if p, ok := core.PermissionFor(r.Who.action); ok {
		out = append(out, fmt.Sprintf("Requires the permission %s (role %s or higher).", p.Action, p.Least))
	}
	if n := r.Do.maxBody; n > 0 && r.Do.body != noBody {
		out = append(out, "Maximum body size: "+sizeWords(n)+".")
	}
	if rate := r.Do.rate; rate != nil {
		out = append(out, fmt.Sprintf("Rate limit: %d requests per %s and IP address.", rate.n, spanWords(rate.per)))
	}
	if r.Do.list {
		out = append(out, "Without limit, the whole list is streamed.")
	}
	return strings.Join(out, " ")
}

// scopeWords maps scopes to descriptions of what clients with the scope can do.
var scopeWords = map[string]string{
	core.ScopeListRead:    ", which can read subscriptions",
	core.ScopeEventsWrite: ", which can add and unsubscribe people",
	core.ScopeSend:        ", which can write and send campaigns",
}

func accessWords(a Access) string {
	switch {
	case a.signed:
		return "webhook sources, with a signature"
	case a.proof != nil:
		return a.proof.callers
	case a.option:
		return "public; if a token is sent, it must be valid" + a.gain
	case a.people && a.oneOf:
		return "users, with an access token with one of the scopes " + strings.Join(a.scopes, ", ")
	case a.people:
		return "users, with an access token with the scope " + strings.Join(a.scopes, " ")
	case a.oneOf:
		return "an access token with one of the scopes " + strings.Join(a.scopes, ", ")
	case len(a.scopes) == 1:
		return "an access token with the scope " + a.scopes[0] + scopeWords[a.scopes[0]]
	case a.bearer && len(a.scopes) > 0:
		return "an access token with the scope " + strings.Join(a.scopes, " ")
	case a.bearer:
		return "an access token"
	default:
		return "public"
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
		return "hour"
	case time.Minute:
		return "minute"
	default:
		return d.String()
	}
}

// tagOf returns the tag for a path's operations: the first segment of the path that is neither "api" nor a parameter.
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

func (names *describer) tagObjects(tags []string) []obj {
	out := make([]obj, len(tags))
	for i, t := range tags {
		words := names.api.TagWords[t]
		if words == "" {
			words = "Pages at /" + t + "."
		}
		out[i] = obj{"name": t, "description": words}
	}
	return out
}

// failureWords maps statuses to descriptions, with the error code that most endpoints use for the status.
var failureWords = map[int]struct{ code, message, words string }{
	400: {
		"invalid_request", "email is missing.",
		"The request is malformed, a field is missing or invalid, or a token is unknown, used or expired",
	},
	401: {
		"invalid_token", "The access token is not valid or has expired. Get a new one.",
		"Credentials are missing or invalid",
	},
	403: {
		"insufficient_scope", "The token lacks a scope that this operation needs.",
		"The caller isn't allowed to do this",
	},
	404: {
		"not_found", "Not found. It may have been deleted, or you don't have access.",
		"The record doesn't exist, or the caller can't see it",
	},
	409: {
		"conflict", "This name or ID is already in use. Choose another one.",
		"The request conflicts with the current state",
	},
	412: {
		"changed_meanwhile", "This has changed since you read it. Read it again before you change it.",
		"The record has changed since the caller read it",
	},
	413: {"payload_too_large", "The body is too large. Send less per request.", "The body is too large"},
	415: {"unsupported_media_type", "The body must be application/json.", "The body has an unsupported media type"},
	422: {"validation_error", "list_id is missing.", "The request is invalid"},
	428: {
		"precondition_required",
		"If-Match is missing. Send the ETag from your last read, so that you don't overwrite other changes.",
		"The caller must send If-Match",
	},
	429: {
		"rate_limited", "Too many requests. Try again later.",
		"Too many requests; retry after Retry-After seconds",
	},
	500: {
		"internal", "Something went wrong on the server. Give the request_id to the server administrator.",
		"Internal error",
	},
	503: {
		"storage_unavailable", "The database is unavailable. Try again soon.",
		"The database, the session store, memory for large bodies or disk space for public writes is temporarily " +
			"unavailable",
	},
}

// oauthCodes maps statuses to RFC 6749 error codes, where these differ from failureWords.
var oauthCodes = map[int]string{400: "invalid_grant", 401: "invalid_client", 503: "temporarily_unavailable"}

// failure returns a reference to the response for a status, which all of the dialect's operations share.
func (d Dialect) failure(status int, names *describer) obj {
	name := strings.ReplaceAll(http.StatusText(status), " ", "")
	if d == Page {
		return obj{
			"description": failureWords[status].words,
			"content":     obj{"text/html": obj{"schema": obj{"type": "string"}}},
		}
	}
	if d == OAuth {
		name = "OAuth" + name
	}
	w := failureWords[status]
	example := obj{"error": w.code, "message": w.message, "request_id": names.api.SampleID}
	switch d {
	case OAuth:
		if code := oauthCodes[status]; code != "" {
			example["error"] = code
		}
		example["error_description"] = w.message
	case Device:
		example["code"] = w.code
	case Send:
		if status == http.StatusUnprocessableEntity {
			example["reason"] = "list_id"
		}
	}
	response := obj{
		"description": w.words,
		"content":     obj{"application/json": obj{"schema": d.schema(names), "example": example}},
	}
	if header := map[int]string{401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}[status]; header != "" {
		response["headers"] = obj{header: obj{"schema": obj{"type": "string"}}}
	}
	names.responses[name] = response
	return obj{"$ref": "#/components/responses/" + name}
}

// example returns a media type object with the schema and a sample value.
func (names *describer) example(schema obj) obj {
	return obj{"schema": schema, "example": names.sample("", schema)}
}

// sample returns a sample value for a schema, chosen by the property's name, its format or its type.
func (names *describer) sample(name string, schema obj) any {
	if ref, ok := schema["$ref"].(string); ok {
		schema = names.schemas[strings.TrimPrefix(ref, schemaRef)].(obj)
	}
	if examples, ok := schema["examples"].([]any); ok { // of a schema that contains itself
		return examples[0]
	}
	if forms, ok := schema["anyOf"].([]obj); ok {
		return names.sample(name, forms[0])
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
			out[key] = names.sample(key, props[key].(obj))
		}
		return out
	case "array":
		return []any{names.sample(strings.TrimSuffix(name, "s"), schema["items"].(obj))}
	case "integer", "number":
		if n, ok := names.api.SampleNumbers[name]; ok {
			return n
		}
		return 1
	case "boolean":
		return true
	case "string":
		return names.sampleText(name, schema["format"])
	}
	return obj{}
}

func (names *describer) sampleText(name string, format any) string {
	switch {
	case format == "email":
		return "reader@example.org"
	case format == "date-time":
		return "2026-11-21T08:00:00.000Z"
	case format == "uuid" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "Id") || name == "id" ||
		name == "sub":
		return names.api.SampleID
	}
	if v := names.api.SampleTexts[name]; v != "" {
		return v
	}
	if strings.HasSuffix(name, "_uri") || strings.HasSuffix(name, "_url") || strings.HasSuffix(name, "_endpoint") {
		return "https://app.example.org/callback"
	}
	return "text"
}

// pathWords returns the description of a path parameter. For an id, it names the kind of record, which it derives from
// the path.
func (names *describer) pathWords(path, name string) string {
	if name != "id" {
		return names.api.PathWords[name]
	}
	before, _, _ := strings.Cut(path, "/:id")
	segment := before[strings.LastIndexByte(before, '/')+1:]
	record := names.api.RecordWords[segment]
	if record == "" {
		record = strings.ReplaceAll(strings.TrimSuffix(segment, "s"), "-", " ")
	}
	return "ID of the " + record
}

// worded adds the description of a field to its schema. The description comes from the tag, the form that the tag
// names, or the description of all fields with this name.
func (names *describer) worded(name string, tag reflect.StructTag, s obj) obj {
	if words := tag.Get("about"); words != "" {
		s["description"] = words
	} else if words := names.api.FieldWords[name]; words != "" && s["description"] == nil {
		s["description"] = words
	}
	return s
}

// bounded adds the limits to a component's schema that neither its Go type nor its tags define.
func (names *describer) bounded(t reflect.Type, name string, s obj) obj {
	props := s["properties"].(obj)
	required, _ := s["required"].([]string)
	if slices.Contains(names.api.Twinned, name) {
		for snake, camel := range names.api.Twins {
			p, ok := props[snake].(obj)
			if !ok {
				continue
			}
			delete(props, camel)
			required = slices.DeleteFunc(required, func(key string) bool { return key == camel })
			p["x-camel-case"] = camel
			words, _ := p["description"].(string)
			p["description"] = words + " (also as " + camel + ")"
		}
	}
	if len(required) > 0 {
		slices.Sort(required)
		s["required"] = required
	}
	for path, limits := range names.api.Limits[t] {
		maps.Copy(within(s, path), limits)
	}
	return s
}

// within returns the part of a schema at a path such as "port", "limits.per_day" or "relays[].port". An empty path
// returns the schema itself.
func within(s obj, path string) obj {
	for _, key := range strings.FieldsFunc(path, func(c rune) bool { return c == '.' }) {
		name, isItem := strings.CutSuffix(key, "[]")
		s = s["properties"].(obj)[name].(obj)
		if isItem {
			s = s["items"].(obj)
		}
	}
	return s
}

// creating returns the schema of a body that creates a record and requires more properties than a change of the record.
// It is a separate component, since generators don't merge the required properties of two schemas.
func (names *describer) creating(r *Route) obj {
	name := strings.TrimPrefix(r.Do.bodySchema(names, nil)["$ref"].(string), schemaRef)
	s := maps.Clone(names.schemas[name].(obj))
	s["required"] = r.required
	maps.Copy(s, r.limits)
	name = "Create" + strings.TrimSuffix(name, "Input") + "Request"
	names.schemas[name] = s
	return obj{"$ref": schemaRef + name}
}

// request returns the media type object for the route's body, with the route's example.
func (names *describer) request(r *Route) obj {
	var schema obj
	if r.required != nil {
		schema = names.creating(r)
	} else {
		schema = r.Do.bodySchema(names, r.limits)
	}
	out := obj{"schema": schema}
	if r.example != nil {
		out["example"] = r.example
	} else {
		out["example"] = names.sample("", schema)
	}
	return out
}

// OperationID returns the operationId of a route: its name, or its method and the words of its path (getLogin).
func (r *Route) OperationID() string {
	if r.name != "" {
		return r.name
	}
	id := strings.ToLower(r.Method)
	words := strings.FieldsFunc(strings.TrimPrefix(r.Path, "/api/"),
		func(c rune) bool { return strings.ContainsRune("/:-._", c) })
	for _, w := range words {
		id += strings.ToUpper(w[:1]) + w[1:]
	}
	return id
}

// staleSignIn returns a reference to the 401 response for operations that require a fresh sign-in.
func (d Dialect) staleSignIn(names *describer) obj {
	d.failure(http.StatusUnauthorized, names)
	plain := names.responses["Unauthorized"].(obj)
	name := "UnauthorizedOrStale"
	names.responses[name] = obj{
		"description": failureWords[http.StatusUnauthorized].words + "; insufficient_user_authentication where the user's " +
			"sign-in is older than 15 minutes (RFC 9470)",
		"content": plain["content"], "headers": plain["headers"],
	}
	return obj{"$ref": "#/components/responses/" + name}
}
