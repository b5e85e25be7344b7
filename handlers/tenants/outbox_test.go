package tenants

import (
	"reflect"
	"strings"
	"testing"

	"newsletterd/core"
)

// TestFiltersKnowAllEventTypes checks that events of each type can be listed and sent again.
func TestFiltersKnowAllEventTypes(t *testing.T) {
	want := strings.Join(core.EventTypes(), "|")
	for _, filter := range []any{outboxFilter{}, retryEvents{}} {
		f, ok := reflect.TypeOf(filter).FieldByName("Type")
		if got := f.Tag.Get("enum"); !ok || got != want {
			t.Errorf("%T: %q, want %q", filter, got, want)
		}
	}
}
