package replica

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"newsletterd/store/replica/objectstest"
)

// scheduleTTL is short, which makes leases change hands many times in a schedule.
const scheduleTTL = 500 * time.Millisecond

// monotonic returns the time of a clock that all processes of the computer share.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

func init() { machineOfSchedule = serveSchedule }

// fillerOf returns the filler stored with a number.
func fillerOf(n int) []byte {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(n)))
	b := make([]byte, 0, 600)
	for len(b) < 300+n%300 {
		b = append(b, sum[:]...)
	}
	return b
}

// serveSchedule runs a machine of a schedule. It prints its actions:
//
//	hold GENERATION           it has the lease
//	act GENERATION FROM TO    it was allowed to act at a time between FROM and TO
//	ack NUMBER                the number is acknowledged
//	lost                      it has lost the lease and exits
//	failed TEXT               it could not start or continue
//	damaged TEXT              the log is damaged
//
// It exits after losing the lease, and shuts down properly on SIGTERM.
func serveSchedule(url, path string) {
	client, first := os.Getenv("REPLICA_CLIENT"), os.Getenv("REPLICA_FIRST")
	next, err := strconv.Atoi(first)
	if err != nil {
		panic(err)
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	m, err := startAs(ctx, client, url, path, scheduleTTL, func() error { return nil })
	if err != nil {
		word := "failed"
		if errors.Is(err, ErrGap) || errors.Is(err, ErrNothing) {
			word = "damaged"
		}
		fmt.Println(word, err)
		os.Exit(1)
	}
	generation := m.Generation()
	fmt.Println("hold", generation)
	var number atomic.Int64
	number.Store(int64(next))
	for range 3 {
		go func() {
			for {
				n := int(number.Add(1))
				if err := m.addSum(ctx, n); err == nil {
					fmt.Println("ack", n)
				} else if !errors.Is(err, ErrLost) {
					fmt.Println("failed", err)
					return
				}
				time.Sleep(time.Duration(rand.IntN(6)) * time.Millisecond)
			}
		}()
	}
	go func() {
		for {
			if from := monotonic(); m.Check() == nil {
				fmt.Println("act", generation, from, monotonic())
			}
			time.Sleep(3 * time.Millisecond)
		}
	}()
	go m.tidy(ctx)
	select {
	case <-m.lost:
		fmt.Println("lost")
	case <-terminated:
		stop, cancel := context.WithTimeout(ctx, scheduleTTL)
		_ = m.checkpoint(stop)
		m.lane.Lock() // no one writes any more
		_ = m.Stop()
		_ = m.db.Close()
		_ = m.Close(stop)
		cancel()
	}
	os.Exit(0)
}

// addSum is like add, with a filler that reveals damage.
func (m *machine) addSum(ctx context.Context, n int) error {
	m.lane.Lock()
	_, err := m.db.ExecContext(ctx, "INSERT INTO number VALUES (?, ?)", n, fillerOf(n))
	if err == nil && n%5 == 0 { // makes pages come and go
		_, err = m.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS large (n INTEGER PRIMARY KEY, filler BLOB); "+
			"DELETE FROM large WHERE n % 7 = ?1 % 7; INSERT INTO large VALUES (?1, randomblob(9000))", n)
	}
	m.Committed()
	m.lane.Unlock()
	if err != nil {
		return err
	}
	return m.Wait(ctx)
}

// tidy does the work of the store's writer and keepShort, but much more often.
func (m *machine) tidy(ctx context.Context) {
	for i := 1; ; i++ {
		time.Sleep(time.Duration(10+rand.IntN(40)) * time.Millisecond)
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		_ = m.checkpoint(short)
		cancel()
		short, cancel = context.WithTimeout(ctx, scheduleTTL)
		if i%4 == 0 {
			m.ship.mu.Lock()
			arrived := m.ship.arrived
			m.ship.mu.Unlock()
			for level := 1; level < levels && m.Check() == nil; level++ {
				_, _ = m.log.compact(short, level, arrived, m.ship.recentBody)
			}
		}
		if i%8 == 0 && m.Check() == nil {
			_ = m.ship.snapshot(short)
		}
		if i%6 == 0 && m.Check() == nil && m.lease.renew(short) == nil { // treats everything as old
			_ = m.log.sweep(short, time.Now().Add(time.Hour), time.Now().Add(time.Hour))
		}
		cancel()
	}
}

// environOfSchedule returns the environment for a machine of a schedule.
func environOfSchedule(client, url, path string, first int) []string {
	return append(append(os.Environ(), "REPLICA_MACHINE="+url, "REPLICA_PATH="+path, "REPLICA_CLIENT="+client,
		fmt.Sprint("REPLICA_FIRST=", first)), objectstest.Environ(client)...)
}
