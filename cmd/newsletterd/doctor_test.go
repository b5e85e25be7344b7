package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/mail/mailtest"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
)

// examined runs doctor as a command and returns its findings and exit code.
func examined(t *testing.T, config string, args ...string) (all []core.Finding, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "newsletterd.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, fault bytes.Buffer
	p := newProgram(strings.NewReader(""), &out, &fault, nil)
	code = p.run(t.Context(), append([]string{"newsletterd", "doctor", "--json", "--config", file}, args...))
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatalf("%v: %s%s", err, &out, &fault)
	}
	return all, code
}

// found returns the level of the findings of a check, or only of those findings that contain a text.
func found(t *testing.T, all []core.Finding, check, level, text string) {
	t.Helper()
	for _, f := range all {
		if f.Check == check && f.Level == level && strings.Contains(f.Text, text) {
			if level != core.LevelOK && f.Advice == "" {
				t.Errorf("no advice: %+v", f)
			}
			return
		}
	}
	t.Errorf("no %s of %s that says %q in %+v", level, check, text, all)
}

const doctorConfig = `
[server]
listen = "LISTEN"
public_url = "https://news.example.org"
[database]
path = "DIR/newsletterd.db"
[metrics]
listen = ""
[mail]
transport = "smtp"
from = "news@news.example.org"
[mail.smtp]
host = "HOST"
port = PORT
tls = "none"
username = "anna"
password = "sesame"
`

