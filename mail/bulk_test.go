package mail

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"newsletterd/core/coretest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var testDate = time.Date(2026, 11, 21, 9, 30, 5, 0, time.FixedZone("", 3600))

func testSpec() *BulkSpec {
	return &BulkSpec{
		From:     Address{"Jürgen's Garden, Ltd.", "news@garden.example"},
		ReplyTo:  Address{"", "office@garden.example"},
		ListID:   "0190f3c2-7d5e-7aaa-8000-1234567890ab",
		ListName: "Garden news",
		JobID:    "0190f3c2-7d5e-7bbb-8000-aaaaaaaaaaaa",
		TenantID: "0190f3c2-7d5e-7ccc-8000-bbbbbbbbbbbb",
		Subject:  `{{ preferences.first_name | default: "Hello" }}, your Grüße for November`,
		HTML: `<!DOCTYPE html><html><head><title>News</title></head><body class="x">
<h1>Hi {{ preferences.first_name | default: "friend" }}</h1>
<p>Bäume &amp; <a href="https://garden.example/?e={{ email }}">flowers</a>.</p>
{% if preferences.city == "Köln" %}<p>See you in {{ preferences.city | upcase }}!</p>{% else %}<p>Come by.</p>{% endif %}
<p><a href="{{ unsubscribe_url }}">Leave</a></p></body></html>`,
		Preheader: "Short words for {{ email }}",
		Shared: Shared{
			List:   map[string]string{"name": "Garden news", "id": "0190f3c2-7d5e-7aaa-8000-1234567890ab"},
			Tenant: map[string]string{"name": "Garden", "postal_address": "1 Garden Lane\nBath"},
		},
	}
}

func testRecipient() *Recipient {
	n := NewIdent(bytes.Repeat([]byte{7}, 32))
	return &Recipient{
		Email: "anna@reader.example", SubscriberID: "0190f3c2-0000-8aaa-8000-000000000001",
		Preferences: `{"first_name":"Ännchen","city":"K\u00f6ln","tags":["a","b"]}`,
		MessageID:   n.Message(3, 12), Date: testDate,
		OneClickURL:       "https://news.example/api/newsletter/unsubscribe?token=AbCdEf0123456789",
		UnsubscribeMailto: n.Unsubscribe(3, 12) + "@bounces.example",
		UnsubscribeToken:  "AbCdEf0123456789",
		UnsubscribeURL:    "https://news.example/unsubscribe?token=AbCdEf0123456789",
	}
}

func mustBulk(t testing.TB, spec *BulkSpec) *Bulk {
	t.Helper()
	b, err := CompileBulk(spec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBulkGolden(t *testing.T) {
	cyrillic := testSpec()
	cyrillic.HTML = "<p>Здравствуйте, {{ preferences.first_name }}! Это наша рассылка.</p>"
	cyrillic.Subject = "Новости сада: осенние цветы, деревья и всё остальное для вас"
	textOnly := testSpec()
	textOnly.HTML, textOnly.Text = "", "Dear {{ email }},\n\n.a line with a dot\nAll the best \n"
	textOnly.Subject = "Plain " + strings.Repeat("words that make a long subject ", 4) + "end"
	for name, spec := range map[string]*BulkSpec{
		"bulk.eml": testSpec(), "bulk_base64.eml": cyrillic,
		"bulk_text.eml": textOnly,
	} {
		got, err := mustBulk(t, spec).Append(nil, testRecipient())
		if err != nil {
			t.Fatal(err)
		}
		coretest.Golden(t, *update, "testdata/"+name, got)
	}
}

// TestNoLineOfABulkMailBeginsWithADot checks a property that package smtp relies on: it copies such emails without
// searching for dots to double.
func TestNoLineOfABulkMailBeginsWithADot(t *testing.T) {
	spec := testSpec()
	spec.HTML = ".<p>\n.{{ preferences.dots }}\n.</p>\n.{{ email }}"
	spec.Text = ".\n..{{ preferences.dots }}\n.{{ preferences.dots }}."
	spec.Subject = ". {{ preferences.dots }} ."
	bulk, r := mustBulk(t, spec), testRecipient()
	for n := range 160 {
		r.Preferences = `{"dots":"` + strings.Repeat("x", n) + strings.Repeat(".", 80) + `\n.\r\n..\r."}`
		got, err := bulk.Append(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		if i := bytes.Index(got, []byte("\n.")); i >= 0 {
			t.Fatalf("%d: %q", n, got[max(0, i-80):i+10])
		}
	}
}

// benchSpec returns an email of about 7 KB with eight personalized stories.
func benchSpec() *BulkSpec {
	s := testSpec()
	var b strings.Builder
	b.WriteString("<html><body>")
	for i := range 8 {
		fmt.Fprintf(&b,
			`<table width="600" style="border:0"><tr><td style="font:14px sans-serif">Hello {{ preferences.first_name | default: "friend" }}, story %d: %s <a href="https://garden.example/story/%d?who={{ email }}">read on</a></td></tr></table>`,
			i, strings.Repeat("lorem ipsum dolor sit amet consectetur ", 8), i)
	}
	b.WriteString(`<p><a href="{{ unsubscribe_url }}">Leave</a></p></body></html>`)
	s.HTML = b.String()
	return s
}

func BenchmarkBulkAppend(b *testing.B) {
	bulk := mustBulk(b, benchSpec())
	r := testRecipient()
	buf, err := bulk.Append(nil, r)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		if buf, err = bulk.Append(buf[:0], r); err != nil {
			b.Fatal(err)
		}
	}
}
