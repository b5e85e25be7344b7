package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"newsletterd/cmd/newsletterd/config"
)

// daemon runs `newsletterd serve` as a separate process.
type daemon struct {
	binary, config, database, log string
	base, side                    string // origins of the daemon and of its metrics
	env                           []string
	cmd                           *exec.Cmd
	ended                         chan error
	client                        *http.Client
	token                         string
}

// startDaemon writes a configuration, starts the daemon and returns when it is ready.
func startDaemon(ctx context.Context, env []string, dir, relay string) (*daemon, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(relay)
	if err != nil {
		return nil, err
	}
	d := &daemon{
		binary: binary, config: filepath.Join(dir, "newsletterd.toml"), database: filepath.Join(dir, "newsletterd.db"),
		log: filepath.Join(dir, "newsletterd.log"), base: "http://" + ports[0], side: "http://" + ports[1],
		ended: make(chan error, 1), client: &http.Client{Timeout: 30 * time.Second},
	}
	for _, kv := range env { // the caller's settings are meant for another daemon
		if !strings.HasPrefix(kv, config.EnvPrefix) {
			d.env = append(d.env, kv)
		}
	}
	text := fmt.Sprintf("[server]\nlisten = %q\n[database]\npath = %q\n[mail]\ntransport = \"smtp\"\n"+
		"[mail.smtp]\nhost = %q\nport = %s\ntls = \"none\"\n[metrics]\nlisten = %q\n",
		ports[0], d.database, host, port, ports[1])
	if err := os.WriteFile(d.config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return d, d.start(ctx)
}

// freePorts returns n loopback addresses with free ports.
func freePorts(n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // close them all at the end, so that no port is returned twice
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

func (d *daemon) run(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.binary, args...)
	cmd.Args[0] = "newsletterd"
	cmd.Env = d.env
	return cmd
}

func (d *daemon) start(ctx context.Context) error {
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	d.cmd = d.run(context.WithoutCancel(ctx), "serve", "--config", d.config, "--log-format", "json")
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches only the demo, which then stops the daemon
	lines, err := d.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := d.cmd.Start(); err != nil {
		return err
	}
	ready := make(chan struct{})
	go func() {
		told := false
		for in := bufio.NewScanner(lines); in.Scan(); {
			fmt.Fprintf(log, "%s\n", in.Bytes())
			if !told && bytes.Contains(in.Bytes(), []byte(`"msg":"ready"`)) {
				close(ready)
				told = true
			}
		}
		d.ended <- errors.Join(d.cmd.Wait(), log.Close())
	}()
	return d.awaitReady(ctx, ready)
}

func (d *daemon) awaitReady(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case err := <-d.ended:
		d.ended <- err
		text, _ := os.ReadFile(d.log)
		return fmt.Errorf("the daemon didn't start: %w\n%s", err, text)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop stops the daemon in the same way as systemd. It returns an error unless the exit code is 0.
func (d *daemon) stop() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-d.ended:
		if err != nil {
			return fmt.Errorf("the daemon: %w (log: %s)", err, d.log)
		}
		return nil
	case <-time.After(45 * time.Second):
		_ = d.cmd.Process.Kill()
		return errors.New("the daemon didn't stop within 45 s")
	}
}

// command runs a command on the daemon's database and decodes its JSON output into out.
func (d *daemon) command(ctx context.Context, out any, stdin string, args ...string) error {
	cmd := d.run(ctx, append(args, "--config", d.config, "--json")...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("newsletterd %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return json.Unmarshal(stdout.Bytes(), out)
}

func (d *daemon) get(ctx context.Context, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base+path, nil)
	if err != nil {
		return err
	}
	return d.do(req, out)
}

func (d *daemon) post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	return d.do(req, out)
}

func (d *daemon) do(req *http.Request, out any) error {
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	body, err := d.answer(req)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, out)
}

// page fetches a page like a browser without a token or cookie. If form is not nil, it posts the form instead.
func (d *daemon) page(ctx context.Context, link string, form url.Values) (string, error) {
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, link, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	text, err := d.answer(req)
	return string(text), err
}

func (d *daemon) answer(req *http.Request) ([]byte, error) {
	res, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s answered %s: %s", req.Method, req.URL.Path, res.Status, bytes.TrimSpace(body))
	}
	return body, err
}

// outboxGauge holds the numbers of waiting and undeliverable events from the daemon's metrics.
type outboxGauge struct{ waiting, dead float64 }

func (d *daemon) outbox(ctx context.Context) (g outboxGauge, err error) {
	text, err := d.page(ctx, d.side+"/metrics", nil)
	if err != nil {
		return g, err
	}
	found := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		for want, to := range map[string]*float64{
			"newsletterd_outbox_waiting": &g.waiting,
			"newsletterd_outbox_dead":    &g.dead,
		} {
			if name == want {
				if *to, err = strconv.ParseFloat(value, 64); err != nil {
					return g, err
				}
				found++
			}
		}
	}
	if found != 2 {
		return g, errors.New("the metrics lack the size of the outbox")
	}
	return g, nil
}
