package core

import "testing"

func TestSizesAreSaidInUnitsThatPeopleRead(t *testing.T) {
	for n, want := range map[ByteSize]string{
		0: "0 bytes", 20000: "20000 bytes", 1<<20 - 1: "1048575 bytes", 1 << 20: "1 MB", DefaultMediaBytes: "10 MB",
		3 << 19: "1.5 MB", 1 << 30: "1 GB", 3 << 29: "1.5 GB",
	} {
		if got := n.String(); got != want {
			t.Errorf("%d: %s, not %s", int64(n), got, want)
		}
	}
}
