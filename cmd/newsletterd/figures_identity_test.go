package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/store"
)

// newProcess is a daemon in a process of its own, with a folder and a port of its own, that sends no mail out.
func newProcess(t *testing.T) *figures {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	addr := freeAddr(t)
	f := &figures{T: t, dir: t.TempDir(), exe: exe, url: "http://" + addr}
	f.httpClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}, Timeout: time.Minute}
	f.must(os.WriteFile(filepath.Join(f.dir, "newsletterd.toml"),
		fmt.Appendf(nil,
			"[server]\nlisten = %q\n[log]\nlevel = \"warn\"\n[metrics]\nlisten = \"\"\n[backup]\nevery = \"0\"\n", addr), 0o600))
	return f
}

// people adds n users with testPassword, and clients, while no daemon runs.
func (f *figures) people(n int, clients ...core.ClientInput) (secrets [][2]string) {
	f.Helper()
	s, err := store.Open(f.Context(), store.Options{Path: filepath.Join(f.dir, "newsletterd.db"), Migrate: true})
	f.must(err)
	defer func() { f.must(s.Close()) }()
	p, err := auth.New(f.Context(), s, auth.Config{Issuer: f.url + "/api"}, now())
	f.must(err)
	hash, err := p.NewPassword(f.Context(), "password", testPassword)
	f.must(err)
	for i := range n {
		f.must(s.AddUser(f.Context(), core.NewUser(core.Email(person(i)), now()), hash, now()))
	}
	for _, in := range clients {
		c, secret, err := core.NewClient(in, true, now())
		f.must(err)
		f.must(s.AddClient(f.Context(), c, "test"))
		secrets = append(secrets, [2]string{c.ID, secret})
	}
	return secrets
}

func person(i int) string { return fmt.Sprintf("person%d@example.org", i) }

// plainClient is a client that costs little: it writes ready requests to a connection and reads as much of the answers
// as their length asks for.
type plainClient struct {
	conn net.Conn
	in   *bufio.Reader
}

func (f *figures) dial() *plainClient {
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	f.must(err)
	return &plainClient{conn, bufio.NewReaderSize(conn, 16<<10)}
}

// do sends a request and reads the answer.
func (c *plainClient) do(request []byte) (status int, body []byte, err error) {
	if _, err = c.conn.Write(request); err != nil {
		return 0, nil, err
	}
	length := 0
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		switch {
		case first && len(line) > 12:
			status, err = strconv.Atoi(string(line[9:12]))
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			length, err = strconv.Atoi(string(bytes.TrimSpace(line[16:])))
		case len(line) <= 2:
			body = make([]byte, length)
			_, err = io.ReadFull(c.in, body)
			return status, body, err
		}
		if err != nil {
			return 0, nil, err
		}
	}
}

func request(method, path, token, form string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\n", method, path)
	if token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", token)
	}
	if form != "" {
		fmt.Fprintf(&b, "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n", len(form))
	}
	return append(append(b.Bytes(), "\r\n"...), form...)
}

