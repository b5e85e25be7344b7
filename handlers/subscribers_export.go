package handlers

import (
	"maps"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/people"
	"newsletterd/store/subscribercsv"
)

// exported says which subscriptions are exported.
type exported struct {
	ListID   string `query:"list_id,uuid"`
	TenantID string `query:"tenant_id"`
	Status   string `query:"status" enum:"pending|active|unsubscribed|bounced|complaint|suppressed"`
	// preferences (default): one column with JSON. fields: one column for each field.
	Columns string `query:"columns" enum:"preferences|fields"`
}

// CheckInput refuses an export of no list and no tenant.
func (in *exported) CheckInput() error {
	if in.ListID == "" && in.TenantID == "" {
		return core.Invalidf("list_id", "list_id is missing. Set it, or tenant_id for all lists of the tenant.")
	}
	return nil
}

// exportedLists reads the lists of an export.
func (a subscribers) exportedLists(c *web.Call, in *exported) (lists []core.List, err error) {
	if in.ListID != "" {
		l, err := a.store.List(c, in.ListID)
		return []core.List{l}, err
	}
	page := core.Page{Limit: web.ExportPage}
	for {
		some, err := a.store.Lists(c, []string{in.TenantID}, false, page)
		if err != nil {
			return nil, err
		}
		if lists = append(lists, some...); len(some) < page.Limit {
			return lists, nil
		}
		page.After = some[len(some)-1].ID
	}
}

// exportWriter returns what writes an export of lists.
func (a subscribers) exportWriter(c *web.Call, in *exported, lists []core.List) (write func(*people.ListedSubscription,
) error, end func() error, err error,
) {
	if in.Columns != "fields" {
		w := subscribercsv.NewWriter(c.Stream(), false)
		return func(l *people.ListedSubscription) error { return w.Write(&l.Subscription) }, w.Close, nil
	}
	names, ids, fields := map[string]string{}, []string{}, []string{}
	for i := range lists {
		names[lists[i].ID], ids = lists[i].Name, append(ids, lists[i].ID)
		for j := range lists[i].Fields {
			if name := lists[i].Fields[j].Name; !slices.Contains(fields, name) {
				fields = append(fields, name)
			}
		}
	}
	known, _, _, err := a.store.FieldCoverage(c, ids) // what imports and programs have brought
	if err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !slices.Contains(fields, name) && !strings.Contains(name, ".") && !strings.HasPrefix(name, "_") {
			fields = append(fields, name)
		}
	}
	w := subscribercsv.NewFieldWriter(c.Stream(), fields)
	return func(l *people.ListedSubscription) error { return w.WriteOn(names[l.ListID], &l.Subscription) }, w.Close, nil
}

// exportName is what the file of an export is called: after its list, or its tenant, and the day.
func (a subscribers) exportName(c *web.Call, in *exported, lists []core.List) (string, error) {
	name := ""
	if in.ListID != "" {
		name = lists[0].Name
	} else {
		t, err := a.store.Tenant(c, in.TenantID)
		if err != nil {
			return "", err
		}
		name = t.Name
	}
	return name + " " + c.Now.Time().Format(time.DateOnly) + ".csv", nil
}

// export writes the subscriptions of a list, or of all lists of a tenant, as CSV, however many there are.
func (a subscribers) export(c *web.Call, in exported) error {
	f, err := a.filter(c, &subscriberFilter{TenantID: in.TenantID, ListID: in.ListID, Status: in.Status},
		core.ActionPeopleExport)
	if err != nil {
		return err
	}
	return a.writeMatches(c, &in, func(page core.Page) ([]people.ListedSubscription, string, error) {
		return a.store.MatchingSubscriptions(c, f, page)
	})
}

// writeMatches writes the subscriptions that read returns page by page.
func (a subscribers) writeMatches(c *web.Call, in *exported, read func(core.Page) ([]people.ListedSubscription, string,
	error),
) error {
	lists, err := a.exportedLists(c, in)
	if err != nil {
		return err
	}
	name, err := a.exportName(c, in, lists)
	if err != nil {
		return err
	}
	page := core.Page{Limit: web.ExportPage}
	rows, next, err := read(page)
	if err != nil {
		return err
	}
	for i := range lists {
		if err := a.store.NoteExport(c, lists[i].ID, web.Actor(c), c.Now); err != nil {
			return err
		}
	}
	write, end, err := a.exportWriter(c, in, lists)
	if err != nil {
		return err
	}
	h := c.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", web.Attachment(name))
	for {
		for i := range rows {
			rows[i].Status = rows[i].Shown()
			if err := write(&rows[i]); err != nil {
				c.Cut(err) // the head is out: only a cut connection shows it
			}
		}
		if next == "" {
			break
		}
		page.After = next
		if rows, next, err = read(page); err != nil {
			c.Cut(err)
		}
	}
	if err := end(); err != nil {
		c.Cut(err)
	}
	return nil
}
