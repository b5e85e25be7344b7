package console

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
)

// segmentItem is a condition in a segment's form, or a group of conditions.
type segmentItem struct {
	Group int // number of the group; 0: a single condition
	Any   bool
	Rows  []segmentRow
}

// itemsOf groups rows, which must be sorted, into conditions and groups.
func itemsOf(rows []segmentRow) (items []segmentItem) {
	for _, row := range rows {
		if last := len(items) - 1; row.In > 0 && last >= 0 && items[last].Group == row.In {
			items[last].Rows = append(items[last].Rows, row)
			continue
		}
		items = append(items, segmentItem{Group: row.In, Any: row.InAny, Rows: []segmentRow{row}})
	}
	return items
}

// Items returns the conditions and groups in the form.
func (d *segmentData) Items() []segmentItem { return itemsOf(d.Rows) }

// sortRows sorts rows by number. Rows in a group are placed by the group's number.
func sortRows(rows []segmentRow) {
	place := func(row segmentRow) int { return cmp.Or(row.In, row.No) }
	slices.SortFunc(rows, func(a, b segmentRow) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.No, b.No))
	})
}

// add adds a condition to the form. where is the number of its group, or "group" for a new group. If where starts with
// quickPrefix, the rest is the condition's subject and operator. Any other value means no group.
func (d *segmentData) add(where string) {
	last := 0
	for i := range d.Rows {
		last = max(last, d.Rows[i].No, d.Rows[i].In)
	}
	row := segmentRow{No: last + 1, New: true}
	if what, ok := strings.CutPrefix(where, quickPrefix); ok {
		d.quick(row, what)
		return
	}
	switch group, err := strconv.Atoi(where); {
	case where == "group":
		row.No, row.In, row.InAny = last+2, last+1, !d.Any
	case err == nil:
		for i := range d.Rows {
			if d.Rows[i].In == group {
				row.In, row.InAny = group, d.Rows[i].InAny
			}
		}
	}
	d.Rows = append(d.Rows, row)
	sortRows(d.Rows)
}

// rowsOf returns the rows for a rule. If matchAny is true, one matching row is enough. If the form can't show the rule,
// for example because of nested groups, ok is false.
func (f *segmentFields) rowsOf(r *core.Rule) (rows []segmentRow, matchAny, ok bool) {
	parts := r.All
	if r.Any != nil {
		parts, matchAny = r.Any, true
	}
	if parts == nil {
		parts = []core.Rule{*r}
	}
	no := 0
	for i := range parts {
		within, group := []core.Rule{parts[i]}, 0
		if both := slices.Concat(parts[i].All, parts[i].Any); both != nil {
			no++
			within, group = both, no
		}
		for k := range within {
			row, ok := f.rowOf(&within[k])
			if !ok {
				return nil, false, false
			}
			no++
			row.No, row.In, row.InAny = no, group, parts[i].Any != nil
			rows = append(rows, row)
		}
	}
	return rows, matchAny, true
}

// ruleOf returns the rule that the rows describe, as JSON. If a row isn't complete, ok is false.
func (p *Page) ruleOf(rows []segmentRow, matchAny bool) (rule json.RawMessage, ok bool) {
	groupOf := func(parts []any, matchAny bool) any {
		if matchAny {
			return map[string]any{"any": parts}
		}
		return map[string]any{"all": parts}
	}
	parts, within := []any{}, []any{}
	ok = len(rows) > 0
	for i := range rows {
		row := &rows[i]
		one := row.condition(p)
		ok = ok && row.Wrong == ""
		if row.In == 0 {
			parts = append(parts, one)
			continue
		}
		if within = append(within, one); i == len(rows)-1 || rows[i+1].In != row.In {
			parts, within = append(parts, groupOf(within, row.InAny)), []any{}
		}
	}
	rule, err := json.Marshal(groupOf(parts, matchAny))
	return rule, ok && err == nil
}

// blameRow sets the API's error about a condition on the condition's row. It reports whether there is such a row.
func blameRow(rows []segmentRow, at, text string) bool {
	first, rest := indexOf(at)
	second, _ := indexOf(rest)
	items, n := itemsOf(rows), 0
	if first < 0 || first >= len(items) || !strings.HasPrefix(at, "rule.") {
		return false
	}
	for _, item := range items[:first] {
		n += len(item.Rows)
	}
	if items[first].Group > 0 {
		n += min(max(second, 0), len(items[first].Rows)-1)
	}
	rows[n].Wrong = text
	return true
}

// indexOf returns the first index in a JSON path and the rest of the path. Without an index, it returns -1.
func indexOf(at string) (index int, rest string) {
	_, text, _ := strings.Cut(at, "[")
	text, rest, ok := strings.Cut(text, "]")
	i, err := strconv.Atoi(text)
	if !ok || err != nil {
		return -1, ""
	}
	return i, rest
}
