package subscribercsv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Merged files can't have more columns in total than one file can have.
func TestMergedColumnsAreLimited(t *testing.T) {
	part := func(from, to int) Part {
		var header strings.Builder
		header.WriteString("email")
		for i := from; i < to; i++ {
			fmt.Fprintf(&header, ",x%d", i)
		}
		file := header.String() + "\na@b.example\n"
		return Part{Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(file)), nil }}
	}
	for columns, good := range map[int]bool{MaxColumns: true, MaxColumns + 1: false} {
		_, err := Merge(t.Context(), io.Discard, []Part{part(0, 600), part(500, columns-1)})
		if _, fault := errors.AsType[PartError](err); good != (err == nil) || fault == good {
			t.Errorf("%d columns: %v", columns, err)
		}
	}
}

// Each line of a merged file leads to its file and its line there, also after blank lines and cells with line breaks.
func TestMergedLinesHaveSources(t *testing.T) {
	part := func(name, file string) Part {
		return Part{
			Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(file)), nil },
		}
	}
	var b bytes.Buffer
	sources, err := Merge(t.Context(), &b, []Part{
		part("a.csv", "email,name\n\n\"k@b.example\",\"two\nlines\"\n\nl@b.example,z\n,\nm@b.example,1,2\n"),
		part("b.csv", "email\nno\nn@b.example\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&b, Options{Survey: &Survey{Encoding: UTF8, Delimiter: ",", Sources: sources}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		row, _, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if fault, ok := errors.AsType[LineError](err); ok {
			row.Line = fault.Line
		}
		file, line := r.options.Survey.place(row.Line)
		got = append(got, fmt.Sprintf("%s:%d", file, line))
	}
	if want := "a.csv:3 a.csv:6 a.csv:8 b.csv:2 b.csv:3"; strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
	_, err = Merge(t.Context(), io.Discard, []Part{
		part("a.csv", "email\na@b.example\n"), part("b.csv", "email\n\"a\nb\n"),
	})
	if err == nil || !strings.HasPrefix(err.Error(), "b.csv: line 2: ") {
		t.Errorf("a quote that isn't closed: %v", err)
	}
}
