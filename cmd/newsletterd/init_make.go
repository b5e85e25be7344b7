package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/mail/dkim"
	"newsletterd/store"
)

//go:embed init.toml.tmpl
var initText string

var initTemplate = template.Must(template.New("config").Funcs(template.FuncMap{"q": config.Quote}).Parse(initText))

// setupResult is the output of the command init.
type setupResult struct {
	Config   string      `json:"config"`
	Database string      `json:"database"`
	KeyFile  string      `json:"key_file"`
	Unit     string      `json:"unit"` // path of the systemd unit, written by init or installed by a package
	Operator *core.User  `json:"operator,omitempty"`
	Link     string      `json:"setup_link,omitempty"` // for the first administrator; only if Operator is nil
	Password string      `json:"password,omitempty"`   // only if init generated it
	DNS      []dnsRecord `json:"dns"`

	RelayTest *core.RelayTest `json:"relay_test,omitempty"` // nil: no test email was sent

	Steps []string `json:"install"`
}

// Origin returns the public_url.
func (s *setup) Origin() string {
	if s.Domain == "localhost" {
		return "http://" + s.Listen
	}
	return "https://" + s.Domain
}

// From returns the sender address of the daemon's own emails.
func (s *setup) From() string { return "newsletter@" + s.Domain }

// Bounces returns a domain for bounce messages, as an example.
func (s *setup) Bounces() string { return "bounces." + s.Domain }

// Password returns the relay's password, for the configuration file.
func (s *setup) Password() string { return s.Relay.Password.Reveal() }

// makeSetup writes all files or none: if a step fails, it removes the files that it has written. It doesn't remove
// files that another process created after free checked their names.
func (p *program) makeSetup(c *cli.Context, s *setup) (_ *setupResult, err error) {
	var written []string
	defer func() {
		if err != nil {
			for _, f := range written {
				_ = os.Remove(f)
			}
		}
	}()
	write := func(name string, text []byte, mode os.FileMode) error {
		err := writeNew(name, text, mode)
		if !errors.Is(err, os.ErrExist) {
			written = append(written, name)
		}
		return err
	}
	key := make([]byte, masterKeyBytes)
	_, _ = rand.Read(key)
	if err := write(s.Key, []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600); err != nil {
		return nil, err
	}
	var text strings.Builder
	if err := initTemplate.Execute(&text, s); err != nil {
		return nil, err
	}
	if err := write(s.Config, []byte(text.String()), 0o600); err != nil {
		return nil, err
	}
	if err := write(s.Database, nil, 0o600); err != nil {
		return nil, err
	}
	written = append(written, s.Database+"-wal", s.Database+"-shm", s.Database+".lock")
	cfg, err := config.Load(config.Sources{File: s.Config})
	if err != nil {
		return nil, err
	}
	made := &setupResult{
		Config: s.Config, Database: s.Database, KeyFile: s.Key, Unit: s.Unit, DNS: []dnsRecord{}, RelayTest: s.Test,
	}
	if err := p.fillSetup(c, s, cfg, made); err != nil {
		return nil, err
	}
	if u := s.Packaged; u != nil {
		made.Unit, made.Steps = u.File, []string{u.start()}
		return made, s.handOver(u.User)
	}
	unitText, err := unitOf(cfg, c.String("user"), c.String("binary"))
	if err != nil {
		return nil, err
	}
	if err := write(s.Unit, unitText, 0o644); err != nil {
		return nil, err
	}
	made.Steps = installSteps(s.Unit, unitUser(c.String("user")), filepath.Dir(s.Config))
	return made, s.handOver(unitUser(c.String("user")))
}

// fillSetup creates the database with the first server administrator.
func (p *program) fillSetup(c *cli.Context, s *setup, cfg *config.Config, made *setupResult) error {
	o, err := storeOptions(cfg, newLog(config.Log{Level: "warn", Format: "text"}, p.Err))
	if err != nil {
		return err
	}
	o.Migrate = true
	db, err := store.Open(c.Context, o)
	if err != nil {
		return err
	}
	err = p.firstOperator(c, s, cfg, db, made)
	if err == nil && s.Domain != "localhost" {
		if err = makeDKIM(c, s.Domain, db); err == nil {
			made.DNS, err = s.records(c.Context, cfg, db)
		}
	}
	return errors.Join(err, db.Close())
}

