// Package dkimtest verifies message signatures with a verifier that shares no code with this project.
package dkimtest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/emersion/go-msgauth/dkim"

	"newsletterd/core"
)

// Verify returns the number of valid and invalid signatures of a message. A signature is valid if one of the keys
// verifies it.
func Verify(t testing.TB, msg []byte, keys ...core.DKIMKey) (good, bad int) {
	t.Helper()
	lookup := func(name string) ([]string, error) {
		for _, k := range keys {
			if k.RecordName() == name {
				return []string{k.RecordValue()}, nil
			}
		}
		return nil, errors.New("no such name")
	}
	signatures, err := dkim.VerifyWithOptions(bytes.NewReader(msg), &dkim.VerifyOptions{LookupTXT: lookup})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range signatures {
		if s.Err == nil {
			good++
		} else {
			bad++
			t.Log(s.Err)
		}
	}
	return good, bad
}
