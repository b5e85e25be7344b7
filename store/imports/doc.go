// Package imports stores and performs imports of subscriptions from files, and undoes imports.
//
//	store.go                          New
//	imports.go importbatch.go         an import, step by step
//	importjobs.go importfiles.go importspooled.go   uploaded files and their runs
//	importposts.go importpictures.go  posts of an export, the issues that they become, and copies of their images
//	importdry.go importsurvey.go      dry runs and surveys
//	importleaving.go importclaims.go importsuppressed.go importwords.go importstayed.go   people who
//	                                  unsubscribed or bounced
//	importtags.go                     tags in a file
//	importundo.go importreplaced.go   undoing an import
//	importannounce.go                 events for endpoints
//	spool.go                          sorting rows by id
//	adding.go                         one address, added manually
//
// The column import_post.issue_no is the number of the issue that an import added for a post, or 0 if there is none. A
// negative number means that an earlier import, whose posts are no longer stored, added the issue. The later import
// only copies the failed images, and removing its posts keeps the issue.
package imports
