package dkim_test

import (
	"bytes"
	"fmt"

	"newsletterd/core"
	"newsletterd/mail/dkim"
)

func ExampleSigner_Sign() {
	private, _, err := dkim.NewKey(core.DKIMEd25519) // the public key belongs in the DNS
	if err != nil {
		panic(err)
	}
	signer, err := dkim.NewSigner([]dkim.Key{{Domain: "example.org", Selector: "nd1", Private: private}})
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign([]byte("From: news@example.org\r\nSubject: Hello\r\n\r\nText.\r\n"), nil)
	if err != nil {
		panic(err)
	}
	first, _, _ := bytes.Cut(signed, []byte("\r\n"))
	fmt.Printf("%s\n", first)
	// Output: DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;
}
