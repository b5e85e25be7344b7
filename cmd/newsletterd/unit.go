package main

import (
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
)

//go:embed unit.service.tmpl
var unitText string

// unitTemplate is the template for the systemd unit file. If systemd-analyze is installed, a test checks the output
// with it.
var unitTemplate = template.Must(template.New("unit").Parse(unitText))

// stateRoot is the folder in which systemd creates each StateDirectory.
const stateRoot = "/var/lib/"

// unit holds the values for unitTemplate.
type unit struct {
	Binary, Config, User string
	WorkingDirectory     string
	StateDirectory       string   // below stateRoot; empty: the files are elsewhere
	Writable             []string // folders outside the state directory
	Home                 bool     // a path is below /home or /root
	LowPort              bool     // the daemon listens on a port below 1024
	Keys                 string   // file with the replica's keys; empty: not needed
}

func (p *program) systemdUnitCommand() *cli.Command {
	return &cli.Command{
		Name: "systemd-unit", Usage: "print a hardened systemd unit",
		Description: `The unit runs newsletterd with this configuration as an unprivileged user
that can write only to the paths in the configuration. Print it again when paths
or ports in the configuration change.

   newsletterd systemd-unit --config /var/lib/newsletterd/newsletterd.toml | sudo tee /etc/systemd/system/newsletterd.service`,
		Flags: []cli.Flag{unitUserFlag(), unitBinaryFlag()},
		Action: func(c *cli.Context) error {
			cfg, err := p.Config(c)
			if err != nil {
				return err
			}
			text, err := unitOf(cfg, c.String("user"), c.String("binary"))
			if err != nil {
				return err
			}
			_, err = p.Out.Write(text)
			return err
		},
	}
}

func unitUserFlag() cli.Flag {
	return cli.String("user", "`USER` that the daemon runs as (default: you, or newsletterd if you are root)")
}

func unitBinaryFlag() cli.Flag {
	return cli.String("binary", "newsletterd binary `FILE` (default: this one)")
}

