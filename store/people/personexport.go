package people

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/devices"
	"newsletterd/store/identity"
	"newsletterd/store/members"
	"newsletterd/store/polls"
	"newsletterd/store/tenants"
)

// personReach identifies the rows that contain a person's data.
type personReach struct {
	core.Person
	key     string
	pairs   string // pairs of list and subscription id for all searched lists, as JSON
	userID  string // id of the account, if the account was requested and exists
	places  []personPlace
	settled map[int64]bool // jobs that get no more recipients
	tokens  []string       // ids of confirm tokens; token is the newest of all tokens
	token   string
	events  []string // ids of outbox rows; event is the newest of all rows
	event   int64
}

// personPlace is a row of a job's recipients.
type personPlace struct{ jobNo, seq int64 }

// personJobs selects the jobs to a person's lists. A list that a job has not reached has no recipients yet.
const (
	personJobs = personJob + "1 AS low, " + campaigns.FirstListEnds + ` AS high FROM json_each(?1) AS p
		CROSS JOIN send_job AS j INDEXED BY send_job_list ON j.list_id = p.value->>0 UNION ALL ` + personJob +
		"f.after_seq + 1, " + campaigns.FurtherListEnds + `
		FROM json_each(?1) AS p CROSS JOIN further_list AS f INDEXED BY further_list_list ON f.list_id = p.value->>0
		AND f.after_seq >= 0 CROSS JOIN send_job AS j ON j.no = f.job_no ORDER BY 1`
	personJob = `SELECT j.no, j.expanded = 1 OR j.status IN ('completed', 'failed', 'cancelled') AS settled,
		p.value->>1 AS subscriber_id, `
)

// reach finds a person's rows, scanning tables that have no index for them. It copies the positions that seen already
// contains.
func (s *Store) reach(r db.Querier, p core.Person, seen *personReach) (at personReach, err error) {
	at = personReach{Person: p, key: p.Email.Key(), settled: map[int64]bool{}, tokens: seen.tokens, events: seen.events}
	if at.pairs, err = tenants.IDsAmong(s.DB, r, at.key, p.TenantID); err != nil {
		return at, err
	}
	if p.Account {
		err = r.Get(&at.userID, "SELECT id FROM user WHERE email_key = ?", at.key)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return at, err
		}
	}
	var jobs []struct {
		No           int64  `db:"no"`
		Low          int64  `db:"low"`
		High         int64  `db:"high"`
		Settled      bool   `db:"settled"`
		SubscriberID string `db:"subscriber_id"`
	}
	if err := r.All(&jobs, personJobs, at.pairs); err != nil {
		return at, err
	}
	for _, j := range jobs {
		at.settled[j.No] = j.Settled
		if seen.settled[j.No] {
			continue
		}
		seq, err := campaigns.SeqOf(r, j.No, j.Low, j.High, j.SubscriberID)
		if err != nil {
			return at, err
		}
		if seq > 0 {
			at.places = append(at.places, personPlace{j.No, seq})
		}
	}
	for _, place := range seen.places {
		if seen.settled[place.jobNo] {
			at.places = append(at.places, place)
		}
	}
	var tokens, events []string
	err = errors.Join(
		r.All(&tokens, "SELECT id FROM confirm_token WHERE id > ?2 AND (list_id, "+
			"subscription_id)"+pairsIn+" ORDER BY id", at.pairs, seen.token),
		r.Get(&at.token, "SELECT coalesce(max(id), '') FROM confirm_token"),
		r.All(&events, "SELECT CAST(id AS TEXT) FROM outbox WHERE id > ?2 AND (list_id, "+
			"subscription_id)"+pairsIn+" ORDER BY id", at.pairs, seen.event),
		r.Get(&at.event, "SELECT coalesce(max(id), 0) FROM outbox"))
	at.tokens, at.events = append(at.tokens, tokens...), append(at.events, events...)
	return at, err
}

// pairsIn is the SQL condition that a pair of list and id is in the statement's first parameter, a JSON array.
const pairsIn = " IN (SELECT value->>0, value->>1 FROM json_each(?1))"

