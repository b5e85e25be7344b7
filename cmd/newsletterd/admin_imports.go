package main

import (
	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

// importCommands are those of files that were uploaded; `admin subscriber import` reads a file itself.
func (p *program) importCommands() *cli.Command {
	id := idFlag(people.NounImport)
	all := p.command("list", "list imports, newest first", []cli.Flag{
		tenantFlag("filter by tenant (`ID` or name)"),
		referenceFlag("list", people.NounList, "filter by list (`ID` or name)"),
	}, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		tenants, every, err := tenantOf(c, s)
		if err != nil {
			return err
		}
		rows, err := pages(func(j core.ImportJob) string { return j.ID }, func(page core.Page) ([]core.ImportJob, error) {
			return s.ImportJobs(c.Context, tenants, every, c.String("list"), page)
		})
		if err != nil {
			return err
		}
		return list(p.printer(c), rows, "id", "list_id", "name", "status", "lines", "added", "failed", "created_by",
			"created_at")
	})
	show := p.command("show", "show the progress of an import", []cli.Flag{id}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			j, err := s.ImportJob(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "import", c.String("id"))
			}
			return p.printer(c).record(importJobRow{j, j.ImportCounts.Rows()})
		})
	cancel := p.command("cancel", "stop an import or its upload", []cli.Flag{id}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			j, err := s.CancelImport(c.Context, c.String("id"), actor(), now())
			if err != nil {
				return missing(err, "import", c.String("id"))
			}
			return p.printer(c).record(importJobRow{j, j.ImportCounts.Rows()})
		})
	cancel.Description = `Rows already imported stay. A running daemon stops at its next step. The
uploaded file is deleted.

   newsletterd admin import cancel --id ID`
	return &cli.Command{
		Name: "import", Usage: "manage imports uploaded through the console or API",
		Subcommands: []*cli.Command{all, show, cancel},
	}
}

// importJobRow is an import as it is printed.
type importJobRow struct {
	core.ImportJob
	Rows int64 `json:"rows"` // lines that were dealt with
}
