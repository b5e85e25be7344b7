package parts

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestUnchangedMappings checks which parts of a program are returned to the system: only those that can be read again
// from its file.
func TestUnchangedMappings(t *testing.T) {
	smaps := `00400000-017a3000 r-xp 00000000 fe:00 10027691                           /opt/a program
Size:              20108 kB
Rss:               18936 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me dw
017a3000-02d1b000 r--p 013a3000 fe:00 10027691                           /opt/a program
Anonymous:             4 kB
02d1b000-02e18000 rw-p 0291b000 fe:00 10027691                           /opt/a program
Anonymous:             0 kB
7fd247810000-7fd247b10000 r--p 00000000 fe:00 10027692                   /opt/other
Anonymous:             0 kB
7fd247b10000-7fd247b20000 r--p 00000000 00:00 0
Anonymous:             0 kB
8fd247b10000-8fd247b20000 r--p 00000000 fe:00 10027691                   /opt/a program
Anonymous:             0 kB
`
	got := unchangedMappings(strings.NewReader(smaps), "/opt/a program")
	want := []mapping{{0x400000, 0x17a3000}, {0x8fd247b10000, 0x8fd247b20000}}
	if !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

// TestFreeProgram frees the memory of this test, which keeps running.
func TestFreeProgram(t *testing.T) {
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	if len(unchangedMappings(bytes.NewReader(smaps), file)) == 0 {
		t.Errorf("no mapping of %s in\n%s", file, smaps)
	}
	resident := func() int {
		smaps, err := os.ReadFile("/proc/self/smaps_rollup")
		if err != nil {
			t.Skip(err)
		}
		n := 0
		for line := range strings.Lines(string(smaps)) {
			if kb, ok := strings.CutPrefix(line, "Rss:"); ok {
				for _, c := range strings.TrimSuffix(strings.TrimSpace(kb), " kB") {
					n = n*10 + int(c-'0')
				}
			}
		}
		return n
	}
	before := resident()
	freeProgram()
	if after := resident(); after >= before {
		t.Errorf("%d kB before, %d kB after", before, after)
	}
}
