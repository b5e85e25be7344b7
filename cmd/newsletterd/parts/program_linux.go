package parts

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// freeProgram returns the memory that holds the program file to the system. Much of the code runs only at startup, but
// its pages would count as the daemon's memory until the system needs them. Linux reloads pages when they are used,
// usually from its cache.
func freeProgram() {
	file, err := os.Executable()
	if err != nil {
		return
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range unchangedMappings(bytes.NewReader(smaps), file) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.begin, m.end-m.begin, syscall.MADV_DONTNEED)
	}
}

type mapping struct{ begin, end uintptr }

// unchangedMappings returns the read-only mappings of a file that contain no modified pages. smaps has the format of
// /proc/PID/smaps: a line for each mapping, followed by lines such as "Anonymous: 0 kB".
func unchangedMappings(smaps io.Reader, file string) (found []mapping) {
	var m mapping
	ours := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Text()
		if addresses, rest, ok := strings.Cut(line, " "); ok && !strings.HasSuffix(addresses, ":") {
			begin, end, _ := strings.Cut(addresses, "-")
			low, err1 := strconv.ParseUint(begin, 16, 64)
			high, err2 := strconv.ParseUint(end, 16, 64)
			m = mapping{uintptr(low), uintptr(high)}
			ours = err1 == nil && err2 == nil && strings.HasPrefix(rest, "r") && !strings.Contains(rest[:4], "w") &&
				strings.HasSuffix(line, " "+file)
		}
		if changed, ok := strings.CutPrefix(line, "Anonymous:"); ok && ours && strings.TrimSpace(changed) == "0 kB" {
			found = append(found, m)
		}
	}
	return found
}
