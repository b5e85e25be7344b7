// Package page is what the pages for readers and users have in common: their layout, whose brand they show, and what they
// say in each language. Which pages there are is up to the packages next to it; those of the console are in
// handlers/console.
//
//	page.go pages/       View and Render: the templates, and what a page is made of; whose brand it shows
//	style.go             the stylesheet with the tenant's colour
//	words.go words_*.go pages/words/   what pages say, one file a language; StyleOf: in whose style they are
//	explain.go           errors, in the language of the page
//	form.go              the form of a list for other sites, and the box that asks about tracking
//	paths.go             where pages are that others lead to
package page
