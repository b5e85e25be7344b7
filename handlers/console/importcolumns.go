package console

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
)

// importColumn is a file's column and its mapping.
type importColumn struct {
	Name, Use, Becomes string
	Dates              string // order of day and month in a date column

	ByName struct{ Use, Becomes string } `json:"by_name"`

	Title   string // text for a column that isn't in the file; empty: its name
	Field   string // name of its input
	Value   string
	Options []option
	Samples []string
	Asks    string // question about its meaning
	Label   string
	Wrong   string
	First   bool // whether this is the first wrong column
}

// keepColumn is the choice to import a column as its name suggests.
const keepColumn = "*"

// readColumn sets the choices for a column. They depend only on its name, so they are the same before and after a dry
// run.
func (p *Page) readColumn(d *importData, i int) {
	c := &d.Columns[i]
	c.Field, c.Asks = "column."+strconv.Itoa(i), d.asks(p, c.Name)
	c.Label = p.T("Import “{{name}}” as", "name", c.Name)
	switch {
	case c.Name == core.ImportFileStatus:
		c.Title = p.T("From the names of the files")
	case d.isList() && c.Name == "email":
		c.Title = p.T("Email address")
	case d.isList():
		c.Title = p.knownLabel(c.Name)
	}
	for _, line := range d.Samples {
		if i < len(line) && strings.TrimSpace(line[i]) != "" && len(c.Samples) < samplesShown {
			c.Samples = append(c.Samples, shortened(line[i]))
		}
	}
	if len(c.Samples) == 0 {
		c.Samples = []string{p.T("(blank in the first rows)")}
	}
	if q := d.question(c.Name); q != nil && !q.Likely {
		c.Options = append(c.Options, option{openColumn, p.T("Choose…")})
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
	if p.May(core.ActionPeopleTag) {
		c.Options = append(c.Options, option{tagsColumn, p.T("Tags")})
	}
	c.Options = append(c.Options, option{"", p.T("Don't import")}, option{"email", p.T("Email address")})
	for _, f := range d.List.Fields {
		c.Options = append(c.Options, option{f.Name, f.Label})
	}
	for _, name := range []string{"first_name", "last_name", fullName, "name", known} {
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
		if name == core.ImportFileStatus { // no name that people know
			continue
		}
		if name != "" && !hasOption(c.Options, name) {
			text := p.T("Save as “{{name}}”", "name", name)
			if name == own { // the name before ownName changed it
				text = p.T("Save as “{{name}}”", "name", c.Name)
			}
			c.Options = append(c.Options, option{name, text})
		}
	}
	if sent, ok := p.Form[c.Field]; ok && hasOption(c.Options, sent) && sent != c.Value {
		c.Value, c.Asks = sent, ""
	}
}

// isList reports whether the columns are those of a list of people without a header.
func (d *importData) isList() bool {
	return slices.EqualFunc(d.Columns, core.PeopleColumns, func(c importColumn, name string) bool {
		return c.Name == name
	})
}

// Listed reports whether the visitor needn't decide anything about the columns, because the file is a list of people.
func (d *importData) Listed() bool {
	return d.isList() && d.Problem == "" && len(d.Questions) == 0 &&
		!slices.ContainsFunc(d.Columns, func(c importColumn) bool { return c.Wrong != "" })
}

// sampleLength is the maximum number of characters shown of a value.
const sampleLength = 80

// shortened returns the beginning of a long string.
func shortened(s string) string {
	if r := []rune(s); len(r) > sampleLength {
		return strings.TrimRight(string(r[:sampleLength-1]), " ") + "…"
	}
	return s
}

// columnTable is a table of columns: either those to import, or the others.
type columnTable struct {
	Heads   []string
	Columns []importColumn
}

// fewLeftOut is the maximum number of unimported columns that share a table with the imported ones.
const fewLeftOut = 2

// ColumnTables returns two tables: the columns that are imported or need a decision, and all others. If there are few
// others, the first table contains them too, and the second is empty.
func (d *importData) ColumnTables(p *Page) (all []columnTable) {
	heads := []string{p.T("Column"), p.T("Sample values"), p.T("Import as")}
	used, left := columnTable{Heads: heads}, columnTable{Heads: heads}
	for _, c := range d.Columns {
		if c.Value == "" && c.Wrong == "" && c.Asks == "" {
			left.Columns = append(left.Columns, c)
		} else {
			used.Columns = append(used.Columns, c)
		}
	}
	if len(left.Columns) <= fewLeftOut || len(used.Columns) == 0 {
		return []columnTable{{heads, d.Columns}, {}}
	}
	return []columnTable{used, left}
}

// namesLength is the maximum number of characters shown of a list of column names.
const namesLength = 400

// Names lists the columns' names.
func (t columnTable) Names() string {
	var names []string
	for i := range t.Columns {
		if t.Columns[i].Name != "" {
			names = append(names, t.Columns[i].Name)
		}
	}
	return cut(strings.Join(names, ", "), namesLength)
}

// LeftOut lists the names of the columns that a dry run didn't import. Without a dry run, it returns an empty string.
func (d *importData) LeftOut() string {
	var names []string
	for i := range d.Columns {
		if c := &d.Columns[i]; d.Ready && !d.Suppress && c.Use == "none" && c.Name != "" {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

// choice returns the mapping of a column: the chosen one or, before that, the proposed one. By default, an unknown
// column is left out.
func (d *importData) choice(c *importColumn, known, own string) string {
	as, mapped := d.Mapping[c.Name]
	switch {
	case c.Use == tagsColumn && !hasOption(c.Options, tagsColumn): // the visitor may not tag people
		return ""
	case mapped && c.Use == evidenceColumn, mapped && hasOption(c.Options, as):
		return as
	case hasOption(c.Options, openColumn):
		return openColumn
	case strings.EqualFold(as, statusColumn), !mapped && d.question(c.Name) != nil:
		return statusColumn
	case d.Problem == "" && d.Status == core.ImportUploaded && c.ByName.Use == "preference":
		return cmp.Or(d.asked(c, own), known)
	case d.Problem == "" || c.value() == keepColumn || c.Use == tagsColumn:
		return c.value()
	case mapped:
		return as
	}
	return d.guess(c, cmp.Or(d.asked(c, own), known))
}

// saidByName returns the mapping that a column's name suggests, or an empty string.
func (d *importData) saidByName(c *importColumn, known, own string) string {
	switch {
	case known != "":
		return known
	case c.ByName.Use == tagsColumn:
		return tagsColumn
	case c.ByName.Use == "email":
		return "email"
	case c.ByName.Use == "preference":
		return own
	case c.ByName.Use == "none":
		return d.asked(c, own)
	}
	return ""
}

// asked returns the list field with the column's name, or an empty string.
func (d *importData) asked(c *importColumn, own string) string {
	for _, f := range d.List.Fields {
		if strings.EqualFold(f.Name, own) || strings.EqualFold(f.Label, c.Name) {
			return f.Name
		}
	}
	return ""
}

// markTwice marks columns that share a mapping, and reports whether there are any.
func (p *Page) markTwice(d *importData) (twice bool) {
	columns := map[string]int{}
	for i := range d.Columns {
		if c := &d.Columns[i]; c.Name != "" && c.Value != "" && c.Value != keepColumn && c.Value != statusColumn &&
			c.Value != tagsColumn && c.Value != openColumn {
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

// guess returns the initial mapping of a column whose name doesn't identify its contents.
func (d *importData) guess(c *importColumn, known string) string {
	if len(c.Samples) > 0 && strings.Contains(c.Samples[0], "@") && !d.guessed {
		d.guessed = true
		return "email"
	}
	return known
}

// value returns the choice for the column's mapping in an import.
func (c *importColumn) value() string {
	switch c.Use {
	case "email":
		return "email"
	case "preference":
		return c.Becomes
	case tagsColumn:
		return tagsColumn
	case "none":
		return ""
	}
	return keepColumn
}

// ownName converts a column's name to a form allowed in placeholders, if possible.
func ownName(column string) string {
	if name := strings.ToLower(strings.Join(strings.Fields(column), "_")); core.IsFieldName(name) {
		return name
	}
	return column
}

// useText describes the use of a column whose name has a special meaning. For other columns, it returns an empty
// string.
func (p *Page) useText(c *importColumn) string {
	switch c.ByName.Use {
	case "status":
		return p.statusText(c.Name)
	case "evidence":
		text := p.evidenceText(c.ByName.Becomes)
		if c.Dates == ambiguousDates {
			return p.T("{{what}} (unclear date format, imported as text)", "what", text)
		}
		return text
	case "preferences":
		return p.T("All fields (JSON)")
	}
	return ""
}

// statusText describes a status column by its name. Some columns contain the time when a person left or bounced.
func (p *Page) statusText(name string) string {
	name = strings.ToLower(name)
	if !strings.HasSuffix(name, "time") && !strings.HasSuffix(name, "date") && !strings.HasSuffix(name, "at") &&
		!strings.HasSuffix(name, "on") {
		return p.T("Subscription status")
	}
	switch {
	case strings.HasPrefix(name, "unsub"):
		return p.T("Unsubscribed on")
	case strings.HasPrefix(name, "clean"), strings.HasPrefix(name, "bounced"):
		return p.T("Bounced on")
	}
	return p.T("Subscription status")
}

// evidenceColumn is the use of columns with evidence of consent. ambiguousDates means that either the first or the
// second number in a date can be the day.
const (
	evidenceColumn = "evidence"
	ambiguousDates = "ambiguous"
)

// evidenceText describes the contents of an evidence column.
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

// dateOptions returns the date formats that a date column can have.
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
