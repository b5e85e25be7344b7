// Package handlers is the HTTP edge: it decodes a request, calls one operation and writes the response.
//
// # Parts
//
// handlers/web is the framework: it reads and checks requests, and writes responses. This package combines all
// endpoints in one table. It contains the endpoints that belong to no room:
//
//	routes.go            table: all endpoints, from the rows of this package and of the rooms
//	handler.go           Options, New: the handler and what it needs
//	audit.go             the audit log
//	health.go system.go  the health check, and the state of the server
//	openapi.go openapi_*.go   names, descriptions and examples in the OpenAPI documents, and the page that shows them
//
// It also contains these pages, whose layout and texts are in handlers/page:
//
//	browser.go           pages that browsers get instead of JSON; the root page; tenants' own hosts
//	console_options.go   what the console needs; handlers/console has its pages, which call the routes of the API
//
// A room is a package with the endpoints of one area. Each file of a room has the rows of the table above the functions
// that they call:
//
//	handlers/tenants     tenants and their settings
//	handlers/identity    accounts, sign-in, OAuth clients
//	handlers/members     the member side: subscriptions, subscribers, imports
//	handlers/campaigns   the send side: campaigns and send jobs
//	handlers/devices     devices, agents and models
//	handlers/segments    segments, tags and bulk actions
//
// handlers/drafts checks, previews and tests campaigns before they are sent.
//
// # Invariants
//
//   - A handler contains no rules (core), no SQL (store) and no protocols (auth). It calls one operation.
//   - A GET of a page changes nothing, because scanners follow the links in emails. The change needs a button.
//   - Pages work without scripts. Only passkeys need one, and it comes from this server.
//   - A page never leads to an address that only the request names.
//   - No response reveals whether someone has an account or is subscribed.
//
// # Adding an endpoint
//
// CONTRIBUTING.md lists the steps under "A route". subscribe in handlers/members/newsletter.go is an example: a struct
// for the input, a function that calls one operation, and a row with Named, Example and Refuses.
//
// Scenarios are in testdata/api; scenario_test.go describes their format. If an area needs its own steps ("! word …")
// or setup, an init function in one of its test files adds them to steps and setups.
//
// # Decisions
//
// docs/decisions 0130 to 0144, and 0020 to 0022, 0032 and 0033 about requests from strangers.
package handlers
