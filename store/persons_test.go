package store_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

const annKey = "ann@example.org"

// signUp subscribes an address to the list and confirms it.
func signUp(n *storetest.Seeder, email core.Email) {
	n.Helper()
	origin := core.Origin{Source: "form", Remote: "198.51.100.7", UserAgent: "Lynx"}
	_, row, err := n.Subscribe(n.Context(),
		members.SubscribeRequest{ListID: n.ListID, Email: email, Preferences: `{"city":"Ulm"}`, Origin: origin}, now0)
	n.Must(err)
	n.SQL("UPDATE confirm_token SET evidence = 'opted in from 198.51.100.7' WHERE id = ?", row)
	_, err = n.Confirm(n.Context(), n.Token(row, core.ProofMailed), origin, now0+1000)
	n.Must(err)
}

// personRows are rows of a person: ?1 is the address, ?2 the tenant, ?3 the user, ?4 another user and ?5 the
// subscriber.
var personRows = []string{
	"INSERT INTO recipient_page (job_no, first_seq, first_id, states, ids) VALUES (1, 2, ?5, x'02', " +
		"unhex(replace(?5, '-', '')))",
	"INSERT INTO attempt (job_no, seq, at, outcome, reply) VALUES (1, 2, 5, 'deferred', '450 ' || ?1)",
	"INSERT INTO link (job_no, no, url) VALUES (1, 1, 'https://shop.example/')",
	"INSERT INTO engagement (job_no, seq, link_no, first_at, last_at, times, machine) VALUES (1, 2, 0, 6, 6, 1, " +
		"1), (1, 2, 1, 7, 7, 1, 0)",
	"INSERT INTO provider_event (provider, event_key, tenant_id, message_id, event_type, email_key, occurred_at, " +
		"received_at, job_no, seq) VALUES ('p', CAST(?1 AS BLOB), ?2, 'm', 'delivery', ?1, 1, 1, 1, 2)",
	"INSERT INTO provider_event (provider, event_key, tenant_id, message_id, event_type, email_key, " +
		"occurred_at, received_at) VALUES ('q', CAST(?1 AS BLOB), ?2, 'm', 'open', ?1, 1, 1)",
	"INSERT INTO suppression (tenant_id, email_key, kind, created_at) VALUES (?2, ?1, 'complaint', 1)",
	"INSERT INTO disabled (email_key, reason, disabled_by, occurred_at, created_at) VALUES (?1, 'r', 'b', 1, 1)",
	"INSERT INTO disable_request (tenant_id, email, reason, occurred_at, created_at, due_at) VALUES (?2, ?1, " +
		"'r', 1, 1, 1)",
	"INSERT INTO throttle (key, count, expires_at) VALUES ('login ' || ?1, 1, 1), ('login ' || ?1 || " +
		"' 198.51.100.7', 1, 1), ('unsubscribe-token:' || ?1, 1, 1)",
	"INSERT INTO browser (id, user_id, epoch, remote, user_agent, auth_at, used_at, expires_at) VALUES ('b' || " +
		"?1, ?3, 0, '198.51.100.7', 'Lynx', 1, 1, 9)",
	"INSERT INTO family (id, kind, user_id, client_id, scope, remote, auth_at, created_at, used_at, expires_at) " +
		"VALUES ('f' || ?1, 'code', ?3, 'newsletterd', 'openid', '198.51.100.7', 1, 1, 1, 9)",
	"INSERT INTO refresh (hash, family_id, created_at, expires_at) VALUES (CAST(?1 AS BLOB), 'f' || ?1, 1, 9)",
	"INSERT INTO code (hash, family_id, user_id, client_id, redirect_uri, challenge, scope, auth_at, " +
		"created_at, expires_at) VALUES (CAST(?1 AS BLOB), 'x', ?3, 'c', 'u', 'c', 's', 1, 1, 9)",
	"INSERT INTO client_consent (user_id, client_id, scope, created_at) VALUES (?3, 'c', 'openid', 1)",
	"INSERT INTO user_token (id, purpose, hash, user_id, email_key, created_at, expires_at) VALUES ('t' || ?1, " +
		"'verify', CAST(?1 AS BLOB), ?3, ?1, 1, 9)",
	"INSERT INTO known_device (user_id, key, used_at) VALUES (?3, '198.51.100.7', 1)",
	"INSERT INTO totp (user_id, secret, created_at) VALUES (?3, CAST(?1 AS BLOB), 1)",
	"INSERT INTO recovery_code (user_id, hash) VALUES (?3, CAST(?1 AS BLOB))",
	"INSERT INTO passkey (id, user_id, rp_id, name, credential, public_key, sign_count, synced, created_at) VALUES " +
		"('p' || ?1, ?3, 'news.example.org', 'Phone ' || ?1, CAST(?1 AS BLOB), CAST(?1 AS BLOB), 1, 1, 1)",
	"INSERT INTO email_change (user_id, hash, old_key, email, email_key, created_at, expires_at) VALUES (?3, " +
		"CAST(?1 AS BLOB), ?1, 'new' || ?1, 'new' || ?1, 1, 9)",
	"INSERT INTO invitation (id, hash, tenant_id, role, email, email_key, invited_by, created_at, expires_at) " +
		"VALUES ('i' || ?1, CAST(?1 AS BLOB), '', 'viewer', ?1, ?1, 'command:x', 1, 9)",
	"INSERT INTO device (id, owner_id, name, created_at) VALUES ('d' || ?1, ?3, 'Phone', 1)",
	"INSERT INTO agent (id, owner_id, name, created_at) VALUES ('a' || ?1, ?3, 'Agent', 1)",
	"INSERT INTO model_usage (owner_id, bytes) VALUES (?3, 1)",
	"INSERT INTO model_file (no, owner_id, state, by_daemon, size, touched_at) VALUES (1 + (SELECT count(*) " +
		"FROM model_file), ?3, 1, 1, 1, 1)",
	"INSERT INTO model (id, owner_id, file_no, name, size, sha256, content_type, created_at, updated_at) VALUES " +
		"('m' || ?1, ?3, (SELECT max(no) FROM model_file), 'Mine', 1, '', '', 1, 1)",
	"INSERT INTO share (id, model_no, email, email_key, holder, created_at) VALUES ('s' || ?1, (SELECT max(no) " +
		"FROM model), 'friend@example.org', 'friend@example.org', 'e' || ?1, 1)",
	"INSERT INTO mail (kind, email, email_key, due_at, created_at) VALUES ('verify', ?1, ?1, 1, 1)",
	"INSERT INTO audit (at, actor, action, object, origin) VALUES (1, 'user:' || ?3, 'model.create', 'm', " +
		"'198.51.100.7')",
	"INSERT INTO user (id, email, email_key, name, created_at, updated_at) VALUES (?4, ?4, ?4, 'Friend', 1, 1)",
	"INSERT INTO model_file (no, owner_id, state, by_daemon, size, touched_at) VALUES (1 + (SELECT count(*) " +
		"FROM model_file), ?4, 1, 1, 1, 1)",
	"INSERT INTO model (id, owner_id, file_no, name, size, sha256, content_type, created_at, updated_at) VALUES " +
		"(?4, ?4, (SELECT max(no) FROM model_file), 'Theirs', 1, '', '', 1, 1)",
	"INSERT INTO share (id, model_no, user_id, holder, created_at) VALUES (?4, (SELECT max(no) FROM model), ?3, " +
		"'u' || ?3, 1)",
	"INSERT INTO share (id, model_no, email, email_key, holder, created_at) VALUES (?4 || 'e', (SELECT max(no) " +
		"FROM model), ?1, ?1, 'e' || ?4, 1)",
	"UPDATE user SET name = 'Name of ' || ?1, password_hash = 'Hash of ' || ?1 WHERE id = ?3",
	"UPDATE family SET user_agent = 'Lynx' WHERE user_id = ?3",
	"UPDATE code SET remote = '198.51.100.7', user_agent = 'Lynx' WHERE user_id = ?3",
	"UPDATE mail SET params = json_object('name', ?1) WHERE email_key = ?1 AND kind = 'verify'",
	"INSERT INTO import_job (id, tenant_id, list_id, name, status, created_by, created_at, touched_at) " +
		"SELECT 'ij', ?2, list_id, 'f', 'completed', 'user:x', 1, 1 FROM subscription WHERE id = ?5 ON CONFLICT DO " +
		"NOTHING",
	"INSERT INTO import_before (import_id, subscription_id, fields) VALUES ('ij', ?5, json_object('note', " +
		"json_object('was', 'Once ' || ?1)))",
	"INSERT INTO bulk_action (id, tenant_id, list_id, kind, state, expected, created_by, created_at) SELECT " +
		"'ba', ?2, list_id, 'remove', 'completed', 1, 'user:x', 1 FROM subscription WHERE id = ?5 ON CONFLICT " +
		"DO NOTHING",
	"INSERT INTO bulk_person (action_id, subscriber_id, at, was) VALUES ('ba', ?5, 1, json_object('email', ?1))",
	"INSERT INTO import_word (email_key, tenant_id, list_id, import_id, kind, at, said_at) VALUES (?1, ?2, '', 'ij', " +
		"'bounced', 1, 1)",
	"UPDATE consent SET reason = 'I am ' || ?1 WHERE subscription_id = ?5",
	"UPDATE outbox SET last_error = 'no ' || ?1 WHERE subscription_id = ?5",
	"UPDATE disable_request SET last_error = 'no ' || ?1 WHERE email = ?1",
	"UPDATE device SET name = 'Phone of ' || ?1 WHERE owner_id = ?3",
	"INSERT INTO client (id, name, client_type, scopes, grant_types, created_by, created_at, updated_at) VALUES " +
		"('c' || ?4, 'Shop', 'public', '[]', '[]', 'user:' || ?3, 1, 1)",
	"INSERT INTO webhook_endpoint (id, tenant_id, url, secret, created_by, disabled_at, created_at, updated_at) " +
		"VALUES ('e' || ?4, ?2, 'https://crm.example', x'', 'user:' || ?3, 1, 1, 1)",
	"INSERT INTO keeper (record, actor) VALUES ('c' || ?4, 'user:' || ?3), ('e' || ?4, 'user:' || ?3)",
	"INSERT INTO deleted_endpoint (id, tenant_id, list_id, name, url, events, secret, created_by, created_at, " +
		"disabled_reason) VALUES ('d' || ?4, ?2, '', '', 'https://crm.example', '[]', x'', 'user:' || ?3, 1, '')",
	"INSERT INTO segment (id, tenant_id, name, rule, revision, created_by, created_at, changed_by, updated_at) " +
		"VALUES ('a' || ?4, ?2, 'All of ' || ?4, '{}', 1, 'user:' || ?3, 1, 'user:' || ?3, 1)",
	"INSERT INTO tag (id, tenant_id, name, name_key, created_at, updated_at) VALUES ('t' || ?4, ?2, " +
		"'VIP ' || ?4, 'vip ' || ?4, 1, 1)",
	"INSERT INTO tagged (list_id, id, tag_no, at) SELECT list_id, id, (SELECT max(no) FROM tag), 1 " +
		"FROM subscription WHERE id = ?5",
	"INSERT INTO poll (no, tenant_id, campaign_id, number, question, field, show_results, closes_at) VALUES " +
		"(1, ?2, 'camp', 1, 'Which fruit?', '', 0, 0) ON CONFLICT DO NOTHING",
	"INSERT INTO poll_option (poll_no, number, text) VALUES (1, 1, 'Apples') ON CONFLICT DO NOTHING",
	"INSERT INTO poll_answer (poll_no, list_id, subscriber_id, option, at) SELECT 1, list_id, id, 1, 1 " +
		"FROM subscription WHERE id = ?5",
	"UPDATE agent SET name = 'Agent of ' || ?1 WHERE owner_id = ?3",
	"UPDATE model SET name = 'Face of ' || ?1, description = 'This is ' || ?1 WHERE owner_id = ?3",
}

