package subscribercsv

import (
	"io"

	"newsletterd/core"
)

// blockColumns are the columns of a suppression list. An import understands the words in the column status, and ignores
// the columns after it.
var blockColumns = []string{"email", "status", "kind", "reason", "disabled_by", "occurred_at"}

// blockWords maps kinds of blocks to the words that the console shows for them.
var blockWords = map[string]string{
	core.KindDisabled: "Blocked", string(core.StatusSuppressed): "Blocked", string(core.StatusBounced): "Bounced",
	string(core.StatusComplaint): "Marked as spam", core.KindLeft: "Erased",
}

// NewBlockWriter is like NewWriter, for the entries of a suppression list.
func NewBlockWriter(out io.Writer, asJSON bool, comma rune) *Writer {
	return newWriter(out, asJSON, comma, blockColumns)
}

// WriteBlock writes one entry of a suppression list. It requires a Writer from NewBlockWriter.
func (w *Writer) WriteBlock(b *core.Suppressed) error {
	if w.json != nil {
		return w.json.Encode(b)
	}
	return w.csv.Write([]string{
		spreadsheetCell(b.Email), blockWords[b.Kind], b.Kind, spreadsheetCell(b.Reason), spreadsheetCell(b.DisabledBy),
		b.OccurredAt.String(),
	})
}
