package smtp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"newsletterd/core/coretest"
	"newsletterd/mail/mailtest"
)

// sinkEnv is the environment variable that turns the test binary into a sink, for a server in another process.
const sinkEnv = "MAIL_TEST_SINK"

func TestMain(m *testing.M) {
	if os.Getenv(sinkEnv) != "" {
		s, err := mailtest.NewSink("127.0.0.1:0", mailtest.SinkOptions{})
		if err == nil {
			err = s.Control(os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startSink runs a sink in another process and returns its address and a count of its messages.
func startSink(b *testing.B) (addr string, count func() int64) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), sinkEnv+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return line[:len(line)-1], func() int64 {
		fmt.Fprintln(in, "stats")
		var s struct{ Count int64 }
		line, err := r.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &s)
		}
		if err != nil {
			b.Fatal(err)
		}
		return s.Count
	}
}

// BenchmarkDeliver sends emails of 6.5 KB over 16 connections, to a sink in this process and in another one. For
// comparison, it also sends one command at a time.
func BenchmarkDeliver(b *testing.B) {
	for _, c := range []struct {
		name   string
		client Client
		other  bool // the sink is in another process
	}{
		{"same-process", Client{MaxMails: 1 << 30}, false},
		{"other-process", Client{MaxMails: 1 << 30}, true},
		{"no-pipelining", Client{MaxMails: 1 << 30, NoPipelining: true}, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			client := c.client
			var count func() int64
			if c.other {
				client.Addr, count = startSink(b)
			} else {
				client.Addr = mailtest.StartSink(b, mailtest.SinkOptions{}).Addr()
			}
			data := bytes.Repeat([]byte("0123456789012345678901234567890123456789012345678901234567890123456789\r\n"),
				90)
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			before := coretest.CPU()
			b.ResetTimer()
			for range 16 {
				wg.Go(func() {
					e := [2]Envelope{}
					n := 0
					src := &Source{
						Next: func(context.Context, bool) (*Envelope, bool) {
							if left.Add(-1) < 0 {
								return nil, false
							}
							n++
							e[n&1] = Envelope{
								From: "b+abcdefgh.abcdefghijklmnop@bounces.example",
								To:   "reader@example.org", Data: data,
							}
							return &e[n&1], true
						},
						Commit: func(*Envelope, bool) bool { return true },
						Done: func(_ *Envelope, o Outcome) {
							if o.Result != Sent {
								b.Error(o)
							}
						},
					}
					if err := client.Deliver(b.Context(), src); err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "mails/s")
			b.ReportMetric(float64((coretest.CPU()-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/mail")
			if count != nil {
				if got := count(); got < int64(b.N) {
					b.Errorf("the sink has %d of %d", got, b.N)
				}
			}
		})
	}
}