func (p *program) firstOperator(c *cli.Context, s *setup, cfg *config.Config, db *store.Store,
	made *setupResult,
) error {
	if s.Email == "" {
		var err error
		made.Link, err = parts.SetupLink(c.Context, cfg, db, now())
		return err
	}
	provider, err := auth.New(c.Context, db, parts.AuthConfig(cfg), now())
	if err != nil {
		return err
	}
	password := rand.Text()
	if c.Bool("password-stdin") {
		if password, err = p.Password(c.Context, "Password"); err != nil {
			return err
		}
	} else {
		made.Password = password
	}
	hash, err := provider.NewPassword(c.Context, "password", password)
	if err != nil {
		return err
	}
	u := core.NewUser(s.Email, now())
	u.Roles = []core.Role{{Role: core.RoleOperator}}
	if err := db.AddUser(c.Context, u, hash, now()); err != nil {
		return err
	}
	u, err = db.User(c.Context, u.ID)
	made.Operator = &u
	return err
}

// makeDKIM creates the key that signs the domain's emails.
func makeDKIM(c *cli.Context, domain string, db *store.Store) error {
	k, err := core.NewDKIMKey(core.DKIMKey{Domain: domain}, now())
	if err != nil {
		return err
	}
	private, public, err := dkim.NewKey(k.Algorithm)
	if err != nil {
		return err
	}
	k.Public = public
	return db.AddDKIMKey(c.Context, k, private, cli.Actor())
}

// handOver makes the unit's user the owner of the files if root has created them and the user exists.
func (s *setup) handOver(name string) error {
	if os.Geteuid() != 0 || name == "root" {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil // installSteps shows how to create the user
	}
	uid, errU := strconv.Atoi(u.Uid)
	gid, errG := strconv.Atoi(u.Gid)
	if err := errors.Join(errU, errG); err != nil {
		return err
	}
	for _, f := range append(s.files(), s.Database+".lock") {
		if err := os.Chown(f, uid, gid); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// writeNew writes a new file. If the file already exists, it returns an error.
func writeNew(name string, text []byte, mode os.FileMode) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// printSetup prints what init created and what to do next.
func printSetup(w io.Writer, s *setup, made *setupResult) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Created:\n  %s\n  %s\n  %s   keep a copy, apart from the backups\n", made.Config, made.Database,
		made.KeyFile)
	if s.Unit != "" {
		fmt.Fprintf(&b, "  %s\n", s.Unit)
	}
	if made.Operator != nil {
		fmt.Fprintf(&b, "\nServer administrator: %s\n", made.Operator.Email)
	}
	if made.Password != "" {
		fmt.Fprintf(&b, "Password:             %s   (not shown again)\n", made.Password)
	}
	if len(made.DNS) > 0 {
		b.WriteString("\nPublish these DNS records:\n")
		for _, r := range made.DNS {
			fmt.Fprintf(&b, "  %s  %s  %s\n", r.Name, r.Type, r.Value)
			if r.Why != "" {
				fmt.Fprintf(&b, "      %s\n", r.Why)
			}
		}
	}
	if s.Packaged != nil {
		b.WriteString("\nTo start it:\n")
	} else {
		fmt.Fprintf(&b, "\nTo try it:\n  newsletterd serve --config %s\n\nTo run it as a service:\n", made.Config)
	}
	for _, step := range made.Steps {
		fmt.Fprintf(&b, "  %s\n", step)
	}
	if made.Link != "" {
		fmt.Fprintf(&b, "\nWhen it runs, create your account in a browser within an hour:\n  %s\nTo get a new link: "+
			"newsletterd admin setup-link --config %s\n", made.Link, made.Config)
	}
	if s.Domain != "localhost" && !s.ACME {
		fmt.Fprintf(&b, "\nConfigure your proxy to forward https://%s to http://%s.\n", s.Domain, s.Listen)
	}
	if s.Relay.Host == "" {
		fmt.Fprintf(&b, "\n"+mailServerLater+"\n", made.Config, s.Mail)
	}
	fmt.Fprintf(&b, "\nTo check your setup: newsletterd doctor --config %s\n", made.Config)
	_, err := io.WriteString(w, b.String())
	return err
}

// firstSteps returns instructions with the setup link for the first server administrator. If one exists, it returns an
// empty string.
func firstSteps(ctx context.Context, cfg *config.Config, s *store.Store) string {
	link, err := parts.SetupLink(ctx, cfg, s, now())
	if err != nil {
		return ""
	}
	return "There is no server administrator. Create the account in a browser within an\nhour:\n\n   " +
		link + "\n\n"
}
