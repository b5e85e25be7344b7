package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
)

// programIn puts the test binary into a folder as newsletterd, and returns an environment whose PATH starts with it.
func programIn(t *testing.T, dir string) (env []string) {
	t.Helper()
	exe, err := os.Executable()
	if err == nil {
		err = os.Symlink(exe, filepath.Join(dir, "newsletterd"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
}

// startOther starts another program and waits until it is ready. The program ends with the test. If the test fails,
// startOther shows the program's output.
func startOther(t *testing.T, c *exec.Cmd, ready func() bool) {
	t.Helper()
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // programs with children stop these, too
		<-ended
		if t.Failed() {
			t.Logf("%s said:\n%s", c.Path, said.String())
		}
	})
	daemontest.Await(t, "an answer from "+c.Path, func() bool {
		select {
		case <-ended:
			t.Fatalf("%s ended", c.Path)
		default:
		}
		return ready()
	})
}
