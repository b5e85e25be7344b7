// Package htmlclean makes HTML of unknown origin safe to show as an article on newsletterd's pages. It keeps text,
// links, images, lists, tables and quotes. It removes scripts, forms, frames, styles, event attributes and URLs that
// run code.
//
//	htmlclean.go   Body: the policy and the size of pictures in the text
//
// # Invariants
//
//   - The URLs of links are http, https, mailto or tel. Images come from http or https, or are inline and small.
//   - Cleaning twice gives the same result.
package htmlclean
