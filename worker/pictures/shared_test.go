package pictures

import (
	"context"
	"testing"
)

// A turn reads pictures only while they fit into its memory. All turns together take at most 32 MiB.
func TestMemoryOfPictures(t *testing.T) {
	const most = 10 << 20
	s := newShared(most)
	ended, end := context.WithCancel(t.Context())
	end()
	first, second := memory{of: s}, memory{of: s}
	if n, err := first.take(t.Context(), -1); err != nil || n != most {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if _, err := second.take(ended, most); err == nil {
		t.Error("two large pictures are read at once")
	}
	second.release() // holds nothing
	if n, err := second.take(t.Context(), 1000); err != nil || n != 1000 {
		t.Errorf("a small picture: %d bytes, %v", n, err)
	}
	first.release()
	if _, err := first.take(t.Context(), most); err != nil {
		t.Error(err)
	}
	if tenantsAtOnce*turnMemory > 32<<20 || turnMemory < most {
		t.Errorf("%d bytes of a turn", turnMemory)
	}
	if _, err := (&memory{of: newShared(2 * turnMemory)}).take(t.Context(), -1); err != nil {
		t.Errorf("pictures larger than that: %v", err)
	}
}
