package core

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// JobObject identifies an object in a send job request whose keys are checked.
type JobObject int

// The objects whose keys are checked. The object template is free-form.
const (
	JobBody     JobObject = iota // the request itself
	JobTracking                  // its object tracking
)

// jobKeys lists the known keys in snake_case.
var jobKeys = [...][]string{
	JobBody: {
		"tenant_id", "list_id", "segment_id", "name", "subject", "body_html", "body_text", "template", "scheduled_at",
		"window_start", "window_end", "tracking",
	},
	JobTracking: {"open", "click"},
}

// jobKeyMeanings maps unknown keys, in folded form, that seem to narrow or change the send to the known key that was
// probably meant. The value is empty if there is none. A name that ends with * matches every key with that prefix.
var jobKeyMeanings = [...]map[string]string{
	JobBody: {
		"segment*": "", "filter*": "", "audience*": "", "exclude*": "", "include*": "", "recipient*": "",
		"subscriber*": "",
		"listids":     "list_id", "list": "list_id", "lists": "list_id", "tenant": "tenant_id",
		"to": "", "cc": "", "bcc": "", "email": "", "emails": "", "sample*": "",
		"from*": "", "sender*": "", "mailfrom*": "", "replyto*": "", "returnpath": "", "headers": "", "header": "",
		"attachment*": "",
		"sendat":      "scheduled_at", "sendon": "scheduled_at", "sendtime": "scheduled_at",
		"sendafter": "scheduled_at",
		"schedule":  "scheduled_at", "schedulefor": "scheduled_at", "scheduledfor": "scheduled_at",
		"scheduletime":  "scheduled_at",
		"scheduledtime": "scheduled_at", "deliverat": "scheduled_at",
		"deliverytime": "scheduled_at", "date": "scheduled_at", "at": "scheduled_at",
		"notbefore": "window_start", "notafter": "window_end", "window": "window_start", "expiresat": "window_end",
		"timezone": "scheduled_at", "tz": "scheduled_at",
		"html": "body_html", "htmlbody": "body_html", "bodyhtml": "body_html", "text": "body_text",
		"textbody":  "body_text",
		"plaintext": "body_text", "plain": "body_text", "body": "body_html", "content": "body_html", "markdown": "",
		"preheader": "template.preheader", "previewtext": "template.preheader",
		"templatename": "template.mailer_template_name", "templateid": "template.mailer_template_name",
		"mailertemplatename": "template.mailer_template_name", "unsubscribeurl": "template.unsubscribe_url",
		"layout": "", "theme": "", "language": "", "lang": "", "locale": "",
		"trackopen*": "tracking.open", "trackclick*": "tracking.click", "opentracking": "tracking.open",
		"clicktracking": "tracking.click", "tracklinks": "tracking.click", "utm*": "",
		"start*": "scheduled_at", "when*": "scheduled_at", "delay*": "scheduled_at", "wait*": "scheduled_at",
		"hold*":  "",
		"defer*": "scheduled_at",
		"only*":  "", "query*": "", "where*": "", "limit*": "", "max*": "", "batch*": "", "throttle*": "", "rate*": "",
		"group*": "",
		"test*":  "", "dry*": "", "draft*": "", "preview*": "", "pause*": "", "status": "", "state": "", "sandbox*": "",
		"simulat*": "",
		"isdraft":  "", "istest": "", "ispreview": "", "enabled": "", "active": "", "disabled": "", "approv*": "",
		"publish*": "scheduled_at", "mode": "",
	},
	JobTracking: {
		"opens": "open", "opened": "open", "pixel": "open", "clicks": "click", "clicked": "click", "links": "click",
		"utm*": "",
	},
}

// Limits for the unknown keys that are checked and shown in responses.
const (
	maxUnknownKeys = 100
	maxKeyShown    = 64 // bytes of a key
)