// fillPerson gives an address a row in every table that has such rows, and returns the user's id.
func fillPerson(n *storetest.Seeder, email core.Email) string {
	n.Helper()
	ctx, key := n.Context(), email.Key()
	id := n.SubscriptionID(n.ListID, key)
	u := core.NewUser(email, now0)
	u.Roles = []core.Role{{Role: core.RoleTenantAdmin, TenantID: n.TenantID}}
	if err := n.AddUser(ctx, u, "hash", now0); err != nil {
		n.Fatal(err)
	}
	signUp(n, email)
	n.SQL("INSERT INTO campaign_copy (id, tenant_id, subject, created_at) VALUES (?, ?, 'News', 1) ON CONFLICT DO NOTHING",
		"camp", n.TenantID)
	n.SQL(`INSERT INTO send_job (id, tenant_id, list_id, copy_id, status, due_at, created_at, expanded, recipients,
		sent) VALUES ('job', ?, ?, 'camp', 'completed', 1, 1, 1, 3, 3)
		ON CONFLICT DO NOTHING`, n.TenantID, n.ListID)
	n.SQL(`INSERT INTO subscriber (list_id, email_key, id, email, word, word_at, block, block_at, preferences,
		created_at, changed_at)
		VALUES (?, ?, ?, ?, 'active', 1, 'complaint', 2, '{"city":"Ulm"}', 1, 1)`, n.ListID, key, id, string(email))
	n.SQL(`INSERT INTO recipient (job_no, seq, subscriber_id, email_key, state, reason) VALUES (1, 2, ?, ?, 2,
		'unknown: <' || ? || '>')`, id, key, string(email))
	friend := core.NewID()
	for _, q := range personRows {
		n.SQL(q, key, n.TenantID, u.ID, friend, id)
	}
	return u.ID
}

