package worker

import (
	"errors"
	"log/slog"
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
