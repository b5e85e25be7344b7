package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"
)

// printer writes records: aligned for people, or JSON for programs.
type printer struct {
	out  io.Writer
	json bool
}

// value writes one JSON value, indented.
func (p printer) value(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := p.out.Write(b.Bytes())
	return err
}

// record writes one record: a line for each of its fields that has a value.
func (p printer) record(v any) error {
	if p.json {
		return p.value(v)
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
	_, err := p.out.Write(b.Bytes())
	return err
}

// counted is a number of things in words: 1 list, 2 lists.
func counted[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// list writes many records: as JSON an array of all their fields, else a table of the columns that are named by the
// JSON names of fields.
func list[T any](p printer, rows []T, columns ...string) error {
	all := make([]any, len(rows))
	for i := range rows {
		all[i] = &rows[i]
	}
	return p.list(all, columns)
}

func (p printer) list(rows []any, columns []string) error {
	if p.json {
		return p.value(rows)
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.ToUpper(strings.Join(columns, "\t")))
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
	_, err := p.out.Write(b.Bytes())
	return err
}

type column struct{ name, text string }

// columnsOf returns the fields of a record by their JSON names, in their order. Embedded records are part of it.
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
		case f.Anonymous: // in text also where JSON gives it a name
			out = append(out, columnsOfValue(rv.Field(i))...)
		case f.IsExported() && name != "" && name != "-":
			out = append(out, column{name, cell(rv.Field(i))})
		}
	}
	return out
}

// cell is a value as one line: what its JSON would say, without quotes and brackets.
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
		return printable(strings.Join(words, ","))
	}
	b, err := json.Marshal(v.Interface())
	if err != nil || string(b) == "null" || string(b) == "{}" {
		return ""
	}
	var s string
	if json.Unmarshal(b, &s) == nil {
		return printable(s)
	}
	return printable(string(b))
}

// printable keeps control characters of records from reaching a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return '·'
		}
		return r
	}, s)
}
