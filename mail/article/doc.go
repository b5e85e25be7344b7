// Package article makes a web page's article from the content of a campaign, for the public archive.
//
//	article.go    Source, New: content to HTML without anything that belongs to an email
//	imported.go   posts of other tools; oldpost.go: how they are cleaned; pictures.go: copies of their pictures
//	furniture.go  greetings and links to unsubscribe, which are left out
//	words.go      the words of an article, for excerpts and the search
//
// An article has no layout, header, footer, preheader, pixel or tracked links. Values of the subscriber become their
// fallbacks. HTML that the author wrote passes a sanitizer. HTML that is a design, with layout tables or styles of its
// own, can't be an article: only its words are returned.
package article
