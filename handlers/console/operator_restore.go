package console

import (
	"net/http"
	"net/url"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

const (
	apiDeletedLists   = "/api/admin/deleted-newsletter-lists"
	apiDeletedTenants = "/api/admin/deleted-tenants"
)

// restored holds the data for templates/restored.html.
type restored struct {
	core.Restored
	Missing []string // descriptions of what was not restored
	Open    string   // page of the restored record
}

// deletedLists reads the tenant's deleted lists if the visitor may restore them.
func (p *Page) deletedLists() (ds []core.Deleted, err error) {
	if !p.May(core.ActionListSettings) {
		return nil, nil
	}
	_, err = p.Get(apiDeletedLists, p.ofTenant("limit", "200"), &ds)
	return ds, err
}

// deletedTenants reads the deleted tenants that can still be restored.
func (p *Page) deletedTenants() (ds []core.Deleted, err error) {
	_, err = p.Get(apiDeletedTenants, url.Values{"limit": {"200"}}, &ds)
	return ds, err
}

// restoreList restores a deleted list.
func (o *Console) restoreList(p *Page) (web.HTML, error) {
	return p.restore(apiLists+"/"+p.ID()+"/restore", p.Path("lists", p.ID()), Link{p.T("Lists"), p.Path("lists")})
}

// restoreTenant restores a deleted tenant.
func (o *Console) restoreTenant(p *Page) (web.HTML, error) {
	return p.restore("/api/admin/tenants/"+p.ID()+"/restore", operatorPath("tenants", p.ID()),
		Link{p.T("Tenants"), operatorPath("tenants")})
}

func (p *Page) restore(path, open string, within Link) (web.HTML, error) {
	d := restored{Open: open}
	if err := p.Do(http.MethodPost, path, nil, &d.Restored); err != nil {
		return web.HTML{}, err
	}
	for _, l := range d.LeftOut {
		d.Missing = append(d.Missing, p.leftOut(l))
	}
	return p.Show("restored", View{Title: d.Name, Within: []Link{within}, Data: &d})
}

// leftOut describes what was not restored together with a record.
func (p *Page) leftOut(l core.LeftOut) string {
	switch l.Kind {
	case core.LeftOutDomain:
		return p.T("Another tenant has verified the domain {{name}}.", "name", l.Name)
	case core.LeftOutDKIMKey:
		return p.T("The DKIM key {{name}} was deleted.", "name", l.Name)
	case core.LeftOutSlug:
		return p.T("Another list uses the archive URL {{name}}.", "name", l.Name)
	case core.LeftOutPublicURL:
		return p.T("Another tenant uses the public URL {{name}}.", "name", l.Name)
	}
	return p.T("The sender {{name}} uses another tenant's domain.", "name", l.Name)
}
