package web

import (
	"io"

	"newsletterd/core"
)

// ExportPage is the number of rows that an export reads per page.
const ExportPage = 500

// Export describes a CSV file that is written while its rows are read, which allows files of any length.
type Export[Row any] struct {
	Name string // name of the file
	// Read returns a page of rows. page.After is the previous page's next. next is empty after the last page.
	Read func(page core.Page) (rows []Row, next string, err error)
	Note func() error // adds the export to the audit log
	// Open returns the functions that write a row and finish the file. It must not write more than it can buffer.
	Open func(out io.Writer) (write func(*Row) error, end func() error, err error)
}

// Write sends the file as the response. Errors before the first row become error responses. After that, the header has
// been sent, so only cutting the connection can signal an error.
func (e Export[Row]) Write(c *Call) error {
	page := core.Page{Limit: ExportPage}
	rows, next, err := e.Read(page)
	if err == nil {
		err = e.Note()
	}
	if err != nil {
		return err
	}
	write, end, err := e.Open(c.Stream())
	if err != nil {
		return err
	}
	h := c.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", Attachment(e.Name))
	for {
		for i := range rows {
			if err := write(&rows[i]); err != nil {
				c.Cut(err)
			}
		}
		if next == "" {
			break
		}
		page.After = next
		if rows, next, err = e.Read(page); err != nil {
			c.Cut(err)
		}
	}
	if err := end(); err != nil {
		c.Cut(err)
	}
	return nil
}
