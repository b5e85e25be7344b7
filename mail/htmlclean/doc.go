// Package htmlclean makes untrusted HTML safe to show as an article on newsletterd's pages. It keeps text,
// links, images, lists, tables and quotes. It removes scripts, forms, styles, event attributes and URLs that run code.
// Frames, videos and recordings become links.
//
//	htmlclean.go   Body and Post: the policies, and the maximum size of inline images
//	kept.go        what is left without scripts, frames and the like, even if their end tags are missing
//	media.go       links that replace frames, videos and recordings
//
// # Invariants
//
//   - Link URLs are http, https, mailto or tel. Images come from http or https, or are inline and small.
//   - Text is never lost because an element, a tag or a comment before it has no end.
//   - Cleaning twice gives the same result.
package htmlclean
