package subscribercsv

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"newsletterd/core"
)

// Question is a column that the user must explain before the import, because some of its cells can mean that a person
// is not a subscriber.
type Question struct {
	Column string  `json:"column" about:"Name of the column"`
	Values []Value `json:"values" about:"Values that can mean that a person isn't a subscriber"`
	Rows   int64   `json:"rows" about:"Number of rows with such a value, including values not shown"`
	Likely bool    `json:"likely" about:"Whether the column probably holds the subscription status"`
}

// shownValues is the maximum number of different cells shown with a question.
const shownValues = 8

// consentTimes lists columns with the time of a consent, which doesn't show who unsubscribed.
var consentTimes = map[string]bool{
	"emailmarketingconsenttimestamp": true, "consenttimestamp": true, "consentdate": true, "consenttime": true,
	"consentedat": true, "optindate": true, "optinat": true, "optintimestamp": true, "doubleoptindate": true,
}

// bookkeeping reports whether a column contains only internal data of the exporting program. If such a column shows
// that a person unsubscribed, another column shows it too.
func (f *form) bookkeeping(name string) bool {
	return slices.Contains(f.drop, name) && name != "NOTES" && name != f.quoted
}

// paysFor reports whether a column of a Substack file shows who pays. Another column shows who unsubscribed.
func paysFor(name string, names []string) bool {
	return foldWord(name) == "activesubscription" && slices.ContainsFunc(names, func(other string) bool {
		return slices.Contains([]string{"plan", "expiry", "emaildisabled"}, foldWord(other))
	})
}

// Questions returns the columns that may show who unsubscribed. It leaves out columns whose name or mapping declares
// their use. s is the Survey of the same file.
func (c *Reader) Questions(s *Survey) (asked []Question) {
	names := c.names()
	for i := range s.Columns {
		if i >= len(c.header) || c.declared[i] || consentTimes[foldWord(c.header[i])] ||
			paysFor(names[i], names) {
			continue
		}
		q := Question{Column: names[i], Likely: c.likelyStatus(names[i], &s.Columns[i])}
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

// likelyStatus reports whether a column in question is probably a status column. Among names, places or remarks, a few
// cells can be status words by chance.
func (c *Reader) likelyStatus(name string, s *ColumnSurvey) bool {
	if core.KnownField(name) != "" || slices.ContainsFunc(c.options.Fields, func(f core.Field) bool {
		return strings.EqualFold(f.Name, name) || strings.EqualFold(f.Label, name)
	}) {
		return false
	}
	if kindOf(name) != nil || subjectOf(name).tags {
		return true
	}
	rows := int64(0)
	for _, v := range s.Words {
		if statusWords[v.Word] != unknown {
			rows += v.Rows
		}
	}
	return 2*rows >= s.Filled
}

// AllLeft reports whether no person in the file is a subscriber, according to a status column in every row. s is the
// Survey of the same file. A column with many different cells that are not dates doesn't count.
func (c *Reader) AllLeft(s *Survey) bool {
	return s.Rows > 0 && slices.ContainsFunc(c.status, func(col statusColumn) bool {
		if col.dated || col.index >= len(s.Columns) {
			return false
		}
		cells := &s.Columns[col.index]
		if cells.Many {
			return cells.Dates.Dates() == s.Rows && col.mean("20230501").leaves()
		}
		rows := int64(0)
		for _, v := range cells.Values {
			if col.mean(v.Word).leaves() {
				rows += v.Rows
			}
		}
		return rows == s.Rows
	})
}

// leaving returns the cells of a column that mean that a person is not a subscriber. rows is the number of rows in the
// file. If the column's name gives yes, no and dates their meaning, leaving leaves out the cells that mean a
// subscriber.
func (c *ColumnSurvey) leaving(rows int64) (found []Value) {
	other := otherSubject(nameWords(c.Name)) || core.KnownField(c.Name) != ""
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

// refusals lists words, folded by foldCell, that mean no to what the column's name asks.
var refusals = map[string]bool{
	"kein": true, "keine": true, "none": true, "nie": true, "never": true, "jamais": true, "nunca": true, "aucun": true,
	"aucune": true, "ninguno": true, "ninguna": true,
	"\u2717": true, "\u2718": true, "\u2716": true, "\u274c": true, "\u2610": true, "\u2612": true, // crosses, boxes
}

// refuses reports whether a cell, folded by foldCell, means no or starts like a cell that does.
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

// says reports whether a cell, folded by foldCell, is a status word, yes or no.
func says(word string) bool {
	return statusWords[word] != unknown || answers[word] != 0 || refusals[word]
}

// String returns the question, including the cells that it is about.
func (q Question) String() string {
	texts := make([]string, 0, len(q.Values))
	for _, v := range q.Values {
		texts = append(texts, fmt.Sprintf("%q", v.Text))
	}
	rows := "1 row"
	if q.Rows != 1 {
		rows = fmt.Sprintf("%d rows", q.Rows)
	}
	return fmt.Sprintf("column %q may contain unsubscribes (%s; %s)", q.Column, strings.Join(texts, ", "), rows)
}

// Asking returns one string with all questions.
func Asking(questions []Question) string {
	texts := make([]string, len(questions))
	for i := range questions {
		texts[i] = questions[i].String()
	}
	return strings.Join(texts, "; ")
}

// ParseSurvey parses a Survey stored as JSON. If b contains none, it returns nil.
func ParseSurvey(b []byte) *Survey {
	var s Survey
	if len(b) == 0 || json.Unmarshal(b, &s) != nil {
		return nil
	}
	return &s
}

// IsMapping reports whether err is a MappingError.
func IsMapping(err error) bool {
	_, ok := errors.AsType[MappingError](err)
	return ok
}
