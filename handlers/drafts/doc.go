// Package drafts tries campaigns and send jobs before anything is sent: what is wrong with them, how they look, and to
// whom they would go. It speaks no HTTP: the API and the commands share it.
//
//	drafts.go            Drafts: a version made ready, and for whom it is rendered
//	check.go             Look, Check, Ready: what is to be said about a version
//	fields.go            which fields its readers have
//	links.go sender.go   Checks: whether links answer, and what the DNS says of the sender
//	trial.go             Trial: preview and test of a send job; how a template is tried
package drafts
