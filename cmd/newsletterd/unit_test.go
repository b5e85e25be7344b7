package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/config"
)

// TestUnit prints the unit for three locations of the files, and passes each to systemd-analyze if that is installed.
func TestUnit(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "news letterd") // a path that needs quotes
	if err := os.WriteFile(binary, []byte("#!/bin/true\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		set  func(*config.Config)
		want []string
	}{
		"state directory": {func(c *config.Config) {
			c.Database.Path, c.Server.Listen = "/var/lib/newsletterd/newsletterd.db", ":443"
			c.Mail.Directory = "/var/lib/newsletterd/mail"
		}, []string{
			"StateDirectory=newsletterd\n", "ProtectHome=yes\n", "AmbientCapabilities=CAP_NET_BIND_SERVICE\n",
			"User=jane\n",
		}},
		"folders": {func(c *config.Config) {
			c.Database.Path, c.Backup.Path, c.Mail.Directory = "/srv/n/n.db", "/backup/n.db", "/srv/n/mail"
		}, []string{"ReadWritePaths=/backup /srv/n\n", "AmbientCapabilities=\n"}},
		"home": {func(c *config.Config) {
			c.Database.Path, c.Mail.Directory = "/home/jane/n.db", "/home/jane/mail"
		}, []string{"ProtectHome=no\n", "ReadWritePaths=/home/jane\n"}},
		"replica in a storage": {func(c *config.Config) {
			c.Replica.URL = "s3://bucket/n?region=eu-1"
		}, []string{"EnvironmentFile=/etc/newsletterd.env\n"}},
		"replica in a folder": {func(c *config.Config) {
			c.Database.Path, c.Mail.Directory, c.Replica.URL = "/srv/n/n.db", "/srv/n/mail", "file:///mnt/else where/n"
		}, []string{`ReadWritePaths="/mnt/else where/n" /srv/n` + "\n"}},
		"key in a home": {func(c *config.Config) {
			c.Database.Path, c.Mail.Directory = "/srv/n/n.db", "/srv/n/mail"
			c.Server.TLSCert, c.Server.TLSKey = "/etc/ssl/n.pem", "/home/jane/n.key"
		}, []string{"ProtectHome=no\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			tt.set(cfg)
			text, err := unitOf(cfg, "jane", binary)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range append(tt.want, "Type=notify\n", "NoNewPrivileges=yes\n", `ExecStart="`+binary+`" serve`+"\n") {
				if !strings.Contains(string(text), "\n"+w) {
					t.Errorf("%q is missing in\n%s", w, text)
				}
			}
			analyze, err := exec.LookPath("systemd-analyze")
			if err != nil {
				t.Log("not verified: there is no systemd-analyze")
				return
			}
			file := filepath.Join(t.TempDir(), "newsletterd.service")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(analyze, "verify", file).CombinedOutput(); err != nil ||
				strings.Contains(string(out), "newsletterd.service:") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestPackagedUnit compares the unit of the .deb and .rpm with the one that the program prints for their paths. It may
// listen on ports 443 and 80, so the same unit works with and without a proxy in front.
func TestPackagedUnit(t *testing.T) {
	cfg := config.Default()
	cfg.File, cfg.Server.Listen = "/var/lib/newsletterd/newsletterd.toml", ":443"
	cfg.Database.Path, cfg.Mail.Directory = "/var/lib/newsletterd/newsletterd.db", "/var/lib/newsletterd/mail"
	cfg.Auth.KeyFile = "/var/lib/newsletterd/newsletterd.key"
	want, err := unitOf(cfg, "newsletterd", "/usr/bin/newsletterd")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("package/newsletterd.service")
	if err != nil || string(got) != string(want) {
		t.Errorf("package/newsletterd.service: %v\n%s\nwant\n%s", err, got, want)
	}
}

// TestDockerignoreKeepsTheSource checks that .dockerignore excludes no source folder, because the image is built from
// the source.
func TestDockerignoreKeepsTheSource(t *testing.T) {
	text, err := os.ReadFile("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	for pattern := range strings.FieldsSeq(string(text)) {
		left, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		for _, path := range left {
			if source, _ := filepath.Glob(path + "/*.go"); len(source) > 0 || strings.HasSuffix(path, ".go") {
				t.Errorf("%s leaves out %s", pattern, path)
			}
		}
	}
}

func TestRelay(t *testing.T) {
	for word, want := range map[string]config.SMTP{
		"none":                           {TLS: "starttls", Port: 587},
		"smtp.example.org":               {Host: "smtp.example.org", TLS: "starttls", Port: 587},
		"smtp.example.org:2525":          {Host: "smtp.example.org", TLS: "starttls", Port: 2525},
		"smtp.example.org:465":           {Host: "smtp.example.org", TLS: "implicit", Port: 465},
		"smtps://me@smtp.example.org":    {Host: "smtp.example.org", TLS: "implicit", Port: 465, Username: "me"},
		"smtp://a@b.org@smtp.b.org:587/": {Host: "smtp.b.org", TLS: "starttls", Port: 587, Username: "a@b.org"},
		"127.0.0.1":                      {Host: "127.0.0.1", TLS: "none", Port: 25},
		"[::1]:2525":                     {Host: "::1", TLS: "none", Port: 2525},
	} {
		if got, err := parseRelay(word); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v, want %+v", word, got, err, want)
		}
	}
	for _, word := range []string{
		"", "http://smtp.example.org", "smtp.example.org:smtp", "smtp.example.org:0", "@host",
		"a:b@host", "two words",
	} {
		if got, err := parseRelay(word); err == nil {
			t.Errorf("%q is taken as %+v", word, got)
		}
	}
}

// TestInstallStepsGiveTheFolderToTheUser checks that an existing user can write to the folder, and so can a user
// created for the daemon.
func TestInstallStepsGiveTheFolderToTheUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root hands folders over")
	}
	for _, name := range []string{"nobody", "nobody-of-this-machine"} {
		steps := strings.Join(installSteps("/srv/n/newsletterd.service", name, "/srv/n"), "\n")
		if !strings.Contains(steps, name+": /srv/n\n") {
			t.Errorf("%s cannot write:\n%s", name, steps)
		}
	}
}
