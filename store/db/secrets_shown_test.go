package db

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shownColumns lists, for each watched table, the columns that the audit log shows unmasked. All other columns are
// BLOBs or listed in maskedColumns. Add each new column to one of the two.
var shownColumns = map[string]string{
	"client": "tenant_id name client_type redirect_uris post_logout_redirect_uris scopes grant_types " +
		"token_endpoint_auth_method id_token_signed_response_alg id_token_claims first_party " +
		"require_pkce deleted_at old_secret_until created_by disabled_at",
	"dkim_key": "tenant_id domain selector algorithm status public",
	"import_job": "tenant_id list_id name bytes status dry_run keep_fields known_only subscriber_status source mapping lines " +
		"site added updated no_address typos relative_posts " +
		"unchanged kept contradicted pending failed evidence evidence_unreadable evidence_future sync_id created_by " +
		"started_at finished_at failure_reason announced done_id done_rows brought undo_status undo_by undone_at " +
		"undo_removed undo_pending undo_kept replaced replaced_bytes replaced_unkept undo_restored undo_unrestored " +
		"unsubscribed bounced complained suppressed not_permitted suppress may_end may_suppress barred said " +
		"undo_resumed undo_lifted tagged new_tags tags_skipped made_tags undo_untagged tool posts posts_skipped " +
		"pictures pictures_skipped post_bytes",
	"campaign": "audit_seen approved_by_send tenant_id state name subject version approved_version last_approved approved_by approved_at " +
		"copy_id archive job_no writers review_by review_wanted_at review_note review_asked review_missed " +
		"created_by updated_by",
	"invitation": "tenant_id role invited_by expires_at",
	"list": "tenant_id name status confirm_token confirm_floor require_mailed_proof sync_removes_absent deleted_at " +
		"language description consent_text fields mail_texts subscribe_redirect_url confirm_redirect_url " +
		"unsubscribe_redirect_url archive slug import_undone signup_tag_id",
	"tag":      "tenant_id name",
	"model":    "owner_id size sha256 content_type visibility",
	"share":    "user_id permission",
	"provider": "name kind tenant_id topics disabled_at",
	"theme": "audit_seen tenant_id name base light dark font heading_font size heading_weight width padding radius masthead logo_url " +
		"logo_width footer_text postal_address social",
	"sender_domain": "tenant_id domain token verified_by verified_at checked_at check_result found_at",
	"mail":          "kind tenant_id list_id state tries due_at finished_at reason",
	"outbox": "event_id event_type tenant_id list_id subscription_id occurred_at due_at tries failed_at dead_at last_error " +
		"revived_at endpoint_id",
	"send_job": "tenant_id list_id copy_id campaign_id status scheduled_at window_start window_end due_at retry_of started_at " +
		"finished_at failure_reason paused_at pause_reason expanded recipients sent failed skipped deferred created_by " +
		"expanded_to settled bounced complained opened clicked machine_opened machine_clicked unstoppable unsubscribed " +
		"tracked people_opened unclear_opened scanner_opened " +
		"expand_from soft_bounced delivered ambiguous hard_bounced gives_up_at first_few first_until transport lists narrowing expected duplicates excluded " +
		"paged",
	"signing_key": "alg active_at retired_at expires_at",
	"template":    "tenant_id name layout body_html body_text audit_seen",
	"tenant": "name domains status mail_from mail_from_name reply_to postal_address public_url brand_name brand_color " +
		"brand_logo_url brand_dark_logo_url deleted_at relays send_limits mail_texts privacy_url " +
		"language no_tracking totals_only tracking_consent approval first_few time_zone",
	"user":             "email_verified disabled_at self_registered language",
	"webhook_client":   "tenant_id name disabled_at",
	"webhook_endpoint": "tenant_id list_id name url events old_until failing_since disabled_at disabled_reason created_by",
}

// TestTheTrailShowsNoSecrets checks that each column of a watched table is classified as shown or masked. It fills
// every column, and no masked value may appear in the audit entry of that change.
func TestTheTrailShowsNoSecrets(t *testing.T) {
	n := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	for table, shown := range shownColumns {
		var columns []struct{ Name, Type string }
		must(t, n.All(t.Context(), &columns, "SELECT name, type FROM pragma_table_info(?)", table))
		row := map[string]any{}
		for _, c := range columns {
			hidden := c.Type == "BLOB" || slices.Contains(maskedColumns[table], c.Name)
			listed := slices.Contains(strings.Fields(shown), c.Name) || slices.Contains(unaudited, c.Name)
			if hidden == listed {
				t.Errorf("%s.%s: shown %v, masked %v", table, c.Name, listed, hidden)
			}
			switch {
			case c.Type == "BLOB":
				row[c.Name] = []byte("a secret")
			case hidden:
				row[c.Name] = "a secret"
			}
		}
		must(t, n.Update(t.Context(), func(tx *Tx) error {
			tx.watched = watched{table: table, id: "none", before: row}
			detail, err := tx.changes()
			if strings.Contains(detail, "a secret") || len(row) > 0 && !strings.Contains(detail, Masked) {
				t.Errorf("%s: %s", table, detail)
			}
			return err
		}))
	}
}
