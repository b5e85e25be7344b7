package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// auditLine is an entry of the audit trail as the page shows it.
type auditLine struct {
	core.AuditEntry
	Fields []auditField
}

// auditField is what a change has made of a field.
type auditField struct{ Name, Before, After string }

// auditTrail shows who has changed what, the newest first.
func (o *Console) auditTrail(p *Page) (web.HTML, error) {
	q := p.ofTenant("limit", "30", "cursor", p.Query("cursor"), "action", p.Query("action"), "actor", p.Query("actor"),
		"object", p.Query("object"))
	var found []core.AuditEntry
	next, err := p.Get("/api/admin/audit", q, &found)
	if err != nil {
		return web.HTML{}, err
	}
	lines := make([]auditLine, len(found))
	for i, e := range found {
		lines[i] = auditLine{e, auditFields(e.Changes)}
	}
	return p.showSettings("audit", "audit", View{State: p.T("Who has changed what, the newest first.")}, filled{}, struct {
		Lines                 []auditLine
		Action, Actor, Object string
		Pager                 pager
	}{lines, p.Query("action"), p.Query("actor"), p.Query("object"), p.Pager(next)})
}

// auditFields are the fields of a change in the order of their names.
func auditFields(changes core.AuditChanges) (fields []auditField) {
	var all map[string]core.AuditChange
	if json.Unmarshal([]byte(changes), &all) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fields = append(fields, auditField{name, auditValue(all[name].Before), auditValue(all[name].After)})
	}
	return fields
}

// auditValue writes a value of a record for people: texts without quotes, nothing as "–".
func auditValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = auditValue(v[i])
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		b, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(b)
	}
	return fmt.Sprint(v)
}
