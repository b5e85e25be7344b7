package daemontest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"newsletterd/mail/mailtest"
)

// sinkDelayEnv sets how long a sink waits before it replies. With sinkDataEnv, it doesn't announce CHUNKING.
const (
	sinkDelayEnv = "NEWSLETTERD_FIGURES_SINK_DELAY"
	sinkDataEnv  = "NEWSLETTERD_FIGURES_SINK_DATA"
)

// Watched is the suffix of addresses for which a sink records the arrival time of each email.
const Watched = "@one.example"

// RunSink runs the test binary as `sink`.
func RunSink() {
	delay, _ := time.ParseDuration(os.Getenv(sinkDelayEnv))
	s, err := mailtest.NewSink("127.0.0.1:0", mailtest.SinkOptions{
		Delay: delay, Watch: Watched, Data: os.Getenv(sinkDataEnv) != "",
	})
	if err == nil {
		err = s.Control(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Sink is a process that accepts emails.
type Sink struct {
	Addr string

	in  io.Writer
	out *bufio.Reader
}

// StartSink starts a sink that replies after a delay.
func (p *Process) StartSink(delay time.Duration) *Sink {
	p.Helper()
	return p.startSink(sinkDelayEnv + "=" + delay.String())
}

// StartDataSink starts a sink that doesn't announce CHUNKING, so emails arrive by DATA.
func (p *Process) StartDataSink() *Sink {
	p.Helper()
	return p.startSink(sinkDataEnv + "=1")
}

func (p *Process) startSink(setting string) *Sink {
	p.Helper()
	c := exec.Command(p.Program("sink"))
	c.Env = append(os.Environ(), setting)
	in, err := c.StdinPipe()
	p.Must(err)
	out, err := c.StdoutPipe()
	p.Must(err)
	p.Must(c.Start())
	p.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	p.Must(err)
	return &Sink{strings.TrimSpace(line), in, r}
}

// Stats returns what the sink has accepted so far. Last is in nanoseconds since 1970.
func (s *Sink) Stats() (st struct{ Count, Bytes, Last int64 }) {
	s.ask("stats", &st)
	return st
}

// Records returns the emails to the addresses that the sink watches.
func (s *Sink) Records() (out []mailtest.Record) {
	s.ask("records", &out)
	return out
}

func (s *Sink) ask(question string, answer any) {
	fmt.Fprintln(s.in, question)
	line, _ := s.out.ReadBytes('\n')
	_ = json.Unmarshal(line, answer)
}
