// Package article creates web page articles from campaign content, for the public archive.
//
//	article.go    Source, New: content to HTML without anything that belongs to an email
//	imported.go   posts from other tools; oldpost.go: how they are cleaned; pictures.go: copies of their images
//	furniture.go  greetings and unsubscribe links, which are left out
//	words.go      the text of an article, for excerpts and search
//
// An article has no layout, header, footer, preheader, pixel or tracked links. Subscriber values become their
// fallbacks. The author's HTML passes a sanitizer. HTML with layout tables or custom styles can't be an article: only
// its text is returned.
package article
