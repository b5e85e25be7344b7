package members

import (
	"slices"
	"testing"

	"newsletterd/core"
)

// TestDisableIn checks that a caller who is bound to tenants blocks an address for those, and everywhere only if the
// operator's setting allows it.
func TestDisableIn(t *testing.T) {
	tenants, everywhere := []string{"acme", "beta"}, []string{""}
	for _, tt := range []struct {
		setting, scope string
		operator       bool
		want           []string
		kind           core.Kind
	}{
		{"global", "", false, everywhere, core.Internal},
		{"global", "global", false, everywhere, core.Internal},
		{"global", "tenant", false, tenants, core.Internal},
		{"tenant", "", false, tenants, core.Internal},
		{"tenant", "tenant", false, tenants, core.Internal},
		{"tenant", "global", false, nil, core.Forbidden},
		{"tenant", "", true, everywhere, core.Internal},
		{"tenant", "global", true, everywhere, core.Internal},
		{"global", "tenant", true, nil, core.Invalid},
	} {
		news := newsletter{&Room{Options: Options{DisableScope: tt.setting}}}
		got, err := news.disableIn(tt.scope, tenants, tt.operator)
		if !slices.Equal(got, tt.want) || core.KindOf(err) != tt.kind {
			t.Errorf("%+v: %q %v", tt, got, err)
		}
	}
}
