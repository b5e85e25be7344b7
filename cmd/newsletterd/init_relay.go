package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/handlers/tenants"
)

// noRelay is the answer that postpones setting up the mail server.
const noRelay = "none"

// mailServerLater is a message that explains how to set up a mail server after init.
const mailServerLater = "Set up a mail server in the console under Server, or in %s with transport = \"smtp\" and [mail.smtp]. " +
	"Until then, emails are saved to %s."

// parseRelay parses [smtp://|smtps://][USER@]HOST[:PORT] or none. For none, the result has no host.
func parseRelay(word string) (config.SMTP, error) {
	c := config.SMTP{TLS: "starttls", Port: 587}
	if word == noRelay {
		return c, nil
	}
	rest, implicit := strings.CutPrefix(word, "smtps://")
	rest = strings.TrimSuffix(strings.TrimPrefix(rest, "smtp://"), "/")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		c.Username, rest = rest[:at], rest[at+1:]
		if c.Username == "" || strings.ContainsAny(c.Username, ":/ ") {
			return c, fmt.Errorf("%q: put only the username before the @. init prompts for the password, or reads it "+
				"from %s",
				word,
				smtpPasswordVariable)
		}
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		host, port = strings.Trim(rest, "[]"), ""
	}
	if host == "" || strings.ContainsAny(host, " /@?#") {
		return c, fmt.Errorf("%q is not a mail server. Use a form such as smtp.example.org or "+
			"user@smtp.example.org:587", word)
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
			return c, fmt.Errorf("%q: %s is not a port", word, port)
		}
	}
	return c, nil
}

// relayWord formats a relay so that parseRelay can read it.
func relayWord(c *config.SMTP) string {
	word := net.JoinHostPort(c.Host, strconv.Itoa(c.Port))
	if c.Username != "" {
		word = c.Username + "@" + word
	}
	if c.TLS == "implicit" {
		word = "smtps://" + word
	}
	return word
}

// relay asks for the mail server and tests it.
func (a *asker) relay(s *setup) error {
	err := a.Answer("relay", "Mail server that sends your emails, for example user@smtp.example.org:587 "+
		"[none: set it up later]", noRelay, func(word string) (err error) {
		s.Relay, err = parseRelay(word)
		return err
	})
	if err != nil {
		return err
	}
	if s.Relay.Host == "" {
		if a.c.IsSet("test-email") {
			return cli.UsageError(a.c, "--test-email needs --relay")
		}
		return nil
	}
	if err := a.relayPassword(s); err != nil {
		return err
	}
	to, err := a.testAddress(s)
	for err == nil && to != "" && s.Relay.Host != "" {
		s.Test = a.testRelay(s, to)
		if err := a.c.Context.Err(); err != nil {
			return err
		}
		if s.Test.Good() {
			fmt.Fprintf(a.p.Err, "%s accepted the test email to %s. Check whether it arrives.\n", s.Test.Relay, to)
			return nil
		}
		said := relayFault(s.Test, &s.Relay, to)
		if !a.Person() {
			return fmt.Errorf("%s Nothing was written. Correct --relay, or leave out --test-email", said)
		}
		fmt.Fprintln(a.p.Err, said)
		var kept bool
		if kept, err = a.afterFault(s); kept {
			return err
		}
	}
	return err
}

// testAddress asks for the recipient of the test email, and returns an empty string for no test. Without a person at a
// terminal, a test email is sent only if its flag is set.
func (a *asker) testAddress(s *setup) (to string, err error) {
	if !a.c.IsSet("test-email") && !a.Person() {
		return "", nil
	}
	otherwise, question := string(s.Email), "Send a test email to ["+string(s.Email)+"; none: no test]"
	if otherwise == "" {
		otherwise, question = noEmail, "Send a test email to [none: no test]"
	}
	err = a.Answer("test-email", question, otherwise, func(word string) error {
		if to = ""; word == noEmail {
			return nil
		}
		email, err := core.ParseEmail(word)
		if err != nil {
			return fmt.Errorf("%q is not a valid email address", word)
		}
		to = string(email)
		return nil
	})
	return to, err
}

