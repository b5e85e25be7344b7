package web

import (
	"reflect"
	"slices"
	"strings"

	"newsletterd/core"
)

// failures returns the kinds of error that a route can return because of its access rule, its input and its own
// declarations. It leaves out Internal, Unavailable and the statuses that any route can return (405, 413, 415).
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

// statuses returns the statuses that tests must produce on a route: the one on success, and one for each kind of
// failure.
func (r *Route) statuses() []int {
	out := []int{r.Do.status}
	for _, k := range r.failures() {
		if s := StatusOf(r.Dialect, k); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// RouteInfo describes a route, for tests that iterate over the table.
type RouteInfo struct {
	TakesToken, NeedsToken bool
	Signed, Proved         bool // with a webhook's signature, or with another credential
	Scopes                 []string
	Action                 core.Action  // action that the caller's roles must allow; empty: none
	Finds                  bool         // finds the path's object before the body is read
	MediaType              string       // of the body; empty: not checked
	MaxBody                int64        // bytes of the body
	Status                 int          // of success
	Statuses               []int        // all that tests must produce on the route
	Output                 reflect.Type // type of the response; nil: not described
	Named                  bool         // set with Route.Named
	Example                Object       // example of the body; nil: made of samples
	Refusals               []Refusal    // in addition to the schemas, without those of the frame
}

// Info returns a description of the route.
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
