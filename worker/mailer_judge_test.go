package worker

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
)

func TestMailerGivesUp(t *testing.T) {
	now := core.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	r := &mailRun{mailer: &mailer{
		MailerOptions: MailerOptions{Log: slog.New(slog.DiscardHandler)}, lost: map[int64]int{},
		unsure: map[int64]bool{},
	}}
	for _, c := range []struct {
		name  string
		mail  core.Mail
		o     smtp.Outcome
		err   error
		again bool
		sent  bool
	}{
		{"refused for now", core.Mail{CreatedAt: now}, smtp.Outcome{Result: smtp.Later}, nil, true, false},
		{
			"for 48 hours",
			core.Mail{CreatedAt: now.Add(-mailLife), Tries: 8},
			smtp.Outcome{Result: smtp.Later},
			nil, false,
			false,
		},
		{
			"ambiguous behind a refusal for now",
			core.Mail{CreatedAt: now, Tries: 1},
			smtp.Outcome{Result: smtp.Ambiguous},
			nil,
			true, false,
		},
		{
			"ambiguous again",
			core.Mail{CreatedAt: now, Tries: 1},
			smtp.Outcome{Result: smtp.Ambiguous},
			nil, false,
			true,
		},
		{"cannot be made", core.Mail{CreatedAt: now}, smtp.Outcome{}, errors.New("no"), false, false},
	} {
		rec, counts := r.judge(mailResult{mail: &c.mail, outcome: c.o, err: c.err}, now)
		if !counts || (rec.RetryAt != 0) != c.again || rec.Sent != c.sent {
			t.Errorf("%s: %+v %v", c.name, rec, counts)
		}
	}
}

// TestFailuresHaveTheReply checks that the log and the record contain the server's reply, with its codes and its text.
func TestFailuresHaveTheReply(t *testing.T) {
	var out bytes.Buffer
	r := &mailRun{mailer: &mailer{
		MailerOptions: MailerOptions{Log: slog.New(slog.NewJSONHandler(&out, nil))}, lost: map[int64]int{},
		unsure: map[int64]bool{},
	}}
	now := core.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		o      smtp.Outcome
		want   string
		reason string
	}{
		{
			smtp.Outcome{Result: smtp.Never, Code: 550, Enhanced: "5.1.1", Text: "no such user"},
			`"reply":550,"enhanced":"5.1.1","text":"no such user","again":false`,
			"550 5.1.1 no such user",
		},
		{
			smtp.Outcome{Result: smtp.Later, Code: 452, Enhanced: "4.2.2", Text: "mailbox full"},
			`"reply":452,"enhanced":"4.2.2","text":"mailbox full","again":true`,
			"452 4.2.2 mailbox full",
		},
		{smtp.Outcome{Code: 421, Text: "bye", Lost: true}, `"reply":421,`, "421 bye"},
		{smtp.Outcome{Result: smtp.Sent, Code: 250, Text: "queued"}, "", ""},
	} {
		out.Reset()
		r.lost[0] = lostLimit - 1
		rec, _ := r.judge(mailResult{mail: &core.Mail{CreatedAt: now, Kind: "confirm"}, outcome: c.o}, now)
		if rec.Reason != c.reason {
			t.Errorf("%d: %q", c.o.Code, rec.Reason)
		}
		if got := out.String(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%d: %s", c.o.Code, got)
		}
	}
}
