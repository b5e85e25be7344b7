// Package page contains the shared parts of all pages for subscribers and users: the layout, the brand and the texts in
// each language. The pages themselves are in other packages below handlers; handlers/console has the console's pages.
//
//	page.go pages/       View, Render: the templates and their data; the brand of a page
//	style.go font.go     the stylesheet with the tenant's color; the font of archives
//	words.go words_*.go pages/words/   texts, one file per language; StyleOf: the style of a request's pages
//	explain.go           errors in the language of the page
//	review.go            the campaign on the page for approving it
//	form.go              the embeddable form of a list, and the checkbox for tracking consent
//	paths.go             paths of pages that other pages link to
package page
