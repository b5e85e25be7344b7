package admin

import (
	"path/filepath"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/subscribercsv"
)

// importSuppressions returns the command that adds a file's addresses to a suppression list.
func (p commands) importSuppressions() *cli.Command {
	imp := p.Command("import", "add addresses from a CSV file to a tenant's suppression list", []cli.Flag{
		cli.Tenant("tenant (`ID` or name)"),
		cli.String("file", "`FILE` to read, or - for standard input"),
		cli.Strings("map", mapUsage),
		cli.String("source", "record `TEXT` as the reason (default: \"import\" and the file name)"),
		cli.Bool("dry-run", "dry run: check every row and show what would happen, without importing"),
		cli.String("errors", "write rows with errors to `FILE`, with row number and reason (replaces an earlier "+
			"run's file)"),
	}, []string{"tenant", "file"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		rename, err := renames(c)
		if err != nil {
			return err
		}
		source := c.String("source")
		if source == "" {
			source = "import " + filepath.Base(c.String("file"))
		}
		im, err := s.NewSuppressionImport(c.Context, c.String("tenant"), source, cli.Actor())
		if err != nil {
			return cli.Missing(err, "tenant", c.String("tenant"))
		}
		im.DryRun = c.Bool("dry-run")
		in, survey, err := p.surveyed(c, s)
		if err != nil {
			return err
		}
		defer in.Close()
		run := &importing{Import: im, err: p.Err, terminal: cli.IsTerminal(p.Err)}
		if run.reader, err = subscribercsv.NewReader(in, subscribercsv.Options{Map: rename, Survey: survey}); err != nil {
			return err
		}
		run.reader.Suppress = true
		if err := p.finish(c, run); err != nil {
			return err
		}
		return allFaulty(im.Counts)
	})
	imp.Description = `Blocks every address in the file. If a status column contains bounced or
spam, that becomes the kind of the entry. No list of the tenant sends to these
addresses, and no import adds them again. Existing subscriptions don't
change. Addresses that are already blocked are counted as "kept". A bounced
address is unblocked if the person confirms by email. To unblock the others:
newsletterd admin suppression delete

   newsletterd admin suppression import --tenant Acme --file suppressed.csv`
	return imp
}

// allFaulty returns an error if every line had an error.
func allFaulty(counts core.ImportCounts) error {
	if n := counts.Rows(); n > 0 && counts.Failed == n {
		return errNobody
	}
	return nil
}
