package mail

import (
	"bytes"
	"errors"
	"io"
	"mime"
	netmail "net/mail"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	gomessage "github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/internal/octets"
)

var (
	onceOnly   = []string{"From", "To", "Subject", "Date", "Message-Id", "Mime-Version", "Content-Type"}
	neverThere = []string{
		"Bcc", "Return-Path", "Authentication-Results", "Received", "Dkim-Signature", "X-Evil",
		"Sender",
	}
	encodedWord = regexp.MustCompile(`=\?utf-8\?[qb]\?[^? ]*\?=`)
	lowerHex    = regexp.MustCompile(`=[0-9A-Fa-f]{0,1}[a-f]|=[a-f][0-9A-Fa-f]`)
)

// checkWire checks the octets and lines of a message.
func checkWire(t *testing.T, raw []byte) {
	t.Helper()
	if !bytes.HasSuffix(raw, []byte("\r\n")) {
		t.Errorf("the last line is not ended")
	}
	head := true
	for line := range bytes.SplitSeq(bytes.TrimSuffix(raw, []byte("\r\n")), []byte("\r\n")) {
		if bytes.ContainsAny(line, "\r\n\x00") {
			t.Errorf("a bare CR, LF or NUL in %q", line)
		}
		for _, c := range line {
			if c >= 0x80 {
				t.Errorf("8 bit in %q", line)
				break
			}
		}
		if len(line) == 0 {
			head = false
		}
		if !head && len(bytes.TrimRight(line, " \t")) != len(line) {
			t.Errorf("a blank at the end of %q", line)
		}
		limit := 76
		if head {
			limit = softLine
		}
		// a token that can't be split may be longer, on its own line
		_, value, _ := bytes.Cut(line, []byte(" "))
		if len(line) > limit && (!head || bytes.ContainsAny(value, " ")) || len(line) > hardLine {
			t.Errorf("%d octets in %q", len(line), line)
		}
		if head {
			for _, word := range encodedWord.FindAll(line, -1) {
				if len(word) > wordMax {
					t.Errorf("encoded word of %d octets", len(word))
				}
			}
		}
	}
}

// parsed is a message as two independent parsers read it.
type parsed struct {
	header  netmail.Header
	subject string
	parts   []string // media types
	bodies  []string
}

func parseMail(t *testing.T, raw []byte) *parsed {
	t.Helper()
	checkWire(t, raw)
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	p := &parsed{header: m.Header}
	for _, name := range onceOnly {
		if len(m.Header[name]) != 1 {
			t.Errorf("%d fields %s", len(m.Header[name]), name)
		}
	}
	for _, name := range neverThere {
		if len(m.Header[name]) != 0 {
			t.Errorf("a field %s: %q", name, m.Header[name])
		}
	}
	for name, values := range m.Header {
		if len(values) > 1 {
			t.Errorf("%d fields %s", len(values), name)
		}
	}
	if p.subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		t.Errorf("subject: %v", err)
	}
	if _, err := m.Header.Date(); err != nil {
		t.Errorf("date: %v", err)
	}
	e, err := gomessage.Read(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	err = e.Walk(func(path []int, part *gomessage.Entity, err error) error {
		if err != nil {
			return err
		}
		kind, params, _ := part.Header.ContentType()
		if strings.HasPrefix(kind, "multipart/") {
			if cte := part.Header.Get("Content-Transfer-Encoding"); cte != "" {
				t.Errorf("multipart with encoding %q", cte)
			}
			if b := params["boundary"]; len(b) < 16 || len(b) > 70 || !bytes.Contains(raw, []byte("\r\n--"+b+"--\r\n")) {
				t.Errorf("boundary %q", b)
			}
			return nil
		}
		if params["charset"] != "utf-8" {
			t.Errorf("charset %q", params["charset"])
		}
		body, err := io.ReadAll(part.Body)
		p.parts, p.bodies = append(p.parts, kind), append(p.bodies, string(body))
		return err
	})
	if err != nil {
		t.Errorf("parts: %v in\n%s", err, raw)
	}
	return p
}

