package report

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/emersion/go-smtp"

	"newsletterd/core/coretest"
	"newsletterd/mail"
)

// bounceWants lists the expected reports of the emails in testdata/bounces, and whether they contain our identifiers.
var bounceWants = []string{
	"hard_bounced, ours", "soft_bounced, ours", "soft_bounced, ours", "nothing", "delivery, ours", "complaint, ours",
	"nothing", "unsubscribe, ours", "bounce, ours", "bounce, ours", "nothing", "nothing", "nothing",
	"hard_bounced, ours",
	"nothing",
}

// bounceMails returns the emails in testdata/bounces and their titles.
func bounceMails(t testing.TB, n *mail.Ident) (titles, mails []string) {
	t.Helper()
	_, titles, mails = blocks(t, "bounces/bounces.txt")
	fill := strings.NewReplacer("{verp}", n.Bounce(3, 4)+"@bounce.example.com",
		"{message}", n.Message(3, 4)+"@example.com", "{mailto}", n.Unsubscribe(3, 4)+"@bounce.example.com")
	for i, text := range mails {
		mails[i] = strings.ReplaceAll(strings.TrimSuffix(fill.Replace(text), "\n")+"\n", "\n", "\r\n")
	}
	return titles, mails
}

func TestBounces(t *testing.T) {
	n := mail.NewIdent(make([]byte, 32))
	titles, mails := bounceMails(t, n)
	if len(titles) != len(bounceWants) {
		t.Fatalf("%d mails, %d wants", len(titles), len(bounceWants))
	}
	keys := map[string]string{}
	for i, text := range mails {
		for _, lines := range []string{text, strings.ReplaceAll(text, "\r\n", "\n")} {
			got := "nothing"
			reports := ParseBounce("", []byte(lines), hookNow)
			for _, r := range reports {
				got = r.Event.Type
				if job, seq := n.Recipient(r.Names...); job == 3 && seq == 4 {
					got += ", ours"
				}
				if was, ok := keys[string(r.Key)]; ok && was != titles[i] {
					t.Errorf("%s has the key of %s", titles[i], was)
				}
				keys[string(r.Key)] = titles[i]
			}
			if got != bounceWants[i] || len(reports) > 1 {
				t.Errorf("%s: %s (%d reports), want %s", titles[i], got, len(reports), bounceWants[i])
			}
		}
	}
}

// TestBounceByItsEnvelope checks that the envelope recipient identifies the email, because some servers don't add it to
// the header.
func TestBounceByItsEnvelope(t *testing.T) {
	n := mail.NewIdent(make([]byte, 32))
	for rcpt, want := range map[string]int{n.Bounce(3, 4) + "@bounce.example.com": 1, "news@example.com": 0, "": 0} {
		reports := ParseBounce(rcpt, []byte("From: Mailer-Daemon@y.example\r\nTo: undisclosed-recipients:;\r\n\r\nfailed\r\n"),
			hookNow)
		if len(reports) != want {
			t.Errorf("%q: %d reports", rcpt, len(reports))
		}
	}
}

// TestUnsubscribeByMail checks that any email to the mailto address of List-Unsubscribe unsubscribes, regardless of its
// content and date.
func TestUnsubscribeByMail(t *testing.T) {
	n := mail.NewIdent(make([]byte, 32))
	to := n.Unsubscribe(3, 4) + "@bounce.example.com"
	for _, tc := range []struct{ rcpt, header string }{
		{"", "To: <" + to + ">\r\nSubject: unsubscribe\r\n"},
		{"", "To: " + strings.ToUpper(to) + "\r\n"},
		{to, "To: undisclosed-recipients:;\r\nAuto-Submitted: auto-generated\r\nPrecedence: bulk\r\n"},
		{to, "To: x@y.example\r\nDate: Sat, 1 Nov 2025 00:00:00 +0000\r\n"},
	} {
		reports := ParseBounce(tc.rcpt, []byte("From: ann@example.org\r\n"+tc.header+"\r\nplease\r\n"), hookNow)
		if len(reports) != 1 || !reports[0].Unsubscribe || reports[0].Event.OccurredAt != hookNow {
			t.Errorf("%q %q: %+v", tc.rcpt, tc.header, reports)
			continue
		}
		if job, seq := n.Recipient(reports[0].Names...); job != 3 || seq != 4 {
			t.Errorf("%q %q: recipient %d of job %d", tc.rcpt, tc.header, seq, job)
		}
	}
}

