package cli

import (
	"flag"

	urfave "github.com/urfave/cli/v2"
)

// Types from the library that commands consist of. Only this package imports the library.
type (
	App        = urfave.App
	Command    = urfave.Command
	Context    = urfave.Context
	Flag       = urfave.Flag
	StringFlag = urfave.StringFlag
	IntFlag    = urfave.IntFlag
)

// helpFlag is a copy of the library's flag --help. Each run needs its own copy, because a run writes to the flag.
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
