package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store/replica"
)

// setup holds the answers given to init, and the paths of the files that it writes.
type setup struct {
	Domain string // "localhost": for a trial on one machine
	Relay  config.SMTP
	Email  core.Email // of the first administrator; empty: the account is created in the browser
	ACME   bool
	// ACMEEmail is the contact address for the certificate authority; empty: none.
	ACMEEmail core.Email
	Listen    string
	// Test is the result of the test email; nil: none was sent.
	Test *core.RelayTest
	// Registration is "open" if anyone can create an account, or "closed" if only server administrators can.
	Registration string
	// SecondFactor selects which users need a second factor in a browser: "off", "operators", "staff" or "all".
	SecondFactor string
	// Replica is the replica's address from the environment, which is also written to the configuration; empty: none.
	Replica string

	// Config and the following fields are absolute paths. Unit is the unit file to write; empty: Packaged is used.
	Config, Database, Key, Unit, Mail string
	// Packaged is the unit that a package installed for this configuration; nil: none.
	Packaged *packagedUnit
}

// smtpPasswordVariable is the environment variable with the relay's password. A flag would show the password to every
// user of the machine.
const smtpPasswordVariable = config.EnvPrefix + "MAIL_SMTP_PASSWORD"

func (p *program) initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "set up newsletterd",
		Description: `Asks for your settings on a terminal, or takes them as flags: host name,
email address, HTTPS, mail server, and who can create an account. Your
address becomes the first server administrator; without one, init prints a
link to create that account in the browser, valid for an hour. Subscribers
need no account.

Writes newsletterd.toml, newsletterd.db, newsletterd.key (encrypts secrets
in the database) and newsletterd.service to this folder, or to the paths in
--config and --database. Nothing is overwritten. Prints the DNS records to
publish. After a package installation it writes to the folder of the
installed systemd unit and prints the command that starts it.

   newsletterd init
   newsletterd init --domain news.example.org --relay smtp.example.org --admin-email you@example.org
   ` + smtpPasswordVariable +
			`=… newsletterd init --domain news.example.org --relay smtps://user@smtp.example.org --admin-email you@example.org
   newsletterd init --domain news.example.org --acme --acme-email you@example.org --relay none

--relay uses STARTTLS on port 587, or TLS from the start with smtps://. init
prompts for the password, or reads it from ` + smtpPasswordVariable + `.
--test-email first sends an email through this mail server; if the server
rejects it, nothing is written. Without a mail server, emails are saved to a
folder until you set one up in the console.`,
		Flags: []cli.Flag{
			cli.String("domain", "public `HOST` name of your newsletters, for example news.example.org"),
			cli.String("relay", "mail server `RELAY`: HOST, HOST:PORT, USER@HOST:PORT, smtps://…, or none (default: "+
				"none)"),
			cli.String("test-email", "first send a test email to `ADDRESS` through the mail server"),
			cli.String("admin-email", "email `ADDRESS` of the first server administrator (default: print a link to "+
				"create the account in the browser)"),
			cli.String("registration", "sign-up `MODE`: open (anyone can create an account) or closed (only server "+
				"administrators can; default)"),
			cli.String("second-factor",
				"require two-factor authentication from this `GROUP`: off, operators, staff or all (default: staff; "+
					"off on localhost)"),
			cli.Bool("password-stdin", "read the administrator's password from the first line of standard input "+
				"(default: generate one)"),
			cli.Bool("acme",
				"serve HTTPS on ports 443 and 80 with Let's Encrypt certificates (default: plain HTTP behind a proxy)"),
			cli.String("acme-email", "with --acme: contact `ADDRESS` for the certificate authority (default: "+
				"--admin-email)"),
			cli.String("listen", "listen on `HOST:PORT` (default: 127.0.0.1:8080, or :443 with --acme)"),
			unitUserFlag(), unitBinaryFlag(),
		},
		Action: p.init,
	}
}

func (p *program) init(c *cli.Context) error {
	s, err := p.setup(c)
	if err != nil {
		return err
	}
	made, err := p.makeSetup(c, s)
	if err != nil {
		return err
	}
	if out := p.Printer(c); out.JSON {
		return out.Value(made)
	}
	return printSetup(p.Out, s, made)
}

