package cli

import (
	"flag"

	urfave "github.com/urfave/cli/v2"
)

// The types of the library that commands are made of. Only this package imports it.
type (
	App        = urfave.App
	Command    = urfave.Command
	Context    = urfave.Context
	Flag       = urfave.Flag
	StringFlag = urfave.StringFlag
	IntFlag    = urfave.IntFlag
)

// helpFlag is --help. All trees of commands of a process share it, so a run sets a copy: setting the library's own
// writes to it.
type helpFlag struct{ *urfave.BoolFlag }

func (f helpFlag) Apply(set *flag.FlagSet) error {
	own := *f.BoolFlag
	return own.Apply(set)
}

func init() {
	if help, ok := urfave.HelpFlag.(*urfave.BoolFlag); ok {
		urfave.HelpFlag = helpFlag{help}
	}
	urfave.HelpPrinter = PrintHelp
}

func showHelp(c *Context) error {
	if c.Command.Name == "" || c.Command.Name == c.App.Name {
		return urfave.ShowAppHelp(c)
	}
	return urfave.ShowSubcommandHelp(c)
}
