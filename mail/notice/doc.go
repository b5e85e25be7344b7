// Package notice renders the mails to one person: confirm, reset, verify and the like, in each language of
// core.Languages.
//
//	notice.go    Kind, Data, Brand; Kind.Render
//	words.go     what a notice says, of mail/internal/words and the tenant's own wording
//	compiled.go  notices rendered except for address and link, in a cache
//	texts        the templates
//
// Invariants:
//
//   - A compiled notice is byte for byte what the templates render.
//   - A tenant's own wording replaces subject and text. The link, its lifetime and the footer always stay.
//   - Values are escaped by html/template. A value that looks like a placeholder is not one.
//   - Text and HTML say the same.
package notice
