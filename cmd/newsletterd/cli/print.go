package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"
)

// Printer writes records: aligned text for people, or JSON for programs.
type Printer struct {
	Out  io.Writer
	JSON bool
}

// Printer returns a Printer for the output of a command.
func (p *Program) Printer(c *Context) Printer { return Printer{Out: p.Out, JSON: JSONWanted(c)} }

// Value writes v as indented JSON.
func (p Printer) Value(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := p.Out.Write(b.Bytes())
	return err
}

// Record writes one record, with a line for each field that has a value.
func (p Printer) Record(v any) error {
	if p.JSON {
		return p.Value(v)
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range columnsOf(v) {
		if c.text != "" {
			fmt.Fprintf(w, "%s\t%s\n", c.name, c.text)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := p.Out.Write(b.Bytes())
	return err
}

// Counted returns a number with a noun, such as "1 list" or "2 lists". thing is the singular of the noun.
func Counted[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// List writes records as a JSON array with all fields, or as a table. columns lists the table's columns by the JSON
// names of their fields.
func List[T any](p Printer, rows []T, columns ...string) error {
	all := make([]any, len(rows))
	for i := range rows {
		all[i] = &rows[i]
	}
	return p.list(all, columns)
}

// headings splits columns of the form "name" or "name=heading".
func headings(columns []string) (names, heads []string) {
	for _, c := range columns {
		name, head, renamed := strings.Cut(c, "=")
		if !renamed {
			head = name
		}
		names, heads = append(names, name), append(heads, head)
	}
	return names, heads
}

func (p Printer) list(rows []any, columns []string) error {
	if p.JSON {
		return p.Value(rows)
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	columns, heads := headings(columns)
	fmt.Fprintln(w, strings.ToUpper(strings.Join(heads, "\t")))
	for _, row := range rows {
		byName := map[string]string{}
		for _, c := range columnsOf(row) {
			byName[c.name] = c.text
		}
		cells := make([]string, len(columns))
		for i, name := range columns {
			if cells[i] = byName[name]; cells[i] == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := p.Out.Write(b.Bytes())
	return err
}

type column struct{ name, text string }

// columnsOf returns a record's fields by JSON name, in order, including those of embedded records.
func columnsOf(v any) []column { return columnsOfValue(reflect.Indirect(reflect.ValueOf(v))) }

func columnsOfValue(rv reflect.Value) []column {
	if !rv.IsValid() || rv.Kind() != reflect.Struct {
		return nil
	}
	var out []column
	for i := range rv.NumField() {
		f := rv.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous: // as separate columns, even if it has a name in JSON
			out = append(out, columnsOfValue(rv.Field(i))...)
		case f.IsExported() && name != "" && name != "-":
			out = append(out, column{name, cell(rv.Field(i))})
		}
	}
	return out
}

// cell returns a value as a table shows it: as JSON without quotes and brackets, on one line.
func cell(v reflect.Value) string {
	if w, ok := v.Interface().(interface{ Words() string }); ok {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return ""
		}
		return w.Words()
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.String {
		words := make([]string, v.Len())
		for i := range words {
			words[i] = v.Index(i).String()
		}
		return Printable(strings.Join(words, ","))
	}
	b, err := json.Marshal(v.Interface())
	if err != nil || string(b) == "null" || string(b) == "{}" {
		return ""
	}
	var s string
	if json.Unmarshal(b, &s) == nil {
		return Printable(s)
	}
	return Printable(string(b))
}

// Printable replaces the control characters in s, which must not reach a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return '·'
		}
		return r
	}, s)
}

// Grouped formats a number with commas between thousands.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
