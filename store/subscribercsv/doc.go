// Package subscribercsv reads subscribers from CSV files and writes them.
//
// A file is an export of newsletterd, listmonk or Mailchimp, recognized by its columns, or any table with a column of
// addresses. Each line becomes a row of an import, an error, or a person who must not be imported as a subscriber,
// according to a status column. A line that can't be interpreted never counts as consent.
//
// The format of a file:
//
//	text.go charset.go sniff.go quotes.go   encoding, delimiter and quotes
//	people.go personnames.go   lists of people without a header, as CSV, and the names in them
//	table.go reader.go   records and their cells, with limits
//	cells.go foldcell.go dates.go typos.go   the meaning of a cell: spaces, words, dates, typing errors in addresses
//
// The meaning of its columns:
//
//	columns.go columnkinds.go evidence.go tags.go   the address, preferences, evidence of consent and tags
//	status.go statuswords.go lists.go   whether someone unsubscribed, bounced or never confirmed
//	survey.go questions.go preview.go   a survey of the whole file, and questions that only a person can answer
//
// Into and out of the database:
//
//	load.go     passing the lines of a file to an import
//	merge.go    merging several files into one
//	faults.go   a file of the rejected lines
//	writer.go   subscriptions as CSV or JSON
//	blocks.go   suppression lists as CSV or JSON
package subscribercsv