func TestDoctor(t *testing.T) {
	relay, err := mailtest.NewServer(mailtest.Script{
		Users:      map[string]string{"anna": "sesame"},
		Mechanisms: []string{"PLAIN"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { relay.Close() })
	host, port, _ := net.SplitHostPort(relay.Addr())
	r := start(t, func(c *config.Config) { c.Server.PublicURL = "https://news.example.org" })
	text := strings.NewReplacer("LISTEN", r.listener.Addr().String(), "DIR", filepath.Dir(r.store.Path()), "HOST", host,
		"PORT", port).Replace(doctorConfig)
	name := "Acme"
	acme, err := core.NewTenant(core.TenantInput{Name: &name}, 1000)
	if err == nil {
		err = r.store.AddTenant(t.Context(), acme, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	all, code := examined(t, text)
	if code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
	for _, want := range [][3]string{
		{"database", core.LevelOK, "a daemon is running"},
		{"relay", core.LevelOK, "accepts the sign-in of anna"},
		{"health", core.LevelOK, "200"},
		{"ports", core.LevelOK, "responds"},
		{"permissions", core.LevelOK, ""},
		{"disk speed", core.LevelOK, "mails/s"},
		{"proxy", core.LevelWarning, "no trusted proxy"},
		{"key file", core.LevelWarning, "unencrypted"},
		{"postal address", core.LevelWarning, "for example Acme"},
	} {
		found(t, all, want[0], want[1], want[2])
	}
	if len(relay.Messages()) != 0 {
		t.Error("doctor mails something")
	}
	all, code = examined(t, strings.Replace(text, "sesame", "wrong", 1))
	if code != cli.ExitFailed {
		t.Errorf("exit code %d with a wrong password", code)
	}
	found(t, all, "relay", core.LevelFault, "AUTH")
	if err := os.Chmod(r.store.Path(), 0o644); err != nil {
		t.Fatal(err)
	}
	all, _ = examined(t, text)
	found(t, all, "permissions", core.LevelFault, r.store.Path())
	if err := r.quit(); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	all, _ = examined(t, strings.Replace(text, r.listener.Addr().String(), taken.Addr().String(), 1))
	found(t, all, "ports", core.LevelFault, "is used by")
	all, code = examined(t, "[server]\nlisen = 1\n[log]\nlevel = \"loud\"\n")
	if len(all) != 2 || code != cli.ExitFailed {
		t.Errorf("%d, %+v", code, all)
	}
	found(t, all, "configuration", core.LevelFault, "server.lisen")
}

// TestDoctorFindsProxies checks that a private address that requests subscriptions is reported as a proxy that is not
// trusted, or as a site that sends no token.
func TestDoctorFindsProxies(t *testing.T) {
	db := storetest.Open(t)
	name := "Acme"
	acme, err := core.NewTenant(core.TenantInput{Name: &name}, 1000)
	if err == nil {
		err = db.AddTenant(t.Context(), acme, "test")
	}
	list, e := core.NewList(core.ListInput{TenantID: &acme.ID, Name: &name}, 1000)
	if err = errors.Join(err, e); err == nil {
		err = db.AddList(t.Context(), list, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, remote := range []string{"192.0.2.1", "10.1.2.3", "10.1.2.3", "127.0.0.1", "127.0.0.1", "127.0.0.1"} {
		r := members.SubscribeRequest{
			ListID: list.ID, Email: core.Email(fmt.Sprintf("a%d@user.example", i)),
			Origin: core.Origin{Remote: remote},
		}
		if _, _, err := db.Subscribe(t.Context(), r, now()); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		url     string
		trusted []string
		limit   int
		want    string // address in the finding
	}{
		{"https://news.example.org", nil, 60, "127.0.0.1"},
		{"https://news.example.org", []string{"127.0.0.1"}, 60, "10.1.2.3"},
		{"http://localhost:8080", nil, 60, "10.1.2.3"},
		{"http://localhost:8080", []string{"10.0.0.0/8"}, 60, ""},
		{"https://news.example.org", nil, 0, ""},
	} {
		cfg := config.Default()
		cfg.Server.PublicURL, cfg.Server.TrustedProxies, cfg.Limits.SubscribePerAddress = tt.url, tt.trusted, tt.limit
		d := doctor{ctx: t.Context(), cfg: cfg, store: db}
		d.origins()
		if tt.want == "" && len(d.all) > 0 || tt.want != "" && len(d.all) != 1 {
			t.Errorf("%+v: %+v", tt, d.all)
			continue
		}
		for _, f := range d.all {
			if f.Level != core.LevelWarning || !strings.Contains(f.Text, "from the private address "+tt.want) ||
				!strings.Contains(f.Advice, "trusted_proxies") || !strings.Contains(f.Advice, core.ScopeEventsWrite) {
				t.Errorf("%+v: %+v", tt, f)
			}
		}
	}
}

func TestDoctorDNS(t *testing.T) {
	zone := map[string][]string{
		"news.example.org A":         {"192.0.2.1"},
		"news.example.org TXT":       {"v=spf1 a:relay.example.org ~all", "another=text"},
		"_dmarc.example.org TXT":     {"v=DMARC1; p=quarantine"},
		"news.example.org MX":        {"mx.example.org."},
		"relay.example.org A":        {"192.0.2.7"},
		"7.2.0.192.in-addr.arpa PTR": {"relay.example.org."},
		"two.example.org TXT":        {"v=spf1 -all", "v=spf1 +all"},
		"open.example.org TXT":       {"v=spf1 +all"},
		"stray.example.org A":        {"192.0.2.8"},
		"8.2.0.192.in-addr.arpa PTR": {"elsewhere.example.org."},
		"elsewhere.example.org A":    {"192.0.2.9"},
		"_dmarc.two.example.org TXT": {"v=DMARC1; p=none", "v=DMARC1; p=reject"},
	}
	server := daemontest.DNS(t, zone)
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", server)
	}}
	db := storetest.Open(t)
	key := func(domain string) core.DKIMKey {
		k := core.DKIMKey{
			ID: core.NewID(), Domain: domain, Selector: "n", Algorithm: core.DKIMRSA, Status: core.DKIMActive,
			Public: "MIIB" + strings.ToUpper(domain[:3]),
		}
		if err := db.AddDKIMKey(t.Context(), k, []byte{1}, "test"); err != nil {
			t.Fatal(err)
		}
		return k
	}
	good, other := key("news.example.org"), key("two.example.org")
	zone[good.RecordName()+" TXT"] = []string{good.RecordValue()}
	zone[other.RecordName()+" TXT"] = []string{"v=DKIM1; k=rsa; p=MIIBELSE"}
	key("open.example.org")
	look := func(from, relay string) []core.Finding {
		cfg := config.Default()
		cfg.Server.PublicURL = "https://" + from
		cfg.Mail.From, cfg.Mail.Transport, cfg.Mail.SMTP.Host = "news@"+from, "smtp", relay
		d := &doctor{p: newProgram(nil, nil, nil, nil), ctx: t.Context(), cfg: cfg, resolver: resolver, store: db}
		begin := time.Now()
		if d.dns(); time.Since(begin) > 20*time.Second {
			t.Errorf("took %s", time.Since(begin))
		}
		return d.all
	}
	all := look("news.example.org", "relay.example.org")
	for _, f := range all {
		if f.Level != core.LevelOK {
			t.Errorf("%+v", f)
		}
	}
	found(t, all, "DMARC", core.LevelOK, "example.org: v=DMARC1; p=quarantine")
	found(t, all, "PTR", core.LevelOK, "192.0.2.7 is relay.example.org")
	all = look("two.example.org", "stray.example.org")
	found(t, all, "SPF", core.LevelFault, "2 SPF records")
	found(t, all, "DMARC", core.LevelFault, "2 DMARC records")
	found(t, all, "address", core.LevelFault, "two.example.org: no such host")
	found(t, all, "MX", core.LevelWarning, "no MX record")
	found(t, all, "PTR", core.LevelWarning, "192.0.2.8")
	found(t, all, "DKIM", core.LevelFault, "a different key")
	all = look("open.example.org", "relay.example.org")
	found(t, all, "SPF", core.LevelFault, "lets anyone send")
	found(t, all, "DKIM", core.LevelFault, "is not published")
	all = look("nothing.example.net", "relay.example.org")
	found(t, all, "DKIM", core.LevelWarning, "has no DKIM key")
	found(t, all, "SPF", core.LevelFault, "no SPF record")
	found(t, all, "DMARC", core.LevelFault, "no DMARC record")
}

// A common cause of a failure is a sentence that the console translates. The text of the error follows it.
func TestDoctorNamesCauses(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, tt := range []struct {
		err          error
		format, text string
	}{
		{
			fmt.Errorf("relay: %w", refused), "the connection was refused (%s)",
			"(relay: dial tcp: connect: connection refused)",
		},
		{&net.DNSError{Err: "no such host", Name: "a.test", IsNotFound: true}, "the host doesn't exist (%s)", "a.test"},
		{&net.DNSError{Err: "i/o timeout", Name: "a.test", IsTimeout: true}, "no response in time (%s)", "a.test"},
		{&tls.CertificateVerificationError{Err: errors.New("expired")}, "the certificate isn't trusted (%s)", "expired"},
		{&fs.PathError{Op: "open", Path: "/key", Err: syscall.EACCES}, "permission denied (%s)", "/key"},
		{&fs.PathError{Op: "open", Path: "/key", Err: syscall.ENOENT}, "a file or folder is missing (%s)", "/key"},
		{&fs.PathError{Op: "write", Path: "/key", Err: syscall.ENOSPC}, "the disk is full (%s)", "/key"},
		{core.ErrStorage.With(errors.New("disk I/O error")), "the database returned an error (%s)", "disk I/O error"},
		{errors.New("odd"), "", "odd"},
	} {
		if got := cause(tt.err); got.Format != tt.format || !strings.Contains(got.Text, tt.text) {
			t.Errorf("%v: %+v", tt.err, got)
		}
	}
	if got := dnsError(&net.DNSError{Err: "server misbehaving", Name: "a.test"}); got.Text != "no name server responded "+
		"(server misbehaving)" {
		t.Errorf("%+v", got)
	}
}

func TestSendCeiling(t *testing.T) {
	// The results are within 25% of the measurements.
	for _, m := range []struct {
		window int
		fsync  time.Duration
		rate   int
	}{
		{16, 150 * time.Microsecond, 23082},
		{64, 150 * time.Microsecond, 42304},
		{256, 150 * time.Microsecond, 59709},
		{16, 1150 * time.Microsecond, 5197},
		{64, 1150 * time.Microsecond, 16995},
		{256, 1150 * time.Microsecond, 41742},
		{16, 4150 * time.Microsecond, 1705},
		{64, 4150 * time.Microsecond, 6266},
		{256, 4150 * time.Microsecond, 20815},
	} {
		if got := sendCeiling(m.window, m.fsync); got < m.rate*3/4 || got > m.rate*5/4 {
			t.Errorf("window %d, fsync %s: %d, measured %d", m.window, m.fsync, got, m.rate)
		}
	}
}
