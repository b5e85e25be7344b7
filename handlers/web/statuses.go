package web

import (
	"reflect"
	"slices"
	"strings"

	"newsletterd/core"
)

// failures lists the kinds of error that a route can answer by its access rule, its input and what its
// line says; Internal, Unavailable and those of the frame as a whole (405, 413, 415) are left out.
func (r *Route) failures() []core.Kind {
	var ks []core.Kind
	if r.Do.list || r.Do.in != nil && (r.Do.body != noBody || len(r.Do.in.query) > 0) {
		ks = append(ks, core.Invalid)
	}
	if r.Who.bearer || r.Who.signed || r.Who.proof != nil {
		ks = append(ks, core.Unauthenticated)
	}
	if len(r.Who.scopes) > 0 || r.Who.people || r.Who.action != "" || r.Who.rule != nil || r.Who.signed ||
		r.Who.proof != nil {
		ks = append(ks, core.Forbidden)
	}
	if r.Do.find != nil || r.Who.proof != nil || strings.Contains(r.Path, "/:id") {
		ks = append(ks, core.NotFound)
	}
	if r.Do.rate != nil {
		ks = append(ks, core.TooMany)
	}
	for _, k := range r.Do.problems {
		if !slices.Contains(ks, k) {
			ks = append(ks, k)
		}
	}
	slices.Sort(ks)
	return ks
}

// statuses lists what a route must be shown to answer: success, and one status for each of its failures.
func (r *Route) statuses() []int {
	out := []int{r.Do.status}
	for _, k := range r.failures() {
		if s := StatusOf(r.Dialect, k); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// RouteInfo is what a line of the table says, for tests that walk over it.
type RouteInfo struct {
	TakesToken, NeedsToken bool
	Signed, Proved         bool // by a webhook's signature, or in a way of its own
	Scopes                 []string
	Action                 core.Action // that the caller's roles are asked for; empty: none
	Finds                  bool        // the path's object, before the body is read
	MediaType              string      // of the body; empty where it is not checked
	MaxBody                int64
	Status                 int          // of success
	Statuses               []int        // all that the route must be shown to answer
	Output                 reflect.Type // of the answer; nil: none is described
	Named                  bool         // with Route.Named
	Example                Object       // of the body; nil: one made of samples
	Refusals               []Refusal    // beyond the schemas, but for those of the frame
}

// Info returns what the line of the route says.
func (r *Route) Info() RouteInfo {
	return RouteInfo{
		TakesToken: r.Who.bearer, NeedsToken: r.Who.bearer && !r.Who.option, Signed: r.Who.signed, Proved: r.Who.proof != nil,
		Scopes: r.Who.scopes, Action: r.Who.action, Finds: r.Do.find != nil, MediaType: mediaTypes[r.Do.body],
		MaxBody:  r.Do.maxBody,
		Status:   r.Do.status,
		Statuses: r.statuses(), Output: r.Do.out,
		Named: r.name != "", Example: r.example, Refusals: r.refusals,
	}
}
