// Package pictures copies the pictures of imported issues from the servers of other tools to the tenant's images.
//
//	loop.go    Loop: tenants take turns, so that slow servers delay only their own tenant
//	turn.go    a few pictures of an issue, and its new text
//	shared.go  what the pictures of a turn have in common: memory, and hosts that don't respond
//	fetch.go   one picture: from the web, from the uploaded archive, or from the text
//
// # Invariants
//
//   - A picture is stored by its bytes, never by its name. It passes the same checks as an uploaded image.
//   - Its state changes in the commit that stores it. After a crash, nothing is stored twice, and nothing is lost.
//   - Data that is fetched is counted as memory before it is read.
//   - What a post contains can't stop the copying of others: errors and panics concern one picture, issue or turn.
//   - A picture that can't be copied keeps its address in the issue.
package pictures