// unitOf returns the systemd unit file for a configuration.
func unitOf(cfg *config.Config, name, binary string) ([]byte, error) {
	u := unit{User: unitUser(name), Binary: binary}
	var err error
	if u.Binary == "" {
		if u.Binary, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	paths := []*string{&u.Binary}
	if u.Config = cfg.File; u.Config != "" {
		paths = append(paths, &u.Config)
	}
	for _, p := range paths {
		if *p, err = filepath.Abs(*p); err != nil {
			return nil, err
		}
	}
	if u.WorkingDirectory, err = os.Getwd(); err != nil {
		return nil, err
	}
	if u.Config != "" && allAbsolute(cfg) {
		u.WorkingDirectory = filepath.Dir(u.Config)
	}
	if strings.HasPrefix(cfg.Replica.URL, "s3:") {
		u.Keys = "/etc/newsletterd.env"
	}
	folders, err := writableFolders(cfg)
	if err != nil {
		return nil, err
	}
	u.place(folders)
	for _, p := range append(folders, u.Binary, u.Config, u.WorkingDirectory, cfg.Server.TLSCert, cfg.Server.TLSKey,
		cfg.Auth.KeyFile) {
		u.Home = u.Home || strings.HasPrefix(p, "/home/") || strings.HasPrefix(p, "/root")
	}
	for _, listen := range []string{cfg.Server.Listen, cfg.Metrics.Listen, cfg.Bounce.Listen, acmeHTTP(cfg)} {
		if _, port, err := net.SplitHostPort(listen); err == nil {
			n, _ := strconv.Atoi(port)
			u.LowPort = u.LowPort || n > 0 && n < 1024
		}
	}
	var b strings.Builder
	if err := unitTemplate.Execute(&b, u); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

// acmeHTTP returns the address of the plain HTTP listener for ACME, or an empty string if there is none.
func acmeHTTP(cfg *config.Config) string {
	if len(cfg.Server.ACMEDomains) == 0 {
		return ""
	}
	return cfg.Server.ACMEHTTP
}

// place sorts folders into the StateDirectory, which systemd creates, and those that must already exist.
func (u *unit) place(folders []string) {
	for _, f := range folders {
		under, ok := strings.CutPrefix(f, stateRoot)
		if first, _, _ := strings.Cut(under, "/"); ok && first != "" &&
			(u.StateDirectory == "" || u.StateDirectory == first) {
			u.StateDirectory = first
			continue
		}
		if !slices.Contains(u.Writable, f) {
			u.Writable = append(u.Writable, f)
		}
	}
}

// writableFolders returns the folders that the daemon writes to. It leaves out folders inside other ones.
func writableFolders(cfg *config.Config) ([]string, error) {
	files := []string{filepath.Dir(cfg.Database.Path)}
	if cfg.Backup.Every != 0 {
		files = append(files, filepath.Dir(snapshotPath(cfg)))
	}
	if cfg.Mail.Transport == "directory" {
		files = append(files, cfg.Mail.Directory)
	}
	if u, err := url.Parse(cfg.Replica.URL); err == nil && u.Scheme == "file" {
		files = append(files, u.Path)
	}
	for i, f := range files {
		abs, err := filepath.Abs(f)
		if err != nil {
			return nil, err
		}
		files[i] = abs
	}
	slices.Sort(files)
	var out []string
	for _, f := range files {
		if len(out) == 0 || f != out[len(out)-1] && !strings.HasPrefix(f, out[len(out)-1]+"/") {
			out = append(out, f)
		}
	}
	return out, nil
}

// allAbsolute reports whether all paths in the configuration are absolute.
func allAbsolute(cfg *config.Config) bool {
	for _, p := range []string{
		cfg.Database.Path, cfg.Backup.Path, cfg.Mail.Directory, cfg.Server.TLSCert,
		cfg.Server.TLSKey, cfg.Auth.KeyFile,
	} {
		if p != "" && !filepath.IsAbs(p) {
			return false
		}
	}
	return true
}

// unitUser returns the user that the unit runs as: name or, if that is empty, the calling user. Instead of root, it
// returns newsletterd.
func unitUser(name string) string {
	if name != "" {
		return name
	}
	if u, err := user.Current(); err == nil && u.Uid != "0" {
		return u.Username
	}
	return "newsletterd"
}

// unitQuote quotes a path as a word in a unit file (systemd.syntax, systemd.service "Command lines").
func unitQuote(s string) string {
	s = strings.ReplaceAll(s, "%", "%%")
	if !strings.ContainsAny(s, " \t\"'\\$;") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `$$`).Replace(s) + `"`
}

// Command returns the command line in the unit file.
func (u unit) Command() string {
	s := unitQuote(u.Binary) + " serve"
	if u.Config != "" {
		s += " --config " + unitQuote(u.Config)
	}
	return s
}

// Paths returns the writable folders outside of the state directory, on one line.
func (u unit) Paths() string {
	words := make([]string, len(u.Writable))
	for i, w := range u.Writable {
		words[i] = unitQuote(w)
	}
	return strings.Join(words, " ")
}

// Folder returns the working directory, without quotes because systemd doesn't allow them in a setting with a single
// path.
func (u unit) Folder() string { return strings.ReplaceAll(u.WorkingDirectory, "%", "%%") }

// installSteps returns the commands that install and start a unit.
func installSteps(unitFile, userName, folder string) []string {
	var steps []string
	sudo := "sudo "
	if os.Geteuid() == 0 {
		sudo = ""
		if _, err := user.Lookup(userName); err != nil {
			steps = append(steps,
				fmt.Sprintf("useradd --system --home-dir %s --shell /usr/sbin/nologin %s", folder, userName),
				fmt.Sprintf("chown -R %s: %s", userName, folder))
		} else if userName != "root" { // the user already owns the files (handOver); SQLite creates others next to them
			steps = append(steps, fmt.Sprintf("chown %s: %s", userName, folder))
		}
	}
	return append(steps,
		fmt.Sprintf(sudo+"cp %s /etc/systemd/system/newsletterd.service", unitFile),
		sudo+"systemctl daemon-reload",
		sudo+"systemctl enable --now newsletterd")
}

// packagedUnitFile is the path at which the .deb and .rpm packages install their unit.
const packagedUnitFile = "/usr/lib/systemd/system/newsletterd.service"

// packagedUnit describes the unit that a package installed.
type packagedUnit struct {
	File         string
	Config, User string // the unit's configuration file and user
}

// start returns the command that starts the unit immediately and after each reboot.
func (u *packagedUnit) start() string {
	if os.Geteuid() == 0 {
		return "systemctl enable --now newsletterd"
	}
	return "sudo systemctl enable --now newsletterd"
}

// readPackagedUnit reads the unit that a package installed. It returns nil if the file doesn't exist or doesn't name a
// configuration.
func readPackagedUnit(file string) (*packagedUnit, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	u := &packagedUnit{File: file}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "User":
			u.User = value
		case "ExecStart":
			_, rest, _ := strings.Cut(value, " --config ")
			if words := strings.Fields(rest); len(words) > 0 {
				u.Config = words[0]
			}
		}
	}
	if u.Config == "" {
		return nil, nil
	}
	return u, nil
}
