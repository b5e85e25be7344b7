package handlers

// table is every endpoint of the program, one line each:
//
//	method, path, who may call, form of errors, typed function, summary
//
// The same rows feed the router, the OpenAPI documents, `newsletterd routes`, the metrics labels and
// the tests. Paths with the same prefix stand together.
func table(h *Handler) []*Route {
	var routes []*Route
	add := func(method, path string, who Access, d Dialect, do Endpoint, summary string) {
		routes = append(routes, &Route{method, path, who, d, do, summary})
	}
	// operations
	add("GET", "/healthz", public(), send, Get(h.health), "Health of the daemon")

	return routes
}
