package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"newsletterd/core"
)

// auditField is a changed field in an audit log entry.
type auditField struct{ Name, Before, After string }

// auditNames holds the labels of fields that appear only in the audit log. The other labels are in fieldNames. A field
// without a label is shown by its API name.
var auditNames = map[string]string{
	"approval":             "Approval",
	"archive":              "Public archive",
	"confirm_token":        "Confirmation method",
	"content":              "Content",
	"events":               "Events",
	"exclude_list_ids":     "Excluded lists",
	"exclude_segment_ids":  "Excluded segments",
	"first_few":            "Send to 500 recipients first",
	"layout":               "Layout",
	"mail_texts":           "Emails",
	"no_tracking":          "Tracking turned off",
	"require_mailed_proof": "Send only to people who confirmed by email",
	"role":                 "Role",
	"roles":                "Roles",
	"rule":                 "Conditions",
	"segment_id":           "Segment",
	"state":                "Status",
	"status":               "Status",
	"sync_removes_absent":  "Unsubscribe people missing from a full sync",
	"totals_only":          "Totals only",
	"tracking":             "Tracking",
	"tracking_consent":     "Per subscriber with consent, otherwise totals only",
}

// auditWords maps values of a field to their labels.
var auditWords = map[string]map[string]string{
	"approval": {core.ApprovalNone: "Not required", core.ApprovalSecondPerson: "By a second person"},
	"archive":  {core.ArchiveShown: "Shown", core.ArchiveHidden: "Hidden"},
	"status": {
		core.TenantActive: "Active", core.TenantSuspended: "Suspended", core.ListInactive: "Inactive",
	},
	"tracking": {
		core.TrackingOff: "Off", core.TrackingTotals: "Totals only",
		core.TrackingPersons: "Opens and clicks per subscriber",
	},
}

// auditSwitches lists the boolean fields that are shown as on or off.
var auditSwitches = []string{
	"first_few", "no_tracking", "require_mailed_proof", "sync_removes_absent", "totals_only", "tracking_consent",
}

// auditFields returns the changed fields in an entry, sorted by name.
func (p *Page) auditFields(e *core.AuditEntry) (fields []auditField) {
	var all map[string]core.AuditChange
	if json.Unmarshal([]byte(e.Changes), &all) != nil {
		return nil
	}
	noun, _, _ := strings.Cut(e.Action, ".")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fields = append(fields, auditField{
			cmp.Or(p.FieldName(name), p.T(auditNames[name]), name),
			p.auditValue(noun, name, all[name].Before), p.auditValue(noun, name, all[name].After),
		})
	}
	return fields
}

// auditValue formats the value of a field. noun is the kind of record that was changed.
func (p *Page) auditValue(noun, name string, v any) string {
	text, isText := v.(string)
	onOff := slices.Contains(auditSwitches, name) || name == "archive" && noun == "list"
	switch {
	case onOff && v == nil:
		return p.T("off")
	case onOff:
		return p.T("on")
	case isText && name == "status" && noun == "subscription":
		return p.PersonBadge(text).Text
	case isText && name == "state":
		return p.CampaignBadge(core.CampaignState(text)).Text
	case isText && name == "role":
		return p.RoleTitle(text)
	case auditWords[name][text] != "":
		return p.T(auditWords[name][text])
	}
	return auditValue(v)
}

// auditValue formats a value in a record: strings without quotes, and absent values as "–".
func auditValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case string:
		return core.NamedText(v)
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
