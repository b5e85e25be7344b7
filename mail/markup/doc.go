// Package markup compiles what people write, Markdown or blocks, into the HTML part and the text part of a mail.
//
//	Markdown ─► goldmark ─┐
//	                      ├─► document (nodes) ─┬─► HTML: tables, inline styles, one theme
//	blocks (JSON) ────────┘                     └─► text
//
//	markup.go       Source, Options, Compile, Result: limits and warnings
//	placeholder.go  placeholders of the template language, kept out of the parsers' sight
//	document.go     the nodes that all kinds of source become
//	markdown.go     Markdown to nodes; container.go, attributes.go: what we add to CommonMark
//	blocks.go       blocks to nodes
//	beginning.go    what inboxes show of a mail
//	html*.go        nodes to HTML that every mail program shows; html_table.go: tables that fit telephones
//	urls.go utm.go pictures.go   addresses of links and pictures
//	text.go         nodes to text
//	theme.go color.go   colors, fonts and shapes; themes.go: the built-in ones
//	place.go        Placed: the line of the source that an error of a mail is about
//	campaign.go     CompileCampaign: the parts of a campaign's email
//	owntheme.go     themes of tenants, their colours moved until they can be read
//
// Compile is a pure function: the same source, theme and options give the same octets. Its output is a template still:
// placeholders stand in it as their author wrote them, and mail.CompileBulk reads them.
//
// # Markdown
//
// CommonMark 0.31 with tables, strikethrough and bare links, as GitHub has them, and:
//
//	[Read on](https://example.org){.button}   a button, where nothing else stands in the paragraph
//	![Alt](picture.jpg){width=300}            a picture 300 pixels wide
//	::: note                                  a callout: note, tip or warning, until a line of :::
//	::: columns                               columns, each begun by ::: column, all ended by :::
//
// HTML in Markdown is shown as text unless Options.AllowHTML is set; HTML comments are left out.
//
// # What mail programs show
//
// The rules that the HTML follows, and where they come from, stand in docs/decisions/0370-html-of-mails.md. A test
// reads all output by them.
package markup
