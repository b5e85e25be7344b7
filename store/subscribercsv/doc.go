// Package subscribercsv reads subscribers from CSV files and writes them.
//
// A file is our own export, an export of listmonk or Mailchimp, which their columns tell, or any table with a column of
// addresses. Each line becomes a row of an import, an error of this line, or a subscriber who must not be imported,
// since a column of status says so. A line that is not understood is never taken for consent.
package subscribercsv