// load runs 8 workers for a while; each has a function that makes its next request of the answer to its last.
func (f *figures) load(name string, goal float64, worker func(i int) func(answer tokenAnswer) []byte) {
	f.Helper()
	const workers, warm = 8, time.Second / 2
	long := atMost(f, 4*time.Second, time.Second/4)
	var done, failed atomic.Int64
	var counting, over atomic.Bool
	var wg sync.WaitGroup
	for i := range workers {
		next := worker(i)
		c := f.dial()
		wg.Go(func() {
			defer c.conn.Close()
			var a tokenAnswer
			for !over.Load() {
				status, body, err := c.do(next(a))
				if err != nil {
					failed.Add(1)
					return
				}
				if a = (tokenAnswer{status: status}); bytes.HasPrefix(body, []byte(`{"access_token"`)) {
					_ = json.Unmarshal(body, &a)
				}
				if status != http.StatusOK {
					failed.Add(1)
				}
				if counting.Load() {
					done.Add(1)
				}
			}
		})
	}
	<-time.After(warm)
	daemon, generator := cpuOf(f.daemon.Process.Pid), cpuOf(os.Getpid())
	counting.Store(true)
	began := time.Now()
	<-time.After(long)
	counting.Store(false)
	took := time.Since(began)
	daemon, generator = cpuOf(f.daemon.Process.Pid)-daemon, cpuOf(os.Getpid())-generator
	over.Store(true)
	wg.Wait()
	n := float64(done.Load())
	f.line(name, "%.0f/s (goal %.0f), %d failed; µs of CPU a request: %.0f, load generator %.0f", n/took.Seconds(), goal,
		failed.Load(),
		float64(daemon.Microseconds())/n, float64(generator.Microseconds())/n)
	if failed.Load() > 0 {
		f.Errorf("%s: %d requests failed", name, failed.Load())
	}
}

func cpuOf(pid int) time.Duration {
	cpu, _ := usage(pid)
	return cpu
}

// TestFiguresOfIdentity prints the figures of the identity part: requests a second of 8 workers, the load generator
// running on the same machine.
func TestFiguresOfIdentity(t *testing.T) {
	if os.Getenv(figuresEnv) == "" {
		t.Skip("make bench")
	}
	f := newProcess(t)
	client := func(alg string) core.ClientInput {
		return core.ClientInput{
			Name: new("bench"), ClientType: new(core.ClientConfidential), IDTokenAlg: &alg,
			Scopes: &[]string{"openid", "profile", "email", "offline_access", "newsletter:send"},
		}
	}
	clients := f.people(8, client("RS256"), client("ES256"))
	f.serve()
	defer f.stop()
	constant := func(r []byte) func(int) func(tokenAnswer) []byte {
		return func(int) func(tokenAnswer) []byte { return func(tokenAnswer) []byte { return r } }
	}
	f.load("discovery", 25000, constant(request("GET", "/api/.well-known/openid-configuration", "", "")))
	f.load("key set", 25000, constant(request("GET", "/api/.well-known/jwks.json", "", "")))
	logIn := func(i int, c [2]string) tokenAnswer {
		form := url.Values{"grant_type": {"password"}, "username": {person(i)}, "password": {testPassword}}
		if c[0] != "" {
			form.Set("client_id", c[0])
			form.Set("client_secret", c[1])
		}
		status, body, err := f.dial().do(request("POST", "/api/auth/login", "", form.Encode()))
		f.must(err)
		a := tokenAnswer{status: status}
		f.must(json.Unmarshal(body, &a))
		if status != http.StatusOK {
			f.must(errors.New(string(body)))
		}
		return a
	}
	f.load("profile", 15000, constant(request("GET", "/api/user/profile", logIn(0, [2]string{}).Access, "")))
	for i, alg := range []string{"RS256", "ES256"} {
		c := clients[i]
		f.load("refresh, id token "+alg, []float64{1200, 3000}[i], func(i int) func(tokenAnswer) []byte {
			token := logIn(i, c).Refresh
			return func(a tokenAnswer) []byte {
				if a.Refresh != "" {
					token = a.Refresh
				}
				return request("POST", "/api/oauth/token", "", "grant_type=refresh_token&client_id="+c[0]+"&client_secret="+c[1]+
					"&refresh_token="+token)
			}
		})
	}
	f.load("client_credentials", 5000,
		constant(request("POST", "/api/oauth/token", "", "grant_type=client_credentials&client_id="+clients[1][0]+
			"&client_secret="+clients[1][1])))
	f.load("password login", 60, func(i int) func(tokenAnswer) []byte {
		form := url.Values{"grant_type": {"password"}, "username": {person(i)}, "password": {testPassword}}.Encode()
		return func(tokenAnswer) []byte { return request("POST", "/api/auth/login", "", form) }
	})
}
