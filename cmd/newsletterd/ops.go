package main

import (
	"fmt"
	"strconv"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/demo"
	"newsletterd/handlers"
	"newsletterd/schema"
	"newsletterd/store"
	"newsletterd/store/db"
)

func (p *program) configCommand() *cli.Command {
	return &cli.Command{
		Name: "config", Usage: "show the effective configuration, with secrets masked",
		Description: `Shows every key with its value and source (file, environment or flag). Fails
and lists all errors if the configuration is invalid, so run it before you
restart the daemon.`,
		Action: func(c *cli.Context) error {
			cfg, err := p.Config(c)
			if err != nil {
				return err
			}
			if out := p.Printer(c); out.JSON {
				return out.Value(cfg.Tree())
			}
			return cfg.WriteTOML(p.Out)
		},
	}
}

func (p *program) demoCommand() *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "try newsletterd in a temporary folder",
		Description: `Starts a daemon and a mail server in a temporary folder and uses them as a
writer and a subscriber would: with commands, HTTP and links in emails.
Nothing leaves this machine. Exits with 1 if a check fails.

   newsletterd demo
   newsletterd demo --stay     keep it running; prints addresses and passwords`,
		Flags: []cli.Flag{cli.Bool("stay", "keep the daemon running until Ctrl-C")},
		Action: func(c *cli.Context) error {
			return demo.Run(c.Context, demo.Options{Out: p.Out, Env: p.Env, Stay: c.Bool("stay")})
		},
	}
}

// migrationRow is a migration as `migrate` prints it.
type migrationRow struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	State  string `json:"state"` // applied, pending
}

func (p *program) migrateCommand() *cli.Command {
	return &cli.Command{
		Name: "migrate", Usage: "upgrade the database schema",
		Description: `The daemon upgrades the schema automatically when it starts. Use this command
to upgrade it separately. Stop the daemon first. Each migration is a
transaction, so an interrupted migration changes nothing. Before the first
migration, the database is copied to the folder "backup" next to it.`,
		Flags: []cli.Flag{
			cli.String("to", "stop after migration `N` (default: the newest)"),
			cli.Bool("dry-run", "only list pending migrations"),
			cli.Bool("no-copy", "don't copy the database first"),
		},
		Action: func(c *cli.Context) error {
			cfg, err := p.Config(c)
			if err != nil {
				return err
			}
			if cfg.Replica.URL != "" && db.DaemonWaits(cfg.Database.Path) {
				return errStandby
			}
			to, state := 0, "applied"
			if c.IsSet("to") {
				to, _ = strconv.Atoi(c.String("to"))
			}
			if c.IsSet("to") && (to < 1 || to > schema.Latest()) {
				return cli.UsageErrorf(c, "--to must be from 1 to %d", schema.Latest())
			}
			if c.Bool("dry-run") {
				state = "pending"
			}
			done, err := db.Migrate(c.Context, cfg.Database.Path, db.MigrateOptions{
				To: to, DryRun: c.Bool("dry-run"), NoCopy: c.Bool("no-copy"), Now: time.Now(),
			})
			if err != nil {
				return err
			}
			if done.Copy != "" {
				fmt.Fprintf(p.Err, "Copy of the previous database: %s\n", done.Copy)
			}
			rows := make([]migrationRow, len(done.Migrations))
			for i, m := range done.Migrations {
				rows[i] = migrationRow{m.Number, m.Name, state}
			}
			if out := p.Printer(c); out.JSON || len(rows) > 0 {
				return cli.List(out, rows, "number", "name", "state")
			}
			if c.IsSet("to") {
				return p.Done(c, "%s already has migration %d.", cfg.Database.Path, to)
			}
			return p.Done(c, "%s is up to date (migration %d).", cfg.Database.Path, schema.Latest())
		},
	}
}

func (p *program) checkCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "check the database for damage and inconsistencies",
		Description: `Reads the whole file (about a second per GB) and changes nothing. You can
run it while the daemon runs. Exits with 1 if it finds a problem.`,
		Action: func(c *cli.Context) error {
			return p.WithStore(c, func(cfg *config.Config, s *store.Store) error {
				found, err := s.Check(c.Context)
				if err != nil {
					return err
				}
				if out := p.Printer(c); out.JSON {
					if found == nil {
						found = []string{}
					}
					if err := out.Value(map[string]any{"database": s.Path(), "findings": found}); err != nil {
						return err
					}
				} else {
					for _, line := range found {
						fmt.Fprintln(p.Out, line)
					}
				}
				if len(found) > 0 {
					return fmt.Errorf("%s: %s", s.Path(), cli.Counted(len(found), "finding"))
				}
				if !cli.JSONWanted(c) {
					fmt.Fprintf(p.Out, "%s is intact.\n", s.Path())
				}
				return nil
			})
		},
	}
}

// routeRow is a route as `routes` prints it.
type routeRow struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Access  string `json:"access"`
	Summary string `json:"summary"`
}

func (p *program) routesCommand() *cli.Command {
	return &cli.Command{
		Name: "routes", Usage: "list all HTTP endpoints and their access rules",
		Action: func(c *cli.Context) error {
			h, err := handlers.New(handlers.Options{})
			if err != nil {
				return err
			}
			var rows []routeRow
			for _, r := range h.Routes() {
				rows = append(rows, routeRow{r.Method, r.Path, r.Who.String(), r.Summary})
			}
			return cli.List(p.Printer(c), rows, "method", "path", "access", "summary")
		},
	}
}

func (p *program) openapiCommand() *cli.Command {
	return &cli.Command{
		Name: "openapi", Usage: "print an OpenAPI 3.1 document",
		Flags: []cli.Flag{&cli.StringFlag{
			Name: "area", Usage: "document `NAME`: member, send, devices or pages",
			Value: "member",
		}},
		Action: func(c *cli.Context) error {
			h, err := handlers.New(handlers.Options{})
			if err != nil {
				return err
			}
			doc := h.Document(c.String("area"))
			if doc == nil {
				return cli.UsageErrorf(c, "--area must be member, send, devices or pages, not %q", c.String("area"))
			}
			_, err = p.Out.Write(doc)
			return err
		},
	}
}

func (p *program) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version", Action: p.printVersion,
	}
}

func (p *program) printVersion(c *cli.Context) error {
	v := versionOf()
	if out := p.Printer(c); out.JSON {
		return out.Value(v)
	}
	fmt.Fprintf(p.Out, "newsletterd %s", v.Version)
	if v.Commit != "" {
		fmt.Fprintf(p.Out, " (%s)", v.Commit)
	}
	fmt.Fprintf(p.Out, ", %s, %s\n", v.Go, v.Platform)
	return nil
}
