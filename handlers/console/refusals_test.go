package console

import (
	"slices"
	"testing"

	"newsletterd/core"
)

// Each code has its own text, or that of its class. Who has to act depends on what happened to the email.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ status, code, reason, what, turn string }{
		{"failed", "5.1.1", "", "The mailbox doesn't exist.", turnTaken},
		{"failed", "5.2.2", "", "The mailbox is full.", turnOver},
		{"deferred", "5.2.2", "", "The mailbox is full.", turnAgain},
		{"deferred", "5.7.1", "", "Rejected as spam or because of the provider's policy.", turnAgain},
		{"failed", "5.7.999", "", "Rejected as spam or because of the provider's policy.", turnReader},
		{"failed", "5.9.9", "", "The receiving server rejected the email.", turnNone},
		{"deferred", "4.9.9", "", "The receiving server is temporarily unavailable.", turnAgain},
		{"failed", "559", "", "The receiving server rejected the email.", turnNone},
		{"skipped", "", core.ReasonUnsubscribed, "Unsubscribed before this email was sent.", turnNone},
		{"failed", "", "something else", "The email wasn't sent.", turnNone},
		{"skipped", "", "", "The email wasn't sent.", turnNone},
	} {
		got := refusalOf(&core.Failure{Status: c.status, Code: c.code, Reason: c.reason})
		if got.What != c.what || got.Turn != c.turn {
			t.Errorf("%s %s %s: %+v", c.status, c.code, c.reason, got)
		}
	}
	full, left := whyNotSent("failed", "550 5.1.1 no such user"), whyNotSent("skipped", core.ReasonUnsubscribed)
	if full.What != "The mailbox doesn't exist." || full.Reply != "550 5.1.1 no such user" || left.What == "" ||
		left.Reply != "" {
		t.Errorf("%+v, %+v", full, left)
	}
	if sent, late := whyNotSent("sent", "250 OK"), whyNotSent("failed", core.ReasonWindow); sent != (whyNot{}) ||
		late.Turn != turnReport {
		t.Errorf("%+v, %+v", sent, late)
	}
	turns := []string{
		turnTaken, turnAllTaken, turnNone, turnAgain, turnWriter, turnSender, turnOperator, turnReader, turnRetry,
	}
	if slices.Contains(append(turns, turnOver, turnReport), "") {
		t.Errorf("%q, %q, %q", turns, turnOver, turnReport)
	}
	for _, table := range []map[string]refusal{refusals, refusalClasses} {
		for code, r := range table {
			if !slices.Contains(turns, r.Turn) {
				t.Errorf("%s: whose turn is it? %q", code, r.Turn)
			}
		}
	}
	for code, r := range refusals {
		if r.What == "" || r.Turn == "" || core.FailureCode(code+" x") == "" && core.FailureCode("550 "+code) != code &&
			code[0] >= '0' && code[0] <= '9' {
			t.Errorf("%s: %+v", code, r)
		}
	}
	if len(refusals) < 40 {
		t.Errorf("%d codes", len(refusals))
	}
}
