package members

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
)

// TestFreeFieldsAreBounded checks that, of too many additional fields in a form, the same ones are taken each time it
// is sent.
func TestFreeFieldsAreBounded(t *testing.T) {
	form := map[string]string{
		"email": "a@b.example", "source": "x", "_website": "y", "bad name": "z", "known": "k",
		"long": strings.Repeat("x", core.MaxFieldText+1),
	}
	want := []string{}
	for i := range 2 * maxFreeFields {
		name := fmt.Sprintf("f%02d", i)
		form[name] = "v"
		if i < maxFreeFields {
			want = append(want, name)
		}
	}
	for range 10 {
		values := map[string]any{}
		addFree(values, core.Fields{{Name: "known"}}, form)
		if got := slices.Sorted(maps.Keys(values)); !slices.Equal(got, want) {
			t.Fatalf("%q", got)
		}
	}
}
