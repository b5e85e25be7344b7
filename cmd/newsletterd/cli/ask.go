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

// Asker takes an answer from a flag, or from a person.
type Asker struct {
	p     *Program
	c     *Context
	lines *bufio.Reader
}

// Asker returns an Asker for a command. Only one may read the streams of the program.
func (p *Program) Asker(c *Context) *Asker { return &Asker{p, c, bufio.NewReader(p.In)} }

// Person reports whether a person can be asked: on a terminal, unless its first line is the password or JSON is wanted.
func (a *Asker) Person() bool {
	return a.p.atTerminal() && !a.c.Bool("password-stdin") && !JSONWanted(a.c)
}

// Answer gives read the value of the flag, or what a person answers. An empty answer means otherwise. Where no person
// can be asked and otherwise is empty, the flag is needed.
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
		return UsageError(a.c, areNeeded("--"+flag)+", because there is no terminal to ask on")
	}
	return read(otherwise)
}

// Ask gives read what a person answers, until it is of use. An empty answer means otherwise.
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
			return fmt.Errorf("no answer: %w", err)
		}
	}
}

// Yes asks a question whose answer is yes or no; empty: no.
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

// Yes is the flag that answers what Sure asks.
func Yes() Flag { return Bool("yes", "don't ask") }

// Sure asks a person at a terminal a question. --yes counts as yes, and so does standard input that is no terminal.
func (p *Program) Sure(c *Context, question string) (yes bool, err error) {
	if c.Bool("yes") || !p.atTerminal() {
		return true, nil
	}
	return p.Asker(c).Yes(question)
}

// prompt asks the person at the terminal of the program.
func (p *Program) prompt() terminal.Prompt { return terminal.Prompt{In: p.In, Err: p.Err} }

func (p *Program) atTerminal() bool { return p.prompt().File() != nil }

// Hidden asks for a password at the terminal of the program, and shows nothing of the answer.
func (p *Program) Hidden(ctx context.Context, question string) (string, error) {
	fmt.Fprint(p.Err, question+": ")
	b, err := p.prompt().Password(ctx)
	return string(b), err
}

// Password reads a password from the first line of standard input; at a terminal it asks for what.
func (p *Program) Password(ctx context.Context, what string) (string, error) {
	if !p.atTerminal() {
		return oneLine(p.In)
	}
	return p.Hidden(ctx, what)
}

// oneLine reads one line, as a password that must not stand in a process list.
func oneLine(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, 4096))
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSuffix(line, "\r"), nil
}
