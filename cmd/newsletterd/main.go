package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // where the machine, or the image, has no database of time zones

	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/store/db"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitLost   = 3 // another machine has taken over
	exitBehind = 4 // the change is made, but is not in the replica yet
)

func main() {
	// Before anything can open the database: SQLite's default locks vanish when the process closes any descriptor
	// of the file.
	if err := db.PrepareProcess(); err != nil {
		fmt.Fprintln(os.Stderr, "newsletterd:", err)
		os.Exit(exitFailed)
	}
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ()}
	os.Exit(p.run(context.Background(), os.Args))
}

// program is one run of the command line.
type program struct {
	in       io.Reader
	out, err io.Writer
	env      []string
}

// run executes the command that args name and returns the exit code. Commands other than serve end at the first
// SIGINT or SIGTERM, after the transaction that they are in.
func (p *program) run(ctx context.Context, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	app := p.app()
	err := app.RunContext(ctx, inOrder(app, args))
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		fmt.Fprintln(p.err, "newsletterd:", usage)
		if usage.command != "" {
			fmt.Fprintf(p.err, "See `%s --help`.\n", usage.command)
		}
		return exitUsage
	case errors.Is(err, db.ErrBehind):
		fmt.Fprintln(p.err, "newsletterd:", db.ErrBehind)
		return exitBehind
	default:
		fmt.Fprintln(p.err, "newsletterd:", terminal.Message(err))
		if what := remedy(err); what != "" {
			fmt.Fprintln(p.err, what)
		}
		return exitFailed
	}
}

// usageError is a mistake in the command line itself.
type usageError struct {
	command string // whose help explains it
	text    string
}

func (e usageError) Error() string { return e.text }
