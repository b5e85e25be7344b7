package members

import (
	"bytes"
	"io"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/subscribercsv"
)

// shownFaults is how many lines with errors the record of an import shows.
const shownFaults = 5

// importFault is a line with an error.
type importFault struct {
	Line  int    `json:"line"` // of the file; its first line is 1
	Error string `json:"error"`
}

// firstFaults reads the first lines with errors of an import, while they are kept.
func (a importsAPI) firstFaults(c *web.Call, j *core.ImportJob) ([]importFault, error) {
	shown := []importFault{}
	if j.Failed+j.Contradicted == 0 || j.Status == core.ImportRunning || j.Status == core.ImportWaiting {
		return shown, nil
	}
	faults, err := subscribercsv.FirstFaults(a.store.ImportFaults(c, j.ID), shownFaults)
	if core.KindOf(err) == core.Unavailable {
		return shown, err
	}
	for _, f := range faults { // of a file that is removed at this moment, those that were read
		shown = append(shown, importFault{f.Line, f.Text})
	}
	return shown, nil
}

// faultsForm says how the lines with errors are written.
type faultsForm struct {
	Spreadsheet string `query:"spreadsheet" enum:"comma|semicolon"`
}

// faults writes the lines with errors, however many there are. They are kept for a week.
func (a importsAPI) faults(c *web.Call, in faultsForm) error {
	lines := a.store.ImportFaults(c, c.ID())
	first := make([]byte, 64<<10)
	n, err := io.ReadFull(lines, first)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	h := c.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="faults.csv"`)
	all, w := io.MultiReader(bytes.NewReader(first[:n]), lines), c.Stream()
	switch in.Spreadsheet {
	case "comma":
		err = subscribercsv.WriteSpreadsheet(w, all, ',')
	case "semicolon":
		err = subscribercsv.WriteSpreadsheet(w, all, ';')
	default:
		_, err = io.Copy(w, all)
	}
	if err != nil {
		c.Cut(err) // the head is out: only a cut connection shows it
	}
	return nil
}
