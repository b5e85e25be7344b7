// Package subscribercsv reads subscribers from CSV files and writes them.
//
// A file is an export of newsletterd, of listmonk or Mailchimp (recognized by their columns), or any table with a
// column of addresses. Each line becomes a row of an import, an error of the line, or a subscriber who must not be
// imported according to a status column. A line that can't be interpreted never counts as consent.
//
// The format of a file:
//
//	text.go charset.go sniff.go quotes.go   encoding, delimiter and quotes
//	table.go reader.go   records and their cells, within limits
//	cells.go foldcell.go dates.go typos.go   the meaning of a cell: spaces, words, dates, typing errors in addresses
//
// The meaning of its columns:
//
//	columns.go columnkinds.go evidence.go tags.go   the address, preferences, evidence of consent and tags
//	status.go statuswords.go lists.go   whether someone unsubscribed, bounced or never confirmed
//	survey.go questions.go preview.go   a pass through the whole file, and questions that only a person can answer
//
// Into and out of the database:
//
//	load.go     the lines of a file into an import
//	merge.go    several files into one
//	faults.go   the rejected lines, as a file
//	writer.go   subscriptions as CSV or JSON
package subscribercsv
