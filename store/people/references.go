package people

import (
	"context"
	"slices"
	"strings"
)

// Noun is a kind of record that commands find by an id, the start of an id, or a name.
type Noun string

// Each noun is also the word for the record in messages.
const (
	NounTenant        Noun = "tenant"
	NounList          Noun = "list"
	NounClient        Noun = "client"
	NounUser          Noun = "user"
	NounTemplate      Noun = "template"
	NounTheme         Noun = "theme"
	NounSegment       Noun = "segment"
	NounTag           Noun = "tag"
	NounJob           Noun = "job"
	NounCampaign      Noun = "campaign"
	NounWebhookClient Noun = "webhook client"
	NounEndpoint      Noun = "endpoint"
	NounDKIMKey       Noun = "DKIM key"
	NounDomain        Noun = "domain"
	NounDevice        Noun = "device"
	NounAgent         Noun = "agent"
	NounModel         Noun = "model"
	NounShare         Noun = "share"
	NounToken         Noun = "token"
	NounInvitation    Noun = "invitation"
	NounEvent         Noun = "event"
	NounImport        Noun = "import"
	NounMedia         Noun = "image"
	NounBulk          Noun = "bulk action"
	NounDeletedTenant Noun = "deleted tenant"
	NounDeletedList   Noun = "deleted list"
)

// Reference describes a record in enough detail to choose it among several.
type Reference struct {
	ID       string `db:"id"`
	Name     string `db:"name"`
	TenantID string `db:"tenant_id"` // empty means no tenant
}

// MinReference is the minimum length of an id prefix that can identify a record.
const MinReference = 4

// ReferenceQueries holds, for each noun, a query over all its records with the columns of Reference.
var ReferenceQueries = map[Noun]string{
	NounTenant:        "SELECT id, name, '' AS tenant_id FROM tenant WHERE deleted_at = 0",
	NounList:          "SELECT id, name, tenant_id FROM list WHERE deleted_at = 0",
	NounClient:        "SELECT id, name, tenant_id FROM client WHERE deleted_at = 0",
	NounUser:          "SELECT id, name, '' AS tenant_id FROM user",
	NounTemplate:      "SELECT id, name, tenant_id FROM template",
	NounTheme:         "SELECT id, name, tenant_id FROM theme",
	NounSegment:       "SELECT id, name, tenant_id FROM segment",
	NounTag:           "SELECT id, name, tenant_id FROM tag",
	NounJob:           "SELECT j.id, c.name, j.tenant_id FROM send_job j JOIN campaign_copy c ON c.id = j.copy_id",
	NounCampaign:      "SELECT id, iif(name = '', subject, name) AS name, tenant_id FROM campaign",
	NounWebhookClient: "SELECT id, name, tenant_id FROM webhook_client",
	NounEndpoint:      "SELECT id, name, tenant_id FROM webhook_endpoint",
	NounDKIMKey:       "SELECT id, domain AS name, tenant_id FROM dkim_key",
	NounDomain:        "SELECT id, domain AS name, tenant_id FROM sender_domain",
	NounDevice:        "SELECT id, name, '' AS tenant_id FROM device WHERE unpaired_at = 0",
	NounAgent:         "SELECT id, name, '' AS tenant_id FROM agent",
	NounModel:         "SELECT id, name, '' AS tenant_id FROM model",
	NounShare:         "SELECT id, '' AS name, '' AS tenant_id FROM share",
	NounInvitation:    "SELECT id, email AS name, tenant_id FROM invitation",
	NounToken:         "SELECT id, '' AS name, '' AS tenant_id FROM family WHERE kind = 'admin'",
	NounImport:        "SELECT id, name, tenant_id FROM import_job WHERE status <> 'deleted'",
	NounMedia:         "SELECT id, name, tenant_id FROM media",
	NounBulk:          "SELECT id, '' AS name, tenant_id FROM bulk_action",
	NounDeletedTenant: "SELECT id, name, '' AS tenant_id FROM tenant WHERE deleted_at > 0",
	NounDeletedList: "SELECT l.id, l.name, l.tenant_id FROM list l JOIN tenant t ON t.id = l.tenant_id AND t.deleted_at = 0 " +
		"WHERE l.deleted_at > 0",
	NounEvent: "SELECT DISTINCT event_id AS id, '' AS name, tenant_id FROM outbox",
}

// References returns up to limit records whose id or name is word. If word has at least MinReference characters, it
// also returns records whose id starts with word. ASCII case in names is ignored, unless a record has exactly this
// name. If tenantID is not empty, References leaves out the records of other tenants. An empty word matches every
// record. Its only error is core.ErrStorage.
func (s *Store) References(ctx context.Context, noun Noun, word, tenantID string, limit int) (refs []Reference,
	err error,
) {
	begin, end := "", ""
	if len(word) >= MinReference && strings.Trim(strings.ToLower(word), "0123456789abcdef-") == "" {
		begin = strings.ToLower(word)
		end = begin + "g" // sorts after all ids that start with begin, because the last hex digit is f
	}
	const matching = ` WHERE (?1 = '' OR tenant_id IN (?1, ''))
		AND (?2 = '' OR name = ?2 COLLATE NOCASE OR id = ?2 OR (?3 <> '' AND id >= ?3 AND id < ?4)) ORDER BY name = ?2 DESC, id
		LIMIT +?5`
	err = s.All(ctx, &refs, "SELECT id, name, tenant_id FROM ("+ReferenceQueries[noun]+")"+matching, tenantID, word,
		begin,
		end, limit)
	if err != nil || len(refs) == 0 || refs[0].Name != word {
		return refs, err
	}
	return slices.DeleteFunc(refs, func(r Reference) bool {
		return r.Name != word && r.ID != word && (begin == "" || !strings.HasPrefix(r.ID, begin))
	}), nil
}