// ExportPerson returns all data about a person from one snapshot. For an unknown person, all lists are empty. Its
// only error is core.ErrStorage.
func (s *Store) ExportPerson(ctx context.Context, p core.Person) (d core.PersonData, err error) {
	d = core.PersonData{
		Email: string(p.Email), Subscriptions: []core.PersonSubscription{}, Requests: []core.PersonRequest{},
		Subscribers: []core.PersonSubscriber{},
		Mailings:    []core.PersonMailing{}, Reports: []core.PersonReport{}, Blocks: []core.PersonBlock{},
		Mails: []core.PersonMail{}, Tags: []core.PersonTag{},
		Events: []core.PersonEvent{},
		Audit:  []core.PersonAudit{}, Invitations: []core.Invitation{},
	}
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		at, err := s.reach(r, p, &personReach{})
		if err != nil {
			return err
		}
		if at.userID != "" {
			if d.Account, err = at.account(r); err != nil {
				return err
			}
		}
		if p.Account {
			if err := r.All(&d.Invitations, "SELECT "+identity.InvitationColumns+" FROM invitation WHERE email_key = ? ORDER BY id",
				p.Email.Key()); err != nil {
				return err
			}
		}
		if err := at.newsletter(r, &d); err != nil {
			return err
		}
		return at.sending(r, &d)
	})
	return d, err
}

// readInto is a query with the destination for its rows.
type readInto struct {
	dest  any
	query string
	args  []any
}

func each(r *db.Reader, reads []readInto) error {
	for _, read := range reads {
		if err := r.All(read.dest, read.query, read.args...); err != nil {
			return err
		}
	}
	return nil
}

// account reads the user's data.
func (at *personReach) account(r *db.Reader) (*core.AccountData, error) {
	id := []any{at.userID}
	a := &core.AccountData{
		Browsers: []core.Browser{}, SignIns: []core.ClientSignIn{}, Allowances: []core.Allowance{},
		Known:  []core.PersonPlace{},
		Change: []core.PersonChange{}, Passkeys: []core.Passkey{},
		Devices: []core.Device{}, Agents: []core.Agent{}, Models: []core.Model{}, Shares: []core.Share{},
		SharedWith: []core.Share{}, Clients: []core.Client{}, Segments: []core.Segment{},
	}
	if err := r.Get(&a.User, "SELECT "+identity.UserColumns+" FROM user WHERE id = ?", at.userID); err != nil {
		return nil, err
	}
	if err := r.Get(&a.Factor, identity.SecondFactor, at.userID); err != nil && !errors.Is(err, core.ErrNotFound) {
		return nil, err
	}
	a.User.Roles = []core.Role{}
	const share = "SELECT " + devices.ShareColumns + " FROM share s JOIN model m ON m.no = s.model_no WHERE "
	return a, each(r, []readInto{
		{&a.User.Roles, "SELECT role, tenant_id, pending FROM role WHERE user_id = ? ORDER BY role, tenant_id", id},
		{&a.Browsers, "SELECT " + identity.BrowserColumns + " FROM browser b WHERE b.user_id = ? ORDER BY b.auth_at", id},
		{&a.SignIns, "SELECT " + identity.FamilyColumns + `, coalesce(c.name, f.client_id) AS client_name FROM family f LEFT
			JOIN client c ON c.id = f.client_id
			WHERE f.user_id = ? ORDER BY f.created_at`, id},
		{
			&a.Allowances,
			`SELECT a.client_id, coalesce(c.name, '') AS client_name, a.scope, a.created_at FROM client_consent a
			LEFT JOIN client c ON c.id = a.client_id WHERE a.user_id = ? ORDER BY a.created_at`, id,
		},
		{&a.Known, "SELECT key, used_at FROM known_device WHERE user_id = ? ORDER BY used_at", id},
		{&a.Change, "SELECT email, created_at, expires_at FROM email_change WHERE user_id = ?", id},
		{
			&a.Passkeys,
			"SELECT " + identity.PasskeyTable.Columns + " FROM passkey WHERE user_id = ? ORDER BY created_at, id",
			id,
		},
		{&a.Devices, "SELECT " + devices.DeviceColumns + " FROM device WHERE owner_id = ? ORDER BY id", id},
		{&a.Agents, "SELECT " + devices.AgentColumns + " FROM agent WHERE owner_id = ? ORDER BY id", id},
		{&a.Models, "SELECT " + devices.ModelColumns + " FROM model m WHERE m.owner_id = ? ORDER BY m.no", id},
		{&a.Shares, share + "m.owner_id = ? ORDER BY s.id", id},
		{&a.SharedWith, share + "s.user_id = ?1 AND s.user_id <> '' OR s.email_key = ?2 AND s.email_key <> '' ORDER " +
			"BY s.id", []any{at.userID, at.key}},
		{
			&a.Clients,
			identity.SelectClients + "id IN (SELECT record FROM keeper INDEXED BY keeper_actor WHERE actor = 'user:' || ?) AND deleted_at = 0 ORDER BY id",
			id,
		},
		{&a.Endpoints, "SELECT " + tenants.EndpointColumns + " FROM webhook_endpoint WHERE id IN " +
			"(SELECT record FROM keeper INDEXED BY keeper_actor WHERE actor = 'user:' || ?) ORDER BY id", id},
		{&a.Segments, "SELECT " + campaigns.SegmentTable.Columns + ` FROM segment WHERE id IN (
			SELECT id FROM segment INDEXED BY segment_creator WHERE created_by = 'user:' || ?1 AND created_by <> ''
			UNION SELECT id FROM segment INDEXED BY segment_changer
				WHERE changed_by = 'user:' || ?1 AND changed_by <> '')
			ORDER BY id`, id},
	})
}

