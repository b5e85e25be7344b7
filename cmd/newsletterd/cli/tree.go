package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/terminal"
)

// Tree adds to a command tree what all commands share: common flags, --version, usage errors, and the program's
// streams.
func (p *Program) Tree(a *App, printVersion urfave.ActionFunc) *App {
	a.HideVersion, a.HideHelpCommand = true, true
	a.Writer, a.ErrWriter, a.Reader = p.Out, p.Err, p.In
	a.ExitErrHandler = func(*Context, error) {} // Run decides on the exit code
	a.Flags = append(commonFlags(), Bool("version", "print the version"))
	group := groupAction(a.Name, a.Commands)
	a.Action, a.OnUsageError = func(c *Context) error {
		if c.Bool("version") && !c.Args().Present() {
			return printVersion(c)
		}
		return group(c)
	}, usageFault(a.Name)
	for _, c := range a.Commands {
		finish(a.Name, c)
	}
	return a
}

func commonFlags() []Flag {
	return []Flag{
		String("config", "configuration `FILE` (default: ./newsletterd.toml, or the installed one)"),
		String("database", "database `FILE`, overrides the configuration"),
		Bool("json", "print JSON"),
	}
}

// finish adds the common flags to a command and its subcommands, and rejects extra arguments.
func finish(parent string, c *Command) {
	full := parent + " " + c.Name
	c.HideHelpCommand = true
	c.OnUsageError = usageFault(full)
	c.Flags = append(c.Flags, commonFlags()...)
	if len(c.Subcommands) > 0 {
		c.UsageText = full + " COMMAND [flags]"
		c.Action = groupAction(full, c.Subcommands)
		for _, sub := range c.Subcommands {
			finish(full, sub)
		}
		return
	}
	if c.UsageText == "" {
		c.UsageText = full + " [flags]"
	}
	act := c.Action
	c.Action = func(ctx *Context) error {
		if ctx.Args().Present() && c.ArgsUsage == "" {
			return usageError{full, fmt.Sprintf("unexpected argument %q. Pass values with flags",
				ctx.Args().First())}
		}
		return act(ctx)
	}
}

// groupAction returns the action of a command group, which runs if the subcommand is missing or unknown.
func groupAction(full string, commands []*Command) urfave.ActionFunc {
	return func(c *Context) error {
		if !c.Args().Present() {
			w := c.App.Writer
			c.App.Writer = c.App.ErrWriter
			defer func() { c.App.Writer = w }()
			if err := showHelp(c); err != nil {
				return err
			}
			return usageError{"", "no command given"}
		}
		names := make([]string, len(commands))
		for i, sub := range commands {
			names[i] = sub.Name
		}
		word := c.Args().First()
		return usageError{full, fmt.Sprintf("unknown command %q%s", word, terminal.DidYouMean(word, names))}
	}
}

// usageFault returns a function that replaces the library's errors about flags with usage errors.
func usageFault(full string) urfave.OnUsageErrorFunc {
	return func(c *Context, err error, _ bool) error {
		text := err.Error()
		if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
			var known []string
			for _, f := range c.Command.Flags {
				known = append(known, f.Names()...)
			}
			text = "unknown flag --" + strings.TrimLeft(name,
				"-") + dashed(terminal.DidYouMean(strings.TrimLeft(name, "-"), known))
		}
		if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
			text = "--" + strings.TrimLeft(name, "-") + " needs a value"
		}
		return usageError{full, text}
	}
}

func dashed(hint string) string { return strings.Replace(hint, "did you mean ", "did you mean --", 1) }
