package console

import (
	"slices"
	"strings"

	"newsletterd/core"
)

// quickPrefix marks a button value that contains the subject of a new condition and, after a colon, its operator.
const quickPrefix = "with."

// quickFields is the maximum number of fields that can be added with one click.
const quickFields = 3

// Quick returns the conditions that most segments need, which can be added with one click.
func (d *segmentData) Quick(p *Page) (all []option) {
	for _, one := range d.fields.fields {
		if kind := d.fields.kind(subjectField + one.Name); len(all) < quickFields && (kind == core.FieldChoice ||
			kind == core.FieldBoolean) {
			all = append(all, option{subjectField + one.Name, one.Label})
		}
	}
	all = append(all, option{subjectConsent + ":within_days", p.T("Signed up recently")},
		option{subjectConsent, p.T("Signed up earlier")}, option{subjectOpened, p.T("Opened")},
		option{subjectOpened + ":none_of_last", p.T("Didn't open")}, option{subjectClicked, p.T("Clicked")},
		option{subjectClicked + ":none_of_last", p.T("Didn't click")}, option{subjectTag, p.T("Tag")})
	for i := range all {
		all[i].Value = "add." + quickPrefix + all[i].Value
	}
	return all
}

// quick sets the subject and operator of a new row. The row replaces one without a subject.
func (d *segmentData) quick(row segmentRow, what string) {
	of, op, _ := strings.Cut(what, ":")
	ops := segmentOps[d.fields.kind(of)]
	if len(ops) > 0 {
		row.Of, row.Op = of, ops[0]
		if i := slices.IndexFunc(ops, func(o segmentOp) bool { return o.Name == op }); i >= 0 {
			row.Op = ops[i]
		}
		row.Value = map[string]string{inputDays: defaultDays, inputCount: defaultCount}[row.Op.Input]
	}
	if last := len(d.Rows) - 1; last >= 0 && d.Rows[last].Of == "" && d.Rows[last].In == 0 {
		row.No = d.Rows[last].No
		d.Rows = d.Rows[:last]
	}
	d.Rows = append(d.Rows, row)
	sortRows(d.Rows)
}
