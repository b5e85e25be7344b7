package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	urfave "github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/store/db"
)

// The exit codes of commands.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2
	ExitLost   = 3 // another machine has taken over
	ExitBehind = 4 // the change was made, but is not in the replica yet
)

// Run executes the command in args and returns the exit code. Commands other than serve end at the first SIGINT or
// SIGTERM, after the current transaction.
func (p *Program) Run(ctx context.Context, app *App, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := app.RunContext(ctx, inOrder(app, args))
	var usage usageError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &usage):
		fmt.Fprintln(p.Err, "newsletterd:", usage)
		if usage.command != "" {
			fmt.Fprintf(p.Err, "To see all options: %s --help\n", usage.command)
		}
		return ExitUsage
	case errors.Is(err, db.ErrBehind):
		fmt.Fprintln(p.Err, "newsletterd:", db.ErrBehind)
		return ExitBehind
	default:
		fmt.Fprintln(p.Err, "newsletterd:", terminal.Message(err))
		if what := terminal.Remedy(err, db.IsFull(err)); what != "" {
			fmt.Fprintln(p.Err, what)
		}
		return ExitFailed
	}
}

// usageError is a mistake in the command line.
type usageError struct {
	command string // command whose help explains the mistake
	text    string
}

func (e usageError) Error() string { return e.text }

// UsageError returns an error for a mistake in the flags or arguments of a command.
func UsageError(c *Context, text string) error { return usageError{c.Command.HelpName, text} }

// UsageErrorf is like UsageError, with a format and arguments.
func UsageErrorf(c *Context, format string, args ...any) error {
	return UsageError(c, fmt.Sprintf(format, args...))
}

// inOrder moves a command's file arguments to the end, after its flags, where the library expects them. Words after
// "--" are not flags.
func inOrder(app *App, args []string) []string {
	commands, flags := app.Commands, app.Flags
	for i := 1; i < len(args); i++ {
		word := args[i]
		switch n := slices.IndexFunc(commands, func(c *Command) bool { return c.HasName(word) }); {
		case isFlag(word):
			if takesValue(flags, word) {
				i++
			}
		case n < 0:
			return args // the library reports the unknown command
		case len(commands[n].Subcommands) > 0:
			commands, flags = commands[n].Subcommands, commands[n].Flags
		default:
			return append(slices.Clone(args[:i+1]), flagsFirst(commands[n].Flags, args[i+1:])...)
		}
	}
	return args
}

// flagsFirst returns the words after a command, flags first.
func flagsFirst(known []Flag, words []string) []string {
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

// isFlag reports whether a word is a flag. A single dash is not; it means standard input.
func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' && word != "--" }

// takesValue reports whether the word after a flag is the flag's value. Unknown flags have no value.
func takesValue(known []Flag, word string) bool {
	name := strings.TrimLeft(word, "-")
	return slices.ContainsFunc(known, func(f Flag) bool {
		d, ok := f.(urfave.DocGenerationFlag)
		return ok && d.TakesValue() && slices.Contains(f.Names(), name)
	})
}
