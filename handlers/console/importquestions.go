package console

import (
	"strconv"
	"strings"
)

// agreedSuppress is the answer that no one in the file may be emailed, so that all addresses are suppressed.
const agreedSuppress = "suppress"

// agreedLeft is the answer that no one in the file is a subscriber.
const agreedLeft = "left"

// statusColumn and tagsColumn are the mappings of columns with the subscription status and with tags.
const (
	statusColumn = "status"
	tagsColumn   = "tags"
)

// openColumn is the value of a column that needs a decision until the visitor chooses. It isn't a mapping.
const openColumn = "?"

// importQuestion is a column that may contain the subscription status, with the cells that mean unsubscribed.
type importQuestion struct {
	Column string
	Values []struct{ Text string }
	Rows   int64
	Likely bool // whether it probably contains the subscription status
}

// question returns the question about a column, or nil.
func (d *importData) question(column string) *importQuestion {
	for i := range d.Questions {
		if d.Questions[i].Column == column {
			return &d.Questions[i]
		}
	}
	return nil
}

// asks returns the text of the question about a column, or an empty string.
func (d *importData) asks(p *Page, column string) string {
	q := d.question(column)
	if q == nil {
		return ""
	}
	var cells []string
	for _, v := range q.Values {
		if v.Text == "" {
			v.Text = p.T("(empty)")
		}
		cells = append(cells, p.T("“{{cell}}”", "cell", v.Text))
	}
	if !q.Likely {
		return p.N("Choose what this column contains. {{cells}} in 1 row may mean that the person unsubscribed.|"+
			"Choose what this column contains. {{cells}} in {{n}} rows may mean that the person unsubscribed.", q.Rows,
			"cells", strings.Join(cells, ", "))
	}
	return p.N("This column marks people who unsubscribed: {{cells}} in 1 row.|This column marks people who "+
		"unsubscribed: {{cells}} in {{n}} rows.", q.Rows, "cells", strings.Join(cells, ", "))
}

// markOpen marks columns that still need a decision, and reports whether there are any.
func (d *importData) markOpen(text string) (open bool) {
	for i := range d.Columns {
		if c := &d.Columns[i]; c.Value == openColumn {
			c.Wrong, c.First, open = text, !open, true
		}
	}
	return open
}

// keepsStatus reports whether the submitted mapping keeps all columns with the subscription status.
func (d *importData) keepsStatus(p *Page) bool {
	for i := range d.Columns {
		sent, ok := p.Form["column."+strconv.Itoa(i)]
		if d.Columns[i].Use == statusColumn && ok && sent != keepColumn && sent != statusColumn {
			return false
		}
	}
	return true
}
