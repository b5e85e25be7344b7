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

const appHelp = `One program: subscriptions with double opt-in, sign-in for users and programs (OAuth 2.0, OpenID Connect) and
newsletter sending, on one SQLite file.

   See it work:      newsletterd demo
   Set it up:        newsletterd init
   Start:            newsletterd serve
   Look after it:    newsletterd status, newsletterd doctor

Commands work on the database file directly, also while the daemon runs.`

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
		Usage:           "newsletters, sign-in and sending on one SQLite file",
		UsageText:       "newsletterd COMMAND [flags]",
		Description:     appHelp,
		Version:         version(),
		HideVersion:     true,
		HideHelpCommand: true,
		Writer:          p.out,
		ErrWriter:       p.err,
		Reader:          p.in,
		ExitErrHandler:  func(*cli.Context, error) {}, // run decides
		Flags:           append(commonFlags(), boolFlag("version", "print the version of this program")),
		Commands: []*cli.Command{
			p.serveCommand(), p.demoCommand(), p.initCommand(), p.configCommand(), p.migrateCommand(), p.checkCommand(),
			p.backupCommand(),
			p.restoreCommand(), p.replicaCommand(), p.statusCommand(), p.healthyCommand(), p.doctorCommand(), p.routesCommand(),
			p.openapiCommand(), p.versionCommand(), p.bounceCommand(), whyCommand(p), p.keysCommand(), p.adminCommand(),
			p.publishCommand(),
			p.renderCommand(),
			p.systemdUnitCommand(),
			p.completionCommand(), p.manCommand(),
		},
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
			Usage: "read the configuration from `FILE` (else ./newsletterd.toml, or that of the installation)",
		},
		&cli.StringFlag{Name: "database", Usage: "the database `FILE`, instead of the configured one"},
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
			return usageError{full, fmt.Sprintf("unexpected argument %q: values are given by flags",
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
			return usageError{"", "which command?"}
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
	verb := " is needed"
	if len(flags) > 1 {
		verb = " are needed"
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
