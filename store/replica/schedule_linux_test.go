package replica

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"newsletterd/store/replica/objectstest"
)

// history holds the output of the machines of a schedule.
type history struct {
	mu           sync.Mutex
	tried        int          // last number given to a machine
	acknowledged map[int]bool // acknowledged numbers
	firstAct     map[uint64]int64
	lastAct      map[uint64]int64 // generation → latest time before a check of the lease that allowed it to act
	generations  int
	damaged      int // number of starts that found a gap in the log that was later gone
	faults       []string
	log          []string
	began        time.Time
}

func (h *history) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, fmt.Sprintf("%6d ms  ", time.Since(h.began).Milliseconds())+fmt.Sprintf(format, args...))
}

// read parses a line from a machine.
func (h *history) read(client, line string, lost *bool) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "ack":
		n, _ := strconv.Atoi(rest)
		h.mu.Lock()
		h.acknowledged[n] = true
		if *lost {
			h.faults = append(h.faults, fmt.Sprintf("%s acknowledged %d after it had lost the lease", client, n))
		}
		h.mu.Unlock()
	case "act":
		var generation uint64
		var from, to int64
		_, _ = fmt.Sscan(rest, &generation, &from, &to)
		h.mu.Lock()
		if first, there := h.firstAct[generation]; !there || to < first {
			h.firstAct[generation] = to
		}
		h.lastAct[generation] = max(h.lastAct[generation], from)
		h.mu.Unlock()
	case "lost":
		*lost = true
		h.note("%s has lost the lease", client)
	case "hold":
		h.mu.Lock()
		h.generations++
		h.mu.Unlock()
		h.note("%s has the lease, generation %s", client, rest)
	default:
		h.mu.Lock()
		if word == "damaged" {
			h.damaged++
		}
		h.mu.Unlock()
		h.note("%s says: %.300s", client, line)
	}
}

// check returns descriptions of cases in which two machines acted at once.
func (h *history) check() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	faults := h.faults
	for g, last := range h.lastAct {
		for later, first := range h.firstAct {
			if later > g && last > first {
				faults = append(faults, fmt.Sprintf("generation %d acted %s after generation %d did", g,
					time.Duration(last-first), later))
			}
		}
	}
	return faults
}

// actor is a computer in a schedule. Its disk survives its processes.
type actor struct {
	h       *history
	name    string
	url     string
	path    string
	process *exec.Cmd
	ended   chan struct{}
}

// start starts the machine if it isn't running.
func (a *actor) start(t *testing.T) {
	if a.running() {
		return
	}
	a.h.mu.Lock()
	a.h.tried += 100_000
	first := a.h.tried
	a.h.mu.Unlock()
	a.process = exec.CommandContext(t.Context(), os.Args[0])
	a.process.Env = environOfSchedule(a.name, a.url, a.path, first)
	a.process.Stderr = os.Stderr
	out, err := a.process.StdoutPipe()
	must(t, err)
	must(t, a.process.Start())
	a.ended = make(chan struct{})
	go func(c *exec.Cmd, ended chan struct{}) {
		defer close(ended)
		lost := false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			a.h.read(a.name, lines.Text(), &lost)
		}
		_ = c.Wait()
	}(a.process, a.ended)
}

func (a *actor) running() bool {
	if a.process == nil {
		return false
	}
	select {
	case <-a.ended:
		return false
	default:
		return true
	}
}

func (a *actor) signal(s syscall.Signal) {
	if a.running() {
		_ = a.process.Process.Signal(s)
	}
}

// kill kills the machine.
func (a *actor) kill() {
	a.signal(syscall.SIGKILL)
	if a.process != nil {
		<-a.ended
	}
}

// copyDisk copies the files of a disk to another one.
func copyDisk(t *testing.T, from, to string) {
	for _, ending := range []string{"", "-wal", "-journal", ".replica"} {
		b, err := os.ReadFile(from + ending)
		if os.IsNotExist(err) {
			_ = os.Remove(to + ending)
			continue
		}
		must(t, err)
		must(t, os.WriteFile(to+ending, b, 0o600))
	}
	_ = os.Remove(to + "-shm")
}

