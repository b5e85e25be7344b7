package core

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAttachmentName(t *testing.T) {
	for name, want := range map[string]string{
		"Préis list.pdf":               "Préis list.pdf",
		"preise.PNG":                   "preise.pdf",
		"a/b\\c:\"d\"\r\n?.pdf":        "a b c d.pdf",
		" .. ":                         "document.pdf",
		"\xff\u200b\u202e":             "document.pdf",
		"v1.2":                         "v1.2.pdf",
		"..hidden":                     "hidden.pdf",
		strings.Repeat("ä", 100):       strings.Repeat("ä", 40) + ".pdf",
		strings.Repeat("a", 79) + "ä":  strings.Repeat("a", 79) + ".pdf",
		strings.Repeat("a", 79) + ".ä": strings.Repeat("a", 79) + ".pdf",
		"Wochenkarte 12.–18. Oktober (neu), 3 €": "Wochenkarte 12.–18. Oktober (neu), 3 €.pdf",
	} {
		if got := AttachmentName(name, PDF); got != want {
			t.Errorf("%q: %q, not %q", name, got, want)
		}
	}
}

// FuzzAttachmentName checks that every result is valid both in a header and as a file name.
func FuzzAttachmentName(f *testing.F) {
	f.Add("Préis list.pdf")
	f.Fuzz(func(t *testing.T, name string) {
		got := AttachmentName(name, PDF)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "/\\:*?\"<>|\r\n\x00\t") || strings.Contains(got, "  ") ||
			strings.HasPrefix(got, ".") || !strings.HasSuffix(got, ".pdf") ||
			len(got) > maxAttachmentName+len("document.pdf") {
			t.Errorf("%q: %q", name, got)
		}
	})
}
