package store

import (
	"bytes"
	"os"
	"testing"

	"newsletterd/core"
)

// What is erased is not in free room of the file either, once the -wal is moved into it.
func TestErasedBytesAreGone(t *testing.T) {
	n := testNewsletter(t)
	const email = "vanishing-person@acme.example"
	for i := range 300 {
		e := core.Email(core.NewID() + "@acme.example")
		if i == 150 {
			e = email
		}
		row := n.subscribe(e, `{"city":"Bonn"}`, now0)
		token, err := n.ConfirmToken(t.Context(), row, core.ProofMailed)
		if err == nil {
			_, err = n.Confirm(t.Context(), token, core.Origin{}, now0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rows, err := n.ErasePerson(t.Context(), core.Person{Email: email}, "test", now0)
	if err != nil || rows == 0 {
		t.Fatal(rows, err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(n.Path())
	if err != nil {
		t.Fatal(err)
	}
	if found := bytes.Count(b, []byte(email)); found > 0 {
		t.Errorf("the file holds the address %d times", found)
	}
	if walSize(n.Path()) > 0 {
		t.Error("a -wal is left")
	}
}
