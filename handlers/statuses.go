package handlers

import (
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
	if r.Who.bearer || r.Who.signed || r.Who.provider {
		ks = append(ks, core.Unauthenticated)
	}
	if len(r.Who.scopes) > 0 || r.Who.people || r.Who.rule != nil || r.Who.signed || r.Who.provider {
		ks = append(ks, core.Forbidden)
	}
	if r.Do.find != nil || r.Who.provider || strings.Contains(r.Path, "/:id") {
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
		if s := statusOf(r.Dialect, k); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
