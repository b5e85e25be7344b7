// Package pictures copies the images in imported issues from other tools' servers to the tenant's images.
//
//	loop.go    Loop: tenants take turns, so that slow servers delay only their own tenant
//	turn.go    a few of an issue's images, and its new text
//	shared.go  what the images in a turn share: memory, and hosts that don't respond
//	fetch.go   one image: from the web, from the uploaded archive, or from the text
//
// # Invariants
//
//   - An image is judged by its bytes, never by its name. It must pass the same checks as an uploaded image.
//   - Its state changes in the commit that stores it. After a crash, nothing is stored twice or lost.
//   - Fetched data is counted as memory before it is read.
//   - A post's content can't prevent copying others: errors and panics affect only one image, issue or turn.
//   - An image that can't be copied keeps its address in the issue.
package pictures