// afterFault asks what to do if the mail server failed the test. It reports whether the settings were kept.
func (a *asker) afterFault(s *setup) (kept bool, err error) {
	next := ""
	const question = "Correct the mail server (c), keep it (k), or leave it out and set it up later (n)? [c]"
	err = a.Ask(question, "c", func(word string) error {
		if next = strings.ToLower(word[:1]); !strings.Contains("ckn", next) {
			return fmt.Errorf("%q is not an answer. Type c, k or n", word)
		}
		return nil
	})
	switch {
	case err != nil || next == "k":
		return err == nil, err
	case next == "n":
		s.Relay, s.Test = config.SMTP{}, nil
		return false, nil
	}
	before := s.Relay
	err = a.Ask("Mail server ["+relayWord(&before)+"]", relayWord(&before), func(word string) (err error) {
		s.Relay, err = parseRelay(word)
		return err
	})
	if err != nil || s.Relay.Host == "" {
		s.Test = nil
		return false, err
	}
	if r := &s.Relay; r.Username == before.Username && r.Host == before.Host && r.Port == before.Port &&
		(r.TLS == before.TLS || r.TLS != "none") { // never send a password to a different server
		r.Password = before.Password
	}
	return false, a.askRelayPassword(s)
}

// relayPassword sets the relay's password if the relay has a user: from the environment or by asking.
func (a *asker) relayPassword(s *setup) error {
	if s.Relay.Username == "" {
		return nil
	}
	if word := a.p.Lookup(smtpPasswordVariable); word != "" {
		s.Relay.Password = config.Secret(word)
		return nil
	}
	if !a.Person() {
		return cli.UsageError(a.c, "the mail server password is missing. Set "+smtpPasswordVariable)
	}
	return a.askRelayPassword(s)
}

// askRelayPassword asks for the password if the relay has a user. An empty answer keeps the current one.
func (a *asker) askRelayPassword(s *setup) error {
	if s.Relay.Username == "" {
		return nil
	}
	question := "Password of %s at %s"
	if s.Relay.Password != "" {
		question = "Password of %s at %s [unchanged]"
	}
	for {
		word, err := a.p.Hidden(a.c.Context, fmt.Sprintf(question, s.Relay.Username, s.Relay.Host))
		if err != nil {
			return err
		}
		if word != "" {
			s.Relay.Password = config.Secret(word)
		}
		if s.Relay.Password != "" {
			return nil
		}
		fmt.Fprintln(a.p.Err, "The password is empty. Type it again, or press Ctrl-C to stop.")
	}
}

// testRelay sends an email through the setup's mail server, in the same way as the daemon will.
func (a *asker) testRelay(s *setup, to string) *core.RelayTest {
	cfg := config.Default()
	cfg.Server.PublicURL, cfg.Mail.Transport, cfg.Mail.From = s.Origin(), "smtp", s.From()
	c, r := &cfg.Mail.SMTP, &s.Relay
	c.Host, c.Port, c.TLS, c.Username, c.Password = r.Host, r.Port, r.TLS, r.Username, r.Password
	fmt.Fprintf(a.p.Err, "Sending a test email through %s …\n", net.JoinHostPort(r.Host, strconv.Itoa(r.Port)))
	data, err := tenants.TestMail(s.From(), to, "", now())
	if err != nil {
		return &core.RelayTest{Outcome: core.RelayGreeting, Answer: err.Error()}
	}
	t := parts.RelayOptions(cfg).Test(a.c.Context, nil, core.RelayMail{From: s.From(), To: to, Data: data})
	return &t
}

// relayFault explains why a mail server refused the test email, quotes its reply, and says what to check.
func relayFault(t *core.RelayTest, r *config.SMTP, to string) string {
	addr, said := net.JoinHostPort(r.Host, strconv.Itoa(r.Port)), t.Answer
	if t.Code != 0 {
		said = fmt.Sprintf("%d %s", t.Code, strings.TrimSpace(t.Enhanced+" "+t.Answer))
	}
	said = strings.TrimRight(cli.Printable(said), ". ")
	switch t.Outcome {
	case core.RelayAuth:
		return fmt.Sprintf("%s rejected the user name or password: %s. Some providers require an app password.", addr,
			said)
	case core.RelayTLS:
		return fmt.Sprintf("No secure connection to %s: %s. Use port 587, or smtps:// with port 465.", addr, said)
	case core.RelayGreeting:
		return fmt.Sprintf("%s rejected the connection or the sender address: %s.", addr, said)
	case core.RelayRefused:
		return fmt.Sprintf("%s rejected the email to %s: %s.", addr, to, said)
	case core.RelayProtocol:
		return fmt.Sprintf("%s isn't a mail server: %s. Check the host name and port.", addr, said)
	}
	return fmt.Sprintf("Can't connect to %s: %s. Check the host name and port.", addr, said)
}
