package smtp_test

import (
	"context"
	"fmt"

	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
)

func ExampleClient_Deliver() {
	server, err := mailtest.NewServer(mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
		if e.Verb == "RCPT" && e.N == 2 {
			return mailtest.Action{Reply: "550 5.1.1 no such user"}
		}
		return mailtest.Action{}
	}})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	due := []string{"ann@example.org", "gone@example.org"}
	source := &smtp.Source{
		Next: func(context.Context, bool) (*smtp.Envelope, bool) {
			if len(due) == 0 {
				return nil, false
			}
			e := &smtp.Envelope{From: "news@acme.example", To: due[0], Data: []byte("Subject: Hello\r\n\r\nText.\r\n")}
			due = due[1:]
			return e, true
		},
		Commit: func(*smtp.Envelope, bool) bool { return true },
		Done: func(e *smtp.Envelope, o smtp.Outcome) {
			fmt.Println(e.To, o.Result == smtp.Sent, o.Code, o.HardBounce)
		},
	}
	client := &smtp.Client{Addr: server.Addr(), NoPipelining: true}
	if err := client.Deliver(context.Background(), source); err != nil {
		panic(err)
	}
	// Output:
	// ann@example.org true 250 false
	// gone@example.org false 550 true
}
