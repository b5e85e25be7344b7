package handlers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestMaskedRowsInTheOrderOfTheirIDs checks that the order of masked rows reveals nothing about the real ids.
func TestMaskedRowsInTheOrderOfTheirIDs(t *testing.T) {
	e := newEnv(t)
	for _, line := range []string{"tenant acme", "list weekly tenant=acme", "user vera viewer=acme", "user ann tenant_admin=acme"} {
		e.step(line)
	}
	for i := range 12 {
		e.step(fmt.Sprintf("subscription s%d list=weekly email=r%d@b.example", i, i))
	}
	ids := func(as string) (ids []string) {
		var rows []struct{ ID string }
		_, body := e.ask("GET", "/api/admin/subscribers?list_id="+e.names["weekly"], as, nil)
		e.must(json.Unmarshal(body, &rows))
		for i := range rows {
			ids = append(ids, rows[i].ID)
		}
		return ids
	}
	shown, masked := ids("ann"), ids("vera")
	if len(shown) != 12 || len(masked) != 12 || !slices.IsSorted(shown) || !slices.IsSorted(masked) {
		t.Errorf("%q\n%q", shown, masked)
	}
	for _, id := range masked {
		if slices.Contains(shown, id) {
			t.Errorf("%s is told to who may not read addresses", id)
		}
	}
}

// An export has the same people as a list with the same filter.
func TestExportsOfAFilter(t *testing.T) {
	e := newEnv(t)
	for _, line := range []string{
		"tenant acme", "list weekly tenant=acme", "user ann tenant_admin=acme",
		"subscription ada list=weekly email=ada@b.example", "subscription grace list=weekly email=grace@b.example",
	} {
		e.step(line)
	}
	for filter, want := range map[string]string{
		"": "ada grace", "email=ada@b.example": "ada", "email_prefix=gr": "grace", "search=grace": "grace",
		"email=none@b.example": "", "field=plan&value=x": "",
	} {
		query := "?list_id=" + e.names["weekly"] + "&" + filter
		for _, path := range []string{"/api/admin/subscribers", "/api/admin/subscribers/export"} {
			_, body := e.ask("GET", path+query, "ann", nil)
			for _, name := range []string{"ada", "grace"} {
				if got := strings.Contains(string(body), name+"@b.example"); got != strings.Contains(want, name) {
					t.Errorf("%s%s: %s is in it: %v", path, query, name, got)
				}
			}
		}
	}
}
