// Package markup compiles content, Markdown or blocks, into the HTML part and the text part of an email.
//
//	Markdown ─► goldmark ─┐
//	                      ├─► document (nodes) ─┬─► HTML: tables, inline styles, one theme
//	blocks (JSON) ────────┘                     └─► text
//
//	markup.go       Source, Options, Compile, Result: limits and warnings
//	placeholder.go  placeholders of the template language, hidden from the parsers
//	document.go     nodes that all kinds of source become
//	markdown.go     Markdown to nodes; container.go, attributes.go: our extensions of CommonMark
//	blocks.go       blocks to nodes
//	beginning.go    preview text for inboxes
//	html*.go        nodes to HTML that every email program shows; html_table.go: tables that fit on phones
//	article.go      nodes to the HTML of a web page
//	urls.go utm.go pictures.go   URLs of links and images
//	text.go         nodes to text
//	poll.go         polls: a question with a link for each option
//	theme.go color.go   colors, fonts and shapes; themes.go: the built-in themes
//	place.go        Placed: the line of the source for an error in an email
//	campaign.go     CompileCampaign: the parts of a campaign's email
//	owntheme.go     themes of tenants, with colors adjusted until they are readable
//
// Compile is a pure function: the same source, theme and options result in the same octets. Its output is still a
// template: it contains the placeholders as their author wrote them, and mail.CompileBulk parses them.
//
// # Markdown
//
// The language is CommonMark 0.31 with tables, strikethrough and bare links as on GitHub, and these extensions:
//
//	[Read on](https://example.org){.button}   a button, if it is alone in its paragraph
//	![Alt](picture.jpg){width=300}            an image with a width of 300 pixels
//	::: note                                  a callout: note, tip or warning, up to a line of :::
//	::: columns                               columns, each started by ::: column, all ended by :::
//
// HTML in Markdown is shown as text unless Options.AllowHTML is set. HTML comments are removed.
//
// # Support of email programs
//
// The rules for the HTML and their sources are in docs/decisions/0370-html-of-mails.md. A test checks all output
// against them.
package markup
