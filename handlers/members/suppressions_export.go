package members

import (
	"io"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/subscribercsv"
)

// suppressionExport is the query of a suppression list export.
type suppressionExport struct {
	TenantID string `query:"tenant_id" like:"tenant"`
	suppressionFilter
	// cell separator for spreadsheet programs, which also get a byte order mark
	Spreadsheet string `query:"spreadsheet" enum:"comma|semicolon"`
}

// export writes a tenant's suppression list as CSV, with each address once. It accepts the same filters as list, and
// the number of addresses is not limited.
func (a suppressions) export(c *web.Call, in suppressionExport) error {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err == nil {
		err = in.check()
	}
	if err != nil {
		return err
	}
	t, err := a.store.Tenant(c, tenant)
	if err != nil {
		return err
	}
	return web.Export[core.Suppressed]{
		Name: t.Name + " suppression list " + c.Now.Time().Format(time.DateOnly) + ".csv",
		Read: func(page core.Page) ([]core.Suppressed, string, error) { return a.once(c, &in, tenant, page) },
		Note: func() error { return a.store.NoteSuppressionExport(c, tenant, web.Actor(c), c.Now) },
		Open: func(out io.Writer) (func(*core.Suppressed) error, func() error, error) {
			w := subscribercsv.NewBlockWriter(out, false, subscribercsv.Comma(in.Spreadsheet))
			return func(s *core.Suppressed) error {
				b := blockOf(c, s)
				s.Reason, s.DisabledBy = b.Reason, b.DisabledBy
				return w.WriteBlock(s)
			}, w.Close, nil
		},
	}.Write(c)
}

// once returns a page of an export, with each blocked address once.
func (a suppressions) once(c *web.Call, in *suppressionExport, tenant string, page core.Page) (
	rows []core.Suppressed, next string, err error,
) {
	after := core.Suppressed{TenantID: tenant, Email: page.After}
	switch {
	case in.Email != "":
		found, err := a.store.Suppressions(c, in.Email, tenant)
		return strictest(found, in.Kind), "", err
	case in.ImportID != "":
		rows, err = a.store.ImportedSuppressions(c, in.ImportID, in.Kind, tenant, after, page.Limit)
	default:
		rows, err = a.store.SuppressedOnce(c, tenant, in.Kind, page.After, page.Limit)
	}
	if len(rows) == page.Limit {
		next = rows[len(rows)-1].Email
	}
	return rows, next, err
}

// strictest returns at most one of an address's entries, of the given kind. If kind is empty, a bounce or a complaint
// precedes other entries, as in store.SuppressedOnce. Blocks on a single list aren't part of an export, since importing
// its file would block the address on all lists.
func strictest(found []core.Suppressed, kind string) []core.Suppressed {
	found = slices.DeleteFunc(found, func(s core.Suppressed) bool {
		return s.ListID != "" || kind != "" && s.Kind != kind
	})
	i := slices.IndexFunc(found, func(s core.Suppressed) bool {
		return s.Kind == string(core.StatusBounced) || s.Kind == string(core.StatusComplaint)
	})
	if i > 0 {
		return found[i : i+1]
	}
	return found[:min(len(found), 1)]
}