// newsletter reads the member side's data about the person.
func (at *personReach) newsletter(r *db.Reader, d *core.PersonData) error {
	pairs, tenant := []any{at.pairs}, []any{at.key, at.TenantID}
	err := each(r, []readInto{
		{&d.Subscriptions, "SELECT " + members.SubscriptionColumns + ", s.means AS proved, s.changed_at AS status_at, " +
			"s.generation AS gen, l.tenant_id, l.name AS list_name" +
			campaigns.PersonPairs + "subscription AS s ON s.list_id = p.value->>0 AND s.id = p.value->>1 CROSS JOIN list AS l " +
			"ON l.id = s.list_id ORDER BY s.created_at", pairs},
		{
			&d.Requests,
			"SELECT list_id, email, preferences, source, remote, user_agent, evidence, created_at FROM confirm_token" +
				" WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
			[]any{db.JsonOf(at.tokens)},
		},
		{&d.Events, "SELECT list_id, event_type, occurred_at FROM outbox" +
			" WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?)) ORDER BY id", []any{db.JsonOf(at.events)}},
		{&d.Blocks, `SELECT 'disabled' AS kind, tenant_id, reason, disabled_by, 0 AS pending, created_at FROM disabled
			WHERE email_key = ?1 AND (?2 = '' OR tenant_id IN ('', ?2))
			UNION ALL SELECT kind, tenant_id, reason, '', 0, created_at FROM suppression
			INDEXED BY suppression_email WHERE email_key = ?1 AND email_key > '' AND (?2 = '' OR tenant_id = ?2)
			UNION ALL SELECT iif(list_id = '', 'disabled', 'left'), tenant_id, reason, '', 1, created_at FROM
			disable_request WHERE lower(email) = ?1 AND (?2 = '' OR tenant_id = ?2)
			ORDER BY created_at`, tenant},
		{&d.Tags, tenants.TagsOfPairs, pairs},
		{&d.Answers, polls.OfPerson, pairs},
		{&d.Said, `SELECT tenant_id, list_id, import_id, kind, reason, said_at FROM import_word WHERE email_key = ?1 AND
			(?2 = '' OR tenant_id = ?2) ORDER BY said_at, list_id`, tenant},
		{&d.Bulk, `SELECT b.id AS action_id, b.list_id, b.kind, x.at, x.was,
			coalesce((SELECT name FROM tag WHERE id = b.tag_id), '') AS tag FROM json_each(?1) AS p CROSS JOIN
			bulk_action AS b INDEXED BY bulk_action_list ON b.list_id = p.value->>0 CROSS JOIN bulk_person AS x ON
			x.action_id = b.id AND x.subscriber_id = p.value->>1 ORDER BY b.id`, pairs},
		{
			&d.Mails, `SELECT kind, tenant_id, list_id, email, created_at, finished_at FROM mail
			INDEXED BY mail_email WHERE email_key = ?1 AND state != ` + tenants.SQLMailLeftOut + ` AND state IN (` +
				tenants.SQLMailQueued + `, ` + tenants.SQLMailSent + `, ` + tenants.SQLMailFailed + `) AND
			(list_id = '' AND ?3 OR list_id <> '' AND (?2 = '' OR tenant_id = ?2)) ORDER BY id`,
			append(tenant, at.userID != ""),
		},
	})
	for i := range d.Subscriptions {
		sub := &d.Subscriptions[i]
		sub.Consents = []core.Consent{}
		if err == nil {
			err = r.All(&sub.Consents, members.SelectConsents, sub.ListID, sub.ID)
			members.DateConsents(sub.Consents)
		}
		if err == nil {
			err = r.All(
				&sub.Replaced,
				"SELECT import_id, fields FROM import_before WHERE subscription_id = ?2 AND import_id IN "+
					"(SELECT id FROM import_job WHERE list_id = ?1) ORDER BY import_id",
				sub.ListID,
				sub.ID,
			)
		}
	}
	if err == nil && at.userID != "" {
		err = r.All(&d.Audit, "SELECT at, actor, action, tenant_id, object, iif(actor = 'user:' || ?1, origin, '') AS "+
			"origin FROM audit WHERE actor = 'user:' || ?1 OR object = ?1 ORDER BY id", at.userID)
	}
	return err
}

