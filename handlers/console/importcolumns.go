package console

import (
	"cmp"
	"strconv"
	"strings"

	"newsletterd/core"
)

// importColumn is a column of a file, with what becomes of it.
type importColumn struct {
	Name, Use, Becomes string
	Dates              string // the order of day and month, in a column of dates

	ByName struct{ Use, Becomes string } `json:"by_name"`

	Field   string // name of its input
	Value   string
	Options []option
	Samples []string
	Wrong   string
	First   bool // of those that are wrong
}

// keepColumn is the value of a column that is taken as its name says.
const keepColumn = "*"

// readColumn makes the choice of what becomes of a column. What there is to choose follows from its name alone, so that
// it is the same before and after a try.
func (p *Page) readColumn(d *importData, i int) {
	c := &d.Columns[i]
	c.Field = "column." + strconv.Itoa(i)
	for _, line := range d.Samples[:min(len(d.Samples), sampleLines)] {
		if i < len(line) && strings.TrimSpace(line[i]) != "" {
			c.Samples = append(c.Samples, line[i])
		}
	}
	own, known := cmp.Or(c.ByName.Becomes, ownName(c.Name)), d.knownName(c)
	switch {
	case own == known:
		own = c.Name
	case c.ByName.Use == evidenceColumn:
		own = ownName(c.Name)
	}
	if text := p.useText(c); text != "" {
		c.Options = append(c.Options, option{keepColumn, text})
	}
	c.Options = append(c.Options, p.dateOptions(c)...)
	if c.ByName.Use != statusColumn {
		c.Options = append(c.Options, option{statusColumn, p.T("Subscription status")})
	}
	c.Options = append(c.Options, option{"", p.T("Don't import")}, option{"email", p.T("Email address")})
	for _, f := range d.List.Fields {
		c.Options = append(c.Options, option{f.Name, f.Label})
	}
	for _, name := range []string{"first_name", "last_name", "name", known} {
		if name != "" && !hasOption(c.Options, name) {
			c.Options = append(c.Options, option{name, p.knownLabel(name)})
		}
	}
	if said := d.saidByName(c, known, own); said != "" {
		for i := range c.Options {
			if o := &c.Options[i]; o.Value == said {
				o.Text = p.T("{{field}} (recognized)", "field", o.Text)
			}
		}
	}
	c.Value = d.choice(c, known, own)
	for _, name := range []string{own, c.Value} {
		if name != "" && !hasOption(c.Options, name) {
			c.Options = append(c.Options, option{name, p.T("Save as “{{name}}”", "name", name)})
		}
	}
	if sent, ok := p.Form[c.Field]; ok && hasOption(c.Options, sent) {
		c.Value = sent
	}
}

// choice is what becomes of a column: what was chosen, or what is proposed as long as nothing was. A column of which
// nothing is known is left out then.
func (d *importData) choice(c *importColumn, known, own string) string {
	as, mapped := d.Mapping[c.Name]
	switch {
	case mapped && c.Use == evidenceColumn, mapped && hasOption(c.Options, as):
		return as
	case strings.EqualFold(as, statusColumn), !mapped && d.question(c.Name) != nil:
		return statusColumn
	case d.Problem == "" && d.Status == core.ImportUploaded && c.ByName.Use == "preference":
		return cmp.Or(d.asked(c, own), known)
	case d.Problem == "" || c.value() == keepColumn:
		return c.value()
	case mapped:
		return as
	}
	return d.guess(c, cmp.Or(d.asked(c, own), known))
}

// saidByName returns the choice that follows from the name of a column; empty: there is none.
func (d *importData) saidByName(c *importColumn, known, own string) string {
	switch {
	case known != "":
		return known
	case c.ByName.Use == "email":
		return "email"
	case c.ByName.Use == "preference":
		return own
	case c.ByName.Use == "none":
		return d.asked(c, own)
	}
	return ""
}

// asked returns the field of the list that has the name of a column; empty: there is none.
func (d *importData) asked(c *importColumn, own string) string {
	for _, f := range d.List.Fields {
		if strings.EqualFold(f.Name, own) || strings.EqualFold(f.Label, c.Name) {
			return f.Name
		}
	}
	return ""
}

// markTwice marks the columns for which the same was chosen, and reports whether there are any.
func (p *Page) markTwice(d *importData) (twice bool) {
	columns := map[string]int{}
	for i := range d.Columns {
		if c := &d.Columns[i]; c.Name != "" && c.Value != "" && c.Value != keepColumn && c.Value != statusColumn {
			columns[c.Value]++
		}
	}
	for i := range d.Columns {
		if c := &d.Columns[i]; columns[c.Value] > 1 {
			c.Wrong, c.First, twice = p.T("Already used for another column."), !twice, true
		}
	}
	return twice
}

// guess is the choice to begin with where the columns can't be told by their names.
func (d *importData) guess(c *importColumn, known string) string {
	if len(c.Samples) > 0 && strings.Contains(c.Samples[0], "@") && !d.guessed {
		d.guessed = true
		return "email"
	}
	return known
}

// value is the choice that stands for what an import makes of the column.
func (c *importColumn) value() string {
	switch c.Use {
	case "email":
		return "email"
	case "preference":
		return c.Becomes
	case "none":
		return ""
	}
	return keepColumn
}

// ownName is the name of a column as a placeholder can have it, where there is one.
func ownName(column string) string {
	if name := strings.ToLower(strings.Join(strings.Fields(column), "_")); core.IsFieldName(name) {
		return name
	}
	return column
}

// useText is what a column is that has a meaning of its own by its name; empty: it has none.
func (p *Page) useText(c *importColumn) string {
	switch c.ByName.Use {
	case "status":
		return p.T("Subscription status")
	case "evidence":
		text := p.evidenceText(c.ByName.Becomes)
		if c.Dates == ambiguousDates {
			return p.T("{{what}} (date format unclear, kept as text)", "what", text)
		}
		return text
	case "preferences":
		return p.T("All fields (JSON)")
	}
	return ""
}

// evidenceColumn is the use of a column that is evidence of a consent; ambiguousDates are dates of which
// the day may be the first number or the second.
const (
	evidenceColumn = "evidence"
	ambiguousDates = "ambiguous"
)

// evidenceText is what a column of evidence tells.
func (p *Page) evidenceText(becomes string) string {
	switch becomes {
	case "subscribed_ip":
		return p.T("Signup IP address")
	case "confirmed_at":
		return p.T("Confirmed on")
	case "confirmed_ip":
		return p.T("Confirmation IP address")
	}
	return p.T("Subscribed on")
}

// dateOptions are what a column of dates can become.
func (p *Page) dateOptions(c *importColumn) (options []option) {
	if c.Dates == "" {
		return nil
	}
	all := []string{"subscribed_at", "confirmed_at"}
	if c.ByName.Use == evidenceColumn {
		all = []string{c.ByName.Becomes}
	}
	for _, becomes := range all {
		text := p.evidenceText(becomes)
		switch {
		case c.Dates == ambiguousDates:
			options = append(options, option{becomes + ":dmy", p.T("{{what}} (day first)", "what", text)},
				option{becomes + ":mdy", p.T("{{what}} (month first)", "what", text)})
		case c.ByName.Use != evidenceColumn:
			options = append(options, option{becomes, text})
		}
	}
	return options
}