// JudgeJobKeys checks the unknown keys in a send job request, in order. For a key that resembles a known one, or seems
// to narrow or change the send, it returns an Invalid error that names the key probably meant: ignoring it could email
// more people, or other content, than the caller wants. All other keys are harmless and get a warning each. More than
// 100 unknown keys are Invalid.
func JudgeJobKeys(in JobObject, keys []string) (warnings []string, err error) {
	if len(keys) > maxUnknownKeys {
		return nil, Invalidf("",
			"The request has %d unknown fields; at most %d are allowed. Remove them.", len(keys), maxUnknownKeys)
	}
	for _, key := range keys {
		shown := ShownKey(key)
		switch meant, refused := judgeJobKey(in, key); {
		case refused && meant != "":
			return nil, Invalidf(shown, "Unknown field %s. Did you mean %s?", shown, meant)
		case refused:
			return nil, Invalidf(shown, "Unknown field %s. Remove it: send jobs reject unknown fields.", shown)
		}
		if in == JobTracking {
			shown = "tracking." + shown
		}
		warnings = append(warnings, "Unknown field "+shown+" was ignored.")
	}
	return warnings, nil
}

// judgeJobKey returns the known key that an unknown key probably means, and whether it must be refused.
func judgeJobKey(in JobObject, key string) (meant string, refused bool) {
	folded := foldKey(key)
	best := -1
	for _, known := range jobKeys[in] {
		if d := keyDistance(folded, foldKey(known)); d >= 0 && (best < 0 || d < best) {
			best, meant = d, known
		}
	}
	if best >= 0 {
		return meant, true
	}
	if meant, refused = jobKeyMeanings[in][folded]; refused {
		return meant, true
	}
	for name, meant := range jobKeyMeanings[in] {
		if prefix, ok := strings.CutSuffix(name, "*"); ok && strings.HasPrefix(folded, prefix) {
			return meant, true
		}
	}
	return "", false
}

// keyDistance returns the edit distance between a folded key and a known one, or -1 if the distance is too large for a
// typing error. The limit is 2 for a known key of at least 8 letters and 1 for one of at least 5. A shorter key must
// match exactly.
func keyDistance(folded, known string) int {
	limit := 0
	switch {
	case len(known) >= 8:
		limit = 2
	case len(known) >= 5:
		limit = 1
	}
	if len(folded) > len(known)+limit || len(known) > len(folded)+limit {
		return -1
	}
	if d := EditDistance(folded, known); d <= limit {
		return d
	}
	return -1
}

// foldKey returns a key in lower case without underscores, hyphens and spaces, so that its spellings can be compared.
func foldKey(key string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || r == ' ':
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, key)
}

// ShownKey returns a key shortened for use in a response.
func ShownKey(key string) string {
	if len(key) <= maxKeyShown {
		return cmp.Or(key, `""`)
	}
	cut := maxKeyShown
	for cut > 0 && !utf8.RuneStart(key[cut]) {
		cut--
	}
	return key[:cut] + "…"
}

// JudgeKeys refuses unknown keys in a request and names the known key that was probably meant. If they were ignored, a
// typing error in a campaign could change its content or recipients; in a device, it would silently have no effect.
func JudgeKeys(known, unknown []string) error {
	if len(unknown) == 0 {
		return nil
	}
	shown := ShownKey(unknown[0])
	if meant := MeantKey(known, unknown[0]); meant != "" {
		return Invalidf(shown, "Unknown field %s. Did you mean %s?", shown, meant)
	}
	return Invalidf(shown, "Unknown field %s. Remove it.", shown)
}

// MeantKey returns the known key that an unknown key probably means, or "" if it resembles none.
func MeantKey(known []string, unknown string) (meant string) {
	folded, best := foldKey(unknown), -1
	for _, key := range known {
		if d := keyDistance(folded, foldKey(key)); d >= 0 && (best < 0 || d < best) {
			best, meant = d, key
		}
	}
	if meant == "" {
		if own := jobKeyMeanings[JobBody][folded]; slices.Contains(known, own) {
			meant = own
		}
	}
	return meant
}

// JSONKeys returns the keys in the json tags of a struct, including those of embedded structs.
func JSONKeys[T any]() (keys []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" && key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

// JudgeChange is like JudgeKeys for a body of type In, but ignores keys that only Out has. This lets callers send
// back what they read.
func JudgeChange[In, Out any](unknown []string) error {
	read := JSONKeys[Out]()
	unknown = slices.DeleteFunc(slices.Clone(unknown), func(key string) bool { return slices.Contains(read, key) })
	return JudgeKeys(JSONKeys[In](), unknown)
}