// sending reads the send side's data about the person.
func (at *personReach) sending(r *db.Reader, d *core.PersonData) error {
	err := r.All(&d.Subscribers,
		"SELECT list_id, email, word, word_at, block, block_at, preferences, soft_bounces, created_at"+
			campaigns.PersonPairs+"subscriber ON list_id = p.value->>0 AND subscriber.id = p.value->>1 ORDER BY created_at",
		at.pairs)
	for _, place := range at.places {
		m, reports := core.PersonMailing{Attempts: []core.PersonAttempt{}, Opened: []core.PersonOpening{}},
			[]core.PersonReport{}
		if err == nil {
			err = r.Get(
				&m,
				`SELECT r.job_no, r.seq, j.id AS job_id, j.tenant_id, `+campaigns.ReachedList+` AS list_id, c.subject, r.state,
				r.tries, r.finished_at, r.reason, r.marks
				FROM recipient r JOIN send_job j ON j.no = r.job_no JOIN campaign_copy c INDEXED BY campaign_copy_head ON c.id =
				j.copy_id WHERE r.job_no = ? AND r.seq = ?`,
				place.jobNo,
				place.seq,
			)
		}
		if errors.Is(err, core.ErrNotFound) {
			err = nil
			continue
		}
		if err == nil {
			err = r.All(&m.Attempts, "SELECT at, outcome, reply FROM attempt WHERE job_no = ? AND seq = ? ORDER BY at",
				place.jobNo, place.seq)
		}
		if err == nil {
			err = r.All(&m.Opened, campaigns.SelectEngagements, place.jobNo, place.seq)
		}
		if err == nil {
			err = r.All(&reports, selectReports+"WHERE job_no = ? AND seq = ? AND job_no > 0 ORDER BY id", place.jobNo,
				place.seq)
		}
		d.Reports = append(d.Reports, reports...)
		m.StateWord, m.MarkWords = core.RecipientStates[m.State], m.Marks.Names()
		d.Mailings = append(d.Mailings, m)
	}
	if err != nil {
		return err
	}
	var reports []core.PersonReport
	err = r.All(&reports, selectReports+"INDEXED BY provider_event_stranger WHERE job_no = 0 AND email_key = ?1 "+
		"AND (?2 = '' OR tenant_id = ?2) ORDER BY id", at.key, at.TenantID)
	d.Reports = append(d.Reports, reports...)
	return err
}

const selectReports = "SELECT tenant_id, provider, event_type, bounce_type, occurred_at FROM provider_event "
