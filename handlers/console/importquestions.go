package console

import "strings"

// agreedSuppress is the answer that no one in the file may be emailed.
const agreedSuppress = "suppress"

// statusColumn is the choice of a column that says who takes part.
const statusColumn = "status"

// importQuestion is a column that may say who unsubscribed, with the cells that say so.
type importQuestion struct {
	Column string
	Values []struct{ Text string }
	Rows   int64
}

// question returns what is asked about a column; nil: nothing.
func (d *importData) question(column string) *importQuestion {
	for i := range d.Questions {
		if d.Questions[i].Column == column {
			return &d.Questions[i]
		}
	}
	return nil
}

// Asks says what is asked about a column; empty: nothing.
func (d *importData) Asks(p *Page, column string) string {
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
	return p.N("This column marks people who unsubscribed: {{cells}} in 1 row.|This column marks people who "+
		"unsubscribed: {{cells}} in {{n}} rows.", q.Rows, "cells", strings.Join(cells, ", "))
}
