package dkim

import (
	"bytes"
	"errors"
	"math/rand/v2"
	netmail "net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/dkim/dkimtest"
)

// newSigner returns a signer for example.org with one key per algorithm, and the keys as published in the DNS.
func newSigner(t testing.TB, algorithms ...string) (*Signer, []core.DKIMKey) {
	t.Helper()
	var published []core.DKIMKey
	var keys []Key
	for _, algorithm := range algorithms {
		private, public, err := NewKey(algorithm)
		if err != nil {
			t.Fatal(err)
		}
		k := core.DKIMKey{Domain: "example.org", Selector: "nd-" + algorithm, Algorithm: algorithm}
		k.Status, k.Public = core.DKIMActive, public
		if err := k.Validate(); err != nil {
			t.Fatal(err)
		}
		published = append(published, k)
		keys = append(keys, Key{Domain: k.Domain, Selector: k.Selector, Private: private})
	}
	signer, err := NewSigner(keys)
	if err != nil {
		t.Fatal(err)
	}
	return signer, published
}

func bulkToSign(t testing.TB) []byte {
	t.Helper()
	b, err := mail.CompileBulk(&mail.BulkSpec{
		From:    mail.Address{Name: "Björn's Weekly", Email: "news@example.org"},
		ReplyTo: mail.Address{Email: "desk@example.org"},
		ListID:  "weekly", ListName: "Weekly", JobID: core.NewID(), TenantID: core.NewID(),
		Subject: "Hello {{preferences.first_name}}, ünïcode",
		HTML: "<html><body><p>Dear {{preferences.first_name}},</p>\n\n<p>" + strings.Repeat("word ", 200) +
			"</p>\n\n</body></html>",
	})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := b.Append(nil, &mail.Recipient{
		Email: "reader@example.net", MessageID: strings.Repeat("a", 26), Preferences: `{"first_name":"Zoë"}`,
		OneClickURL: "https://news.example.org/api/newsletter/unsubscribe?token=abc", UnsubscribeToken: "abc",
		UnsubscribeURL:    "https://news.example.org/unsubscribe?token=abc",
		UnsubscribeMailto: "u+1.2@bounces.example.org",
	})
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

// replaced returns a function that replaces the first old in a message by with.
func replaced(old, with string) func([]byte) []byte {
	return func(m []byte) []byte { return bytes.Replace(m, []byte(old), []byte(with), 1) }
}

func TestSignatures(t *testing.T) {
	signer, keys := newSigner(t, core.DKIMRSA, core.DKIMEd25519)
	msg, err := signer.Sign(bulkToSign(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(msg[:bytes.Index(msg, []byte("\r\nFrom:"))]) {
		if len(bytes.TrimRight(line, "\r\n")) > softLine {
			t.Errorf("%d octets in %q", len(line), line)
		}
	}
	if good, bad := dkimtest.Verify(t, msg, keys...); good != 2 || bad != 0 {
		t.Errorf("%d good, %d bad signatures in\n%s", good, bad, msg)
	}
	head, _, _ := bytes.Cut(msg, []byte("\r\n\r\n"))
	for _, want := range []string{"a=rsa-sha256;", "a=ed25519-sha256;", "c=relaxed/relaxed;", "d=example.org;", " t="} {
		if !bytes.Contains(head, []byte(want)) {
			t.Errorf("no %q in\n%s", want, head)
		}
	}
	if bytes.Contains(head, []byte(" l=")) {
		t.Error("only a part of the body is signed")
	}
	for name, change := range map[string]func([]byte) []byte{
		"a word of the body":          replaced("word word", "word ward"),
		"the subject":                 replaced("Subject: ", "Subject: Re: "),
		"a second From":               func(m []byte) []byte { return append([]byte("From: x@example.com\r\n"), m...) },
		"a second Subject":            func(m []byte) []byte { return append([]byte("Subject: x\r\n"), m...) },
		"the unsubscribe link":        replaced("token=abc", "token=abd"),
		"List-Unsubscribe-Post":       replaced("One-Click", "One-click"),
		"something behind the ending": func(m []byte) []byte { return append(m, "more\r\n"...) },
	} {
		if good, _ := dkimtest.Verify(t, change(bytes.Clone(msg)), keys...); good != 0 {
			t.Errorf("%s was changed and %d signatures still hold", name, good)
		}
	}
}

// TestSignedFields checks that the fields that recipients act on are oversigned, but not Feedback-ID, because Amazon
// SES adds its own.
func TestSignedFields(t *testing.T) {
	signer, _ := newSigner(t, core.DKIMRSA)
	msg, err := signer.Sign(bulkToSign(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := netmail.ReadMessage(bytes.NewReader(msg))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(m.Header.Get("DKIM-Signature"), " h=")
	list, _, _ := strings.Cut(rest, ";")
	signed := map[string]int{}
	for name := range strings.SplitSeq(strings.Join(strings.Fields(list), ""), ":") {
		signed[strings.ToLower(name)]++
	}
	for _, name := range []string{
		"From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type", "Reply-To", "List-Unsubscribe",
		"List-Unsubscribe-Post", "List-Id",
	} {
		if signed[strings.ToLower(name)] != 2 {
			t.Errorf("%s stands %d times in h=", name, signed[strings.ToLower(name)])
		}
	}
	if signed["feedback-id"] != 1 {
		t.Errorf("Feedback-ID stands %d times in h=", signed["feedback-id"])
	}
	for name := range signed {
		if slices.Contains([]string{"return-path", "received", "bcc", "dkim-signature"}, name) {
			t.Errorf("%s is signed", name)
		}
	}
}

func TestSignSkipsFieldsThatRelaysChange(t *testing.T) {
	signer, keys := newSigner(t, core.DKIMRSA)
	msg, err := signer.Sign(bulkToSign(t), []string{"message-id", "Date", "from"})
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(msg, []byte("Message-ID: <"), []byte("Message-ID: <relay."), 1)
	changed = append([]byte("Received: from a by b\r\nX-Relay: yes\r\n"), changed...)
	if good, bad := dkimtest.Verify(t, changed, keys...); good != 1 || bad != 0 {
		t.Errorf("%d good, %d bad", good, bad)
	}
	if !bytes.Contains(msg, []byte("h=From:From:")) {
		t.Error("From is not signed")
	}
}

func TestSignTransactionalMail(t *testing.T) {
	signer, keys := newSigner(t, core.DKIMRSA)
	msg, err := mail.Compose(nil, &mail.Message{
		From: mail.Address{Email: "news@example.org"}, To: mail.Address{Email: "a@example.net"},
		Subject: "Confirm", Text: "Click.\n\n\n", HTML: "<p>Click.</p>", MessageID: strings.Repeat("b", 26),
	})
	if err != nil {
		t.Fatal(err)
	}
	if msg, err = signer.Sign(msg, nil); err != nil {
		t.Fatal(err)
	}
	if good, _ := dkimtest.Verify(t, msg, keys...); good != 1 {
		t.Errorf("no good signature in\n%s", msg)
	}
}

const dkimpy = `
import sys, dkim
zone = dict(line.split("\t", 1) for line in open(sys.argv[1]).read().splitlines())
msg = open(sys.argv[2], "rb").read()
dns = lambda name, timeout=5: zone[(name.decode() if isinstance(name, bytes) else name).rstrip(".")].encode()
d = dkim.DKIM(msg)
n = 0
while d.verify(idx=n, dnsfunc=dns):
    n += 1
    if n == len([h for h in d.headers if h[0].lower() == b"dkim-signature"]): break
print(n)
`

// TestDkimpyVerifies checks that dkimpy, which .ci/run installs, verifies the signatures.
func TestDkimpyVerifies(t *testing.T) {
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} { // another Python may precede Debian's in PATH
		if exec.Command(p, "-c", "import dkim, nacl").Run() == nil {
			python = p
		}
	}
	if python == "" {
		t.Skip("SKIPPED: no independent DKIM verifier here: python3-dkim and python3-nacl are not installed")
	}
	signer, keys := newSigner(t, core.DKIMRSA, core.DKIMEd25519)
	msg, err := signer.Sign(bulkToSign(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	records, file := filepath.Join(dir, "zone"), filepath.Join(dir, "mail.eml")
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(k.RecordName() + "\t" + k.RecordValue() + "\n")
	}
	if err := errors.Join(os.WriteFile(records, []byte(b.String()), 0o600), os.WriteFile(file, msg, 0o600)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", dkimpy, records, file).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "2" {
		t.Errorf("dkimpy: %s%v", out, err)
	}
}

func BenchmarkSign(b *testing.B) {
	for _, algorithm := range []string{core.DKIMRSA, core.DKIMEd25519} {
		b.Run(algorithm, func(b *testing.B) {
			signer, _ := newSigner(b, algorithm)
			msg := bulkToSign(b)
			buf := make([]byte, 0, 2*len(msg))
			for b.Loop() {
				if _, err := signer.Sign(append(buf[:0], msg...), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestRelaxed checks that relaxed has no false positives, and that a newsletter is already in canonical form.
func TestRelaxed(t *testing.T) {
	msg := bulkToSign(t)
	if body := msg[bytes.Index(msg, []byte("\r\n\r\n"))+4:]; !relaxed(body) {
		t.Errorf("not canonical:\n%s", body)
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"word", "a longer one", " ", "\t", "\r\n", "!", "\r\n\r\n", "!\r\n"}
	yes := 0
	for range 20_000 {
		var b []byte
		for range rnd.IntN(12) {
			b = append(b, pieces[rnd.IntN(len(pieces))]...)
		}
		b = append(b, "\r\n"...)
		if !relaxed(b) {
			continue
		}
		yes++
		if canon := appendRelaxedBody(nil, b); !bytes.Equal(canon, b) {
			t.Fatalf("%q is not its canonical form %q", b, canon)
		}
	}
	if yes < 1000 {
		t.Errorf("only %d of 20000 were taken for canonical", yes)
	}
}

// TestCanonicalForms checks that signer and verifier agree on the canonical form of any white space.
func TestCanonicalForms(t *testing.T) {
	signer, keys := newSigner(t, core.DKIMRSA, core.DKIMEd25519)
	rnd := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"word", " ", "  ", "\t", "\r\n", "\r\n", "\r\n\r\n", " \r\n", "\t \r\n", ".", "a=b;", "=20"}
	for range 300 {
		var b strings.Builder
		b.WriteString("From:  \"A  B\" <news@example.org>\r\nSubject:\r\n folded\t  subject \r\n  again\r\n")
		b.WriteString("TO: <x@example.net> \r\nX-Other: 1\r\nDate: now\r\ncc:\t<y@example.net>\r\nCc: " +
			"<z@example.net>\r\n\r\n")
		for range rnd.IntN(30) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		if rnd.IntN(4) > 0 {
			b.WriteString("\r\n")
		}
		msg, err := signer.Sign([]byte(b.String()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(b.String(), "\r\n") { // a message on the wire consists of whole lines
			msg = append(msg, "\r\n"...)
		}
		if good, bad := dkimtest.Verify(t, msg, keys...); good != 2 || bad != 0 {
			t.Fatalf("%d good, %d bad of %q", good, bad, msg)
		}
	}
	if _, err := signer.Sign([]byte("From: a@example.org\r\n"), nil); err == nil {
		t.Error("a header without an end is signed")
	}
}

// TestSignOddMessages signs unusual messages. None contains a bare CR, because verifiers treat it differently and no
// email has one.
func TestSignOddMessages(t *testing.T) {
	signer, keys := newSigner(t, core.DKIMRSA, core.DKIMEd25519)
	const head = "From: a@example.org\r\nTo: b@example.net\r\nSubject: x\r\n\r\n"
	for name, msg := range map[string]string{
		"no body":                head,
		"one empty line":         head + "\r\n",
		"empty lines only":       head + "\r\n\r\n\r\n",
		"blanks only":            head + " \t \r\n\t\r\n",
		"blank lines at the end": head + "text\r\n \r\n\t\r\n",
		"runs of blanks":         head + "a  b\tc \t d\r\n  indented\r\n\tby a tab\r\n one\r\n",
		"a long line":            head + strings.Repeat("x", 3000) + "\r\n" + strings.Repeat("y ", 2000) + "\r\n",
		"8 bit":                  head + "Grüße an Zoë \xff\xfe\r\n",
		"a folded subject": "From: a@example.org\r\nTo: b@example.net\r\nSubject: one\r\n two\r\n\tthree  " +
			"\r\n four\r\n\r\ntext\r\n",
		"an empty subject": "From: a@example.org\r\nSubject:\r\nTo:  b@example.net\r\n\r\ntext\r\n",
		"a field of 2000 octets": "From: a@example.org\r\nSubject: " + strings.Repeat("word ", 400) +
			"\r\n\r\ntext\r\n",
		"two of a field":                "From: a@example.org\r\nCc: one@example.net\r\nX: y\r\nCc: two@example.net\r\n\r\ntext\r\n",
		"8 bit in a field":              "From: Zoë <a@example.org>\r\nSubject: Grüße\r\n\r\ntext\r\n",
		"a field that only begins like": "From: a@example.org\r\nSubject-Not: x\r\nSubject: y\r\n\r\ntext\r\n",
	} {
		signed, err := signer.Sign([]byte(msg), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.HasSuffix(string(signed), msg) {
			t.Errorf("%s: the message itself was changed", name)
		}
		if good, bad := dkimtest.Verify(t, signed, keys...); good != 2 || bad != 0 {
			t.Errorf("%s: %d good, %d bad signatures", name, good, bad)
		}
	}
}

// TestAMessageInTwoParts checks that signing a message in two parts results in the same body hash as signing the whole.
func TestAMessageInTwoParts(t *testing.T) {
	signer, _ := newSigner(t, core.DKIMEd25519)
	bodyHash := func(data []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		_, hash, _ := strings.Cut(string(data), "; bh=")
		hash, _, _ = strings.Cut(hash, ";")
		return hash
	}
	for _, data := range []string{"one\r\n", "one  two \r\n\r\n\r\n--=-x\r\n"} {
		head, tail := "From: a@x.example\r\n\r\n", "Content-Type: a/b;\r\n name=\"x\"\r\n\r\nAAAA\r\n--=-x--\r\n"
		whole := bodyHash(signer.Sign([]byte(head+data+tail), nil))
		if got := bodyHash(signer.SignAll([]byte(head+data), []byte(tail), nil)); got != whole || got == "" {
			t.Errorf("%q: %s, want %s", data, got, whole)
		}
	}
}
