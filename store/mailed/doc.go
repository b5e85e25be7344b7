// Package mailed keeps the recipients of ended jobs a second time, in pages that are faster to read than their rows. A
// rule that asks who got or opened the last campaigns reads every recipient of each. A row takes about 1 µs, and a
// recipient in a page a few nanoseconds.
//
// A page holds up to Size recipients of a job, in the order of their seqs, which is also that of their ids. It contains
// the data that never changes after the job: the id, and whether the email was sent. Opens and clicks are read from the
// rows. Pages begin with the first recipient of each list of the job. campaigns writes them in the background, from the
// first to the last, and people erases from them. If a page is missing, campaigns reads the rows.
//
//	page.go      Page: its form, and the search within it
//	cursor.go    Cursor: reads pages in order
//	storing.go   writes and erases
package mailed
