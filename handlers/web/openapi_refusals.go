package web

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
)

// Refusal describes an error response for a rule that a schema can't express. Each operation of the documents lists its
// refusals under x-refusals and in the description of the status.
type Refusal struct {
	Kind  core.Kind
	Code  string // empty: the code of the kind
	Field string // field named in the response, with [] for the index of an element
	When  string
}

// allRefusals returns the refusals of the frame and of the route.
func (r *Route) allRefusals() []Refusal {
	if r.Dialect == Page {
		return r.pageRefusals()
	}
	var out []Refusal
	e := &r.Do
	if e.body == jsonBody || e.body == rawBody && e.in != nil && e.in.object != nil {
		out = append(out, Refusal{core.Invalid, "invalid_json", "", "The JSON contains NUL or an incomplete character"})
	}
	switch {
	case e.body == formBody:
		out = append(out, Refusal{core.Invalid, "", "", "A parameter is repeated or contains a NUL character"})
	case e.list, e.in != nil && len(e.in.query) > 0:
		out = append(out, Refusal{core.Invalid, "", "", "A parameter contains a NUL character"})
	}
	if e.list {
		out = append(out, Refusal{
			core.Invalid, "invalid_cursor", "cursor", "The cursor belongs to another list, filter or caller",
		})
	}
	if e.in != nil {
		for i := range e.in.header {
			out = append(out, headerRefusals[e.in.header[i].name]...)
		}
	}
	out = append(out, r.refusals...)
	known := map[int]bool{}
	for _, k := range r.failures() {
		known[StatusOf(r.Dialect, k)] = true
	}
	return slices.DeleteFunc(out, func(one Refusal) bool { return !known[StatusOf(r.Dialect, one.Kind)] })
}

// headerRefusals maps headers to the refusals of operations that read the header.
var headerRefusals = map[string][]Refusal{
	"If-Match": {
		{
			core.PreconditionFailed, "changed_meanwhile", "",
			"Changed since it was read: If-Match doesn't match. For a campaign, changes lists what changed and who " +
				"did it",
		},
		{core.PreconditionRequired, "", "If-Match", "Missing but required for this change; for approvals, only if " +
			"the tenant requires a second person"},
	},
	"Idempotency-Key": {
		{core.Conflict, "idempotency_key_reused", "", "The key was already used with a different body"},
		{core.Conflict, "", "", "The record created with this key was deleted"},
	},
}

// pageRefusals returns the refusals of a page route. They have a message but no code.
func (r *Route) pageRefusals() (out []Refusal) {
	when := map[core.Kind]string{
		core.Invalid: "A token is unknown, used or expired, the form wasn't issued to this browser, or an entry is " +
			"invalid; the page explains which",
		core.Conflict: "It was already done or has changed since then; the page explains which",
	}
	for _, k := range r.failures() {
		if when[k] != "" {
			out = append(out, Refusal{k, "", "", when[k]})
		}
	}
	return out
}

// word returns the error code that the response to a refusal contains.
func (d Dialect) word(r Refusal) string {
	e := &core.Error{Kind: r.Kind, Code: r.Code}
	body := ErrorBody{Error: cmp.Or(r.Code, kinds[r.Kind].code)}
	switch d {
	case Page:
		return ""
	case Send:
		sendWords(&body)
	case OAuth:
		oauthWords(&body, e, kinds[r.Kind])
	}
	return body.Error
}

// writeRefusals adds refusals to an operation's description.
func (d Dialect) writeRefusals(refusals []Refusal, op obj) {
	if len(refusals) == 0 {
		return
	}
	listed := make([]obj, len(refusals))
	lines := map[string][]string{}
	for i, r := range refusals {
		status, word := StatusOf(d, r.Kind), d.word(r)
		listed[i] = obj{"status": status, "error": word, "description": r.When}
		line := "* "
		if word != "" {
			line += "`" + word + "`"
		}
		if r.Field != "" {
			listed[i]["field"] = r.Field
			line += " for `" + r.Field + "`"
		}
		key := strconv.Itoa(status)
		lines[key] = append(lines[key], strings.Replace(line+": "+r.When, "* : ", "* ", 1))
	}
	op["x-refusals"] = listed
	responses := op["responses"].(obj)
	for status, reasons := range lines {
		response := maps.Clone(responses[status].(obj)) // other operations may share it
		code, _ := strconv.Atoi(status)
		response["description"] = fmt.Sprintf("%s. Besides violations of the schema, this is the response in these cases:\n\n%s",
			failureWords[code].words,
			strings.Join(reasons, "\n"))
		responses[status] = response
	}
}
