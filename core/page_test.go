package core

import (
	"errors"
	"strings"
	"testing"
)

func TestCursor(t *testing.T) {
	k := CursorKey("0123456789abcdef0123456789abcdef")
	c := k.Seal("caller\n/library", "1234567")
	if after, err := k.Open("caller\n/library", c); err != nil || after != "1234567" {
		t.Errorf("%q %v", after, err)
	}
	if strings.Contains(c, "MTIzNDU2Nw") {
		t.Error("the cursor shows its row")
	}
	for name, bad := range map[string]struct{ binding, cursor string }{
		"another caller": {"other\n/library", c},
		"empty":          {"caller\n/library", ""},
		"cut":            {"caller\n/library", c[:len(c)-2]},
		"changed":        {"caller\n/library", "A" + c[1:]},
		"no base64":      {"caller\n/library", "***"},
		"padding":        {"caller\n/library", c + "=="},
		"only a MAC":     {"caller\n/library", c[:22]},
	} {
		if _, err := k.Open(bad.binding, bad.cursor); !errors.Is(err, ErrInvalidCursor) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	k := CursorKey("0123456789abcdef0123456789abcdef")
	f.Add("b", k.Seal("b", "1"))
	f.Add("b", "")
	f.Fuzz(func(t *testing.T, binding, cursor string) {
		after, err := k.Open(binding, cursor)
		if err == nil && k.Seal(binding, after) != cursor {
			t.Errorf("%q opens to %q, which seals to another cursor", cursor, after)
		}
	})
}