func TestBulkMessage(t *testing.T) {
	b, r := mustBulk(t, testSpec()), testRecipient()
	raw, err := b.Append(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	p := parseMail(t, raw)
	if !slices.Equal(p.parts, []string{"text/plain", "text/html"}) {
		t.Errorf("parts %v", p.parts)
	}
	if p.subject != "Ännchen, your Grüße for November" {
		t.Errorf("subject %q", p.subject)
	}
	from, err := netmail.ParseAddress(p.header.Get("From"))
	if err != nil || from.Name != "Jürgen's Garden, Ltd." || from.Address != "news@garden.example" {
		t.Errorf("From %+v, %v", from, err)
	}
	for name, want := range map[string]string{
		"To": "<anna@reader.example>", "Reply-To": "<office@garden.example>",
		"Date": "Sat, 21 Nov 2026 09:30:05 +0100", "Precedence": "bulk", "Mime-Version": "1.0", "Auto-Submitted": "",
		"Message-Id":            "<" + r.MessageID + "@garden.example>",
		"List-Unsubscribe":      "<" + r.OneClickURL + ">, <mailto:" + r.UnsubscribeMailto + "?subject=unsubscribe>",
		"List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		"List-Id":               "Garden news <0190f3c2-7d5e-7aaa-8000-1234567890ab.lists.garden.example>",
		"Feedback-Id":           "aaaaaaaaaaaa:1234567890ab:bbbbbbbbbbbb:newsletterd",
	} {
		if got := p.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	_, text, html, err := b.Parts(r)
	if err != nil || p.bodies[1] != strings.ReplaceAll(html, "\n", "\r\n") || p.bodies[0]+
		"\r\n" != strings.ReplaceAll(text, "\n", "\r\n") {
		t.Errorf("the parts do not survive the encoding: %v\n%q\n%q", err, p.bodies[0], text)
	}
	for i, want := range []string{"See you in KÖLN!", "<p>See you in KÖLN!</p>"} {
		if !strings.Contains(p.bodies[i], want) || !strings.Contains(p.bodies[i], r.UnsubscribeURL) {
			t.Errorf("part %d lacks its words or the link: %q", i, p.bodies[i])
		}
	}
	if strings.Contains(p.bodies[0], "Short words") ||
		!strings.Contains(p.bodies[1], "Short words for anna@reader.example") {
		t.Error("the preheader belongs into the HTML alone")
	}
	again, _ := b.Append(nil, r)
	if !bytes.Equal(raw, again) {
		t.Error("the same recipient gives other bytes")
	}
	if lowerHex.Match(raw[bytes.Index(raw, []byte("\r\n\r\n")):]) {
		t.Error("hex of quoted-printable in lower case")
	}
}

// TestFooter checks that a part without an unsubscribe link by its author gets one, and that other parts don't.
func TestFooter(t *testing.T) {
	for _, c := range []struct {
		html, text string
		footers    [2]int
	}{
		{"<body><p>x</p></BODY>", "", [2]int{1, 1}},
		{"<p>x</p>", "mine", [2]int{1, 1}},
		{`<a href="{{ unsubscribe_url }}">x</a>`, "mine", [2]int{1, 0}},
		{`<a href="https://x.example/?t={{ unsubscribe_token }}">x</a>`, "", [2]int{0, 0}},
		{"", "mine {{ unsubscribe_url }}", [2]int{0, 0}},
		{"", "{% if preferences.some %}{{ unsubscribe_url }}{% endif %}", [2]int{1, 0}},
		{"", "{{ email | default: unsubscribe_url }}", [2]int{1, 0}},
		{"", "{{ unsubscribe_url | truncate: 3 }}", [2]int{1, 0}},
		{"", "{% if email %}x{% endif %}{{ unsubscribe_url }}", [2]int{0, 0}},
	} {
		s := testSpec()
		s.HTML, s.Text = c.html, c.text
		_, text, html, err := mustBulk(t, s).Parts(testRecipient())
		got := [2]int{strings.Count(text, "because you subscribed"), strings.Count(html, "because you subscribed")}
		if err != nil || got != c.footers {
			t.Errorf("%q %q: footers %v, want %v\n%s\n%s", c.html, c.text, got, c.footers, text, html)
		}
		if c.footers[1] == 1 && strings.Contains(html, "BODY") && !strings.HasSuffix(html, "</table></BODY>") {
			t.Errorf("the footer stands outside of the body: %q", html)
		}
		if c.footers[0] == 1 && !strings.Contains(text, "1 Garden Lane") {
			t.Errorf("the footer lacks the postal address: %q", text)
		}
	}
}

func TestJobsOwnUnsubscribeURL(t *testing.T) {
	s := testSpec()
	s.UnsubscribeURL = "https://shop.example/leave?t={{unsubscribe_token}}"
	raw, err := mustBulk(t, s).Append(nil, testRecipient())
	if err != nil {
		t.Fatal(err)
	}
	p := parseMail(t, raw)
	if !strings.Contains(p.bodies[1], "https://shop.example/leave?t=AbCdEf0123456789") ||
		!strings.Contains(p.header.Get("List-Unsubscribe"), "news.example/api/newsletter/unsubscribe") {
		t.Errorf("%q\n%q", p.bodies[1], p.header.Get("List-Unsubscribe"))
	}
	for _, bad := range []string{
		"https://shop.example/leave", "ftp://x.example/{{unsubscribe_token}}",
		"/leave?{{unsubscribe_token}}", "{{unsubscribe_token}}", "https://x.example/{{unsubscribe_token",
	} {
		s.UnsubscribeURL = bad
		var e *core.Error
		if _, err := CompileBulk(s); !errors.As(err, &e) || e.Field != "template.unsubscribe_url" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestLayout(t *testing.T) {
	s := testSpec()
	s.HTML = "<p>{{ email }}</p>{{ nonsense }}"
	s.HTMLLayout = "<html><body class='{{ list.name }}'>{{ content }}<i>{{ unsubscribe_url }}</i></body></html>"
	var te *TemplateError
	if _, err := CompileBulk(s); !errors.As(err, &te) || te.Field != "body_html" || te.Col != 19 {
		t.Errorf("%+v, %v", te, err)
	}
	s.HTML = "<p>{{ email }}</p>"
	_, text, html, err := mustBulk(t, s).Parts(testRecipient())
	if err != nil || !strings.Contains(html, "<p>anna@reader.example</p><i>https") ||
		!strings.Contains(text, "anna@reader.example\n") {
		t.Errorf("%v\n%s\n%s", err, html, text)
	}
	for bad, col := range map[string]int{
		"<html></html>": 1, "{{content}}{{content}}": 12, "<script>{{content}}</script>": 9,
		"<title>{{content}}</title>":     8,
		`<p title="{{ content }}">x</p>`: 11, `<p title='{% if email %}a{% endif %}{{content}}'>x</p>`: 37,
		"<p {{content}}>": 4, "<p title={{content}}>": 10, "<!-- {{content}} -->": 6,
	} {
		s.HTMLLayout = bad
		if _, err := CompileBulk(s); !errors.As(err, &te) || te.Field != "template" || te.Line != 1 || te.Col != col {
			t.Errorf("layout %q: %v", bad, err)
		}
	}
}

func TestBulkRefuses(t *testing.T) {
	b := mustBulk(t, testSpec())
	for name, change := range map[string]func(*Recipient){
		"address":    func(r *Recipient) { r.Email = "a@b.example>\r\nX-Evil: 1" },
		"message id": func(r *Recipient) { r.MessageID = "x\r\nX-Evil: 1aaaaaaaaaaa" },
		"one click":  func(r *Recipient) { r.OneClickURL = "https://x.example/>\r\nX-Evil: 1" },
		"mailto":     func(r *Recipient) { r.UnsubscribeMailto = "a@b.example>" },
	} {
		r := testRecipient()
		change(r)
		if out, err := b.Append([]byte("x"), r); !errors.Is(err, ErrMessage) || string(out) != "x" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	s := testSpec()
	s.HTML = ""
	if _, err := CompileBulk(s); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("no body: %v", err)
	}
	s = testSpec()
	s.From.Email = "x"
	if _, err := CompileBulk(s); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("no sender: %v", err)
	}
}

// TestBulkWarnings checks the warnings about unknown fields and about an email that Gmail clips.
func TestBulkWarnings(t *testing.T) {
	s := testSpec()
	s.HTML = "{{ list.nmae }}" + strings.Repeat("<p>twenty octets here</p>", 6000)
	if w := mustBulk(t, s).Warnings(); len(w) != 3 || !strings.Contains(w[0], "list.nmae") ||
		!strings.Contains(w[2], "Gmail") {
		t.Errorf("%q", w)
	}
	s.HTML = `<img src="https://x.example/a.png"><img src="https://x.example/b.png" alt=""><IMG SRC=x/>`
	if w := mustBulk(t, s).Warnings(); len(w) != 1 || !strings.Contains(w[0], "2 images have no alt text") {
		t.Errorf("%q", w)
	}
	s.HTML = "[{{ confirm_url }}]"
	if w := mustBulk(t, s).Warnings(); len(w) == 0 || !strings.Contains(w[0], "recipients of a send job are confirmed") {
		t.Errorf("%q", w)
	}
	if w := mustBulk(t, testSpec()).Warnings(); len(w) != 0 {
		t.Errorf("%q", w)
	}
}

func TestCompose(t *testing.T) {
	m := &Message{
		From: Address{"Garden", "hello@garden.example"}, To: Address{"", "anna@reader.example"},
		Subject: "Please confirm",
		Text:    "Hi\n", HTML: "<p>Hi</p>", Date: testDate, MessageID: "abcdefghijklmnopqrstuvwxyz",
	}
	raw, err := Compose(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	coretest.Golden(t, *update, "testdata/compose.eml", raw)
	p := parseMail(t, raw)
	if p.header.Get("Auto-Submitted") != "auto-generated" || p.header.Get("Precedence") != "" {
		t.Errorf("%v", p.header)
	}
	for name := range p.header {
		if strings.HasPrefix(name, "List-") {
			t.Errorf("a transactional mail with %s", name)
		}
	}
	m.HTML = ""
	if raw, err = Compose(nil, m); err != nil {
		t.Fatal(err)
	}
	if p := parseMail(t, raw); !slices.Equal(p.parts, []string{"text/plain"}) || p.bodies[0] != "Hi\r\n" {
		t.Errorf("%v %q", p.parts, p.bodies)
	}
	m.To.Email = "anna@reader.example\r\nBcc: x@y.example"
	if _, err := Compose(nil, m); !errors.Is(err, ErrMessage) {
		t.Errorf("an address with a line end: %v", err)
	}
}

// TestSubjects checks that subjects of any length and script are decoded to the same text.
func TestSubjects(t *testing.T) {
	for _, s := range []string{
		"a", strings.Repeat("word ", 40) + "end", strings.Repeat("x", 300), "  leading and  double ",
		"=?utf-8?q?fake?=", "ünï",
		strings.Repeat("日本語の題名", 30), strings.Repeat("é", 200), "emoji 👩‍👩‍👧‍👦 " + strings.Repeat("👍", 60), "short " +
			strings.Repeat("y", 70), strings.Repeat("z", 69) + " " + strings.Repeat("q", 73),
	} {
		raw, err := Compose(nil, &Message{
			From: Address{s, "hello@garden.example"}, To: Address{"", "anna@reader.example"}, Subject: s, Text: "x",
			Date: testDate, MessageID: "abcdefghijklmnopqrstuvwxyz",
		})
		if err != nil {
			t.Fatal(err)
		}
		p := parseMail(t, raw)
		if p.subject != s {
			t.Errorf("subject %q came out as %q", s, p.subject)
		}
		if from, err := netmail.ParseAddress(p.header.Get("From")); err != nil || from.Name != strings.TrimSpace(s) {
			t.Errorf("name %q came out as %+v, %v", s, from, err)
		}
	}
}

func TestIdent(t *testing.T) {
	n, other := NewIdent(bytes.Repeat([]byte{1}, 32)), NewIdent(bytes.Repeat([]byte{2}, 32))
	seen := map[string]bool{}
	for _, c := range [][2]int64{{0, 0}, {1, 2}, {2, 1}, {1, 1 << 40}, {1<<62 + 5, 1<<62 + 6}} {
		id, b, u := n.Message(c[0], c[1]), n.Bounce(c[0], c[1]), n.Unsubscribe(c[0], c[1])
		for _, s := range []string{id, b, u} {
			if seen[s] || len(s) > 64 || strings.ToLower(s) != s {
				t.Errorf("%q", s)
			}
			seen[s] = true
		}
		if id != n.Message(c[0], c[1]) || !tokenOnly(id) || !octets.Address(b+"@x.example") {
			t.Errorf("%q, %q", id, b)
		}
		if j, s, ok := n.ParseMessage("<" + id + "@x.example>"); !ok || j != c[0] || s != c[1] {
			t.Errorf("%q gives %d, %d, %v", id, j, s, ok)
		}
		if kind, j, s, ok := n.ParseLocal(strings.ToUpper(b)); !ok || kind != 'b' || j != c[0] || s != c[1] {
			t.Errorf("%q gives %c, %d, %d, %v", b, kind, j, s, ok)
		}
		if kind, _, _, ok := n.ParseLocal(u); !ok || kind != 'u' {
			t.Errorf("%q gives %c, %v", u, kind, ok)
		}
		if _, _, _, ok := n.ParseLocal("b" + u[1:]); ok {
			t.Error("an unsubscribe address passes as a bounce address")
		}
		if _, _, ok := other.ParseMessage(id); ok {
			t.Error("a foreign key reads our id")
		}
	}
	for _, s := range []string{"", "<>", "@", "b+", "b+.", "a", strings.Repeat("a", 200), "<x@y>"} {
		_, _, ok := n.ParseMessage(s)
		_, _, _, ok2 := n.ParseLocal(s)
		if ok || ok2 {
			t.Errorf("%q was read", s)
		}
	}
}

func FuzzCompose(f *testing.F) {
	f.Add("Subject", "Name", "text\n.\n", "<p>html</p>", `{"a":"b"}`)
	f.Add("é\r\nBcc: x", "a\"b\\c\r\n", " \t\r\n\r \n=", "\x00\xff\xfe", `{"a":"\r\nX-Evil: 1"}`)
	f.Add(strings.Repeat("日", 100), strings.Repeat("x ", 100), strings.Repeat("é ", 100), "", "")
	f.Fuzz(func(t *testing.T, subject, name, text, html, prefs string) {
		raw, err := Compose([]byte("prefix"), &Message{
			From: Address{name, "a@b.example"}, To: Address{name, "c@d.example"},
			ReplyTo: Address{subject, "r@b.example"},
			Subject: subject, Text: text, HTML: html, Date: testDate, MessageID: "abcdefghijklmnopqrstuvwxyz",
		})
		if err != nil {
			t.Fatal(err)
		}
		p := parseMail(t, raw[len("prefix"):])
		if want := octets.CleanLine(subject); p.subject != want && utf8.ValidString(subject) &&
			strings.TrimSpace(want) == want {
			t.Errorf("subject %q came out as %q", want, p.subject)
		}
		spec := testSpec()
		spec.Subject, spec.HTML, spec.Preheader = "{{ preferences.a }}", "", ""
		spec.Text = "{% raw %}" + strings.ReplaceAll(text, "{%",
			"") + "{% endraw %}{{ preferences.a }}\n{{ preferences.a }}"
		spec.From.Name, spec.ListName = name, name
		b, err := CompileBulk(spec)
		if err != nil {
			t.Fatal(err)
		}
		r := testRecipient()
		r.Preferences = prefs
		if raw, err = b.Append(nil, r); err != nil {
			t.Fatal(err)
		}
		p = parseMail(t, raw)
		_, want, _, _ := b.Parts(r)
		if got := strings.ReplaceAll(p.bodies[0], "\r\n", "\n"); strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want,
			"\n") {
			t.Errorf("text %q came out as %q", want, got)
		}
	})
}
