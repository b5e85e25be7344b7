package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
)

func (n newsletter) tables() (names []string) {
	n.Helper()
	err := n.all(n.Context(), &names, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
		AND name NOT LIKE 'model_search%'`)
	if err != nil {
		n.Fatal(err)
	}
	return names
}

const annKey = "ann@example.org"

// fillPerson gives an address a row in every table that has such rows, and returns the user's id.
func (n newsletter) fillPerson(email core.Email) string {
	n.Helper()
	ctx, key := n.Context(), email.Key()
	id := n.SubscriptionID(n.list, key)
	u := core.NewUser(email, now0)
	u.Roles = []core.Role{{Role: core.RoleTenantAdmin, TenantID: n.tenant}}
	if err := n.AddUser(ctx, u, "hash", now0); err != nil {
		n.Fatal(err)
	}
	origin := core.Origin{Source: "form", Remote: "198.51.100.7", UserAgent: "Lynx"}
	_, row, err := n.Subscribe(ctx,
		SubscribeRequest{ListID: n.list, Email: email, Preferences: `{"city":"Ulm"}`, Origin: origin}, now0)
	if err != nil {
		n.Fatal(err)
	}
	n.sql("UPDATE confirm_token SET evidence = 'opted in from 198.51.100.7' WHERE id = ?", row)
	if _, err := n.Confirm(ctx, n.token(row, core.ProofMailed), origin, now0+1000); err != nil {
		n.Fatal(err)
	}
	n.sql("INSERT INTO campaign (id, tenant_id, subject, created_at) VALUES (?, ?, 'News', 1) ON CONFLICT DO NOTHING",
		"camp", n.tenant)
	n.sql(`INSERT INTO send_job (id, tenant_id, list_id, campaign_id, status, due_at, created_at, expanded, recipients,
		sent) VALUES ('job', ?, ?, 'camp', 'completed', 1, 1, 1, 3, 3)
		ON CONFLICT DO NOTHING`, n.tenant, n.list)
	n.sql(`INSERT INTO subscriber (list_id, email_key, id, email, word, word_at, block, block_at, preferences,
		created_at, changed_at)
		VALUES (?, ?, ?, ?, 'active', 1, 'complaint', 2, '{"city":"Ulm"}', 1, 1)`, n.list, key, id, string(email))
	n.sql(`INSERT INTO recipient (job_no, seq, subscriber_id, email_key, state, reason) VALUES (1, 2, ?, ?, 2,
		'unknown: <' || ? || '>')`, id, key, string(email))
	friend := core.NewID()
	for i, q := range []string{
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
		"UPDATE consent SET reason = 'I am ' || ?1 WHERE subscription_id = ?5",
		"UPDATE outbox SET last_error = 'no ' || ?1 WHERE subscription_id = ?5",
		"UPDATE disable_request SET last_error = 'no ' || ?1 WHERE email = ?1",
		"UPDATE device SET name = 'Phone of ' || ?1 WHERE owner_id = ?3",
		"UPDATE agent SET name = 'Agent of ' || ?1 WHERE owner_id = ?3",
		"UPDATE model SET name = 'Face of ' || ?1, description = 'This is ' || ?1 WHERE owner_id = ?3",
	} {
		args := []any{key, n.tenant, u.ID, friend, id}[:parameters(q)]
		if err := n.update(ctx, func(tx *Tx) error { _, err := tx.exec(q, args...); return err }); err != nil {
			n.Fatalf("%d: %v", i, err)
		}
	}
	return u.ID
}

// find names the tables in which a text occurs, in any column.
func (n newsletter) find(text string) (found []string) {
	n.Helper()
	for _, table := range n.tables() {
		for _, c := range n.columns(table) {
			if n.count(`SELECT count(*) FROM "`+table+`" WHERE instr(lower(CAST("`+c+`" AS TEXT)), ?)`, text) > 0 {
				found = append(found, table+"."+c)
			}
		}
	}
	return found
}

func TestErasedPersonIsNowhere(t *testing.T) {
	n := testNewsletter(t)
	ann := n.fillPerson("Ann@Example.org")
	n.sql("INSERT INTO recipient (job_no, seq, subscriber_id, email_key, state) VALUES (1, 1, '', " +
		"'first@example.org', 2), (1, 3, 'zzz', 'last@example.org', 2)")
	n.activate("bob@example.org", now0)
	id := n.SubscriptionID(n.list, annKey)
	words := []string{"ann@", "198.51.100.7", "lynx", "ulm", id[:18]}
	n.filled(append(words, ann))

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
		`"shares":[{"id":"sann@`, `"email_changes":[{"email":"newann@`, `"invitations":[{"id":"iann@`, `"consents":[{`,
		`"what":"confirmed","means":"mailed","source":"form","remote":"198.51.100.7"`,
		`"subject":"News","state":"sent"`, `"reply":"450 ann@`, `"event_type":"delivery"`, `"event_type":"open"`,
		`"opened":[{"url":""`, `{"url":"https://shop.example/"`, `"kind":"complaint"`, `"kind":"disabled"`,
		`"events":[{`, `"requests":[{`, `"block":"complaint"`, `"action":"model.create"`, `"sign_ins":[{`,
		`"browsers":[{`, `"kind":"verify"`, `"kind":"confirm"`,
		`"preferences":{"city":"Ulm"}`, `"role":"tenant_admin"`,
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
		if found := n.find(word); found != nil {
			t.Errorf("%q is still in %v", word, found)
		}
	}
	// What a person did stays in the log, by an id that leads nowhere any more; a model's bytes are removed in steps.
	if found := n.find(ann); !slices.Equal(found, []string{
		"model_file.owner_id",
		"audit.actor",
	}) && !slices.Equal(found, []string{"audit.actor", "model_file.owner_id"}) {
		t.Errorf("the user's id is in %v", found)
	}
	if n.count("SELECT count(*) FROM engagement") != 0 {
		t.Error("what the person opened is still here")
	}
	if n.status("bob@example.org") != core.SubscriptionActive || n.count("SELECT count(*) FROM recipient WHERE "+
		"job_no = 1 AND state = 2") != 3 {
		t.Error("something of others went too")
	}
	if n.count("SELECT count(*) FROM outbox WHERE subscription_id = ?", id) != 0 {
		t.Error("events are left")
	}
	if rows, err := n.ErasePerson(t.Context(), core.Person{Email: "ann@example.org", Account: true}, "command",
		now0+6000); err != nil || rows != 0 {
		t.Errorf("again: %d, %v", rows, err)
	}
}

// What stood against an address holds on after it was erased, and is lifted as before.
func TestErasedAddressStaysBlocked(t *testing.T) {
	n := testNewsletter(t)
	ctx := t.Context()
	const email = core.Email(annKey)
	erase := func() {
		t.Helper()
		if rows, err := n.ErasePerson(ctx, core.Person{Email: email, TenantID: n.tenant}, "command",
			now0); err != nil || rows == 0 {
			t.Fatal(rows, err)
		}
	}
	imported := func() ImportCounts {
		t.Helper()
		im, err := n.NewImport(ctx, n.list, core.SubscriptionActive, "file")
		if err != nil {
			t.Fatal(err)
		}
		if err := im.Add(ctx, []ImportRow{{Email: email}}, now0); err != nil {
			t.Fatal(err)
		}
		return im.Counts
	}
	n.activate(email, now0)
	erase()
	if c := imported(); c.Kept != 1 || n.count("SELECT count(*) FROM subscription") != 0 {
		t.Errorf("an import brought the person back: %+v", c)
	}
	n.activate(email, now0+1000) // by the person's own wish it works again, for good
	if n.count("SELECT count(*) FROM erased") != 0 || imported().Unchanged != 1 {
		t.Error("who has come back is still gone")
	}
	if _, err := n.Disable(ctx, DisableRequest{Email: email, Reason: "r", DisabledBy: "b"}, now0+2000); err != nil {
		t.Fatal(err)
	}
	erase()
	if n.find(annKey) != nil {
		t.Errorf("the address is in %v", n.find(annKey))
	}
	row := n.subscribe(email, "", now0+3000)
	if _, err := n.Confirm(ctx, n.token(row, core.ProofMailed), core.Origin{},
		now0+3000); err == nil || n.count("SELECT count(*) FROM subscription") != 0 {
		t.Errorf("a disabled address subscribed again: %v", err)
	}
	event := core.Event{
		ID: core.NewID(), Type: core.EventActivated, TenantID: n.tenant, ListID: n.list, OccurredAt: now0 + 4000,
		Subscriber: core.EventSubscriber{ID: core.NewID(), Email: email, Status: "active"},
	}
	if err := n.ApplyEvent(ctx, Nonce{ClientID: "c", Nonce: "nonce-0000000001"}, event, now0+4000); err != nil {
		t.Fatal(err)
	}
	if sub, err := n.Subscriber(ctx, n.list, email); err != nil || sub.Mailable() {
		t.Errorf("a sender made a disabled address mailable: %+v, %v", sub, err)
	}
	test := func() error {
		return n.AddTestMail(ctx, &core.SendJob{ID: "j", TenantID: n.tenant, ListID: n.list}, email, now0+4400)
	}
	if err := test(); core.KindOf(err) != core.Invalid {
		t.Errorf("a test mail to a disabled address: %v", err)
	}
	if lifted, err := n.Lift(ctx, email, "", "test", now0+4500); err != nil || len(lifted) == 0 {
		t.Fatal(lifted, err)
	}
	must(t, test())
	n.activate(email, now0+5000)
	if n.status(email) != core.SubscriptionActive {
		t.Error("what was lifted still holds")
	}
}

// What one tenant erases is no other's loss.
func TestErasedOfOneTenant(t *testing.T) {
	n := testNewsletter(t)
	other := newsletter{T: t, Store: n.Store, tenant: core.NewID()}
	n.sql("INSERT INTO tenant (id, name, created_at, updated_at) VALUES (?, 'O', 1, 1)", other.tenant)
	other.list = n.addList(other.tenant)
	n.activate(annKey, now0)
	other.activate(annKey, now0)
	if _, err := n.ErasePerson(t.Context(), core.Person{Email: annKey, TenantID: n.tenant}, "command",
		now0+1); err != nil {
		t.Fatal(err)
	}
	d, err := n.ExportPerson(t.Context(), core.Person{Email: annKey})
	if err != nil || len(d.Subscriptions) != 1 || d.Subscriptions[0].TenantID != other.tenant || len(d.Events) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = n.ExportPerson(t.Context(), core.Person{
		Email:    annKey,
		TenantID: n.tenant,
	}); err != nil || len(d.Subscriptions)+len(d.Requests)+len(d.Mails)+len(d.Events) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// Whatever ids neighbours have, the rows of a job keep their order when some of them are emptied.
func TestErasedRecipientsKeepTheirOrder(t *testing.T) {
	n := testNewsletter(t)
	n.sql("INSERT INTO campaign (id, tenant_id, subject, created_at) VALUES ('camp', ?, 'News', 1)", n.tenant)
	n.sql("INSERT INTO send_job (id, tenant_id, list_id, campaign_id, status, due_at, created_at, recipients) "+
		"VALUES ('job', ?, ?, 'camp', 'running', 1, 1, 40)", n.tenant, n.list)
	var ids []string
	for i := range 40 {
		ids = append(ids, n.SubscriptionID(n.list, string(rune('a'+i%26))+strings.Repeat("x", i)+"@example.org"))
	}
	slices.Sort(ids)
	for i, id := range ids {
		n.sql("INSERT INTO recipient (job_no, seq, subscriber_id, email_key) VALUES (1, ?, ?, 'x')", i+1, id)
	}
	for i := 0; i < 40; i += 3 {
		err := n.update(t.Context(), func(tx *Tx) error {
			return (&erasing{Tx: tx, personReach: personReach{key: "x"}}).recipient(personPlace{1, int64(i + 1)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err := n.snapshotRead(t.Context(), func(r *Reader) error {
		for i, id := range ids {
			want := int64(i + 1)
			if i%3 == 0 {
				want = 0
			}
			if seq, err := seqOf(r, 1, 40, id); err != nil || seq != want {
				t.Errorf("recipient %d is found at %d, %v", i+1, seq, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// What an endpoint answers may repeat the address; the log of attempts, which no erasing looks through, holds it
// masked.
func TestEndpointLogHoldsNoAddress(t *testing.T) {
	n := testNewsletter(t)
	e := core.Endpoint{ID: core.NewID(), TenantID: n.tenant, URL: "https://crm.example/hook", CreatedAt: now0}
	must(t, n.AddEndpoint(t.Context(), e, make([]byte, 32), "test"))
	n.activate(annKey, now0)
	events, err := n.DueEvents(t.Context(), e.ID, now0, 1)
	must(t, err)
	must(t, n.FinishEvents(t.Context(), []EventResult{{
		Event: &events[0], Dead: true, Gone: true, Status: 410,
		Reason: "HTTP 410 no Ann@Example.org here",
	}}, now0+1))
	must(t, onlyErr(n.ErasePerson(t.Context(), core.Person{Email: annKey}, "command", now0+2)))
	if found := n.find("ann@"); found != nil {
		t.Errorf("the address is in %v", found)
	}
	if n.count("SELECT count(*) FROM endpoint_attempt WHERE reason = 'HTTP 410 no A***@Example.org here'") != 1 {
		t.Error("the log does not hold the answer")
	}
}

// While housekeeping removes the rows of an old job from the front, those after are found.
func TestRecipientsAreFoundBehindAGap(t *testing.T) {
	n := testNewsletter(t)
	for seq := 31; seq <= 40; seq++ {
		n.sql("INSERT INTO recipient (job_no, seq, subscriber_id, email_key) VALUES (1, ?, ?, 'x')", seq,
			fmt.Sprintf("%04d", seq))
	}
	must(t, n.snapshotRead(t.Context(), func(r *Reader) error {
		for seq := int64(1); seq <= 40; seq++ {
			want := seq
			if seq <= 30 {
				want = 0
			}
			if got, err := seqOf(r, 1, 40, fmt.Sprintf("%04d", seq)); err != nil || got != want {
				t.Errorf("recipient %d is found at %d, %v", seq, got, err)
			}
		}
		return nil
	}))
}

// A tenant's receivers hear that an erased address has left, also where they had not heard of it before; others hear
// nothing.
func TestErasedIsToldToEndpoints(t *testing.T) {
	n := testNewsletter(t)
	endpoint := func(tenant string) string {
		e := core.Endpoint{ID: core.NewID(), TenantID: tenant, URL: "https://crm.example/hook", CreatedAt: now0}
		if err := n.AddEndpoint(t.Context(), e, make([]byte, 32), "test"); err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	mine := endpoint(n.tenant)
	other := core.NewID()
	n.sql("INSERT INTO tenant (id, name, created_at, updated_at) VALUES (?, 'O', 1, 1)", other)
	endpoint(other)
	n.activate(annKey, now0)
	for i := range 2 { // once more ends nothing of what is still to be told
		if _, err := n.ErasePerson(t.Context(), core.Person{Email: annKey}, "command", now0+core.Instant(1+i)); err != nil {
			t.Fatal(err)
		}
	}
	var left []core.OutboxEvent
	if err := n.all(t.Context(), &left, "SELECT "+outboxColumns+" FROM outbox"); err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0].EndpointID != mine || left[0].EventType != core.EventUnsubscribed ||
		left[0].OccurredAt <= now0 ||
		!strings.Contains(left[0].Body, `"status":"unsubscribed"`) {
		t.Errorf("%+v", left)
	}
}

// Who comes back is told after the leaving that an erasing told, also where the clock went back between them.
func TestErasedComesBackBehindItsLeaving(t *testing.T) {
	n := testNewsletter(t)
	must(t, n.AddEndpoint(t.Context(), core.Endpoint{
		ID: core.NewID(), TenantID: n.tenant,
		URL: "https://crm.example/hook", CreatedAt: now0,
	}, make([]byte, 32), "test"))
	n.activate(annKey, now0+1000)
	must(t, onlyErr(n.ErasePerson(t.Context(), core.Person{Email: annKey}, "command", now0)))
	n.activate(annKey, now0+10)
	var told []core.OutboxEvent
	must(t, n.all(t.Context(), &told, "SELECT "+outboxColumns+" FROM outbox WHERE endpoint_id <> '' ORDER BY id"))
	if len(told) != 2 || told[0].EventType != core.EventUnsubscribed || told[1].OccurredAt <= told[0].OccurredAt {
		t.Errorf("%+v", told)
	}
}
