// Package console is the web interface: pages for people who write newsletters and for server administrators. It
// contains no business rules and no SQL. Each page calls API routes on the visitor's behalf (web.Call.Ask), so it can
// show and do only what the API allows the visitor.
//
//	browser ─ GET /console/TENANT/campaigns ─ Console ─ Ask GET /api/campaigns ─ handlers ─ store
//
// # Parts
//
//	console.go    Options, New, Routes: the routes of the console
//	page.go       Page: a visitor's request for a tenant; calling the API; rendering
//	shell.go      the layout around a page: navigation and notices
//	words.go      languages (words/LANGUAGE/AREA.json); the English texts are the keys
//	faults.go     API errors as the pages word them
//	faultwords.go plain texts for technical API messages, keyed by format string
//	faultfields.go plain texts for messages that begin with the name of a field
//	faultrules.go plain texts for messages about the rules of segments
//	format.go     dates, numbers and percentages in each language
//	chart.go      charts as SVG
//	icons.go      icons (icons/)
//	style.go      the stylesheet (style/) with the tenant's color
//	scripts.go    the scripts of assets/ that pages load
//	templates/    one file per page, which defines "content"; components.html has the shared parts
//
// The other files hold the pages, by area. Start and overview:
//
//	start.go overview.go growth.go search.go   first steps, overview, charts of growth, search
//
// Campaigns:
//
//	campaigns.go versions.go changed.go kind.go   the campaign list, versions, changes by other people, kinds
//	newcampaign.go editor.go opened.go designs.go compare.go fields.go ownpictures.go   starting points and the editor
//	reader.go mailframe.go findings.go   previews and checks
//	sending.go sending_facts.go sending_times.go followups.go review.go   sending and approval
//	polls.go   polls of drafts and their results
//	report.go report_*.go correction.go   reports, and fixes after sending
//
// Subscribers and lists:
//
//	people*.go person.go personconsents.go personmail.go newaddress.go   subscribers
//	suppressions.go   blocked addresses
//	segments.go segmentfields.go segmentrows.go segmentgroups.go segmentquick.go segmentcount.go   segments
//	tags.go segmenttags.go bulk.go   tags, tags as recipients, and bulk actions
//	imports.go import*.go names.go   imports and undoing them
//	lists.go list_questions.go mail_texts.go hygiene.go   lists, their fields and texts
//
// Design:
//
//	looks.go themes.go themedark.go mailtemplates.go logo.go   images, themes, templates, logo
//
// Settings:
//
//	settings.go team.go zones.go                         settings, team, time zones
//	audit.go auditwords.go auditfields.go                the audit log
//	domains.go domain_keys.go dnshosts.go relays.go mailserver.go   sender domains, relays and the server's own
//	clients.go endpoints.go   API clients and webhooks
//
// Server, and each user's own pages:
//
//	operator.go operator_*.go providers.go   pages for server administrators
//	account.go own.go models.go   the account, devices and models
//
// Shared code:
//
//	components.go forms.go refusals.go   template functions, forms, responsibilities after a bounce
//
// # Invariants
//
//   - Every form works without scripts. A GET changes nothing.
//   - Pages have a Content-Security-Policy without unsafe-*, so there are no style attributes and no inline scripts.
//   - A button is shown only to visitors with the right that its route requires.
//   - All tenant data is requested on the visitor's behalf.
//
// # Adding a page
//
//  1. In the file of its area, write a function func(p *Page) (web.HTML, error) that calls the API and p.Show.
//  2. In console.go, add a route: path, required action, function and summary.
//  3. Add templates/NAME.html with English texts in .T and .N, and their German in words/de/AREA.json.
//  4. For errors that its forms may cause, add German to words/de/errors.json, keyed by the format in the code or by
//     the plain text in faultwords.go.
package console
