package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store/replica"
)

// setup is what init was told, and where it puts what.
type setup struct {
	Domain string // "localhost": for a trial on one machine
	Relay  config.SMTP
	Email  core.Email // of the first operator; empty: the account is made in the browser
	ACME   bool
	Listen string
	// Registration says who may make an account: "open" for anyone, "closed" for operators alone.
	Registration string
	// SecondFactor says who must have a second factor to sign in in a browser: "off", "operators", "staff" or "all".
	SecondFactor string
	// Replica is where the environment has the database kept, and the configuration then, too; empty: nowhere.
	Replica string

	// Paths, all absolute.
	Config, Database, Key, Unit, Mail string
}

// smtpPasswordVariable holds the relay's password, which a flag would show to every user of the machine.
const smtpPasswordVariable = config.EnvPrefix + "MAIL_SMTP_PASSWORD"

func (p *program) initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "set up a new installation: configuration, database, first operator, unit file, DNS records",
		Description: `Asks four questions on a terminal, or takes the answers as flags: the domain of your newsletters, the relay that takes
your mails, your address, which becomes that of the first operator (without one, a link that is good for an hour makes that account in
the browser), and whether anybody may register an account ("closed" unless
you say otherwise; subscribers of newsletters need none). Writes newsletterd.toml (with remarks), newsletterd.db,
newsletterd.key (seals secrets in the database) and newsletterd.service into this folder, or where --config and --database say, and
prints the DNS records to make. Nothing that is there is overwritten.

   newsletterd init
   newsletterd init --domain news.example.org --relay smtp.example.org --admin-email you@example.org
   ` + smtpPasswordVariable +
			`=… newsletterd init --domain news.example.org --relay smtps://user@smtp.example.org --admin-email you@example.org

The relay is HOST, HOST:PORT or USER@HOST:PORT, encrypted by STARTTLS on port 587 unless smtps:// says from the first byte on;
"none" only writes mails as files, for a first look. The relay's password is asked for, or read from ` + smtpPasswordVariable + `.`,
		Flags: []cli.Flag{
			stringFlag("domain", "the `DOMAIN` of your newsletters, as news.example.org"),
			stringFlag("relay", "the mail `RELAY`: HOST, HOST:PORT, USER@HOST:PORT, smtps://…, or none"),
			stringFlag("admin-email", "`ADDRESS` of the first operator (else a link is printed, to make the account in the browser)"),
			stringFlag("registration", "`open`: anybody may register an account; closed: operators make them (else closed)"),
			stringFlag("second-factor",
				"`WHO` must have a second factor to sign in in a browser: off, operators, staff or all (else staff; at "+
					"localhost off)"),
			boolFlag("password-stdin", "read the operator's password from the first line of standard input (else one is made)"),
			boolFlag("acme",
				"serve https by itself on ports 443 and 80, with certificates of Let's Encrypt (else plain http, "+
					"for a proxy in front)"),
			stringFlag("listen", "listen on `HOST:PORT` (else 127.0.0.1:8080, with --acme :443)"),
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
	s.Replica = p.lookup(config.EnvPrefix + "REPLICA_URL")
	if err := p.replicaUnused(c.Context, s.Replica); err != nil {
		return err
	}
	made, err := p.makeSetup(c, s)
	if err != nil {
		return err
	}
	if out := p.printer(c); out.json {
		return out.value(made)
	}
	return printSetup(p.out, s, made)
}

// replicaUnused fails where the replica at url has a database: a new one would be set aside for that.
func (p *program) replicaUnused(ctx context.Context, url string) error {
	if url == "" {
		return nil
	}
	s, err := replica.Look(ctx, url, p.lookup)
	if err != nil {
		return fmt.Errorf("replica.url: %w", err)
	}
	if s.Holder != nil || s.Files > 0 {
		return errors.New("the replica has a database already, which a new one would be set aside for: `newsletterd serve` with " +
			"the configuration and the key file of the other machine goes on with it")
	}
	return nil
}

