// Package handlers is the HTTP edge: it decodes a request, asks one operation and writes the answer.
// It has no rule (those are in core), no SQL (store) and no protocol (auth).
//
// # Parts
//
// The frame is handlers/web: how a request is read, checked and answered. This package is what is served in it. The
// pages of the console are in handlers/console, and stand on the routes of this package (console_options.go).
//
// A file is named after its area, and further files of an area have its name in front. Endpoints:
//
//	routes.go            THE TABLE: every endpoint, in rows that the file of each area has
//	handler.go           Options, New: what the HTTP edge is made of
//	audit.go             the audit log
//	health.go system.go  the health check, and the state of the server
//	openapi.go openapi_*.go   what the OpenAPI documents say beyond the table, and the page to read them
//
// Rooms add their rows to the table: handlers/tenants has tenants and their settings, handlers/identity accounts and
// sign-in, handlers/members the member side, handlers/campaigns the send side, handlers/devices devices, agents and
// models, handlers/segments segments, tags and bulk actions. What spans rooms is put together in routes.go. How
// campaigns are looked at and tried before they are sent is in handlers/drafts.
//
// and the pages, whose layout and words are in handlers/page:
//
//	browser.go           pages in place of JSON for browsers; the root, and hosts of tenants
//
// # Invariants
//
//   - A handler has no rule (those are in core), no SQL (store) and no protocol (auth): it calls one operation.
//   - A GET of a page changes nothing, since scanners follow the links of mails: a button does.
//   - Pages work without scripts; passkeys alone need one, of ours. A page leads to no address that a request names.
//   - No answer tells who has an account or is subscribed.
//
// # Adding an endpoint
//
//  1. In the file of its area, a struct for the input and a function func(*web.Call, In) (Out, error):
//
//     type subscribeRequest struct {
//     ListID string          `json:"list_id" is:"required"`
//     Email  core.Email      `json:"email" is:"required"`
//     Prefs  json.RawMessage `json:"preferences"`
//     Source *string         `json:"source"`
//     }
//
//     func (a newsletter) subscribe(c *web.Call, in subscribeRequest) (subscription, error)
//
//  2. In the function of routes of that file, a row: method, path, access, dialect, adapter(function), summary; then
//     Named, Example and Refuses for the OpenAPI documents.
//
//  3. A scenario for each status in testdata/api/<area>/<name>.txt (scenario_test.go has the form); then
//     go test ./handlers -update, and read the difference. Steps of an area's own ("! word …") and its wiring
//     are added to steps and setups by an init function in a test file of the area.
//
// # Decisions
//
// docs/decisions, 0130 to 0144, and those about what strangers cause: 0020 to 0022, 0032 and 0033.
package handlers
