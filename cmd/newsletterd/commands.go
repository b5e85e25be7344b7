package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/terminal"
)

const appHelp = `Sends newsletters with double opt-in, signs people in to your apps (OAuth
2.0, OpenID Connect), and stores everything in one SQLite file. Commands work
on the database directly, also while the daemon runs.

   Try it:       newsletterd demo
   Set it up:    newsletterd init
   Run it:       newsletterd serve
   Check it:     newsletterd status, newsletterd doctor`

// configFlags are the flags that set a key of the configuration, and so beat file and environment.
var configFlags = map[string]string{
	"database":   "database.path",
	"listen":     "server.listen",
	"public-url": "server.public_url",
	"log-level":  "log.level",
	"log-format": "log.format",
}

// helpFlag is --help. All trees of commands of a process share it, so a run sets a copy: setting the library's own
// writes to it.
type helpFlag struct{ *cli.BoolFlag }

func (f helpFlag) Apply(set *flag.FlagSet) error {
	own := *f.BoolFlag
	return own.Apply(set)
}

func init() {
	if help, ok := cli.HelpFlag.(*cli.BoolFlag); ok {
		cli.HelpFlag = helpFlag{help}
	}
}

// app is the tree of commands.
func (p *program) app() *cli.App {
	a := &cli.App{
		Name:            "newsletterd",
		Usage:           "send newsletters and sign people in, with one SQLite file",
		UsageText:       "newsletterd COMMAND [flags]",
		Description:     appHelp,
		Version:         version(),
		HideVersion:     true,
		HideHelpCommand: true,
		Writer:          p.out,
		ErrWriter:       p.err,
		Reader:          p.in,
		ExitErrHandler:  func(*cli.Context, error) {}, // run decides
		Flags:           append(commonFlags(), boolFlag("version", "print the version")),
		Commands: slices.Concat(
			inGroup(groupStart, p.demoCommand(), p.initCommand(), p.serveCommand(), p.statusCommand(),
				p.doctorCommand()),
			inGroup(groupLetters, p.publishCommand(), p.renderCommand(), whyCommand(p), p.adminCommand()),
			inGroup(groupBackup, p.backupCommand(), p.restoreCommand(), p.replicaCommand(), p.checkCommand(),
				p.migrateCommand()),
			inGroup(groupServer, p.configCommand(), p.keysCommand(), p.healthyCommand(), p.bounceCommand(),
				p.systemdUnitCommand(), p.routesCommand(), p.openapiCommand(), p.completionCommand(), p.manCommand(),
				p.versionCommand()),
		),
	}
	group := groupAction(a.Name, a.Commands)
	a.Action, a.OnUsageError = func(c *cli.Context) error {
		if c.Bool("version") && !c.Args().Present() {
			return p.printVersion(c)
		}
		return group(c)
	}, usageFault(a.Name)
	for _, c := range a.Commands {
		finish(a.Name, c)
	}
	return a
}

func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name:  "config",
			Usage: "configuration `FILE` (default: ./newsletterd.toml, or the installed one)",
		},
		&cli.StringFlag{Name: "database", Usage: "database `FILE`, overrides the configuration"},
		&cli.BoolFlag{Name: "json", Usage: "print JSON", DisableDefaultText: true},
	}
}

// finish gives a command and those below it what all have: the common flags, and the refusal of leftovers.
func finish(parent string, c *cli.Command) {
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
	c.Action = func(ctx *cli.Context) error {
		if ctx.Args().Present() && c.ArgsUsage == "" {
			return usageError{full, fmt.Sprintf("unexpected argument %q. Pass values with flags",
				ctx.Args().First())}
		}
		return act(ctx)
	}
}

// groupAction runs where no command below was named, or none that exists.
func groupAction(full string, commands []*cli.Command) cli.ActionFunc {
	return func(c *cli.Context) error {
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

func showHelp(c *cli.Context) error {
	if c.Command.Name == "" || c.Command.Name == c.App.Name {
		return cli.ShowAppHelp(c)
	}
	return cli.ShowSubcommandHelp(c)
}

// usageFault turns what the library says about flags into our words.
func usageFault(full string) cli.OnUsageErrorFunc {
	return func(c *cli.Context, err error, _ bool) error {
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

// nearest is the value of a flag that stands at several levels: the one given last wins.
func nearest(c *cli.Context, name string) (string, bool) {
	for _, at := range c.Lineage() {
		if at.Command != nil && slices.Contains(at.LocalFlagNames(), name) {
			return at.String(name), true
		}
	}
	return "", false
}

// jsonWanted reports whether --json was given at any level.
func jsonWanted(c *cli.Context) bool {
	for _, at := range c.Lineage() {
		if at.Bool("json") {
			return true
		}
	}
	return false
}

func (p *program) printer(c *cli.Context) printer { return printer{out: p.out, json: jsonWanted(c)} }

// config reads the configuration with the flags of the command.
func (p *program) config(c *cli.Context) (*config.Config, error) {
	src := config.Sources{Env: p.env, Flags: map[string]string{}}
	src.File, _ = nearest(c, "config")
	if c.Command.Name != "serve" { // which would start what is installed, instead of a first look in this folder
		src.Installed = config.InstalledFiles
	}
	for _, flag := range slices.Sorted(maps.Keys(configFlags)) {
		if v, ok := nearest(c, flag); ok {
			src.Flags[configFlags[flag]] = v
		}
	}
	return config.Load(src)
}

// need fails unless all the flags were given, and names each that was not.
func need(c *cli.Context, flags ...string) error {
	var missing []string
	for _, f := range flags {
		if strings.TrimSpace(c.String(f)) == "" {
			missing = append(missing, "--"+f)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return usageError{c.Command.HelpName, areNeeded(missing)}
}

func areNeeded(flags []string) string {
	verb := " is missing"
	if len(flags) > 1 {
		verb = " are missing"
	}
	return strings.Join(flags, ", ") + verb
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

// prompt asks the person at the terminal of the program.
func prompt(p *program) terminal.Prompt { return terminal.Prompt{In: p.in, Err: p.err} }

// passwordLine reads a password from the first line of standard input; at a terminal it asks for what, and shows nothing
// of the answer.
func passwordLine(ctx context.Context, p *program, what string) (string, error) {
	if prompt(p).File() == nil {
		return oneLine(p.in)
	}
	fmt.Fprint(p.err, what+": ")
	b, err := prompt(p).Password(ctx)
	return string(b), err
}