// faultsOfSchedule returns random faults of a storage, for one, some or all clients.
func faultsOfSchedule(rnd *rand.Rand) (name string, f objectstest.Faults) {
	const ttl = scheduleTTL
	who := []string{"m0", "m1", "m2", "m0 m1", "m0 m1 m2", "m0 m1 m2", "m0 m1 m2"}[rnd.IntN(7)]
	seed, share := rnd.Uint64(), 5+rnd.IntN(40)
	kinds := []struct {
		name  string
		fault func(r *rand.Rand, q objectstest.Request) objectstest.Fault
	}{
		{"cut off", func(*rand.Rand, objectstest.Request) objectstest.Fault {
			return objectstest.Fault{Kind: objectstest.Cut}
		}},
		{"hangs", func(*rand.Rand, objectstest.Request) objectstest.Fault {
			return objectstest.Fault{Kind: objectstest.Hang}
		}},
		{"slow", func(r *rand.Rand, _ objectstest.Request) objectstest.Fault {
			return objectstest.Fault{Delay: time.Duration(r.Int64N(int64(ttl)))}
		}},
		{"errors", func(r *rand.Rand, _ objectstest.Request) objectstest.Fault {
			return some(r, share, objectstest.Fault{Kind: objectstest.Error500})
		}},
		{"lost answers", func(r *rand.Rand, _ objectstest.Request) objectstest.Fault {
			return some(r, share, objectstest.Fault{Kind: objectstest.LostAnswer})
		}},
		{"late writes", func(r *rand.Rand, q objectstest.Request) objectstest.Fault {
			if q.Op != "PUT" && q.Op != "DELETE" && q.Op != "DELETES" {
				return objectstest.Fault{}
			}
			return some(r, share, objectstest.Fault{Kind: objectstest.Late, Delay: time.Duration(r.Int64N(int64(3 * ttl)))})
		}},
		{"of all kinds", func(r *rand.Rand, q objectstest.Request) objectstest.Fault {
			k := []objectstest.Kind{
				objectstest.Error503, objectstest.Conflict, objectstest.Cut, objectstest.LostAnswer, objectstest.HalfAnswer,
			}[r.IntN(5)]
			f := some(r, share, objectstest.Fault{Kind: k})
			f.Delay = time.Duration(r.Int64N(int64(ttl / 20)))
			return f
		}},
		{"locks answered late", func(r *rand.Rand, q objectstest.Request) objectstest.Fault {
			if !strings.HasSuffix(q.Key, lockKey) || q.Op != "PUT" {
				return objectstest.Fault{}
			}
			return some(r, 60, objectstest.Fault{Kind: objectstest.LostAnswer, Delay: time.Duration(r.Int64N(int64(ttl)))})
		}},
	}
	k := kinds[rnd.IntN(len(kinds))]
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 1))
	f.Decide = func(q objectstest.Request) objectstest.Fault {
		if !strings.Contains(who, q.Client) {
			return objectstest.Fault{}
		}
		mu.Lock()
		defer mu.Unlock()
		return k.fault(r, q)
	}
	name = k.name + " for " + who
	if rnd.IntN(3) == 0 {
		f.Stale = time.Duration(rnd.Int64N(int64(2 * ttl)))
		name += fmt.Sprintf(", listings late by %s", f.Stale.Round(time.Millisecond))
	}
	return name, f
}

func some(r *rand.Rand, percent int, f objectstest.Fault) objectstest.Fault {
	if r.IntN(100) < percent {
		return f
	}
	return objectstest.Fault{}
}

// TestSchedules runs machines through random schedules of kills, freezes, disks that are lost, copied or restored, and
// faults of the storage. It checks that the survivor has all acknowledged numbers and is intact, that no holder of the
// lease acts after a later one did, and that none acknowledges anything after losing the lease. SCHEDULES is the number
// of schedules, and SCHEDULE_SEED the seed of the first, which a failure prints. The seed does not determine what
// machines do between steps.
func TestSchedules(t *testing.T) {
	t.Parallel()
	count, seed := 8, uint64(time.Now().UnixNano())
	switch {
	case os.Getenv("NEWSLETTERD_TORTURE") != "":
		count = 200
	case testing.Short():
		count = 4
	}
	if n, err := strconv.Atoi(os.Getenv("SCHEDULES")); err == nil {
		count = n
	}
	if n, err := strconv.ParseUint(os.Getenv("SCHEDULE_SEED"), 10, 64); err == nil {
		seed = n
	}
	var sum struct {
		sync.Mutex
		acks, generations, damaged int
	}
	limit := make(chan struct{}, 4)
	var all sync.WaitGroup
	for i := range count {
		limit <- struct{}{}
		all.Go(func() {
			defer func() { <-limit }()
			t.Run(strconv.FormatUint(seed+uint64(i), 10), func(t *testing.T) {
				h := schedule(t, seed+uint64(i))
				sum.Lock()
				sum.acks += len(h.acknowledged)
				sum.generations += h.generations
				sum.damaged += h.damaged
				sum.Unlock()
			})
		})
	}
	all.Wait()
	t.Logf("%d schedules, seeds from %d: the lease was taken %d times, %d numbers were acknowledged, %d starts were refused "+
		"for a gap that was none later", count, seed, sum.generations, sum.acks, sum.damaged)
	if sum.acks < 5*count || sum.generations < count {
		t.Error("too little happened")
	}
}

