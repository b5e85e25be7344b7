package main

import (
	"context"
	"fmt"
	"io"
	"os"
	_ "time/tzdata" // for machines and images without a time zone database

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/store"
	"newsletterd/store/db"
)

func main() {
	// This must happen before anything opens the database: SQLite's default locks are lost when the process closes any
	// descriptor of the file.
	if err := db.PrepareProcess(); err != nil {
		fmt.Fprintln(os.Stderr, "newsletterd:", err)
		os.Exit(cli.ExitFailed)
	}
	p := newProgram(os.Stdin, os.Stdout, os.Stderr, os.Environ())
	os.Exit(p.run(context.Background(), os.Args))
}

// program is one run of the command line. It adds the commands that are not about records, such as serve and backup, to
// cli.Program.
type program struct {
	*cli.Program
	unit string // the package's unit file; empty: packagedUnitFile
}

func newProgram(in io.Reader, out, errs io.Writer, env []string) *program {
	p := &cli.Program{In: in, Out: out, Err: errs, Env: env}
	p.Open = func(ctx context.Context, cfg *config.Config, look bool) (*store.Store, error) {
		log := newLog(config.Log{Level: "warn", Format: "text", PII: cfg.Log.PII}, errs)
		return openForCommand(ctx, cfg, log, look)
	}
	return &program{Program: p}
}

// run executes the command in args and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int { return p.Run(ctx, p.app(), args) }
