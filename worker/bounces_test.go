package worker

import (
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// TestTakeBounce checks that a bounce counts once, against the recipient that our records name and not against the
// address in the message.
func TestTakeBounce(t *testing.T) {
	ctx, now := t.Context(), core.At(time.Now())
	s := storetest.Seed(t, nil).At(now)
	list := s.NewList()
	s.Tell(list, core.StatusActive, "ann@example.org", "bob@example.org")
	j := s.Start(s.NewJob(list.ID))
	rows, err := s.Recipients(ctx, &j, campaigns.RecipientFilter{}, core.Page{Limit: 10})
	s.Must(err)
	ident := mail.NewIdent(make([]byte, 32))
	report := strings.ReplaceAll(`From: MAILER-DAEMON@mx.example
Message-ID: <dsn@mx.example>
Content-Type: multipart/report; report-type=delivery-status; boundary=b

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example

Final-Recipient: rfc822; `+rows[1].Email+`
Action: failed
Status: 5.1.1
--b--
`, "\n", "\r\n")
	for _, tc := range []struct {
		rcpt string
		want int
	}{
		{"postmaster@bounce.example", 0},
		{mail.NewIdent([]byte(strings.Repeat("x", 32))).Bounce(j.No,
			1) + "@bounce.example", 0},
		{ident.Bounce(j.No, 1) + "@bounce.example", 1},
		{ident.Bounce(j.No, 1) + "@bounce.example", 1},
	} {
		if n, err := TakeBounce(ctx, s.Store, ident, tc.rcpt, []byte(report), now); err != nil || n != tc.want {
			t.Errorf("%s: %d reports, %v", tc.rcpt, n, err)
		}
	}
	for i, want := range []core.Status{core.StatusBounced, core.StatusActive} {
		if sub, err := s.Subscriber(ctx, list.ID, core.Email(rows[i].Email)); err != nil || sub.Status() != want {
			t.Errorf("%s is %s, want %s (%v)", rows[i].Email, sub.Status(), want, err)
		}
	}
	if j, err = s.SendJob(ctx, j.ID); err != nil || j.Stats.Bounced != 1 {
		t.Errorf("%+v, %v", j.Stats, err)
	}

	// The same email is sent to the unsubscribe addresses of both.
	for seq := range int64(2) {
		to := ident.Unsubscribe(j.No, seq+1) + "@bounce.example"
		if n, err := TakeBounce(ctx, s.Store, ident, to,
			[]byte("From: a@b.example\r\nMessage-ID: <same@b.example>\r\n\r\nunsubscribe\r\n"),
			now+1); err != nil || n != 1 {
			t.Errorf("%s: %d reports, %v", to, n, err)
		}
		if sub, err := s.Subscriber(ctx, list.ID, core.Email(rows[seq].Email)); err != nil ||
			sub.MemberStatus != core.StatusUnsubscribed {
			t.Errorf("%s is %s (%v)", rows[seq].Email, sub.MemberStatus, err)
		}
	}
}