// replicaUnused returns an error if the replica at url already contains a database, because that would replace the new
// one.
func (p *program) replicaUnused(ctx context.Context, url string) error {
	if url == "" {
		return nil
	}
	s, err := replica.Look(ctx, url, p.Lookup)
	if err != nil {
		return fmt.Errorf("replica.url: %w", err)
	}
	if s.Holder != nil || s.Files > 0 {
		return errors.New("the replica already has a database. To continue with it, run newsletterd serve with the " +
			"configuration and key file of the other machine")
	}
	return nil
}

// setup collects the settings for a new installation from flags or by asking.
func (p *program) setup(c *cli.Context) (*setup, error) {
	s := &setup{
		ACME: c.Bool("acme"), Listen: c.String("listen"), Registration: "closed", SecondFactor: "staff",
		Replica: p.Lookup(config.EnvPrefix + "REPLICA_URL"),
	}
	if s.Listen != "" {
		if err := config.CheckAddress(s.Listen); err != nil {
			return nil, cli.UsageError(c, "--listen: "+err.Error())
		}
	}
	if err := s.place(c, cmp.Or(p.unit, packagedUnitFile)); err != nil {
		return nil, err
	}
	if err := s.free(); err != nil {
		return nil, err
	}
	if err := p.replicaUnused(c.Context, s.Replica); err != nil {
		return nil, err
	}
	ask := asker{p.Asker(c), p, c}
	return s, ask.all(s)
}

// place sets the paths of the files to write. unit is the path at which a package would have installed its unit.
func (s *setup) place(c *cli.Context, unit string) (err error) {
	packaged, err := readPackagedUnit(unit)
	if err != nil {
		return err
	}
	file, _ := cli.Nearest(c, "config")
	if file == "" {
		file = defaultPlace(packaged)
	}
	if s.Config, err = filepath.Abs(file); err != nil {
		return err
	}
	folder := filepath.Dir(s.Config)
	s.Database = filepath.Join(folder, "newsletterd.db")
	if path, ok := cli.Nearest(c, "database"); ok && path != "" {
		if s.Database, err = filepath.Abs(path); err != nil {
			return err
		}
	}
	s.Key, s.Mail = filepath.Join(folder, "newsletterd.key"), filepath.Join(filepath.Dir(s.Database), "mail")
	// The package's unit only writes to its own folder and has no keys for a replica.
	if packaged != nil && packaged.Config == s.Config && filepath.Dir(s.Database) == folder && s.Replica == "" {
		if c.IsSet("user") || c.IsSet("binary") {
			return cli.UsageErrorf(c, "--user and --binary are only for a new unit, but %s is installed. "+
				"Leave them out", packaged.File)
		}
		s.Packaged = packaged
		return nil
	}
	s.Unit = filepath.Join(folder, "newsletterd.service")
	return nil
}

// defaultPlace returns the path of the configuration file if no flag names one: the package's file, the file of an
// existing installation, or a file in this folder.
func defaultPlace(packaged *packagedUnit) string {
	if packaged != nil {
		return packaged.Config
	}
	for _, file := range config.InstalledFiles {
		if _, err := os.Lstat(file); err == nil {
			return file
		}
	}
	return config.DefaultFile
}

func (s *setup) files() []string {
	files := []string{s.Config, s.Database, s.Key}
	if s.Unit != "" {
		files = append(files, s.Unit)
	}
	return files
}

// free returns an error if a file that init would write already exists.
func (s *setup) free() error {
	var there []string
	for _, f := range s.files() {
		if _, err := os.Lstat(f); err == nil {
			there = append(there, f)
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if len(there) == 0 {
		return nil
	}
	start := ""
	if s.Packaged != nil {
		start = fmt.Sprintf(" To start it: %s.", s.Packaged.start())
	}
	return fmt.Errorf("these files already exist, and init overwrites nothing: %s.%s To set up another server, "+
		"choose another folder with --config FILE", strings.Join(there, ", "), start)
}

func (s *setup) readDomain(word string) error {
	word = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(word, "https://"), "http://"), "/")
	if word == "localhost" {
		s.Domain = word
		return nil
	}
	domain, ok := core.ParseDomain(word)
	if !ok {
		return fmt.Errorf("%q is not a domain name. Use a name such as news.example.org", word)
	}
	s.Domain = domain
	return nil
}

