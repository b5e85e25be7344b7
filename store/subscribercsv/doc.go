// Package subscribercsv reads subscribers from CSV files and writes them.
//
// A file is our own export, an export of listmonk or Mailchimp, which their columns tell, or any table with a column of
// addresses. Each line becomes a row of an import, an error of this line, or a subscriber who must not be imported,
// since a column of status says so. A line that is not understood is never taken for consent.
//
// How a file is written:
//
//	text.go charset.go sniff.go quotes.go   encoding, delimiter and quotes
//	table.go reader.go   records and their cells, within limits
//	cells.go foldcell.go dates.go typos.go   what a cell means: spaces, words, dates, typing errors in addresses
//
// What its columns mean:
//
//	columns.go columnkinds.go evidence.go   the address, preferences and evidence of consent
//	status.go statuswords.go lists.go   whether someone unsubscribed, bounced or never confirmed
//	survey.go questions.go preview.go   a look through the whole file, and what only a person can answer
//
// Into and out of the database:
//
//	load.go     the lines of a file into an import
//	faults.go   the lines that were refused, as a file
//	writer.go   subscriptions as CSV or JSON
package subscribercsv
