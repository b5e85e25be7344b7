package smtp

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestReadReply(t *testing.T) {
	for _, c := range []struct {
		in       string
		code     int // 0: refused
		enhanced string
		text     string
	}{
		{"250 ok\r\n", 250, "", "ok"},
		{"250\r\n", 250, "", ""},
		{"250 \n", 250, "", ""},
		{"250 2.1.5 fine\r\n", 250, "2.1.5", "fine"},
		{"550-5.1.1 one\r\n550-5.1.1 two\r\n550 5.1.1 three\r\n", 550, "5.1.1", "one two three"},
		{"550 5.7.515 x\r\n", 550, "5.7.515", "x"},
		{"550 5.7.1\r\n", 550, "5.7.1", ""},
		{"550 5.7.1234 x\r\n", 550, "", "5.7.1234 x"},
		{"550 5.7 x\r\n", 550, "", "5.7 x"},
		{"550 5.7.1x\r\n", 550, "", "5.7.1x"},
		{"550 3.1.1 x\r\n", 550, "", "3.1.1 x"},
		{"250-a\r\n251 b\r\n", 0, "", ""},
		{"25 x\r\n", 0, "", ""},
		{"150 x\r\n", 0, "", ""},
		{"650 x\r\n", 0, "", ""},
		{"250x\r\n", 0, "", ""},
		{"\r\n", 0, "", ""},
		{"250 without end", 0, "", ""},
		{"250 a\tb\x00\xff\r\n", 250, "", "a b\uFFFD"},
		{"250 " + string(bytes.Repeat([]byte("x"), 5000)) + "\r\n", 0, "", ""},
		{string(bytes.Repeat([]byte("250-x\r\n"), 200)), 0, "", ""},
	} {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.WriteString(theirs, c.in); theirs.Close() }()
		w := newWire(ours)
		err := w.read(time.Minute)
		ours.Close()
		if c.code == 0 {
			if err == nil {
				t.Errorf("%.40q was taken as %+v", c.in, w.reply)
			}
			continue
		}
		if err != nil || w.reply.code != c.code || w.reply.enhanced != c.enhanced || w.reply.string() != c.text {
			t.Errorf("%.40q: %v, %d %q %q", c.in, err, w.reply.code, w.reply.enhanced, w.reply.string())
		}
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte("250-a\r\n250 2.0.0 ok\r\n"))
	f.Add([]byte("550 5.1.1 no\n"))
	f.Add([]byte("354\r\n\x00\xff 2.1"))
	f.Fuzz(func(t *testing.T, in []byte) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		go func() { _, _ = theirs.Write(in); theirs.Close() }()
		c := newWire(ours)
		for range 20 {
			if c.read(time.Minute) != nil {
				return
			}
			r := &c.reply
			if r.code < 200 || r.code > 599 || len(r.text) > maxReplyText+maxReplyLines {
				t.Fatalf("reply %+v", r)
			}
			if s := r.string(); strings.ContainsAny(s, "\r\n\x00") {
				t.Fatalf("text %q", s)
			}
			o, blame := classify(stageRcpt, r.code, r.enhanced, "")
			if o.HardBounce && (o.Result != Never || blame || r.code/100 != 5) {
				t.Fatalf("outcome %+v of %+v", o, r)
			}
		}
	})
}

// TestRepliesDoNotRepeatThePassword checks that the password is removed from replies, so that it doesn't reach logs,
// the database or a page.
func TestRepliesDoNotRepeatThePassword(t *testing.T) {
	c := &Client{Username: "news", Password: "hunter2-secret"}
	for _, form := range c.secrets() {
		w := &wire{secrets: c.secrets()}
		w.addText(0, []byte("5.7.8 rejected "+string(form)+" for news"))
		if got := string(w.reply.text); strings.Contains(got, string(form)) || got != "rejected *** for news" {
			t.Errorf("%q", got)
		}
	}
	if (&Client{Password: "queue"}).secrets() != nil {
		t.Error("a short password hides words of replies")
	}
}
