package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRemedies checks that a file system error names the path, and that the next line says what to do.
func TestRemedies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := func(path ...string) error {
		_, err := os.ReadFile(filepath.Join(append([]string{dir}, path...)...))
		return fmt.Errorf("open: %w", err)
	}
	for _, tt := range []struct {
		name string
		err  error
		want string // empty: no suggestion
	}{
		{"no file", opened("none"), "The file " + filepath.Join(dir, "none") + " doesn't exist"},
		{"no folder", opened("a", "b", "c"), "The folder " + filepath.Join(dir, "a") + " doesn't exist"},
		{"a folder", opened(), "is a folder"},
		{"a file as a folder", opened("file", "x"), "A folder in the path"},
		{"a file that exists", &fs.PathError{Op: "open", Path: file, Err: syscall.EEXIST}, file + " already exists"},
		{"not allowed", &fs.PathError{Op: "open", Path: file, Err: syscall.EACCES}, "can't access " + file},
		{"full", &fs.PathError{Op: "write", Path: file, Err: syscall.ENOSPC}, "Free some space"},
		{"quota", &fs.PathError{Op: "write", Path: file, Err: syscall.EDQUOT}, "Free some space"},
		{"read-only", &fs.PathError{Op: "open", Path: file, Err: syscall.EROFS}, "read-only"},
		{"another", errors.New("no such file or directory"), ""},
	} {
		if got := Remedy(tt.err, false); !strings.Contains(got, tt.want) || (tt.want == "") != (got == "") {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

// TestPortInUseNamesTheProcess checks that the error names the process that uses a port, and the setting.
func TestPortInUseNamesTheProcess(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0"} {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Logf("%s: %v", addr, err) // this machine has no IPv6
			continue
		}
		defer l.Close()
		_, err = Listen("metrics.listen", l.Addr().String())
		if !errors.Is(err, syscall.EADDRINUSE) ||
			!strings.HasPrefix(err.Error(), "metrics.listen: "+l.Addr().String()+" is already in use by ") ||
			!strings.Contains(err.Error(), fmt.Sprintf("(process %d)", os.Getpid())) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if _, err := Listen("server.listen", "192.0.2.1:1"); err == nil || !strings.HasPrefix(err.Error(), "server.listen: ") {
		t.Errorf("an address that is not of this machine: %v", err)
	}
}
