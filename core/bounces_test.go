package core

import "testing"

// TestSumBounces checks that each reply counts in one class, and that newsletterd's own reasons count in no class.
func TestSumBounces(t *testing.T) {
	sum := SumBounces([]Bounced{
		{EmailKey: "a@a.example", Reason: "550 5.1.1 no such user"},
		{EmailKey: "b@a.example", Reason: "550 5.2.1 closed"},
		{EmailKey: "c@b.example", Reason: "552 5.2.2 full"},
		{EmailKey: "d@b.example", Reason: "452 4.2.2 full"},
		{EmailKey: "e@b.example", Reason: "452 try later"},
		{EmailKey: "f@c.example", Reason: "550 5.7.1 spam"},
		{EmailKey: "g@c.example", Reason: "421 4.7.0 greylisted"},
		{EmailKey: "h@d.example", Reason: "451 4.3.0 trouble"},
		{EmailKey: "i@d.example", Reason: "550 no"},
		{EmailKey: "j@d.example", Back: true, Hard: true},
		{EmailKey: "k@d.example", Back: true},
		{EmailKey: "l@e.example", Reason: ReasonRender},
	})
	if want := (BounceCounts{Gone: 3, Full: 3, Blocked: 2, Later: 2, Refused: 1}); sum.Classes != want ||
		sum.Recipients != 11 || sum.Classes.Sum() != 11 {
		t.Errorf("%+v, want %+v", sum, want)
	}
	if len(sum.Domains) != 4 || sum.Domains[0].Domain != "d.example" || sum.Domains[0].Recipients != 4 ||
		sum.Domains[3].Gone != 0 || sum.Domains[1].Full != 3 {
		t.Errorf("%+v", sum.Domains)
	}
}
