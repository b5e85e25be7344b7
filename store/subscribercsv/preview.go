package subscribercsv

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// Values of Column.Use.
const (
	UseEmail       = "email"
	UseStatus      = "status"   // whether the person is a subscriber
	UseEvidence    = "evidence" // evidence of a consent given in another system
	UsePreference  = "preference"
	UsePreferences = "preferences" // a JSON object of preferences
	UseTags        = "tags"
	UseNone        = "none"
)

// BecomesFullName is the mapping of a column with whole names such as "Ann Gray" or "Gray, Ann". They become the
// preferences first_name and last_name, unless the list has a field with the name of this mapping.
const BecomesFullName = "full_name"

// Column describes how an import uses a column.
type Column struct {
	Name    string        `json:"name" about:"Name of the column in the file"`
	Use     string        `json:"use" enum:"email|status|evidence|preference|preferences|tags|none" about:"How the column is used; evidence: proof of a consent in another system"`
	Becomes string        `json:"becomes,omitempty" about:"Field that the column is imported into; for evidence, its name in mapping"`
	Dates   DateOrder     `json:"dates,omitempty" enum:"dmy|mdy|ambiguous" about:"Order of day and month in the column's dates; absent: it has no dates"`
	ByName  ColumnMeaning `json:"by_name" about:"How the column would be used without mapping"`
}

// ColumnMeaning is the use of a column according to its name.
type ColumnMeaning struct {
	Use     string `json:"use" enum:"email|status|evidence|preference|preferences|tags|none" about:"How the column is used; evidence: proof of a consent in another system"`
	Becomes string `json:"becomes,omitempty" about:"Field that the column is imported into; for evidence, its name in mapping"`
}

// Columns returns the use of each column of the file. After a MappingError, it returns only the use of status,
// evidence, tags and preferences columns.
func (c *Reader) Columns() []Column {
	columns := make([]Column, len(c.header))
	for i, name := range c.header {
		columns[i] = Column{Name: strings.TrimSpace(name), Use: UseNone}
		if c.isDated(i) {
			columns[i].Dates = c.dateOrder(i)
		}
		if c.mapped && i < len(c.keys) && c.keys[i] != "" {
			columns[i].Use, columns[i].Becomes = UsePreference, nameOfKey(c.keys[i])
		}
	}
	for _, s := range c.status {
		columns[s.index].Use = UseStatus
	}
	for _, e := range c.proof {
		columns[e.index].Use, columns[e.index].Becomes = UseEvidence, e.becomes()
	}
	for _, i := range c.tags {
		columns[i].Use = UseTags
	}
	if c.fullName >= 0 {
		columns[c.fullName].Use, columns[c.fullName].Becomes = UsePreference, BecomesFullName
	}
	if c.base >= 0 {
		columns[c.base].Use = UsePreferences
	}
	if c.mapped {
		columns[c.email].Use = UseEmail
	}
	return columns
}

// nameOfKey returns the name of a preference from its key, which has the form of Reader.keys.
func nameOfKey(key string) (name string) {
	_ = json.Unmarshal([]byte(strings.TrimSuffix(key, ":")), &name) // written by appendJSONString
	return name
}

// Preview is the beginning of a file and how an import uses its columns.
type Preview struct {
	Columns []Column
	Samples [][]string // first lines, with long cells truncated
	// why the meaning of the columns can't be derived from their names; empty if it can
	Problem string
	// columns that may show who unsubscribed and that are not in the mapping
	Questions []Question
	AllLeft   bool // no person in the file is a subscriber; see Reader.AllLeft
}

// sampleLength is the maximum length of a cell in a preview, in characters. A row can have megabytes.
const sampleLength = 200

// sampleOf returns the beginning of a cell.
func sampleOf(cell string) string {
	n := 0
	for at := range cell {
		if n++; n > sampleLength {
			return strings.Clone(cell[:at]) + "…"
		}
	}
	return cell
}

// NewPreview reads a file's header and at most the given number of lines. It returns the errors of the header.
func NewPreview(r io.Reader, o Options, lines int) (p Preview, err error) {
	c, err := NewReader(r, o)
	if mapping, ok := errors.AsType[MappingError](err); ok {
		p.Problem, err = mapping.Text, nil
	}
	if err != nil {
		return p, err
	}
	p.Columns, p.Samples = c.Columns(), [][]string{}
	if o.Survey != nil {
		p.Questions, p.AllLeft = c.Questions(o.Survey), c.AllLeft(o.Survey)
	}
	plain := &Reader{table: c.table, options: o, email: -1, base: -1, fullName: -1}
	plain.options.Map = nil
	plain.mapped = plain.columns(nil) == nil
	for i, column := range plain.Columns() {
		p.Columns[i].ByName = ColumnMeaning{column.Use, column.Becomes}
	}
	for range lines {
		record, err := c.read()
		if err != nil {
			break // the dry run reports a faulty line
		}
		cells := slices.Clone(record)
		c.set.toUTF8(cells)
		for i := range cells {
			cells[i] = sampleOf(strings.ToValidUTF8(cells[i], "\ufffd"))
		}
		p.Samples = append(p.Samples, cells)
	}
	return p, nil
}
