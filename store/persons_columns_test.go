package store_test

import (
	"slices"
	"strings"
	"testing"

	"newsletterd/store/storetest"
)

// personColumns lists the columns of each table by whether they hold personal data. Add each new column here. If it
// holds personal data, also add it to ExportPerson, ErasePerson and fillPerson. fillPerson makes the tests check that
// the other two handle it.
var personColumns = map[string]struct {
	person string // addresses, texts, account ids and origins of a person; removed with the person
	stays  string // ids that no longer lead to a person, keyed hashes, bytes of models (removed in steps)
	other  string
}{
	"acme_cache":     {other: "name data updated_at"},
	"agent":          {person: "owner_id name", other: "id version created_at"},
	"recipient_word": {other: "job_no word seq"},
	"attempt":        {person: "reply", other: "job_no seq at outcome"},
	"audit":          {person: "origin", stays: "actor object", other: "id at action tenant_id detail client_id"},
	"browser":        {person: "user_id remote user_agent", other: "id epoch amr auth_at used_at expires_at"},
	"bulk_action": {
		stays: "created_by undo_by done_id",
		other: "id tenant_id list_id kind rule state reason done expected changed restored announced created_at " +
			"finished_at tag_id",
	},
	"bulk_person": {person: "subscriber_id was", other: "action_id at"},
	"campaign": {
		stays: "created_by updated_by approved_by review_by writers",
		other: "no id tenant_id state name subject revision version approved_version last_approved approved_at copy_id " +
			"archive job_no review_wanted_at review_note review_asked review_missed created_at updated_at audit_seen " +
			"approved_by_send",
	},
	"keeper":        {person: "actor", other: "record"},
	"issue":         {other: "no list_id campaign_no slug title summary sent_at changed_at"},
	"issue_text":    {other: "issue_no words excerpt picture width height"},
	"correction":    {stays: "made_by", other: "campaign_no copy_id subject source text made_at"},
	"link_proposal": {stays: "made_by", other: "campaign_no link_no target made_at"},
	"campaign_list": {other: "list_id campaign_no"},
	"campaign_version": {
		stays: "saved_by", other: "no campaign_no version fields closed kept name begun_at saved_at client_id",
	},
	"campaign_copy": {other: "id tenant_id name subject body_html body_text template unsubscribe_url track_open " +
		"track_click totals created_at"},
	"client": {
		person: "created_by",
		other: "id tenant_id name client_type redirect_uris post_logout_redirect_uris scopes grant_types " +
			"token_endpoint_auth_method id_token_signed_response_alg id_token_claims first_party require_pkce secret_hash created_at " +
			"updated_at deleted_at old_secret_hash old_secret_until disabled_at epoch",
	},
	"client_consent": {person: "user_id", other: "client_id scope created_at"},
	"code": {person: "user_id remote user_agent", other: "hash family_id client_id browser_id " +
		"redirect_uri challenge nonce scope claims epoch amr auth_at created_at expires_at used_at"},
	"confirm_token": {
		person: "subscription_id email preferences remote user_agent evidence",
		other:  "id list_id generation source created_at text_version shared",
	},
	"consent": {
		person: "subscription_id remote user_agent reason",
		other:  "list_id at what means source text_version generation job_no taken_back",
	},
	"consent_text":   {other: "list_id version text created_at"},
	"deleted_domain": {other: "id tenant_id domain token verified_by verified_at created_at"},
	"deleted_endpoint": {
		person: "created_by", other: "id tenant_id list_id name url events secret created_at disabled_reason",
	},
	"device": {
		person: "owner_id name",
		other:  "id representative created_at unpaired_at agent_id registered registered_at",
	},
	"disable_request": {
		person: "email last_error",
		other:  "id tenant_id reason occurred_at created_at due_at tries list_id",
	},
	"disabled":         {person: "email_key", other: "tenant_id reason disabled_by occurred_at created_at"},
	"dkim_key":         {other: "id tenant_id domain selector algorithm status public private created_at updated_at"},
	"email_change":     {person: "user_id old_key email email_key", other: "hash created_at expires_at"},
	"endpoint_attempt": {other: "id endpoint_id event_id event_type at outcome status took_ms reason"},
	"engagement":       {other: "job_no seq link_no first_at last_at times machine unclear first_read last_read class"},
	"erased":           {stays: "hash", other: "tenant_id kind created_at"},
	"family": {person: "user_id remote user_agent", other: "id kind client_id tenant_id scope claims " +
		"epoch amr browser_id auth_at created_at used_at expires_at revoked_at"},
	"fed_list": {other: "list_id client_id since"},
	"invitation": {
		person: "email email_key", stays: "invited_by",
		other: "id hash tenant_id role created_at expires_at",
	},
	"import_post": {
		other: "import_id no title summary slug author kind posted_at draft paid body issue_no fetching",
	},
	"import_picture": {other: "import_id no address state reason media_id"},
	"imported_issue": {other: "issue_no source author kind body body_sum tenant_id old_path site"},
	"import_before":  {person: "subscription_id fields", other: "import_id"},
	"import_chunk":   {stays: "data", other: "import_id kind no"},
	"import_word":    {person: "email_key", stays: "import_id", other: "tenant_id list_id kind reason at said_at"},
	"import_job": {
		stays: "created_by done_id undo_by",
		other: "brought undo_status undone_at undo_removed undo_pending undo_kept " +
			"replaced replaced_bytes replaced_unkept undo_restored undo_unrestored " +
			"pictures pictures_skipped post_bytes relative_posts site " +
			"unsubscribed bounced complained suppressed not_permitted suppress may_end may_suppress barred said " +
			"undo_resumed undo_lifted tagged new_tags tags_skipped made_tags undo_untagged " +
			"id tenant_id list_id name tool posts posts_skipped bytes status dry_run keep_fields known_only " +
			"no_address typos subscriber_status source mapping lines added updated unchanged kept contradicted " +
			"pending failed evidence " +
			"evidence_unreadable evidence_future sync_id created_at queued_at started_at finished_at failure_reason " +
			"touched_at announced done_rows",
	},
	"idempotency":  {other: "tenant_id key body_hash job_id expires_at"},
	"known_device": {person: "user_id key", other: "used_at"},
	"list_count":   {other: "list_id day active pending unsubscribed bounced complaint suppressed mailable"},
	"engaged_hour": {other: "job_no hour opened clicked"},
	"total":        {other: "job_no link_no people unclear scanners"},
	"link":         {other: "job_no no url clicked machine_clicked target mended_at"},
	"list": {
		other: "id tenant_id name status confirm_token confirm_floor require_mailed_proof sync_removes_absent created_at " +
			"updated_at deleted_at language description consent_text fields mail_texts subscribe_redirect_url " +
			"confirm_redirect_url unsubscribe_redirect_url archive slug import_undone signup_tag_id",
	},
	"mail": {
		person: "email email_key params",
		other:  "id kind tenant_id list_id token_id state tries due_at created_at finished_at reason",
	},
	"attachment":  {other: "copy_id place name file_no"},
	"mail_server": {stays: "relay secret mail_from", other: "id changed_at"},
	"mark":        {other: "name value"},
	"media": {
		stays: "created_by", other: "id tenant_id name mail_no full_no alt decorative created_at updated_at",
	},
	"media_chunk": {other: "file_no chunk_no data"},
	"media_file":  {other: "no tenant_id sha256 type width height bytes state touched_at"},
	"model": {
		person: "owner_id name description",
		other:  "no id file_no size sha256 content_type created_at updated_at visibility",
	},
	"model_chunk": {stays: "data", other: "file_no chunk_no"},
	"model_total": {other: "id bytes"},
	"model_file":  {stays: "owner_id", other: "no state by_daemon size chunks touched_at"},
	"model_usage": {person: "owner_id", other: "bytes"},
	"outbox": {
		person: "subscription_id body last_error",
		other:  "id event_id event_type tenant_id list_id occurred_at due_at tries failed_at dead_at revived_at endpoint_id",
	},
	"pace":        {other: "scope width parts"},
	"poll":        {other: "no tenant_id campaign_id number question field show_results closes_at closed_at"},
	"poll_option": {other: "poll_no number text answers"},
	"poll_answer": {person: "subscriber_id", other: "poll_no list_id option changes at"},
	"provider":    {other: "name kind tenant_id secret old_secret topics disabled_at created_at updated_at"},
	"provider_event": {
		person: "email_key",
		other:  "id provider event_key tenant_id message_id event_type bounce_type occurred_at received_at job_no seq",
	},
	"passkey": {
		person: "user_id name credential public_key", other: "id rp_id sign_count synced created_at used_at",
	},
	"answered_challenge": {other: "hash expires_at"},
	"recovery_code":      {person: "user_id hash"},
	"totp":               {person: "user_id secret", other: "created_at confirmed_at last_step"},
	"purpose_key":        {other: "name secret created_at"},
	"queue_id":           {other: "id job_no seq sent_at"},
	"quota":              {other: "scope day used"},
	"received_sync": {
		stays: "removed_to",
		other: "no tenant_id sync_id list_id client_id batch_total batches occurred_at removing finished_at",
	},
	"home":         {other: "no mark marked_at"},
	"frozen_body":  {other: "no hash body"},
	"further_list": {other: "job_no place list_id after_seq"},
	"frozen_content": {other: "copy_id list_name list_names tenant_name postal_address language mail_from from_name " +
		"reply_to template resolved template_html template_text layout_html layout_text rule"},
	"recipient": {
		person: "subscriber_id email_key reason",
		other:  "job_no seq state tries due_at finished_at ambiguous marks",
	},
	"recipient_page":   {person: "first_id ids", other: "job_no first_seq states"},
	"refresh":          {other: "hash family_id created_at expires_at used_at successor"},
	"role":             {person: "user_id", other: "role tenant_id created_at pending"},
	"schema_migration": {other: "number name checksum applied_at"},
	"seen_batch":       {other: "id tenant_id sync_id batch_no expires_at"},
	"seen_event":       {other: "id tenant_id event_id expires_at"},
	"seen_nonce":       {other: "id client_id nonce expires_at"},
	"send_job": {
		stays: "created_by expanded_to",
		other: "no id tenant_id list_id copy_id campaign_id status scheduled_at window_start window_end due_at retry_of " +
			"created_at started_at finished_at failure_reason transport paused_at pause_reason expanded recipients sent " +
			"failed skipped " +
			"ambiguous deferred delivered gives_up_at bounced complained opened clicked unsubscribed hard_bounced " +
			"machine_opened machine_clicked unstoppable tracked people_opened unclear_opened scanner_opened " +
			"first_few first_until lists narrowing expected duplicates excluded paged",
	},
	"theme": {
		other: "id tenant_id name base light dark font heading_font size heading_weight width padding radius masthead " +
			"logo_url logo_width footer_text postal_address social created_at updated_at audit_seen",
	},
	"segment": {
		person: "created_by changed_by", other: "id tenant_id name rule revision created_at updated_at",
	},
	"tag":    {other: "no id tenant_id name name_key created_at updated_at"},
	"tagged": {person: "id", other: "list_id tag_no at"},
	"sender_domain": {
		other: "id tenant_id domain token verified_by verified_at checked_at check_result found_at created_at " +
			"updated_at",
	},
	"sessions":    {other: "token data expiry"},
	"share":       {person: "user_id email email_key holder", other: "id model_no permission created_at"},
	"signing_key": {other: "kid alg private created_at active_at retired_at expires_at"},
	"subscriber": {
		person: "email_key id email preferences",
		other: "list_id word word_at block block_at soft_bounces soft_at doubted_at sync_no created_at changed_at " +
			"joined_at",
	},
	"subscription": {
		person: "id email email_key preferences",
		other:  "list_id status generation means created_at changed_at event_at asked_at heard_at",
	},
	"suppression": {person: "email_key", stays: "import_id", other: "tenant_id kind reason created_at"},
	"sync":        {other: "id tenant_id list_id batch_total due_at started_at finished_at failed_at reason"},
	"sync_batch":  {stays: "from_id to_id", other: "sync_id batch_no due_at tries done_at"},
	"template":    {other: "tenant_id name id layout body_html body_text created_at updated_at audit_seen"},
	"tenant": {
		other: "id name domains status mail_from mail_from_name reply_to postal_address public_url brand_name brand_color " +
			"brand_logo_url brand_dark_logo_url created_at updated_at deleted_at privacy_url language mail_texts relays relay_secrets " +
			"send_limits no_tracking totals_only tracking_consent approval first_few test_addresses time_zone",
	},
	"throttle": {person: "key", other: "count expires_at"},
	"user": {
		person: "id email email_key name password_hash",
		other:  "email_verified self_registered epoch language disabled_at last_login_at created_at updated_at",
	},
	"user_token":     {person: "user_id email_key", other: "id purpose hash created_at expires_at used_at"},
	"webhook_client": {other: "id tenant_id name secret old_secret disabled_at created_at updated_at"},
	"webhook_endpoint": {
		person: "created_by",
		other: "id tenant_id list_id name url events secret old_secret old_until failing_since " +
			"disabled_at disabled_reason created_at updated_at waiting waiting_bytes dropped_id",
	},
}

func TestEachColumnIsOrIsNotAboutPersons(t *testing.T) {
	tables := storetest.Open(t).Columns()
	for table, there := range tables {
		d := personColumns[table]
		said := strings.Fields(d.person + " " + d.stays + " " + d.other)
		slices.Sort(said)
		slices.Sort(there)
		if !slices.Equal(said, there) {
			t.Errorf("say in personColumns of each column of %s whether it is about a person: it has %q, and said "+
				"is %q", table, there, said)
		}
	}
	for table := range personColumns {
		if tables[table] == nil {
			t.Errorf("there is no table %s", table)
		}
	}
}