// find returns the columns of all tables that contain a text, or the bytes of an id.
func find(n *storetest.Seeder, text string) (found []string) {
	n.Helper()
	for table, columns := range n.Columns() {
		for _, c := range columns {
			if n.Count(`SELECT count(*) FROM "`+table+`" WHERE instr(lower(CAST("`+c+`" AS TEXT)), ?1) OR
				instr(lower(hex("`+c+`")), replace(?1, '-', ''))`, text) > 0 {
				found = append(found, table+"."+c)
			}
		}
	}
	slices.Sort(found)
	return found
}

func TestErasedPersonIsNowhere(t *testing.T) {
	n := storetest.SeedList(t, now0)
	ann := fillPerson(n, "Ann@Example.org")
	n.SQL("INSERT INTO recipient (job_no, seq, subscriber_id, email_key, state) VALUES (1, 1, '', " +
		"'first@example.org', 2), (1, 3, 'zzz', 'last@example.org', 2)")
	n.Active(n.ListID, "bob@example.org")
	id := n.SubscriptionID(n.ListID, annKey)
	words := []string{"ann@", "198.51.100.7", "lynx", "ulm", id[:18]}
	var held []string
	for _, word := range append(words, ann) {
		held = append(held, find(n, word)...)
	}
	for table, d := range personColumns {
		for _, c := range strings.Fields(d.person) {
			if !slices.Contains(held, table+"."+c) {
				t.Errorf("fillPerson puts nothing of the person into %s.%s", table, c)
			}
		}
	}

	d, err := n.ExportPerson(t.Context(), core.Person{Email: "ANN@example.org", Account: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"id":"` + ann, `"known_from":[{"key":"198.51.100.7"`, `"devices":[{"id":"dann@`, `"agents":[{"id":"aann@`,
		`"models":[{"id":"mann@`,
		`"shares":[{"id":"sann@`, `"email_changes":[{"email":"newann@`, `"passkeys":[{"id":"pann@`,
		`"invitations":[{"id":"iann@`, `"consents":[{`,
		`"what":"confirmed","means":"mailed","source":"form","remote":"198.51.100.7"`,
		`"subject":"News","state":"sent"`, `"reply":"450 ann@`, `"event_type":"delivery"`, `"event_type":"open"`,
		`"opened":[{"url":""`, `{"url":"https://shop.example/"`, `"kind":"complaint"`, `"kind":"disabled"`,
		`"events":[{`, `"requests":[{`, `"block":"complaint"`, `"action":"model.create"`, `"sign_ins":[{`,
		`"browsers":[{`, `"kind":"verify"`, `"kind":"confirm"`,
		`"segments":[{"id":"a`, `"tags":[{"tenant_id":"`, `"preferences":{"city":"Ulm"}`, `"role":"tenant_admin"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the export misses %s", want)
		}
	}
	for _, list := range []string{"consents", "attempts", "marks", "roles", "shared_with_me"} {
		if strings.Contains(string(text), `"`+list+`":null`) {
			t.Errorf("%s is null", list)
		}
	}

	rows, err := n.ErasePerson(t.Context(), core.Person{Email: "ann@example.org", Account: true}, "command", now0+5000)
	if err != nil || rows < 15 {
		t.Fatal(rows, err)
	}
	for _, word := range words {
		if found := find(n, word); found != nil {
			t.Errorf("%q is still in %v", word, found)
		}
	}
	// A person's actions stay in the audit log, under an id that no longer leads to a person. A model's bytes are
	// removed in steps.
	if found := find(n, ann); !slices.Equal(found, []string{"audit.actor", "model_file.owner_id"}) {
		t.Errorf("the user's id is in %v", found)
	}
	if n.Count("SELECT count(*) FROM engagement") != 0 {
		t.Error("what the person opened is still here")
	}
	if n.MemberStatus(n.ListID, "bob@example.org") != core.SubscriptionActive ||
		n.Count("SELECT count(*) FROM recipient WHERE "+
			"job_no = 1 AND state = 2") != 3 {
		t.Error("something of others went too")
	}
	if n.Count("SELECT count(*) FROM outbox WHERE subscription_id = ?", id) != 0 {
		t.Error("events are left")
	}
	if rows, err := n.ErasePerson(t.Context(), core.Person{Email: "ann@example.org", Account: true}, "command",
		now0+6000); err != nil || rows != 0 {
		t.Errorf("again: %d, %v", rows, err)
	}
}

// A block of an address remains after the address is erased, and can be lifted as before.
func TestErasedAddressStaysBlocked(t *testing.T) {
	n := storetest.SeedList(t, now0)
	ctx := t.Context()
	const email = core.Email(annKey)
	erase := func() {
		t.Helper()
		if rows, err := n.ErasePerson(ctx, core.Person{Email: email, TenantID: n.TenantID}, "command",
			now0); err != nil || rows == 0 {
			t.Fatal(rows, err)
		}
	}
	imported := func() core.ImportCounts {
		t.Helper()
		im, err := n.NewImport(ctx, n.ListID, core.SubscriptionActive, "file")
		if err != nil {
			t.Fatal(err)
		}
		if err := im.Add(ctx, []imports.ImportRow{{Email: email}}, now0); err != nil {
			t.Fatal(err)
		}
		return im.Counts
	}
	n.Active(n.ListID, email)
	erase()
	if c := imported(); c.Kept != 1 || n.Count("SELECT count(*) FROM subscription") != 0 {
		t.Errorf("an import brought the person back: %+v", c)
	}
	n.At(now0+1000).Active(n.ListID, email) // after the person's own request it works again permanently, on this list
	if imported().Unchanged != 1 {
		t.Error("who has come back is still gone")
	}
	if _, err := n.Disable(ctx, members.DisableRequest{Email: email, Reason: "r", DisabledBy: "b"},
		now0+2000); err != nil {
		t.Fatal(err)
	}
	erase()
	if find(n, annKey) != nil {
		t.Errorf("the address is in %v", find(n, annKey))
	}
	row := n.At(now0+3000).Request(n.ListID, email, "")
	if _, err := n.Confirm(ctx, n.Token(row, core.ProofMailed), core.Origin{},
		now0+3000); err == nil || n.Count("SELECT count(*) FROM subscription") != 0 {
		t.Errorf("a disabled address subscribed again: %v", err)
	}
	event := core.Event{
		ID: core.NewID(), Type: core.EventActivated, TenantID: n.TenantID, ListID: n.ListID, OccurredAt: now0 + 4000,
		Subscriber: core.EventSubscriber{ID: core.NewID(), Email: email, Status: "active"},
	}
	if err := n.ApplyEvent(ctx, tenants.Nonce{ClientID: "c", Nonce: "nonce-0000000001"}, event, now0+4000); err != nil {
		t.Fatal(err)
	}
	if sub, err := n.Subscriber(ctx, n.ListID, email); err != nil || sub.Mailable() {
		t.Errorf("a sender made a disabled address mailable: %+v, %v", sub, err)
	}
	test := func() error {
		return n.AddTestMail(ctx, &core.SendJob{ID: "j", TenantID: n.TenantID, ListID: n.ListID}, email, now0+4400)
	}
	if err := test(); core.KindOf(err) != core.Invalid {
		t.Errorf("a test mail to a disabled address: %v", err)
	}
	if lifted, err := n.Lift(ctx, email, "", "test", now0+4500); err != nil || len(lifted) == 0 {
		t.Fatal(lifted, err)
	}
	n.Must(test())
	n.At(now0+5000).Active(n.ListID, email)
	if n.MemberStatus(n.ListID, email) != core.SubscriptionActive {
		t.Error("what was lifted still holds")
	}
}

// An erasure by one tenant removes no data of other tenants.
func TestErasedOfOneTenant(t *testing.T) {
	n := storetest.SeedList(t, now0)
	other := storetest.Seed(t, n.Store).At(now0)
	other.NewList()
	n.Active(n.ListID, annKey)
	other.Active(other.ListID, annKey)
	if _, err := n.ErasePerson(t.Context(), core.Person{Email: annKey, TenantID: n.TenantID}, "command",
		now0+1); err != nil {
		t.Fatal(err)
	}
	d, err := n.ExportPerson(t.Context(), core.Person{Email: annKey})
	if err != nil || len(d.Subscriptions) != 1 || d.Subscriptions[0].TenantID != other.TenantID || len(d.Events) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = n.ExportPerson(t.Context(), core.Person{
		Email:    annKey,
		TenantID: n.TenantID,
	}); err != nil || len(d.Subscriptions)+len(d.Requests)+len(d.Mails)+len(d.Events) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// An endpoint's answer can repeat the address. The log of attempts, which an erasure doesn't search, masks the address.
func TestEndpointLogHoldsNoAddress(t *testing.T) {
	n := storetest.SeedList(t, now0)
	e := n.NewEndpoint(core.EndpointInput{URL: new("https://crm.example/hook")})
	n.Active(n.ListID, annKey)
	events, err := n.DueEvents(t.Context(), e.ID, now0, 1)
	n.Must(err)
	n.Must(n.FinishEvents(t.Context(), []tenants.EventResult{{
		Event: &events[0], Dead: true, Gone: true, Status: 410,
		Reason: "HTTP 410 no Ann@Example.org here",
	}}, now0+1))
	n.Must(n.ErasePerson(t.Context(), core.Person{Email: annKey}, "command", now0+2))
	if found := find(n, "ann@"); found != nil {
		t.Errorf("the address is in %v", found)
	}
	if n.Count("SELECT count(*) FROM endpoint_attempt WHERE reason = 'HTTP 410 no A***@Example.org here'") != 1 {
		t.Error("the log does not hold the answer")
	}
}

// A tenant's endpoints get an event that an erased address has unsubscribed, even if they had no event about it before.
// Endpoints of other tenants don't get one.
func TestErasedIsToldToEndpoints(t *testing.T) {
	n := storetest.SeedList(t, now0)
	hook := core.EndpointInput{URL: new("https://crm.example/hook")}
	mine := n.NewEndpoint(hook).ID
	storetest.Seed(t, n.Store).NewEndpoint(hook) // an endpoint of another tenant
	n.Active(n.ListID, annKey)
	for i := range 2 { // a repeated erasure keeps the pending events
		if _, err := n.ErasePerson(t.Context(), core.Person{Email: annKey}, "command", now0+core.Instant(1+i)); err != nil {
			t.Fatal(err)
		}
	}
	left, err := n.OutboxEvents(t.Context(), tenants.OutboxFilter{}, 0, 10)
	n.Must(err)
	if len(left) != 1 || left[0].EndpointID != mine || left[0].EventType != core.EventUnsubscribed ||
		left[0].OccurredAt <= now0 ||
		!strings.Contains(left[0].Body, `"status":"unsubscribed"`) {
		t.Errorf("%+v", left)
	}
}

// If an erased person subscribes again, the event about that has a later time than the unsubscribe event of the
// erasure, even if the clock was set back in between.
func TestErasedComesBackBehindItsLeaving(t *testing.T) {
	n := storetest.SeedList(t, now0)
	e := n.NewEndpoint(core.EndpointInput{URL: new("https://crm.example/hook")})
	n.At(now0+1000).Active(n.ListID, annKey)
	n.Must(n.ErasePerson(t.Context(), core.Person{Email: annKey}, "command", now0))
	n.At(now0+10).Active(n.ListID, annKey)
	told, err := n.OutboxEvents(t.Context(), tenants.OutboxFilter{EndpointID: e.ID}, 0, 10)
	n.Must(err)
	if len(told) != 2 || told[0].EventType != core.EventUnsubscribed || told[1].OccurredAt <= told[0].OccurredAt {
		t.Errorf("%+v", told)
	}
}