func schedule(t *testing.T, seed uint64) *history {
	rnd := rand.New(rand.NewPCG(seed, 0))
	s := objectstest.New(t)
	h := &history{
		acknowledged: map[int]bool{}, firstAct: map[uint64]int64{}, lastAct: map[uint64]int64{}, began: time.Now(),
	}
	var actors []*actor
	folder := t.TempDir()
	for i := range 3 {
		a := &actor{h: h, name: fmt.Sprint("m", i), url: s.URL(), path: filepath.Join(folder, fmt.Sprint(i), "n.db")}
		must(t, os.Mkdir(filepath.Dir(a.path), 0o700))
		actors = append(actors, a)
		defer a.kill()
	}
	actors[0].start(t)
	steps := 10 + rnd.IntN(14)
	for range steps {
		time.Sleep(time.Duration(rnd.Int64N(int64(scheduleTTL * 3 / 4))))
		step(t, rnd, s, actors)
		for _, a := range actors { // a supervisor would restart the machines that have ended
			if rnd.IntN(3) == 0 {
				a.start(t)
			}
		}
	}
	time.Sleep(time.Duration(rnd.Int64N(int64(scheduleTTL))))
	s.Set(objectstest.Faults{})
	h.note("the end: no more faults")
	for _, a := range actors {
		a.signal(syscall.SIGCONT)
	}
	if rnd.IntN(2) == 0 {
		time.Sleep(scheduleTTL / 2)
	}
	for _, a := range actors {
		a.kill()
	}
	time.Sleep(3 * scheduleTTL) // late requests arrive
	faults := append(h.check(), survivor(t, s, h)...)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(faults) > 0 {
		t.Errorf("SCHEDULES=1 SCHEDULE_SEED=%d:\n%s\n\n%s", seed, strings.Join(faults, "\n"), strings.Join(h.log, "\n"))
	}
	return h
}

// step performs one random action on a machine or the storage.
func step(t *testing.T, rnd *rand.Rand, s *objectstest.Server, actors []*actor) {
	a, o := actors[rnd.IntN(3)], actors[rnd.IntN(3)]
	h := a.h
	switch n := rnd.IntN(20); {
	case n < 6:
		name, f := faultsOfSchedule(rnd)
		h.note("the storage: %s", name)
		s.Set(f)
	case n < 8:
		h.note("the storage is well")
		s.Set(objectstest.Faults{})
	case n < 10:
		h.note("connections are cut")
		s.CutConnections()
	case n < 12:
		h.note("%s is killed, and starts again", a.name)
		a.kill()
		a.start(t)
	case n == 12:
		h.note("%s and its disk are lost, and it starts again", a.name)
		a.kill()
		for _, ending := range []string{"", "-wal", "-shm", "-journal", ".replica"} {
			_ = os.Remove(a.path + ending)
		}
		a.start(t)
	case n < 17:
		length := time.Duration(rnd.Int64N(int64(4 * scheduleTTL)))
		h.note("%s freezes for %s", a.name, length.Round(time.Millisecond))
		a.signal(syscall.SIGSTOP)
		if a.running() {
			process := a.process.Process
			time.AfterFunc(length, func() { _ = process.Signal(syscall.SIGCONT) })
		}
		o.start(t)
	case n == 17:
		h.note("%s stops", a.name)
		a.signal(syscall.SIGTERM)
	case n == 18 && a != o:
		h.note("the disk of %s is copied to %s, which starts", a.name, o.name)
		o.kill()
		copyDisk(t, a.path, o.path)
		o.start(t)
	default:
		old := filepath.Join(filepath.Dir(a.path), "old.db")
		a.kill()
		if _, err := os.Stat(old); err == nil {
			h.note("%s returns with an old disk", a.name)
			copyDisk(t, old, a.path)
			_ = os.Remove(old)
		} else {
			h.note("the disk of %s is kept", a.name)
			copyDisk(t, a.path, old)
		}
		a.start(t)
	}
}

// survivor restores the database from the storage and returns the problems found.
func survivor(t *testing.T, s *objectstest.Server, h *history) (faults []string) {
	path := filepath.Join(t.TempDir(), "survivor.db")
	m, err := startAgain(t.Context(), s.URL(), path, scheduleTTL)
	if err != nil {
		return []string{fmt.Sprint("the survivor does not start: ", err)}
	}
	defer m.die()
	var whole string
	if err := m.db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&whole); err != nil || whole != "ok" {
		faults = append(faults, fmt.Sprint("integrity_check: ", whole, err))
	}
	there := map[int]bool{}
	rows, err := m.db.QueryContext(t.Context(), "SELECT n, filler FROM number")
	if err != nil {
		return append(faults, err.Error())
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		var filler sql.RawBytes
		must(t, rows.Scan(&n, &filler))
		there[n] = true
		if !bytes.Equal(filler, fillerOf(n)) {
			faults = append(faults, fmt.Sprint(n, " has other content"))
		}
	}
	must(t, rows.Err())
	lost := 0
	for n := range h.acknowledged {
		if !there[n] {
			lost++
			if lost < 5 {
				faults = append(faults, fmt.Sprint(n, " was acknowledged and is lost"))
			}
		}
	}
	if lost > 0 {
		faults = append(faults, fmt.Sprintf("%d of %d are lost", lost, len(h.acknowledged)))
	}
	return faults
}
