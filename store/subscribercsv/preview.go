package subscribercsv

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// The uses of a Column.
const (
	UseEmail       = "email"
	UseStatus      = "status"   // says whether the subscriber takes part
	UseEvidence    = "evidence" // of a consent that was given to another system
	UsePreference  = "preference"
	UsePreferences = "preferences" // a JSON object of them
	UseNone        = "none"
)

// Column says what an import makes of a column.
type Column struct {
	Name string `json:"name"`
	Use  string `json:"use" enum:"email|status|evidence|preference|preferences|none"`
	// of the preference; of evidence, what a mapping would call it
	Becomes string `json:"becomes,omitempty"`
	// in a column of dates, what all of them tell of the order of day and month
	Dates DateOrder `json:"dates,omitempty" enum:"dmy|mdy|ambiguous"`
	// what its name says, whatever a mapping makes of it
	ByName ColumnMeaning `json:"by_name"`
}

// ColumnMeaning is what a column is by its name.
type ColumnMeaning struct {
	Use string `json:"use" enum:"email|status|evidence|preference|preferences|none"`
	// of the preference; of evidence, what a mapping would call it
	Becomes string `json:"becomes,omitempty"`
}

// Columns returns what an import makes of each column of the file. With a MappingError only columns of a status, of
// evidence and of preferences as a whole are told.
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
	if c.base >= 0 {
		columns[c.base].Use = UsePreferences
	}
	if c.mapped {
		columns[c.email].Use = UseEmail
	}
	return columns
}

// nameOfKey returns the name of a preference by its key as it stands in an object.
func nameOfKey(key string) (name string) {
	_ = json.Unmarshal([]byte(strings.TrimSuffix(key, ":")), &name) // appendJSONString has written it
	return name
}

// Preview is the beginning of a file, and what an import would make of it.
type Preview struct {
	Columns []Column
	Samples [][]string // of the first lines, as they are in the file
	// why the columns can't be told by their names; empty: they can
	Problem string
	// columns that may say who unsubscribed, of which the mapping says nothing
	Questions []Question
}

// NewPreview reads the beginning of a file: the header and so many lines. An error is of the header.
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
		p.Questions = c.Questions(o.Survey)
	}
	plain := &Reader{table: c.table, options: o, email: -1, base: -1}
	plain.options.Map = nil
	plain.mapped = plain.columns(nil) == nil
	for i, column := range plain.Columns() {
		p.Columns[i].ByName = ColumnMeaning{column.Use, column.Becomes}
	}
	for range lines {
		record, err := c.read()
		if err != nil {
			break // a faulty line is the dry run's to tell
		}
		cells := slices.Clone(record)
		c.set.toUTF8(cells)
		for i := range cells {
			cells[i] = strings.ToValidUTF8(cells[i], "\ufffd")
		}
		p.Samples = append(p.Samples, cells)
	}
	return p, nil
}
