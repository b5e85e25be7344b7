// Package htmlclean makes HTML of unknown origin safe to show as an article on newsletterd's pages. It keeps text,
// links, images, lists, tables and quotes. It removes scripts, forms, styles, event attributes and URLs that run code.
// Frames, videos and recordings become links.
//
//	htmlclean.go   Body and Post: the policies, and the size of pictures in the text
//	kept.go        what is left without scripts, frames and the like, also if their end tags are missing
//	media.go       links instead of frames, videos and recordings
//
// # Invariants
//
//   - The URLs of links are http, https, mailto or tel. Images come from http or https, or are inline and small.
//   - Text is not lost because an element, a tag or a comment before it has no end.
//   - Cleaning twice gives the same result.
package htmlclean
