package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core/coretest"
)

// TestTortureSyncedBeforeAcknowledged checks with strace that each write is synced to the -wal before its response is
// sent, so that a power loss loses nothing that was acknowledged.
func TestTortureSyncedBeforeAcknowledged(t *testing.T) {
	daemontest.Parallel(t)
	writes := daemontest.Count("WRITES", 50, 1000)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("SKIPPED: there is no strace")
	}
	f := daemontest.New(t)
	f.Serve()
	f.Records()
	trace := filepath.Join(f.Dir, "trace")
	tracer := exec.Command(strace, "-f", "-y", "-s", "4096", "-e", "trace=pwrite64,fdatasync,fsync,read,write", "-o",
		trace, "-p", fmt.Sprint(f.PID()))
	said, err := tracer.StderrPipe()
	f.Must(err)
	f.Must(tracer.Start())
	line, _ := bufio.NewReader(said).ReadString('\n')
	if !strings.Contains(line, "attached") {
		_ = tracer.Wait()
		t.Skipf("SKIPPED: strace may not look: %s", line)
	}
	for i := range writes {
		f.Send("POST", "/api/agents", map[string]string{"name": fmt.Sprintf(marker, i)}).OK()
	}
	f.Must(tracer.Process.Signal(syscall.SIGINT))
	_ = tracer.Wait()
	f.Stop()
	text, err := os.ReadFile(trace)
	f.Must(err)
	answers, early := early(string(text))
	if answers < writes {
		t.Errorf("%d answers in the trace, want %d", answers, writes)
	}
	for _, e := range early {
		t.Error(e)
	}
	coretest.Promise(t, 2, answers, len(early), "answers after the sync of what they acknowledge (strace)")
}

var (
	walWrite = regexp.MustCompile(`pwrite64\(\d+<[^>]*-wal>`)
	walSync  = regexp.MustCompile(`f(?:data)?sync\(\d+<[^>]*-wal>\)\s+= 0`)
	begun    = regexp.MustCompile(`^(\d+)\s+f(?:data)?sync\(\d+<[^>]*-wal>.*unfinished`)
	resumed  = regexp.MustCompile(`^(\d+)\s+<\.\.\. f(?:data)?sync resumed>.*= 0`)
	asked    = regexp.MustCompile(`"POST /api/a`)
	answered = regexp.MustCompile(`write\(\d+<[^>]*>, "HTTP/1\.1 201`)
)

// marker is the name in the n-th write. It can be found in the page that is written to the -wal.
const marker = "agent %06d."

// early counts the responses. It returns the trace of those that were sent before the write that they acknowledge was
// in the -wal and synced. Requests come one after the other; other writes of the daemon may come between them.
func early(trace string) (answers int, early []string) {
	written, synced := false, false
	var since strings.Builder
	syncing := map[string]bool{}
	for line := range strings.Lines(trace) {
		fmt.Fprintf(&since, "%.120q\n", line)
		switch m := begun.FindStringSubmatch(line); {
		case m != nil:
			syncing[m[1]] = true
		case walWrite.MatchString(line):
			if strings.Contains(line, fmt.Sprintf(marker, answers)) {
				written, synced = true, false
			}
		case walSync.MatchString(line):
			synced = written
		case resumed.MatchString(line):
			if pid := resumed.FindStringSubmatch(line)[1]; syncing[pid] {
				synced = written
				delete(syncing, pid)
			}
		case asked.MatchString(line):
			written, synced = false, false
			since.Reset()
		case answered.MatchString(line):
			if !synced {
				early = append(early, since.String())
			}
			answers++
		}
	}
	return answers, early
}

func TestEarlyAnswersAreFound(t *testing.T) {
	const (
		ask    = `1 read(5<socket:[1]>, "POST /api/ag"..., 4096) = 180` + "\n"
		write  = `1 pwrite64(7</d/n.db-wal>, "\0\22agent 000000.\1", 4096, 0) = 4096` + "\n"
		other  = `1 pwrite64(7</d/n.db-wal>, "x"..., 4096, 0) = 4096` + "\n"
		sync   = `1 fdatasync(7</d/n.db-wal>) = 0` + "\n"
		answer = `1 write(5<socket:[1]>, "HTTP/1.1 201"..., 300) = 300` + "\n"
		halves = `2 fdatasync(7</d/n.db-wal> <unfinished ...>` + "\n" + `2 <... fdatasync resumed>) = 0` + "\n"
	)
	for trace, want := range map[string]int{
		ask + write + sync + answer: 0, ask + write + other + halves + answer: 0,
		ask + other + sync + write + sync + other + answer: 0,
		ask + write + answer: 1, ask + answer: 1, ask + sync + write + answer: 1, ask + other + sync + answer: 1,
		ask + write + sync + write + answer: 1, write + sync + ask + answer: 1,
		ask + write + strings.SplitAfter(halves, "\n")[0] + answer: 1,
	} {
		if n, got := early(trace); n != 1 || len(got) != want {
			t.Errorf("%d of %d early, want %d:\n%s", len(got), n, want, trace)
		}
	}
}
