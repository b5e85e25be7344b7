package mail_test

import (
	"bytes"
	"fmt"
	netmail "net/mail"
	"time"

	"newsletterd/mail"
)

func ExampleCompile() {
	t, err := mail.Compile(mail.PartText, "body_text", `Hello {{ preferences.name | default: "reader" }}!`)
	if err != nil {
		panic(err) // *core.Error of kind Invalid, with line and column
	}
	for _, preferences := range []string{`{"name":"Ann"}`, `{}`} {
		out, err := t.Append(nil, &mail.Vars{Preferences: preferences})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", out)
	}
	// Output:
	// Hello Ann!
	// Hello reader!
}

func ExampleCompose() {
	raw, err := mail.Compose(nil, &mail.Message{
		From: mail.Address{Name: "Garden", Email: "news@garden.example"}, To: mail.Address{Email: "ann@reader.example"},
		Subject: "Grüße", Text: "Hello.\n", Date: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC),
		MessageID: mail.NewIdent(make([]byte, 32)).Message(0, 1), // use a secret key in production
	})
	if err != nil {
		panic(err)
	}
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Header.Get("From"))
	fmt.Println(m.Header.Get("Subject"))
	// Output:
	// Garden <news@garden.example>
	// =?utf-8?b?R3LDvMOfZQ==?=
}

func ExampleCompileBulk() {
	bulk, err := mail.CompileBulk(&mail.BulkSpec{
		From: mail.Address{Email: "news@garden.example"}, ListID: "weekly", ListName: "Weekly",
		Subject: "Issue 1 for {{ email }}", HTML: "<p>Hello.</p>",
	})
	if err != nil {
		panic(err)
	}
	raw, err := bulk.Append(nil, &mail.Recipient{
		Email: "ann@reader.example", Preferences: "{}", Date: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC),
		MessageID:   mail.NewIdent(make([]byte, 32)).Message(1, 1),
		OneClickURL: "https://news.example/unsubscribe?token=abc", UnsubscribeToken: "abc",
		UnsubscribeURL: "https://news.example/unsubscribe?token=abc",
	})
	if err != nil {
		panic(err)
	}
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Header.Get("Subject"))
	fmt.Println(m.Header.Get("List-Unsubscribe-Post"))
	// Output:
	// Issue 1 for ann@reader.example
	// List-Unsubscribe=One-Click
}
