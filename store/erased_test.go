package store_test

import (
	"bytes"
	"os"
	"testing"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// After the -wal is moved into the file, its unused space contains no erased data either.
func TestErasedBytesAreGone(t *testing.T) {
	n := storetest.SeedList(t, now0)
	const email = "vanishing-person@acme.example"
	for i := range 300 {
		e := core.Email(core.NewID() + "@acme.example")
		if i == 150 {
			e = email
		}
		token := n.Token(n.Request(n.ListID, e, `{"city":"Bonn"}`), core.ProofMailed)
		n.Must(n.Confirm(t.Context(), token, core.Origin{}, now0))
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
	if _, err := os.Stat(n.Path() + "-wal"); err == nil {
		t.Error("a -wal is left")
	}
}