// setup gathers the answers, by flags or by asking.
func (p *program) setup(c *cli.Context) (*setup, error) {
	s := &setup{ACME: c.Bool("acme"), Listen: c.String("listen"), Registration: "closed", SecondFactor: "staff"}
	if s.Listen != "" {
		if err := config.CheckAddress(s.Listen); err != nil {
			return nil, usageError{c.Command.HelpName, "--listen: " + err.Error()}
		}
	}
	if err := s.place(c); err != nil {
		return nil, err
	}
	if err := s.free(); err != nil {
		return nil, err
	}
	ask := asker{p: p, c: c, lines: bufio.NewReader(p.in)}
	for _, q := range []struct {
		flag, question, otherwise string
		read                      func(string) error
	}{
		{"domain", "The domain of your newsletters (as news.example.org)", "", s.readDomain},
		{
			"relay", "The relay that takes your mails (as smtp.example.org, or user@smtp.example.org:587; none = write files)",
			"", s.readRelay,
		},
		{
			"admin-email", "Your e-mail address, to sign in with [none: the first account is made in the browser, by a link]",
			noEmail, s.readEmail,
		},
		{
			"registration", "May anybody register an account (open), or do operators make them (closed)? [closed]",
			s.Registration, s.readRegistration,
		},
		{
			"second-factor",
			"Who must sign in with a code of an app, besides the password: operators, staff (everybody with a " +
				"role), all, or off? [staff]",
			s.SecondFactor, s.readSecondFactor,
		},
	} {
		if q.flag == "second-factor" && s.Domain == "localhost" && !c.IsSet(q.flag) { // a first look
			s.SecondFactor = "off"
			continue
		}
		if err := ask.answer(q.flag, q.question, q.otherwise, q.read); err != nil {
			return nil, err
		}
	}
	if len(ask.missing) > 0 {
		return nil, usageError{c.Command.HelpName, areNeeded(ask.missing) + ", where nobody can be asked"}
	}
	return s, ask.relayPassword(s)
}

// place decides where the files go.
func (s *setup) place(c *cli.Context) (err error) {
	file, _ := nearest(c, "config")
	if file == "" {
		file = config.DefaultFile
	}
	if s.Config, err = filepath.Abs(file); err != nil {
		return err
	}
	folder := filepath.Dir(s.Config)
	s.Database = filepath.Join(folder, "newsletterd.db")
	if path, ok := nearest(c, "database"); ok && path != "" {
		if s.Database, err = filepath.Abs(path); err != nil {
			return err
		}
	}
	s.Key, s.Unit = filepath.Join(folder, "newsletterd.key"), filepath.Join(folder, "newsletterd.service")
	s.Mail = filepath.Join(filepath.Dir(s.Database), "mail")
	return nil
}

func (s *setup) files() []string { return []string{s.Config, s.Database, s.Key, s.Unit} }

// free fails if anything that would be written is there already.
func (s *setup) free() error {
	var there []string
	for _, f := range s.files() {
		if _, err := os.Lstat(f); !errors.Is(err, os.ErrNotExist) {
			there = append(there, f)
		}
	}
	if len(there) > 0 {
		return fmt.Errorf("nothing is overwritten, and this is there already: %s", strings.Join(there, ", "))
	}
	return nil
}

func (s *setup) readDomain(word string) error {
	word = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(word, "https://"), "http://"), "/")
	if word == "localhost" {
		s.Domain = word
		return nil
	}
	domain, ok := core.ParseDomain(word)
	if !ok {
		return fmt.Errorf("%q is no domain name (as news.example.org)", word)
	}
	s.Domain = domain
	return nil
}

func (s *setup) readRelay(word string) (err error) {
	s.Relay, err = parseRelay(word)
	return err
}

// noEmail is the answer of who makes the first account in the browser.
const noEmail = "none"

func (s *setup) readEmail(word string) (err error) {
	if word == noEmail {
		return nil
	}
	if s.Email, err = core.ParseEmail(word); err != nil {
		return fmt.Errorf("%q is no e-mail address", word)
	}
	return nil
}

