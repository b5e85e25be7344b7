package subscribercsv

import (
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
		err := Merge(t.Context(), io.Discard, []Part{part(0, 600), part(500, columns-1)})
		if _, fault := errors.AsType[PartError](err); good != (err == nil) || fault == good {
			t.Errorf("%d columns: %v", columns, err)
		}
	}
}
