package smtp

import "testing"

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		status, diagnostic string
		want               Verdict
	}{
		{"5.1.1", "", VerdictGone},
		{"5.0.0", "smtp; 550 5.1.1 <bob@r.example>... User unknown", VerdictGone},
		{"5.0.0", "x-unix; 550 5.1.1 is not the server's", VerdictUnclear},
		{"5.0.0", "550 5.1.1 untyped", VerdictGone},
		{"", "smtp; 550 5.1.1 no", VerdictGone},
		{"5.1.1", "smtp; 550 5.7.1 rejected", VerdictSender},
		{"5.1.1", "smtp; 450 4.2.1 later", VerdictPassing},
		{"5.0.0", "smtp; 450 later", VerdictPassing},
		{"4.4.7", "smtp; 550 no such user", VerdictPassing},
		{"5.2.1", "smtp; 550-5.2.1 The user is receiving mail at a rate that prevents more.", VerdictPassing},
		{"5.2.1", "smtp; 550 5.2.1 The recipient is receiving too much mail right now.", VerdictPassing},
		{"5.2.1", "smtp; 550 5.2.1 disabled", VerdictGone},
		{"5.2.2", "smtp; 552 5.2.2 over quota", VerdictPassing},
		{"5.4.1", "smtp;550 5.4.1 Recipient address rejected: Access denied. AS(201806281)", VerdictDoubtful},
		{"5.4.1", "smtp; no answer from host", VerdictUnclear},
		{"5.1.351", "smtp;550 5.1.351 Remote server returned unknown recipient", VerdictDoubtful},
		{"5.0.0", "smtp; 550 No such user here", VerdictDoubtful},
		{"5.7.1", "smtp; 550 5.7.1 No such user here", VerdictSender},
		{"5.0.0", "smtp; 550 Sender address rejected: user unknown", VerdictSender},
		{"5.0.0", "smtp; 550 <b@r.example>: User unknown in relay recipient table", VerdictDoubtful}, // Postfix
		{"5.0.0", "smtp; 550 Relay access denied: user unknown", VerdictSender},
		{"5.0.0", "smtp; 550 this account has been deactivated", VerdictDoubtful},
		{"5.0.0", "smtp; 550 192.5.1.1 is on the list", VerdictUnclear},
		{"5.5.0", "smtp; 550 5.5.0 Requested action not taken: mailbox unavailable", VerdictDoubtful},
		{"5.3.4", "smtp; 552 5.3.4 too large", VerdictUnclear},
		{"", "", VerdictUnclear},
		{"x", ";", VerdictUnclear},
	} {
		if got := VerdictOfStatus(c.status, c.diagnostic); got != c.want {
			t.Errorf("%s, %s: %d, want %d", c.status, c.diagnostic, got, c.want)
		}
	}
}

func TestRefusalsAtRcpt(t *testing.T) {
	for _, c := range []struct {
		at             stage
		enhanced, text string
		result         Result
		hard, doubtful bool
	}{
		{stageRcpt, "5.1.1", "no", Never, true, false},
		{stageRcpt, "5.4.1", "Recipient address rejected: Access denied.", Never, false, true},
		{stageRcpt, "5.1.351", "no", Never, false, true},
		{stageRcpt, "", "No such user", Never, false, true},
		{stageDot, "", "No such user", Never, false, false},
		{stageRcpt, "5.7.1", "No such user", Never, false, false},
		{stageRcpt, "5.2.1", "is receiving mail at a rate that prevents more", Later, false, false},
		{stageRcpt, "5.2.1", "disabled", Never, true, false},
		{stageRcpt, "5.2.2", "full", Later, false, false},
		{stageRcpt, "", "mailbox unavailable", Never, false, false},
	} {
		o, blame := classify(c.at, 550, c.enhanced, c.text)
		if o.Result != c.result || o.HardBounce != c.hard || o.Doubtful != c.doubtful || blame ||
			o.MailboxFull() != (c.result == Later) {
			t.Errorf("%s %s: %+v", c.enhanced, c.text, o)
		}
	}
}

// FuzzVerdict checks that no policy refusal or temporary reply counts against the address.
func FuzzVerdict(f *testing.F) {
	f.Add("5.1.1", "smtp; 550 5.7.1 x")
	f.Add("5.0.0", "smtp; 450 No such user")
	f.Fuzz(func(t *testing.T, status, diagnostic string) {
		v := VerdictOfStatus(status, diagnostic)
		if v > VerdictGone || len(status) > 4 && status[:4] == "5.7." && v >= VerdictDoubtful ||
			len(status) > 2 && status[:2] == "4." && v >= VerdictDoubtful {
			t.Errorf("%q %q: %d", status, diagnostic, v)
		}
		VerdictOf(status, diagnostic)
	})
}
