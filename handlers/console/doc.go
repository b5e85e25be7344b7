// Package console is the product in a browser: pages for the people who write newsletters and for the operator.
// It has no rule and no SQL. Each page asks the routes of the API in the name of the visitor (web.Call.Ask), so it shows
// and does what the API lets the visitor see and do.
//
//	browser ─ GET /console/TENANT/campaigns ─ Console ─ Ask GET /api/campaigns ─ handlers ─ store
//
// # Parts
//
//	console.go    Options, New, Routes: the rows of the table
//	page.go       Page: a request of a visitor for a tenant; asking the API; rendering
//	shell.go      what stands around a page: navigation, what needs attention
//	words.go      languages (words/LANGUAGE/AREA.json): English texts are the keys
//	faults.go     what the API refuses, in the words of pages (errors.json, by the formats of the code)
//	format.go     dates, numbers and percentages of a language
//	chart.go      charts as SVG
//	icons.go      pictograms (icons/)
//	style.go      the stylesheet (style/), with the colour of the tenant
//	scripts.go    the scripts of assets/ that pages load
//	templates/    one file for each page, which defines "content"; components.html has what pages share
//
// and one file for each area: overview.go, campaigns.go …
//
// # Invariants
//
//   - Every form works without scripts; a GET changes nothing.
//   - Pages have a Content-Security-Policy without unsafe-*, so there is no style attribute and no inline script.
//   - A button is shown only to those who have the right that its route asks for.
//   - All that is shown of a tenant is asked for in the name of the visitor.
//
// # Adding a page
//
//  1. In the file of its area, a function func(p *Page) (web.HTML, error) that asks the API and calls p.Show.
//  2. In console.go, a row: path, the action that it needs, the function, a summary.
//  3. templates/NAME.html; texts by .T and .N in English, and their German in words/de/AREA.json.
//  4. Errors that its forms may meet have their German in words/de/errors.json, by the format that the code has.
package console
