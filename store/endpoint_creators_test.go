package store_test

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/schema"
	"newsletterd/store/storetest"
)

// The migration reads the creators of endpoints from the audit log.
func TestEndpointsHaveCreatorsAfterAnUpgrade(t *testing.T) {
	n := storetest.Seed(t, nil)
	e := n.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/")})
	n.SQL("UPDATE webhook_endpoint SET created_by = ''")
	for _, m := range schema.Migrations() {
		if m.Number == 100 {
			_, fill, _ := strings.Cut(m.SQL, "DEFAULT '';")
			fill, _, _ = strings.Cut(fill, "CREATE INDEX")
			n.SQL(fill)
		}
	}
	if now, err := n.Endpoint(t.Context(), e.ID); err != nil || now.CreatedBy != "test" {
		t.Errorf("created by %q, %v", now.CreatedBy, err)
	}
}
