package smtp

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"newsletterd/mail/mailtest"
)

// TestKeeper sends emails through a server that we did not write.
func TestKeeper(t *testing.T) {
	dir := t.TempDir()
	k, err := mailtest.NewKeeper("127.0.0.1:0", dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &post{t: t, n: 50, sender: &Client{Addr: k.Addr()}}
	checkFault(t, p.run(t.Context()), 0, "")
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.eml"))
	if len(files) != 50 || k.Count() != 50 {
		t.Errorf("%d files, count %d", len(files), k.Count())
	}
	got, _ := os.ReadFile(files[0])
	want := "Return-Path: <b@bounce.example>\r\nDelivered-To: <r1@example.org>\r\n" +
		"Subject: 1\r\nMessage-ID: <id1@x.example>\r\n\r\n.dot\r\n..two\r\nend\r\n"
	if string(got) != want {
		t.Errorf("kept %q", got)
	}
}

func TestSinkRecords(t *testing.T) {
	s, err := mailtest.NewSink("127.0.0.1:0", mailtest.SinkOptions{Records: true})
	if err != nil {
		t.Fatal(err)
	}
	p := &post{t: t, n: 100, sender: &Client{Addr: s.Addr()}}
	checkFault(t, p.run(t.Context()), 0, "")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	r := s.Records()
	if s.Count() != 100 || len(r) != 100 ||
		r[41].MessageID != "<id42@x.example>" || r[41].Rcpt != to(42) || r[41].From != "b@bounce.example" {
		t.Errorf("count %d, %d records, %+v", s.Count(), len(r), r[41])
	}
}

// TestSinkWatches checks that a sink with Watch records the emails to the watched addresses, with their times.
func TestSinkWatches(t *testing.T) {
	s, err := mailtest.NewSink("127.0.0.1:0", mailtest.SinkOptions{Watch: strings.TrimPrefix(to(42), "r")})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p := &post{t: t, n: 50, sender: &Client{Addr: s.Addr()}}
	checkFault(t, p.run(t.Context()), 0, "")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	r := s.Records()
	if s.Count() != 50 || len(r) != 1 || r[0].Rcpt != to(42) || r[0].At.Before(began) || r[0].At.After(time.Now()) {
		t.Errorf("count %d, %+v", s.Count(), r)
	}
}

func TestDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail")
	d, err := NewDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &post{t: t, n: 3, sender: d, commit: func(a string) bool { return a != to(2) }}
	checkFault(t, p.run(t.Context()), 0, "")
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 2 || letter(p.outcomes[to(1)]) != "s" || letter(p.outcomes[to(2)]) != "u" {
		t.Fatalf("%q %v", files, p.outcomes)
	}
	if st, _ := os.Stat(files[0]); st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
	if b, _ := os.ReadFile(files[1]); !bytes.HasPrefix(b, []byte("Subject: 3\r\n")) {
		t.Errorf("the files do not sort in the order of writing: %q", b)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	p = &post{t: t, n: 2, sender: d}
	checkFault(t, p.run(t.Context()), FaultDisk, "write")
}
