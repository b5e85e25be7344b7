package objects

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"newsletterd/store/replica/objectstest"
)

// lost returns faults that cut the connection in the middle of the first n responses that contain an object.
func lost(n int) objectstest.Faults {
	return objectstest.Faults{Decide: first(n, "GET", objectstest.HalfAnswer)}
}

// TestReadingGoesOn checks that, after a lost connection, the reader reconnects and continues where it was.
func TestReadingGoesOn(t *testing.T) {
	b, server := storage(t)
	body := make([]byte, 300_000)
	for i := range body {
		body[i] = byte(rand.Uint32())
	}
	put(t, b, "key", string(body))
	for _, c := range []struct{ offset, size int64 }{{0, 0}, {7, 0}, {0, 200_000}, {100_000, 50_000}, {299_999, 1}} {
		want := body[c.offset:]
		if c.size > 0 {
			want = want[:c.size]
		}
		for losses := range 4 {
			server.Set(lost(losses))
			before := server.Counts()["GET"]
			if got := get(t, b, "key", c.offset, c.size); got != string(want) {
				t.Errorf("%+v with %d losses: %d bytes, and not those that are there", c, losses, len(got))
			}
			if n := server.Counts()["GET"] - before; n != losses+1 {
				t.Errorf("%+v with %d losses: %d requests", c, losses, n)
			}
		}
	}
}

// TestReadingEnds checks that a reader returns one complete object, and neither a part of it nor parts of two objects.
func TestReadingEnds(t *testing.T) {
	b, server := storage(t)
	read := func(change func()) (int, error) {
		put(t, b, "key", string(make([]byte, 100_000)))
		server.Set(lost(100))
		r, err := b.Get(t.Context(), "key", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		change()
		text, err := io.ReadAll(r)
		if _, again := r.Read(make([]byte, 1)); again == nil || again == io.EOF {
			t.Errorf("after the failure: %v", again)
		}
		return len(text), err
	}
	if n, err := read(func() {}); err == nil || n == 100_000 {
		t.Errorf("with losses only: %d bytes, %v", n, err)
	}
	n, err := read(func() { server.Store("replica/key", slices.Repeat([]byte{1}, 100_000)) })
	if !errors.Is(err, ErrPrecondition) || n != 50_000 {
		t.Errorf("an object that changes: %d bytes, %v", n, err)
	}
	if n, err := read(func() { server.Remove("replica/key") }); err == nil || n != 50_000 {
		t.Errorf("an object that goes: %d bytes, %v", n, err)
	}
}
