// Package console is the product in a browser: pages for the people who write newsletters and for the operator.
// It has no rule and no SQL. Each page asks the routes of the API in the name of the visitor (web.Call.Ask), so it
// shows and does what the API lets the visitor see and do.
//
//	browser ─ GET /console/TENANT/campaigns ─ Console ─ Ask GET /api/campaigns ─ handlers ─ store
//
// # Parts
//
//	console.go    Options, New, Routes: the rows of the table
//	page.go       Page: a request of a visitor for a tenant; asking the API; rendering
//	shell.go      what stands around a page: navigation, what needs attention
//	words.go      languages (words/LANGUAGE/AREA.json): English texts are the keys
//	faults.go     what the API refuses, in the words of pages
//	faultwords.go the same for messages that only programs understand, by the formats of the code
//	faultfields.go the messages that begin with the name of a field
//	format.go     dates, numbers and percentages of a language
//	chart.go      charts as SVG
//	icons.go      pictograms (icons/)
//	style.go      the stylesheet (style/), with the colour of the tenant
//	scripts.go    the scripts of assets/ that pages load
//	templates/    one file for each page, which defines "content"; components.html has what pages share
//
// The other files hold the pages, by area. Start and overview:
//
//	start.go overview.go growth.go search.go   first steps, overview, charts of growth, search
//
// Campaigns:
//
//	campaigns.go versions.go changed.go kind.go   the list of campaigns, versions, what someone else changed, kinds
//	editor.go designs.go compare.go fields.go ownpictures.go   what a campaign starts from and the editor asks for
//	reader.go mailframe.go findings.go   previews and checks
//	sending.go sending_facts.go review.go   sending and approval
//	report.go report_*.go correction.go   reports, and fixes after sending
//
// Subscribers and lists:
//
//	people.go peopletable.go person.go personmail.go newaddress.go suppressions.go   subscribers and blocked addresses
//	imports.go import*.go names.go   imports and undoing them
//	lists.go list_questions.go mail_texts.go hygiene.go   lists, their fields and texts
//
// Design:
//
//	looks.go themes.go mailtemplates.go logo.go   pictures, themes, templates, logo
//
// Settings:
//
//	settings.go team.go audit.go auditwords.go zones.go   settings, team, audit log, time zones
//	domains.go dnshosts.go relays.go mailserver.go   sender domains, relays and the server's own
//	clients.go endpoints.go   API clients and webhooks
//
// Server, and each user's own pages:
//
//	operator.go operator_*.go providers.go   pages of operators
//	account.go own.go models.go   the account, devices and models
//
// What pages share:
//
//	components.go forms.go refusals.go   functions of templates, forms, whose turn it is after a refusal
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
//  4. Errors that its forms may meet have their German in words/de/errors.json, by the format that the code has, or by
//     the plain words of faultwords.go.
package console
