package subscribercsv

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Question is a column of which the file must not be imported before someone says what it means: some cells say as a
// whole that a person is no subscriber.
type Question struct {
	Column string  `json:"column"`
	Values []Value `json:"values"` // such cells, no more than shownValues
	Rows   int64   `json:"rows"`   // that have one of all of them
}

// shownValues is how many different cells of a question are shown.
const shownValues = 8

// consentTimes are columns that say when someone agreed, which says nothing of who has left.
var consentTimes = map[string]bool{
	"emailmarketingconsenttimestamp": true, "consenttimestamp": true, "consentdate": true, "consenttime": true,
	"consentedat": true, "optindate": true, "optinat": true, "optintimestamp": true, "doubleoptindate": true,
}

// bookkeeping reports whether a column is one of the program's own that has written the file, which says nothing of who
// takes part that another column doesn't say.
func (f *form) bookkeeping(name string) bool {
	return slices.Contains(f.drop, name) && name != "NOTES" && name != f.quoted
}

// paysFor reports whether a column says who pays, in a file of Substack, of which another one says who has left.
func paysFor(name string, names []string) bool {
	return name == "active_subscription" && slices.Contains(names, "plan")
}

// Questions returns the columns of a file that say who has left, or may say so, and that neither their name nor the
// mapping of the Reader declares to be a status, a field or nothing. s is the Survey of the same file.
func (c *Reader) Questions(s *Survey) (asked []Question) {
	names := c.names()
	for i := range s.Columns {
		if i >= len(c.header) || c.declared[i] || consentTimes[foldWord(c.header[i])] ||
			paysFor(names[i], names) {
			continue
		}
		q := Question{Column: names[i]}
		for _, v := range s.Columns[i].leaving(s.Rows) {
			q.Rows += v.Rows
			if len(q.Values) < shownValues {
				q.Values = append(q.Values, v)
			}
		}
		if q.Rows > 0 {
			asked = append(asked, q)
		}
	}
	return asked
}

// leaving returns the cells of a column that say who is no subscriber, in a file of so many rows. Where only its name
// tells what yes, no and dates in it are about, cells that say that someone takes part are none of them.
func (c *ColumnSurvey) leaving(rows int64) (found []Value) {
	other := otherSubject(nameWords(c.Name))
	for _, v := range c.Words {
		if said := statusWords[v.Word]; said != unknown && said != joined && (!other || isOfEmail(v.Word)) {
			found = append(found, v)
		}
	}
	kind := kindOf(c.Name)
	if len(found) > 0 || kind == nil {
		return found
	}
	mean, told, seen := meaningOf(c.Name, nil), false, int64(0)
	for _, v := range append(slices.Clone(c.Values), c.Words...) {
		seen += v.Rows
		switch leaves := kind.yes.leaves(); {
		case answers[v.Word] != 0, isDate(v.Word) && !kind.dateless:
			told = true
		case leaves && isNothing(v.Word):
			continue
		case kind.text, refuses(v.Word):
		default:
			continue
		}
		if mean(v.Word) != joined {
			found = append(found, v)
		}
	}
	dates := c.Dates.Dates()
	switch {
	case c.Many && kind.text && c.Filled > seen:
		found = append(found, Value{Text: c.Dates.Sample, Rows: c.Filled - seen})
	case c.Many && dates > 0 && !kind.dateless && mean("20230501") != joined:
		found = append(found, Value{Text: c.Dates.Sample, Rows: dates})
	}
	told = told || dates > 0 && !kind.dateless
	if empty := rows - c.Filled; told && empty > 0 && mean("") != joined {
		found = append(found, Value{Rows: empty})
	}
	return found
}

// refusals are words, by foldCell, that say no to what the name of a column is about.
var refusals = map[string]bool{
	"kein": true, "keine": true, "none": true, "nie": true, "never": true, "jamais": true, "nunca": true, "aucun": true,
	"aucune": true, "ninguno": true, "ninguna": true,
	"\u2717": true, "\u2718": true, "\u2716": true, "\u274c": true, "\u2610": true, "\u2612": true, // crosses and boxes
}

// refuses reports whether a cell, by foldCell, is a no, or begins like one.
func refuses(word string) bool {
	if refusals[word] {
		return true
	}
	for _, begin := range [...]string{
		"not", "nicht", "kein", "pas", "sin", "non", "ohne", "without", "refus", "verweiger",
	} {
		if strings.HasPrefix(word, begin) {
			return true
		}
	}
	return false
}

// says reports whether a cell, by foldCell, is a word of a status, or yes or no.
func says(word string) bool {
	return statusWords[word] != unknown || answers[word] != 0 || refusals[word]
}

// String says what is asked, with the cells.
func (q Question) String() string {
	texts := make([]string, 0, len(q.Values))
	for _, v := range q.Values {
		texts = append(texts, fmt.Sprintf("%q", v.Text))
	}
	rows := "1 row"
	if q.Rows != 1 {
		rows = fmt.Sprintf("%d rows", q.Rows)
	}
	return fmt.Sprintf("column %q may say who unsubscribed (%s; %s)", q.Column, strings.Join(texts, ", "), rows)
}

// Asking says what all of the questions ask.
func Asking(questions []Question) string {
	texts := make([]string, len(questions))
	for i := range questions {
		texts[i] = questions[i].String()
	}
	return strings.Join(texts, "; ")
}

// ParseSurvey reads a Survey that was kept as JSON; nil where there is none.
func ParseSurvey(b []byte) *Survey {
	var s Survey
	if len(b) == 0 || json.Unmarshal(b, &s) != nil {
		return nil
	}
	return &s
}

// IsMapping reports whether an error is of columns that can't be told by their names.
func IsMapping(err error) bool {
	_, ok := errors.AsType[MappingError](err)
	return ok
}
