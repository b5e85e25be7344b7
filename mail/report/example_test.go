package report_test

import (
	"context"
	"fmt"
	"time"

	"newsletterd/core"
	"newsletterd/mail/report"
)

func ExampleHook_Verify() {
	hook := &report.Hook{Name: "main", Kind: "postmark", Secrets: []string{"hook:correct horse"}}
	request := &report.Request{
		Header: map[string][]string{"Authorization": {"Basic aG9vazpjb3JyZWN0IGhvcnNl"}},
		Body: []byte(`{"RecordType": "Bounce", "Type": "HardBounce", "Email": "bob@example.org",
			"MessageID": "883953f4", "BouncedAt": "2026-11-20T10:00:00Z"}`),
		Now: core.At(time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)),
	}
	if err := hook.Verify(context.Background(), request); err != nil {
		panic(err) // the request is not from the provider
	}
	reports, err := report.KindOf(hook.Kind).Reports(request)
	if err != nil {
		panic(err)
	}
	for _, r := range reports {
		fmt.Println(r.Event.Type, r.Event.BounceType, r.Event.Email)
	}
	// Output: hard_bounced hard bob@example.org
}

func ExampleParseBounce() {
	back := "From: mailer-daemon@mx.example\r\nTo: b+aaaa.bbbb@bounce.example\r\n\r\nThe mailbox does not exist.\r\n"
	for _, r := range report.ParseBounce("b+aaaa.bbbb@bounce.example", []byte(back), core.At(time.Now())) {
		fmt.Println(r.Event.Type, r.Names[0]) // mail.Ident.Recipient finds the row for a name that we created
	}
	// Output: soft_bounced b+aaaa.bbbb@bounce.example
}
