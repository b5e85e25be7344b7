package mail

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"unsafe"
	"weak"
)

// TestForSending checks that a Bulk creates the same message after ForSending, and no longer holds its sources.
func TestForSending(t *testing.T) {
	for name, change := range map[string]func(*BulkSpec){
		"both parts": func(*BulkSpec) {},
		"text only": func(s *BulkSpec) {
			s.Text, s.HTML = strings.Repeat("A line of text for {{ email }}.\n", 9), ""
		},
		"base64": func(s *BulkSpec) { s.HTML = "<p>" + strings.Repeat("Привет, {{ email }}! ", 9) + "</p>" },
		"tracked": func(s *BulkSpec) {
			s.Track = Tracking{Open: true, Click: true, Origin: "https://news.example"}
		},
		"layout": func(s *BulkSpec) {
			s.HTMLLayout = "<html><body><p>{{ job.subject }}</p>{{ content }}</body></html>"
		},
	} {
		spec := testSpec()
		change(spec)
		spec.HTML, spec.Text = strings.Clone(spec.HTML), strings.Clone(spec.Text)
		b := mustBulk(t, spec)
		source := spec.HTML
		if source == "" {
			source = spec.Text
		}
		held, encoded := weak.Make(unsafe.StringData(source)), !b.htmlB64
		spec, source = nil, ""
		r := testRecipient()
		if b.spec.Track.Open {
			r.Track = &Tracker{Ident: NewIdent(bytes.Repeat([]byte{7}, 32)), Job: 3, Seq: 12, Links: []int64{1, 2}}
		}
		before, err := b.Append(nil, r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b.ForSending()
		after, err := b.Append(nil, r)
		if err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: %v, %s\ninstead of %s", name, err, after, before)
		}
		runtime.GC()
		if encoded && held.Value() != nil {
			t.Errorf("%s: the source is still in memory", name)
		}
		runtime.KeepAlive(b)
	}
}
