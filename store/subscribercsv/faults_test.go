package subscribercsv_test

import (
	"slices"
	"strings"
	"testing"

	"newsletterd/store/subscribercsv"
)

// A file of faults for a spreadsheet program has a byte order mark and the program's separator. It can be imported as a
// file of subscribers.
func TestFaultsForSpreadsheets(t *testing.T) {
	var kept, out strings.Builder
	f, err := subscribercsv.NewFaults(&kept, []string{"email", "city"})
	if err != nil {
		t.Fatal(err)
	}
	for line, cells := range map[int][]string{2: {"none", "Köln; Ulm"}, 3: {`a "b"`}} {
		if err := f.Report(subscribercsv.LineError{Line: line, Text: "no, address"}, cells); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := subscribercsv.WriteSpreadsheet(&out, strings.NewReader(kept.String()), ';'); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasPrefix(text, "\ufeffline;error;email;city\n") ||
		!strings.Contains(text, "2;no, address;none;\"Köln; Ulm\"\n") || !strings.Contains(text, `3;no, address;"a ""b"""`) {
		t.Errorf("%q", text)
	}
	r, err := subscribercsv.NewReader(strings.NewReader(out.String()), subscribercsv.Options{})
	if err != nil || !slices.Equal(r.Header(), []string{"line", "error", "email", "city"}) {
		t.Errorf("%v, %v", r, err)
	}
	faults, err := subscribercsv.FirstFaults(strings.NewReader(kept.String()), 1)
	if err != nil || len(faults) != 1 || faults[0].Text != "no, address" || faults[0].Line < 2 {
		t.Errorf("%+v, %v", faults, err)
	}
	if faults, err := subscribercsv.FirstFaults(strings.NewReader(""), 5); len(faults) != 0 || err != nil {
		t.Errorf("of no file: %+v, %v", faults, err)
	}
	if err := subscribercsv.WriteSpreadsheet(&out, strings.NewReader(`a"b`), ','); err == nil {
		t.Error("a file that is no CSV is written")
	}
}