// noEmail is the answer that declines to give an address.
const noEmail = "none"

func (s *setup) readEmail(word string) (err error) {
	if word == noEmail {
		return nil
	}
	if s.Email, err = core.ParseEmail(word); err != nil {
		return fmt.Errorf("%q is not a valid email address", word)
	}
	return nil
}

func (s *setup) readACMEEmail(word string) (err error) {
	if word == noEmail {
		return nil
	}
	if s.ACMEEmail, err = core.ParseEmail(word); err != nil {
		return fmt.Errorf("%q is not a valid email address", word)
	}
	return nil
}

func (s *setup) readRegistration(word string) error {
	if word = strings.ToLower(word); word != "open" && word != "closed" {
		return fmt.Errorf("%q is not allowed. Use open or closed", word)
	}
	s.Registration = word
	return nil
}

func (s *setup) readSecondFactor(word string) error {
	switch word = strings.ToLower(word); word {
	case "off", "operators", "staff", "all":
		s.SecondFactor = word
		return nil
	}
	return fmt.Errorf("%q is not allowed. Use off, operators, staff or all", word)
}

// asker asks a person for the settings of a new installation.
type asker struct {
	*cli.Asker
	p *program
	c *cli.Context
}

// all asks for every setting that no flag sets.
func (a *asker) all(s *setup) error {
	err := a.Answer("domain", "Public host name of your newsletters, for example news.example.org (localhost to try "+
		"newsletterd)",
		"", s.readDomain)
	if err != nil {
		return err
	}
	for _, step := range []func(*setup) error{a.account, a.https, a.relay, a.rules} {
		if err := step(s); err != nil {
			return err
		}
	}
	return nil
}

// account asks for the address of the first server administrator.
func (a *asker) account(s *setup) error {
	return a.Answer("admin-email", "Your email address, to sign in with [none: create your account in the browser]",
		noEmail,
		s.readEmail)
}

// https asks where the certificate comes from, and sets the address to listen on accordingly.
func (a *asker) https(s *setup) (err error) {
	switch {
	case s.ACME && s.Domain == "localhost":
		return cli.UsageError(a.c, "--acme needs a public host name: set --domain")
	case certifiable(s.Domain) && !a.c.IsSet("acme") && !a.c.IsSet("listen") && a.Person():
		if s.ACME, err = a.Yes("Serve HTTPS on ports 443 and 80, with certificates from Let's Encrypt, and accept " +
			"its terms? Choose no if a proxy handles HTTPS"); err != nil {
			return err
		}
	}
	if s.Listen == "" {
		if s.Listen = config.Default().Server.Listen; s.ACME {
			s.Listen = ":443"
		}
	}
	if !s.ACME {
		if a.c.IsSet("acme-email") {
			return cli.UsageError(a.c, "--acme-email needs --acme")
		}
		return nil
	}
	s.ACMEEmail = s.Email
	otherwise := cmp.Or(string(s.Email), noEmail)
	return a.Answer("acme-email", "Email address for the certificate authority ["+otherwise+"]", otherwise,
		s.readACMEEmail)
}

// localNames lists top-level labels for which no public authority issues certificates (RFC 6761, 6762, 8375 and 9476,
// and lan).
var localNames = []string{"localhost", "local", "internal", "lan", "arpa", "test", "invalid", "example", "alt", "onion"}

// certifiable reports whether a public authority can issue a certificate for a host name.
func certifiable(domain string) bool {
	return !slices.Contains(localNames, domain[strings.LastIndexByte(domain, '.')+1:])
}

// rules asks who can create an account, and how people must sign in.
func (a *asker) rules(s *setup) error {
	err := a.Answer("registration", "Who can create an account: anyone (open) or only people you invite (closed)? "+
		"[closed]",
		s.Registration, s.readRegistration)
	if err != nil {
		return err
	}
	if s.Domain == "localhost" && !a.c.IsSet("second-factor") { // a trial installation
		s.SecondFactor = "off"
		return nil
	}
	return a.Answer("second-factor", "Who must use two-factor authentication: server administrators (operators), "+
		"everyone with a role (staff), all or off? [staff]", s.SecondFactor, s.readSecondFactor)
}
