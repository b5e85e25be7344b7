package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // where the machine, or the image, has no database of time zones

	"github.com/urfave/cli/v2"

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
	unit     string // the unit file of the package; empty: packagedUnitFile
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
			fmt.Fprintf(p.err, "To see all options: %s --help\n", usage.command)
		}
		return exitUsage
	case errors.Is(err, db.ErrBehind):
		fmt.Fprintln(p.err, "newsletterd:", db.ErrBehind)
		return exitBehind
	default:
		fmt.Fprintln(p.err, "newsletterd:", terminal.Message(err))
		if what := terminal.Remedy(err, db.IsFull(err)); what != "" {
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

// inOrder moves the files of a command after its flags, where the library of commands looks for them, wherever a person
// has written them. What follows "--" is no flag.
func inOrder(app *cli.App, args []string) []string {
	commands, flags := app.Commands, app.Flags
	for i := 1; i < len(args); i++ {
		word := args[i]
		switch n := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(word) }); {
		case isFlag(word):
			if takesValue(flags, word) {
				i++
			}
		case n < 0:
			return args // the library says that there is no such command
		case len(commands[n].Subcommands) > 0:
			commands, flags = commands[n].Subcommands, commands[n].Flags
		default:
			return append(slices.Clone(args[:i+1]), flagsFirst(commands[n].Flags, args[i+1:])...)
		}
	}
	return args
}

// flagsFirst returns the words after a command, its flags before all others.
func flagsFirst(known []cli.Flag, words []string) []string {
	var flags, files []string
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "--":
			return slices.Concat(flags, []string{"--"}, files, words[i+1:])
		case !isFlag(word):
			files = append(files, word)
		case takesValue(known, word) && i+1 < len(words):
			flags = append(flags, word, words[i+1])
			i++
		default:
			flags = append(flags, word)
		}
	}
	return append(flags, files...)
}

// isFlag reports whether a word is one; a dash alone is a file, standard input.
func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' && word != "--" }

// takesValue reports whether the value of a flag is the word after it. Flags that are not known have none.
func takesValue(known []cli.Flag, word string) bool {
	name := strings.TrimLeft(word, "-")
	return slices.ContainsFunc(known, func(f cli.Flag) bool {
		d, ok := f.(cli.DocGenerationFlag)
		return ok && d.TakesValue() && slices.Contains(f.Names(), name)
	})
}
