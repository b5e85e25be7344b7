package handlers

import (
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// audit serves /api/admin/audit.
type audit struct{ store *store.Store }

// auditFilter filters audit log entries.
type auditFilter struct {
	TenantID string       `query:"tenant_id" about:"Only changes of this tenant; empty: your only tenant or, for server administrators, all tenants"`
	Actor    string       `query:"actor" about:"Only changes by this actor, such as user:ID"`
	Action   string       `query:"action" about:"Only this action, such as list.update, or all of a kind, such as list"`
	Object   string       `query:"object" about:"Only changes of the record with this ID"`
	From     core.Instant `query:"from" about:"Only changes at or after this time"`
	Until    core.Instant `query:"until" about:"Only changes before this time"`
}

func (a audit) list(c *web.Call, in auditFilter, page core.Page) ([]core.AuditEntry, string, error) {
	tenant, err := web.TheTenant(c, in.TenantID)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := a.store.Audit(c, core.AuditFilter{
		TenantID: tenant, Actor: in.Actor, Action: in.Action, Object: in.Object, From: in.From, Until: in.Until,
	}, page)
	if err == nil {
		err = a.store.NameAudited(c, rows)
	}
	if err != nil || web.IsOperator(c) {
		return rows, next, err
	}
	return rows, next, a.hideOutsiders(c, tenant, rows)
}

// hideOutsiders removes names, addresses and clients of people outside the tenant, such as server administrators, from
// rows.
func (a audit) hideOutsiders(c *web.Call, tenant string, rows []core.AuditEntry) error {
	outside, err := web.Outsiders(c, tenant)
	for i := range rows {
		e := &rows[i]
		if outside(e.Actor) {
			e.Origin, e.ActorName, e.ClientID, e.ClientName = "", "", "", ""
		}
		if outside("user:" + e.Object) {
			if noun, _, _ := strings.Cut(e.Action, "."); noun == "user" || noun == "role" {
				e.ObjectName = ""
			}
		}
	}
	return err
}