func TestBounceServer(t *testing.T) {
	var mu sync.Mutex
	var taken []string
	b := NewBounceServer("localhost", func(_ context.Context, rcpt string, data []byte) error {
		mu.Lock()
		defer mu.Unlock()
		taken = append(taken, fmt.Sprintf("%s %d", rcpt, len(data)))
		if strings.HasPrefix(rcpt, "later") {
			return errors.New("the database is away")
		}
		return nil
	}, slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- b.Serve(l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := smtp.NewClientLMTP(conn)
	for _, step := range []func() error{
		func() error { return c.Hello("localhost") },
		func() error { return c.Mail("", nil) },
		func() error { return c.Rcpt("b+x@bounce.example", nil) },
		func() error { return c.Rcpt("later@bounce.example", nil) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	w, err := c.Data()
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat(strings.Repeat("x", 998)+"\r\n", MaxBounce/1000+10)
	if _, err := w.Write([]byte("Subject: x\r\n\r\n" + large)); err != nil {
		t.Fatal(err)
	}
	_, err = w.CloseWithLMTPResponse()
	refused, ok := errors.AsType[smtp.LMTPDataError](err)
	if e := refused["later@bounce.example"]; !ok || len(refused) != 1 || e == nil || e.Code != 451 {
		t.Errorf("%v", err)
	}
	want := fmt.Sprint("b+x@bounce.example ", MaxBounce)
	if len(taken) != 2 || taken[0] != want {
		t.Errorf("%v, want first %s", taken, want)
	}
	_ = c.Quit()
	if err := b.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// FuzzBounce checks that no report has an address, or a name that we did not create.
func FuzzBounce(f *testing.F) {
	n := mail.NewIdent(make([]byte, 32))
	_, mails := bounceMails(f, n)
	for _, text := range mails {
		f.Add("", []byte(text))
	}
	other := mail.NewIdent([]byte(strings.Repeat("o", 32)))
	f.Fuzz(func(t *testing.T, rcpt string, data []byte) {
		for _, r := range ParseBounce(rcpt, data, hookNow) {
			if r.Event.Email != "" || len(r.Key) != 16 || r.Event.OccurredAt <= 0 ||
				r.Event.Effect() == "" && !r.Unsubscribe {
				t.Errorf("%+v", r)
			}
			if job, _ := other.Recipient(r.Names...); job != 0 {
				t.Errorf("names of another key: %q", r.Names)
			}
		}
	})
}

// TestBounceServerIsBounded checks that the LMTP server limits the number of connections, and that the next one waits
// until another ends.
func TestBounceServerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBounceServer("localhost", nil, slog.New(slog.DiscardHandler))
		l := coretest.NewPipe()
		served := make(chan error, 1)
		go func() { served <- b.Serve(l) }()
		conns := make(chan net.Conn, lmtpConnections+1)
		greeted := 0
		for range lmtpConnections + 1 {
			go func() {
				c, err := l.Dial(t.Context(), "", "")
				if err != nil {
					t.Error(err)
					return
				}
				conns <- c
				if _, err := bufio.NewReader(c).ReadString('\n'); err == nil {
					greeted++
				}
			}()
			synctest.Wait()
		}
		if greeted != lmtpConnections {
			t.Errorf("%d connections at once, want %d", greeted, lmtpConnections)
		}
		(<-conns).Close()
		synctest.Wait()
		if greeted != lmtpConnections+1 {
			t.Errorf("%d had their turn after one ended, want one more than %d", greeted, lmtpConnections)
		}
		for range len(conns) {
			(<-conns).Close()
		}
		l.Close()
		if err := <-served; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}
