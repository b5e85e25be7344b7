// Package notice renders transactional emails, such as confirm, reset and verify, in each language of core.Languages.
//
//	notice.go    Kind, Data, Brand; Kind.Render
//	words.go     text of a notice, from mail/internal/words and the tenant's own wording
//	compiled.go  cache of notices rendered except for address and link
//	texts        the templates
//
// Invariants:
//
//   - A compiled notice is byte for byte what the templates render.
//   - A tenant's own wording replaces the subject and the text. The link, its lifetime and the footer always stay.
//   - Values are escaped by html/template. A value that looks like a placeholder is not one.
//   - Text and HTML have the same content.
package notice
