package campaigns

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// links returns the tracked links in a job's emails, most clicked first.
func (a sendjobs) links(c *web.Call, id string) ([]core.Link, error) {
	j, err := a.Store.SendJob(c, id)
	if err != nil {
		return nil, err
	}
	links, err := a.Store.Links(c, j.No)
	if links == nil {
		links = []core.Link{}
	}
	return links, err
}

// failures returns the reasons why a job's emails weren't delivered, most frequent first.
func (a sendjobs) failures(c *web.Call, id string) (core.Failures, error) {
	j, err := a.Store.SendJob(c, id)
	if err != nil {
		return core.Failures{}, err
	}
	return a.Store.Failures(c, &j)
}

// historyOf selects the address whose emails are listed.
type historyOf struct {
	Email    core.Email `query:"email,required"`
	TenantID string     `query:"tenant_id"`
}

// history lists all emails sent to an address, newest first.
func (a sendjobs) history(c *web.Call, in historyOf, page core.Page) ([]core.Mailed, error) {
	tenants, all, err := web.TenantsFor(c, web.TenantFilter{TenantID: in.TenantID})
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.History(c, in.Email, tenants, all, page)
	return web.RowsOf(rows, (*core.HistoryEntry).Mailed), err
}
