package main

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/sourcetest"
)

// tablesOf maps each table to the package of the store that it belongs to.
var tablesOf = map[string]string{
	"db": "audit home mark purpose_key schema_migration sessions",
	"tenants": "acme_cache consent_text deleted_domain deleted_endpoint dkim_key endpoint_attempt erased fed_list " +
		"keeper list list_count mail mail_server outbox pace provider quota seen_batch seen_event seen_nonce " +
		"sender_domain tag tagged template tenant theme webhook_client webhook_endpoint",
	"identity": "answered_challenge browser client client_consent code email_change family invitation known_device " +
		"passkey recovery_code refresh role signing_key throttle totp user user_token",
	"devices": "agent device model model_chunk model_file model_search model_total model_usage share",
	"members": "confirm_token consent disabled subscription sync sync_batch",
	"campaigns": "attachment attempt campaign campaign_copy campaign_list campaign_version correction " +
		"disable_request engaged_hour engagement frozen_body frozen_content further_list idempotency imported_issue " +
		"issue issue_search issue_text link link_proposal media media_chunk media_file provider_event queue_id " +
		"received_sync recipient recipient_word send_job subscriber suppression total",
	"mailed":   "recipient_page",
	"polls":    "poll poll_answer poll_option",
	"audience": "segment",
	"imports":  "import_before import_chunk import_job import_picture import_post import_word",
	"bulk":     "bulk_action bulk_person",
}

// spans lists the packages that may write tables of other packages, because they combine operations of several
// packages.
var spans = []string{"people"}

// across lists the uses of tables that break the rule, by package. Remove names when you can, and don't add any.
var across = map[string]string{
	"audience reads":   "subscription",
	"bulk writes":      "consent list subscriber subscription",
	"campaigns reads":  "consent disabled invitation role segment subscription user",
	"campaigns writes": "disabled erased subscription",
	"db reads":         "campaign list send_job subscription tenant user",
	"db writes":        "throttle",
	"devices reads":    "user",
	"files reads":      "media_chunk model_chunk",
	"identity writes":  "mail webhook_endpoint",
	"imports writes":   "consent list outbox subscription suppression",
	"members reads":    "bulk_action suppression",
	"members writes":   "bulk_person mail outbox send_job suppression",
	"tenants reads": "campaign campaign_copy campaign_version client confirm_token frozen_content invitation role " +
		"send_job subscriber subscription suppression sync sync_batch user user_token",
	"tenants writes": "user_token",
}

var tableUse = regexp.MustCompile(`\b(FROM|JOIN|UPDATE|INTO)\s+(?:main\.)?(\w+)`)

// TestTablesBelongToRooms checks that a package of the store reads only its own tables and those of packages that it
// may import, and writes only its own.
func TestTablesBelongToRooms(t *testing.T) {
	daemontest.Parallel(t)
	owner := map[string]string{}
	for room, tables := range tablesOf {
		for name := range strings.FieldsSeq(tables) {
			owner[name] = room
		}
	}
	schema, err := os.ReadFile("../../schema/whole.sql")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]bool{}
	for _, m := range regexp.MustCompile(`CREATE (?:VIRTUAL )?TABLE "?(\w+)`).FindAllSubmatch(schema, -1) {
		name := string(m[1])
		if tables[name] = true; owner[name] == "" {
			t.Errorf("the table %s belongs to no package: add it to tablesOf", name)
		}
	}
	for name, room := range owner {
		if !tables[name] {
			t.Errorf("tablesOf names %s of %s, which is not a table", name, room)
		}
	}
	found := map[string]map[string]bool{} // tables by "package reads" or "package writes"
	for _, f := range sourcetest.Files(t) {
		if f.Test() || path.Dir(f.Dir) != "store" || f.Dir == "store/storetest" {
			continue
		}
		room := path.Base(f.Dir)
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range tableUse.FindAllStringSubmatchIndex(text, -1) {
				of := owner[text[m[4]:m[5]]]
				writes := text[m[2]:m[3]] != "JOIN" && (text[m[2]:m[3]] != "FROM" ||
					strings.HasSuffix(strings.TrimSpace(text[:m[2]]), "DELETE"))
				if of == "" || of == room || slices.Contains(spans, room) ||
					!writes && slices.Contains(mayImport[f.Dir], "store/"+of) {
					continue
				}
				use := room + " reads"
				if writes {
					use = room + " writes"
				}
				if found[use] == nil {
					found[use] = map[string]bool{}
				}
				found[use][text[m[4]:m[5]]] = true
			}
			return true
		})
	}
	for use, tables := range found {
		for table := range tables {
			if !slices.Contains(strings.Fields(across[use]), table) {
				t.Errorf("store/%s %s, which belongs to store/%s", use, table, owner[table])
			}
		}
	}
	for use, tables := range across {
		for table := range strings.FieldsSeq(tables) {
			if !found[use][table] {
				t.Errorf("store/%s %s no more: remove it from across", use, table)
			}
		}
	}
}
