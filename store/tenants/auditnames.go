package tenants

import (
	"context"
	"strings"

	"newsletterd/core"
)

// auditNouns maps the noun of an audited action to a query for the names of that noun's records. The query takes a JSON
// array of ids. The third column of its result holds the campaign that a job sends.
var auditNouns = map[string]string{
	"campaign": namesOf("campaign", "coalesce(nullif(r.name, ''), r.subject)", "r.id"),
	"job": namesOf("send_job", "(SELECT coalesce(nullif(name, ''), subject) FROM campaign_copy WHERE id = r.copy_id)",
		"r.campaign_id"),
	"dkim":             namesOf("dkim_key", "r.domain || ' (' || r.selector || ')'", "''"),
	"domain":           namesOf("sender_domain", "r.domain", "''"),
	"user":             namesOf("user", UserName, "''"),
	"role":             namesOf("user", UserName, "''"),
	"list":             withDeleted("list"),
	"template":         namesOf("template", "r.name", "''"),
	"theme":            namesOf("theme", "r.name", "''"),
	"segment":          namesOf("segment", "r.name", "''"),
	"tag":              namesOf("tag", "r.name", "''"),
	"media":            namesOf("media", "r.name", "''"),
	"import":           namesOf("import_job", "r.name", "''"),
	"client":           withDeleted("client"),
	"tenant":           withDeleted("tenant"),
	"model":            namesOf("model", "r.name", "''"),
	"webhook-client":   namesOf("webhook_client", "r.name", "''"),
	"invitation":       invitedNames,
	"webhook-endpoint": namesOf("webhook_endpoint", "r.name", "''"),
}

// invitedNames is a query for the addresses of open invitations and of people who accepted one and still have a role in
// its tenant. The audit log itself holds no addresses of people.
const invitedNames = `SELECT j.value AS id, coalesce((SELECT email FROM invitation WHERE id = j.value),
	(SELECT u.email FROM audit AS a INDEXED BY audit_object CROSS JOIN user AS u ON u.id = substr(a.actor, 6)
	WHERE a.object = j.value AND a.action LIKE 'invitation.accept.%' AND a.actor LIKE 'user:%' AND EXISTS
	(SELECT 1 FROM role WHERE user_id = u.id AND tenant_id = a.tenant_id) LIMIT 1), '') AS name, '' AS campaign_id
	FROM json_each(?) AS j`

// namesOf returns a query for the names and campaigns of a table's records with given ids. name and campaign are the
// column expressions.
func namesOf(table, name, campaign string) string {
	return "SELECT r.id, coalesce(" + name + ", '') AS name, " + campaign +
		" AS campaign_id FROM json_each(?) AS j CROSS JOIN " +
		table + " AS r ON r.id = j.value"
}

// withDeleted is like namesOf, for a table whose deleted records are kept for some time.
func withDeleted(table string) string {
	return strings.Replace(namesOf(table, "r.name", "''"), " FROM ", ", r.deleted_at > 0 AS deleted FROM ", 1)
}

// actorNouns maps the noun of each kind of actor to the noun of its records.
var actorNouns = map[string]string{"user": "user", "client": "client"}

// NameAudited sets in entries the names of the actors and records that still exist. It runs one query for each kind of
// record. The only error is core.ErrStorage.
func (s *Store) NameAudited(ctx context.Context, entries []core.AuditEntry) error {
	ids := map[string]core.Strings{}
	for i := range entries {
		e := &entries[i]
		noun, _, _ := strings.Cut(e.Action, ".")
		if auditNouns[noun] != "" {
			ids[noun] = append(ids[noun], e.Object)
		}
		kind, id, _ := strings.Cut(e.Actor, ":")
		if noun := actorNouns[kind]; noun != "" {
			ids[noun] = append(ids[noun], id)
		}
		if e.ClientID != "" {
			ids["client"] = append(ids["client"], e.ClientID)
		}
	}
	type named struct {
		ID         string `db:"id"`
		Name       string `db:"name"`
		CampaignID string `db:"campaign_id"`
		Deleted    bool   `db:"deleted"`
	}
	names := map[string]map[string]named{}
	for noun, list := range ids {
		var rows []named
		if err := s.All(ctx, &rows, auditNouns[noun], list.Column()); err != nil {
			return err
		}
		names[noun] = map[string]named{}
		for _, r := range rows {
			names[noun][r.ID] = r
		}
	}
	for i := range entries {
		e := &entries[i]
		noun, _, _ := strings.Cut(e.Action, ".")
		kind, id, _ := strings.Cut(e.Actor, ":")
		e.ActorName = names[actorNouns[kind]][id].Name
		e.ClientName = names["client"][e.ClientID].Name
		object := names[noun][e.Object]
		e.ObjectName, e.CampaignID, e.ObjectDeleted = object.Name, object.CampaignID, object.Deleted
	}
	return nil
}
