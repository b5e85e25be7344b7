package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"newsletterd/cmd/newsletterd/terminal"
)

// Asker gets the values of settings from flags or by asking a person.
type Asker struct {
	p     *Program
	c     *Context
	lines *bufio.Reader
}

// Asker returns an Asker for a command. There must be only one reader of the program's standard input.
func (p *Program) Asker(c *Context) *Asker { return &Asker{p, c, bufio.NewReader(p.In)} }

// Person reports whether a person can be asked: standard input is a terminal, the first line of input is not a
// password, and --json is not set.
func (a *Asker) Person() bool {
	return a.p.atTerminal() && !a.c.Bool("password-stdin") && !JSONWanted(a.c)
}

// Answer calls read with the value of the flag or, if it isn't set, with a person's answer to the question. The
// default, otherwise, is used if the answer is empty or no person can be asked. If there is no default and no person
// can be asked, Answer returns a usage error that asks for the flag.
func (a *Asker) Answer(flag, question, otherwise string, read func(string) error) error {
	switch {
	case a.c.IsSet(flag):
		if err := read(strings.TrimSpace(a.c.String(flag))); err != nil {
			return UsageError(a.c, "--"+flag+": "+err.Error())
		}
		return nil
	case a.Person():
		return a.Ask(question, otherwise, read)
	case otherwise == "":
		return UsageError(a.c, areNeeded("--"+flag)+", and there is no terminal to ask for it")
	}
	return read(otherwise)
}

// Ask repeats the question until read accepts the answer. It replaces an empty answer with otherwise.
func (a *Asker) Ask(question, otherwise string, read func(string) error) error {
	for {
		fmt.Fprintf(a.p.Err, "%s: ", question)
		line, err := a.p.prompt().Line(a.c.Context, a.lines)
		if a.c.Context.Err() != nil {
			return err
		}
		if word := cmp.Or(strings.TrimSpace(line), otherwise); word != "" {
			fault := read(word)
			if fault == nil {
				return nil
			}
			fmt.Fprintln(a.p.Err, fault)
		}
		if err != nil {
			return fmt.Errorf("the answer couldn't be read: %w", err)
		}
	}
}

// Yes asks a yes-or-no question. An empty answer means no.
func (a *Asker) Yes(question string) (yes bool, err error) {
	err = a.Ask(question+" [y/N]", "n", func(word string) error {
		switch strings.ToLower(word) {
		case "y", "yes":
			yes = true
		case "n", "no":
			yes = false
		default:
			return fmt.Errorf("%q is not an answer. Type yes or no", word)
		}
		return nil
	})
	return yes, err
}

// Yes returns the flag that skips the question that Sure asks.
func Yes() Flag { return Bool("yes", "don't ask for confirmation") }

// Sure asks a person at a terminal a question. It returns true with --yes or if standard input is not a terminal.
func (p *Program) Sure(c *Context, question string) (yes bool, err error) {
	if c.Bool("yes") || !p.atTerminal() {
		return true, nil
	}
	return p.Asker(c).Yes(question)
}

// prompt returns a Prompt for the program's terminal.
func (p *Program) prompt() terminal.Prompt { return terminal.Prompt{In: p.In, Err: p.Err} }

func (p *Program) atTerminal() bool { return p.prompt().File() != nil }

// Hidden asks for a password at the program's terminal without showing the input.
func (p *Program) Hidden(ctx context.Context, question string) (string, error) {
	fmt.Fprint(p.Err, question+": ")
	b, err := p.prompt().Password(ctx)
	return string(b), err
}

// Password reads a password from the first line of standard input. At a terminal, it prompts for the password, which
// the prompt calls what.
func (p *Program) Password(ctx context.Context, what string) (string, error) {
	if !p.atTerminal() {
		return oneLine(p.In)
	}
	return p.Hidden(ctx, what)
}

// oneLine reads a single line. Passwords are read from standard input to keep them out of process lists.
func oneLine(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, 4096))
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSuffix(line, "\r"), nil
}
