package subscribercsv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func look(t *testing.T, file string) *Survey {
	t.Helper()
	s, err := Look(t.Context(), strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A survey counts the folded values of each column, and finds status words among many other cells.
func TestSurvey(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	many.WriteString("E-Mail;Status;Notes;Since\n")
	for i := range 100 {
		note := fmt.Sprintf("note %d", i)
		if i == 3 || i == 70 {
			note = "Un-subscribed "
		}
		fmt.Fprintf(&many, "a%d@b.example;%s;%s;%d.5.2023\n", i, []string{"Active", "active "}[i%2], note, 1+i%28)
	}
	many.WriteString("short\n")
	s := look(t, many.String())
	want := &Survey{
		Encoding: UTF8, Delimiter: ";", Rows: 100, Faulty: 1,
		Columns: []ColumnSurvey{
			{Name: "E-Mail", Filled: 100, Many: true, Addresses: 100},
			{
				Name: "Status", Filled: 100, Values: []Value{{"Active", "active", 100, 2}},
				Words: []Value{{"Active", "active", 100, 2}},
			},
			{Name: "Notes", Filled: 100, Many: true, Words: []Value{{"Un-subscribed", "unsubscribed", 2, 5}}},
			{Name: "Since", Filled: 100, Dates: DateCount{DayMonth: 0, Plain: 100}},
		},
	}
	want.Columns[3].Values = s.Columns[3].Values
	if !reflect.DeepEqual(s, want) || len(s.Columns[3].Values) != 28 {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

// All rows together determine the order of day and month.
func TestSurveyTellsDateOrder(t *testing.T) {
	t.Parallel()
	for cells, want := range map[string]DateOrder{
		"3/5/2023 25/5/2023": DayMonth, "3/5/2023 5/25/2023": MonthDay, "3/5/2023 5/4/2023": Ambiguous,
		"25/5/2023 5/25/2023": Ambiguous, "5/5/2023 2023-05-03": DayMonth, "3.5.2023": DayMonth,
		"5/5/2023 05-25-23": MonthDay,
	} {
		s := look(t, "since\n"+strings.ReplaceAll(cells, " ", "\n")+"\n")
		if got := s.Columns[0].Dates.Order(); got != want {
			t.Errorf("%s: %s, want %s", cells, got, want)
		}
	}
}

// endless is a file without an end whose rows all differ.
type endless struct {
	n    int
	rest string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		e.rest = "email,a,b\n"
	}
	if e.rest == "" {
		e.rest = fmt.Sprintf("a%[1]d@b.example,x%[1]d,y%[1]d\n", e.n)
	}
	e.n++
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// A survey ends when its context is canceled. Its size does not grow with the number of rows.
func TestSurveyIsBoundedAndCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var few, enough runtime.MemStats
	rows := 0
	e := &endless{}
	r := readFunc(func(p []byte) (int, error) {
		switch rows++; rows {
		case 20_000:
			runtime.GC()
			runtime.ReadMemStats(&few)
		case 120_000:
			runtime.GC()
			runtime.ReadMemStats(&enough)
			cancel()
		case 200_000:
			return 0, io.EOF
		}
		return e.Read(p)
	})
	if _, err := Look(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if grown := int64(enough.HeapAlloc) - int64(few.HeapAlloc); grown > 512<<10 {
		t.Errorf("%d bytes more are held after 100,000 rows", grown)
	}
	if rows > 150_000 {
		t.Errorf("%d rows were read after the caller had gone", rows-120_000)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// An error of the disk does not count as the end of the file.
func TestSurveyReturnsErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk")
	_, err := Look(t.Context(), io.MultiReader(strings.NewReader("email\na@b.example\n"),
		readFunc(func([]byte) (int, error) { return 0, broken })))
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
