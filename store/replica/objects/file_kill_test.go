package objects

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// TestMain also serves as the process that TestKilledWriters kills.
func TestMain(m *testing.M) {
	if address := os.Getenv("OBJECTS_TEST_WRITER"); address != "" {
		writeUntilKilled(address)
	}
	os.Exit(m.Run())
}

// bodyOf returns the content of the nth object, which takes more than one write.
func bodyOf(n int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d ", n), 5000) }

func writeUntilKilled(address string) {
	b, err := Open(address, nil)
	for n := 0; err == nil; n++ {
		key := fmt.Sprintf("ltx/%d", n)
		switch n % 3 {
		case 0:
			_, err = b.Put(context.Background(), key, bodyOf(n), Condition{Absent: true})
		case 1:
			_, err = b.Put(context.Background(), key, bodyOf(n), Condition{})
		case 2:
			_, err = b.PutStream(context.Background(), key, bytes.NewReader(bodyOf(n)))
		}
		if err == nil {
			fmt.Println(n)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestKilledWriters checks that the objects which a killed process has put exist, and that an unfinished one exists
// completely or not at all.
func TestKilledWriters(t *testing.T) {
	rounds := 5
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		b := inFolder(t)
		writer := exec.Command(os.Args[0])
		writer.Env = append(os.Environ(), "OBJECTS_TEST_WRITER=file://"+b.root.Name())
		writer.Stderr = os.Stderr
		out, err := writer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		written := 0
		for lines := bufio.NewScanner(out); lines.Scan(); written++ {
			if written == 20+7*round {
				_ = writer.Process.Kill() // the lines already written are still read to the end
			}
		}
		_ = writer.Wait()
		if written < 20 {
			t.Fatalf("the writer ended after %d objects", written)
		}
		for n := range written {
			if got := get(t, b, fmt.Sprintf("ltx/%d", n), 0, 0); got != string(bodyOf(n)) {
				t.Errorf("object %d has %d bytes", n, len(got))
			}
		}
		keys := keysOf(t, b, "", "")
		if len(keys) > written+1 {
			t.Errorf("%d objects, and %d were put", len(keys), written)
		}
		for _, key := range keys {
			var n int
			if _, err := fmt.Sscanf(key, "ltx/%d", &n); err != nil || get(t, b, key, 0, 0) != string(bodyOf(n)) {
				t.Errorf("%s is not whole: %v", key, err)
			}
		}
	}
}
