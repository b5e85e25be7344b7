package main

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/subscribercsv"
)

// importSuppressions is the command that adds the addresses of a file to a suppression list.
func (p *program) importSuppressions() *cli.Command {
	imp := p.command("import", "add the addresses of a CSV file to the suppression list of a tenant", []cli.Flag{
		tenantFlag("the `ID` or name of the tenant"),
		stringFlag("file", "the `FILE`; - is standard input"),
		&cli.StringSliceFlag{Name: "map", Usage: mapUsage},
		stringFlag("source", "`TEXT` for the record (else \"import\" and the file's name)"),
		boolFlag("dry-run", "change nothing: only say what would become of the lines"),
		stringFlag("errors", "write lines with errors to `FILE`, with number and reason (over those of an earlier run)"),
	}, []string{"tenant", "file"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		rename, err := renames(c)
		if err != nil {
			return err
		}
		source := c.String("source")
		if source == "" {
			source = "import " + filepath.Base(c.String("file"))
		}
		im, err := s.NewSuppressionImport(c.Context, c.String("tenant"), source, actor())
		if err != nil {
			return missing(err, "tenant", c.String("tenant"))
		}
		im.DryRun = c.Bool("dry-run")
		in, survey, err := p.surveyed(c, s)
		if err != nil {
			return err
		}
		defer in.Close()
		run := &importing{Import: im, err: p.err, terminal: isTerminal(p.err)}
		if run.reader, err = subscribercsv.NewReader(in, subscribercsv.Options{Map: rename, Survey: survey}); err != nil {
			return err
		}
		run.reader.Suppress = true
		if err := p.finish(c, run); err != nil {
			return err
		}
		return allFaulty(im.Counts)
	})
	imp.Description = `Each address is suppressed, whatever else the file says; where a column of status says bounced or spam, it joins as
that. No list of the tenant emails it, no file brings it back, and no subscription ends. Addresses that are on the suppression
list already stay as they are (kept). A confirmation by email takes a bounce off again, nothing but
admin suppression delete the rest.

   newsletterd admin suppression import --tenant Acme --file suppressed.csv`
	return imp
}

// allFaulty returns an error where every line had one.
func allFaulty(counts core.ImportCounts) error {
	if n := counts.Rows(); n > 0 && counts.Failed == n {
		return errNobody
	}
	return nil
}
