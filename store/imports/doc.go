// Package imports brings subscriptions in from files, and takes an import back.
//
//	store.go                          New
//	imports.go importbatch.go         an import, step by step
//	importjobs.go importfiles.go      uploaded files, and their runs
//	importdry.go importsurvey.go      a look without a change
//	importleaving.go importclaims.go importsuppressed.go importwords.go   people who left, or bounced
//	importundo.go importreplaced.go   taking an import back
//	importannounce.go                 what endpoints are told
//	spool.go                          rows in the order of their ids
//	adding.go                         one person, by an operator
package imports
