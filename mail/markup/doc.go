// Package markup compiles Markdown or blocks into the HTML part and the text part of an email.
//
//	Markdown ─► goldmark ─┐
//	                      ├─► document (nodes) ─┬─► HTML: tables, inline styles, one theme
//	blocks (JSON) ────────┘                     └─► text
//
//	markup.go       Source, Options, Compile, Result: limits and warnings
//	placeholder.go  placeholders of the template language, hidden from the parsers
//	document.go     nodes for all kinds of source
//	markdown.go     Markdown to nodes; container.go, attributes.go: our CommonMark extensions
//	blocks.go       blocks to nodes
//	beginning.go    preview text for inboxes
//	html*.go        nodes to HTML that every email client shows; html_table.go: tables that fit on phones
//	article.go      nodes to web page HTML
//	urls.go utm.go pictures.go   URLs of links and images
//	text.go         nodes to text
//	poll.go         polls: a question with a link for each option
//	theme.go color.go   colors, fonts and shapes; themes.go: the built-in themes
//	place.go        Placed: the source line of an error in an email
//	campaign.go     CompileCampaign: the parts of a campaign's email
//	owntheme.go     tenants' themes, with colors adjusted until they are readable
//
// Compile is a pure function: the same source, theme and options always give the same output. Its output is still a
// template: it contains the author's placeholders unchanged, and mail.CompileBulk parses them.
//
// # Markdown
//
// The language is CommonMark 0.31 with GitHub's tables, strikethrough and bare links, and these extensions:
//
//	[Read on](https://example.org){.button}   a button, if it is alone in its paragraph
//	![Alt](picture.jpg){width=300}            an image with a width of 300 pixels
//	::: note                                  a callout: note, tip or warning, up to a line of :::
//	::: columns                               columns, each started by ::: column, all ended by :::
//
// HTML in Markdown is shown as text unless Options.AllowHTML is set. HTML comments are removed.
//
// # Email client support
//
// The rules for the HTML and their sources are in docs/decisions/0370-html-of-mails.md. A test checks all output
// against them.
package markup
