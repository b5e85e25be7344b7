package admin

import (
	"errors"
	"fmt"
	"strconv"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

// importCommands returns the commands for files that were uploaded. `admin subscriber import` reads a file directly.
func (p commands) importCommands() *cli.Command {
	id := cli.ID(people.NounImport)
	all := p.Command("list", "list imports, newest first", []cli.Flag{
		cli.Tenant("filter by tenant (`ID` or name)"),
		cli.Reference("list", people.NounList, "filter by list (`ID` or name)"),
	}, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		tenants, every, err := cli.TenantOf(c, s)
		if err != nil {
			return err
		}
		rows, err := cli.Pages(func(j core.ImportJob) string { return j.ID },
			func(page core.Page) ([]core.ImportJob, error) {
				return s.ImportJobs(c.Context, tenants, every, c.String("list"), page)
			})
		if err != nil {
			return err
		}
		return cli.List(p.Printer(c), rows, "id", "list_id", "name", "status", "lines", "added", "failed", "created_by",
			"created_at")
	})
	show := p.Command("show", "show the progress of an import", []cli.Flag{id}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			j, err := s.ImportJob(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "import", c.String("id"))
			}
			return p.Printer(c).Record(importJobRow{j, j.ImportCounts.Rows()})
		})
	cancel := p.Command("cancel", "stop an import or its upload", []cli.Flag{id}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			j, err := s.CancelImport(c.Context, c.String("id"), cli.Actor(), now())
			if err != nil {
				return cli.Missing(err, "import", c.String("id"))
			}
			return p.Printer(c).Record(importJobRow{j, j.ImportCounts.Rows()})
		})
	cancel.Description = `Rows that are already imported stay. A running import stops at its next step.
The uploaded file is deleted.

   newsletterd admin import cancel --id ID`
	return &cli.Command{
		Name: "import", Usage: "manage imports of uploaded files; import posts",
		Subcommands: append([]*cli.Command{all, show, cancel, p.undoImport(), p.importImages(), p.retryImages()},
			p.postCommands()...),
	}
}

// undoImport returns the command that undoes an import of people.
func (p commands) undoImport() *cli.Command {
	c := p.Command("undo", "undo an import of people (asks for confirmation)",
		[]cli.Flag{cli.ID(people.NounImport), cli.Yes()}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			plan, err := s.ImportUndoPlan(c.Context, c.String("id"), now())
			if err != nil {
				return cli.Missing(err, "import", c.String("id"))
			}
			yes, err := p.Sure(c, undoQuestion(&plan))
			if err != nil {
				return err
			}
			if !yes {
				return errors.New("canceled; the import was not undone")
			}
			j, err := s.UndoImport(c.Context, c.String("id"), cli.Actor(), now())
			if err != nil {
				return cli.Missing(err, "import", c.String("id"))
			}
			if !s.DaemonRuns() {
				fmt.Fprintln(p.Err, "newsletterd isn't running. The undo runs when you start newsletterd.")
			}
			return p.Printer(c).Record(importJobRow{j, j.ImportCounts.Rows()})
		})
	c.Description = `Works for a week after an import in the console or through the API. The
running daemon removes new subscribers, unless they confirmed, unsubscribed or
changed something since then. Existing subscribers get their old values back.
Posts stay in the archive. To remove them, run
newsletterd admin import remove-posts.

Imports by newsletterd admin subscriber import can't be undone.

   newsletterd admin import undo --id ID`
	return c
}

// undoQuestion returns the confirmation question for undoing an import. If the plan covers only a sample of the people,
// the question names the maximum number.
func undoQuestion(plan *core.ImportUndoPlan) string {
	many := "up to " + cli.Grouped(plan.Brought)
	if plan.Looked >= plan.Brought {
		many = cli.Grouped(plan.Remove)
	}
	return fmt.Sprintf("Undo the import? This removes %s of the people that it added. You can't reverse this.", many)
}

// importImages returns the command that lists the images in imported posts.
func (p commands) importImages() *cli.Command {
	c := p.Command("images", "list the images in the posts of an import", []cli.Flag{
		cli.ID(people.NounImport),
		cli.OneOf("state", "filter by `STATE`: listed, waiting, stored, failed or removing", "", core.PictureListed,
			core.PictureWaiting, core.PictureStored, core.PictureFailed, core.PictureRemoving),
	}, []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		if _, err := s.ImportJob(c.Context, c.String("id")); err != nil {
			return cli.Missing(err, "import", c.String("id"))
		}
		rows, err := cli.Pages(func(p core.ImportedPicture) string { return strconv.FormatInt(p.No, 10) },
			func(page core.Page) ([]core.ImportedPicture, error) {
				return s.ImportPictures(c.Context, c.String("id"), c.String("state"), page)
			})
		if err != nil {
			return err
		}
		return cli.List(p.Printer(c), rows, "no", "state", "reason", "address", "media_id")
	})
	c.Description = `An image that failed keeps its old URL, for the reason shown:

   newsletterd admin import images --id ID --state failed`
	return c
}

// retryImages returns the command that retries images that couldn't be copied.
func (p commands) retryImages() *cli.Command {
	c := p.Command("retry-images", "retry copying the images that failed",
		[]cli.Flag{cli.ID(people.NounImport)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			j, err := s.RetryPictures(c.Context, c.String("id"), cli.Actor(), now())
			if err != nil {
				return cli.Missing(err, "import", c.String("id"))
			}
			return p.Printer(c).Record(importJobRow{j, j.ImportCounts.Rows()})
		})
	c.Description = `The daemon copies them within a minute.

   newsletterd admin import retry-images --id ID`
	return c
}

// importJobRow is an import as commands print it.
type importJobRow struct {
	core.ImportJob
	Rows int64 `json:"rows"` // lines processed
}
