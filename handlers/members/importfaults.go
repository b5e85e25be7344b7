package members

import (
	"bytes"
	"io"
	"path"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/subscribercsv"
)

// shownFaults is the maximum number of faulty lines in an import's record.
const shownFaults = 5

// importFault is a line with an error.
type importFault struct {
	Line  int    `json:"line" about:"Number of the line in the file, from 1"`
	File  string `json:"file,omitempty" about:"Name of the file in the archive, if its files were merged"`
	Error string `json:"error" about:"What is wrong with the line"`
}

// firstFaults reads an import's first faulty lines if they are still stored.
func (a importsAPI) firstFaults(c *web.Call, j *core.ImportJob) ([]importFault, error) {
	shown := []importFault{}
	if j.Failed+j.Contradicted == 0 || j.Status == core.ImportRunning || j.Status == core.ImportWaiting {
		return shown, nil
	}
	faults, err := subscribercsv.FirstFaults(a.store.ImportFaults(c, j.ID), shownFaults)
	if core.KindOf(err) == core.Unavailable {
		return shown, err
	}
	for _, f := range faults { // if the file was removed in the meantime, these are the lines read before that
		shown = append(shown, importFault{Line: f.Line, File: f.File, Error: f.Text})
	}
	return shown, nil
}

// faultsForm selects the format of the file with faulty lines.
type faultsForm struct {
	Spreadsheet string `query:"spreadsheet" enum:"comma|semicolon"`
}

// faults writes a file with all faulty lines, which are stored for a week.
func (a importsAPI) faults(c *web.Call, in faultsForm) error {
	j, err := a.store.ImportJob(c, c.ID())
	if err != nil {
		return err
	}
	lines := a.store.ImportFaults(c, j.ID)
	first := make([]byte, 64<<10)
	n, err := io.ReadFull(lines, first)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	h := c.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", web.Attachment(strings.TrimSuffix(j.Name, path.Ext(j.Name))+" errors.csv"))
	all, w := io.MultiReader(bytes.NewReader(first[:n]), lines), c.Stream()
	if comma := subscribercsv.Comma(in.Spreadsheet); comma != 0 {
		err = subscribercsv.WriteSpreadsheet(w, all, comma)
	} else {
		_, err = io.Copy(w, all)
	}
	if err != nil {
		c.Cut(err) // the header is sent: only cutting the connection signals the error
	}
	return nil
}
