package admin

import (
	"io"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/store"
	"newsletterd/store/subscribercsv"
)

// exportSuppressions returns the command that writes a tenant's suppression list to a file.
func (p commands) exportSuppressions() *cli.Command {
	exp := p.Command("export", "export a tenant's suppression list as CSV", []cli.Flag{
		cli.Tenant("tenant (`ID` or name)"),
		exportFile(),
		cli.OneOf("kind", "filter by `KIND`: "+strings.Join(suppressionKinds, ", "),
			cli.Optional(suppressionKinds)...),
	}, []string{"tenant"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		tenant := c.String("tenant")
		if _, err := s.Tenant(c.Context, tenant); err != nil {
			return cli.Missing(err, "tenant", tenant)
		}
		return exportTo(p, c, "row", func(out io.Writer, asJSON bool) (int, error) {
			if err := s.NoteSuppressionExport(c.Context, tenant, cli.Actor(), now()); err != nil {
				return 0, err
			}
			return writeSuppressions(c, s, tenant, asJSON, out)
		})
	})
	exp.Description = `Each address appears once. Blocks of a single list or of the whole server
aren't included. Cells that a spreadsheet would run as a formula start with
an apostrophe, which an import removes. To read the file again:
newsletterd admin suppression import

   newsletterd admin suppression export --tenant Acme --file suppressed.csv`
	return exp
}

// writeSuppressions streams a tenant's suppression list as CSV or JSON lines.
func writeSuppressions(c *cli.Context, s *store.Store, tenant string, asJSON bool, out io.Writer) (n int, err error) {
	w, after := subscribercsv.NewBlockWriter(out, asJSON, 0), ""
	for {
		rows, err := s.SuppressedOnce(c.Context, tenant, c.String("kind"), after, cli.PageSize)
		if err != nil {
			return n, err
		}
		for i := range rows {
			if err := w.WriteBlock(&rows[i]); err != nil {
				return n, err
			}
			after = rows[i].Email
		}
		if n += len(rows); len(rows) < cli.PageSize {
			return n, w.Close()
		}
	}
}
