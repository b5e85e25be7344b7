package handlers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// documentedOperation is the description of an operation in a document.
type documentedOperation struct {
	OperationID string `json:"operationId"`
	Responses   map[string]struct {
		Description string `json:"description"`
	} `json:"responses"`
	Refusals []documentedRefusal `json:"x-refusals"`
}

type documentedRefusal struct {
	Status      int    `json:"status"`
	Error       string `json:"error"`
	Field       string `json:"field"`
	Description string `json:"description"`
}

// Each refusal in the table appears in the description of an operation: in the list for programs, in the text of its
// status, and with the code that its area uses. An operation that can respond with 409 says when.
func TestRefusalsAreTold(t *testing.T) {
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	operations := map[string]documentedOperation{}
	for _, d := range documents {
		var doc struct {
			Paths map[string]map[string]documentedOperation
		}
		if err := json.Unmarshal(h.Document(d.Name), &doc); err != nil {
			t.Fatal(err)
		}
		for _, item := range doc.Paths {
			for _, op := range item {
				operations[op.OperationID] = op
				if _, clashes := op.Responses["409"]; clashes && !slices.ContainsFunc(op.Refusals,
					func(r documentedRefusal) bool { return r.Status == 409 }) {
					t.Errorf("%s may answer 409, and does not tell when", op.OperationID)
				}
				for _, r := range op.Refusals {
					shown[r.Field+": "+r.Description] = true
					if words := op.Responses[fmt.Sprint(r.Status)].Description; !strings.Contains(words,
						r.Description) {
						t.Errorf("%s: %q does not tell: %s", op.OperationID, words, r.Description)
					}
				}
			}
		}
	}
	for _, r := range h.Routes() {
		for _, one := range r.Info().Refusals {
			if !shown[one.Field+": "+one.When] {
				t.Errorf("no operation tells what %s says: %s: %s", r.OperationID(), one.Field, one.When)
			}
		}
	}
	for operation, want := range map[string]web.Refusal{
		"sendCampaign":  {Kind: core.Invalid, Code: "validation_error", Field: "scheduled_at"},
		"createToken":   {Kind: core.Invalid, Code: "invalid_grant"},
		"updateTenant":  {Kind: core.Conflict, Code: "domain_taken", Field: "domains"},
		"listTenants":   {Kind: core.Invalid, Code: "invalid_cursor", Field: "cursor"},
		"updateDevice":  {Kind: core.Conflict, Code: "conflict", Field: "representative"},
		"patchCampaign": {Kind: core.PreconditionRequired, Code: "precondition_required", Field: "If-Match"},
		"postVerify":    {Kind: core.Invalid},

		"publishImportedPosts": {Kind: core.Invalid, Code: "invalid_request", Field: "posts"},
	} {
		status := web.StatusOf(web.Member, want.Kind)
		if operation == "sendCampaign" {
			status = 422
		}
		found := false
		for _, r := range operations[operation].Refusals {
			found = found || r.Status == status && r.Error == want.Code && r.Field == want.Field
		}
		if !found {
			t.Errorf("%s does not tell %d %s of %q", operation, status, want.Code, want.Field)
		}
	}
}