func (s *setup) readRegistration(word string) error {
	if word = strings.ToLower(word); word != "open" && word != "closed" {
		return fmt.Errorf("%q is neither open nor closed", word)
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
	return fmt.Errorf("%q is none of off, operators, staff and all", word)
}

// parseRelay reads [smtp://|smtps://][USER@]HOST[:PORT], or none, whose result has no host.
func parseRelay(word string) (config.SMTP, error) {
	c := config.SMTP{TLS: "starttls", Port: 587}
	if word == "none" {
		return c, nil
	}
	rest, implicit := strings.CutPrefix(word, "smtps://")
	rest = strings.TrimSuffix(strings.TrimPrefix(rest, "smtp://"), "/")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		c.Username, rest = rest[:at], rest[at+1:]
		if c.Username == "" || strings.ContainsAny(c.Username, ":/ ") {
			return c, fmt.Errorf("%q: before the @ stands the user alone; the password is asked for, or read from %s",
				word,
				smtpPasswordVariable)
		}
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		host, port = strings.Trim(rest, "[]"), ""
	}
	if host == "" || strings.ContainsAny(host, " /@?#") {
		return c, fmt.Errorf("%q is no relay (as smtp.example.org or user@smtp.example.org:587)", word)
	}
	c.Host = host
	switch {
	case implicit || port == "465":
		c.TLS, c.Port = "implicit", 465
	case config.IsLoopback(host):
		c.TLS, c.Port = "none", 25
	}
	if port != "" {
		if c.Port, err = strconv.Atoi(port); err != nil || c.Port < 1 || c.Port > 65535 {
			return c, fmt.Errorf("%q: %s is no port", word, port)
		}
	}
	return c, nil
}

// asker takes an answer from a flag, or from a person.
type asker struct {
	p       *program
	c       *cli.Context
	lines   *bufio.Reader
	missing []string // flags that were not given where no person can be asked
}

// person reports whether a person can be asked: on a terminal, unless its first line is the password or JSON is wanted.
func (a *asker) person() bool {
	return a.terminal() && !a.c.Bool("password-stdin") && !jsonWanted(a.c)
}

func (a *asker) terminal() bool { return prompt(a.p).File() != nil }

// answer gives read the value of the flag, or what a person answers. An empty answer means otherwise. Where no person
// can be asked and otherwise is empty, the flag is noted as missing.
func (a *asker) answer(flag, question, otherwise string, read func(string) error) error {
	if a.c.IsSet(flag) {
		if err := read(strings.TrimSpace(a.c.String(flag))); err != nil {
			return usageError{a.c.Command.HelpName, "--" + flag + ": " + err.Error()}
		}
		return nil
	}
	if !a.person() {
		if otherwise == "" {
			a.missing = append(a.missing, "--"+flag)
		}
		return nil
	}
	return a.ask(question, otherwise, read)
}

// ask gives read what a person answers, until it is of use. An empty answer means otherwise.
func (a *asker) ask(question, otherwise string, read func(string) error) error {
	for {
		fmt.Fprintf(a.p.err, "%s: ", question)
		line, err := prompt(a.p).Line(a.c.Context, a.lines)
		if a.c.Context.Err() != nil {
			return err
		}
		if word := cmp.Or(strings.TrimSpace(line), otherwise); word != "" {
			fault := read(word)
			if fault == nil {
				return nil
			}
			fmt.Fprintln(a.p.err, fault)
		}
		if err != nil {
			return fmt.Errorf("no answer: %w", err)
		}
	}
}

// relayPassword gets the password where the relay has a user.
func (a *asker) relayPassword(s *setup) error {
	if s.Relay.Username == "" {
		return nil
	}
	for _, kv := range a.p.env {
		if v, ok := strings.CutPrefix(kv, smtpPasswordVariable+"="); ok && v != "" {
			s.Relay.Password = config.Secret(v)
			return nil
		}
	}
	if !a.person() {
		return usageError{a.c.Command.HelpName, "the relay's user needs a password: set " + smtpPasswordVariable}
	}
	for {
		fmt.Fprintf(a.p.err, "The password of %s at %s: ", s.Relay.Username, s.Relay.Host)
		b, err := prompt(a.p).Password(a.c.Context)
		if err != nil {
			return err
		}
		if s.Relay.Password = config.Secret(b); len(b) > 0 {
			return nil
		}
		fmt.Fprintln(a.p.err, "The password is empty. Type it again, or press Ctrl-C to stop.")
	}
}
