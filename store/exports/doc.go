// Package exports recognizes whole exports from other newsletter programs: a zip archive with files of people and
// posts, or the JSON file from a Ghost site. It recognizes files by their contents. It uses file names only for the
// status of the people in a file, such as unsubscribed_members.csv, and for the post that a page belongs to.
//
//	exports.go   Open: what an export contains; CSV: its people as one file
//	archive.go   the entries of a zip archive, within limits
//	tools.go     which program wrote a file, and what file names say about people
//	posts.go     posts in tables and pages; ghost.go: in a Ghost site's JSON file; matter.go: in Markdown files
//	pictures.go  images in the archive
//
// # Invariants
//
//   - Names in an archive are never used as paths. Nothing is unpacked to disk.
//   - An entry yields at most as many bytes as the archive declares, and all entries together at most 2 GiB.
//   - A file of events, such as who opened an email, is not a file of people.
package exports
