package members

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// SubscribeRequest is a request to subscribe. Anyone may make one.
type SubscribeRequest struct {
	ListID      string
	Email       core.Email
	Preferences core.Preferences
	Origin      core.Origin
	TextVersion string // version of the form's text; empty for a form that isn't newsletterd's
	Team        bool   // the caller may set fields that only the team can set
	Evidence    string // for imports: another system's evidence of the signup, for the ledger
}

// Subscribe records a request and queues the email that the rules require. Its results reveal nothing about the
// address. The returned subscription is always pending and created now. It has the preferences of the request, without
// fields that only the team can set unless r.Team is true. rowID is the id of the confirm_token row. Requests without
// an email share one row. It returns core.ErrListNotFound or core.ErrListInactive.
func (s *Store) Subscribe(ctx context.Context, r SubscribeRequest, now core.Instant) (sub core.Subscription,
	rowID string, err error,
) {
	list, err := s.ListWithTenant(ctx, r.ListID)
	if err != nil {
		return sub, "", err
	}
	if !list.Active() || s.Options().MemberElsewhere { // another service may manage the list
		return sub, "", core.ErrListInactive
	}
	if !r.Team {
		r.Preferences = list.Fields.Guarded(core.NoPreferences, r.Preferences)
	}
	sub = core.Subscription{
		ID: s.SubscriptionID(list.ID, r.Email.Key()), ListID: list.ID, Email: r.Email,
		Status: core.SubscriptionPending, Preferences: r.Preferences.OrEmpty(), CreatedAt: now,
	}
	fresh, erased := core.NewID(), tenants.ErasedHash(s.DB, r.Email.Key())
	err = s.UpdateRepeatable(ctx, func(tx *db.Tx) (err error) {
		rowID, err = subscribe(tx, list, sub, fresh, erased, &r, now)
		return err
	})
	return sub, rowID, err
}

// subscribeState holds everything that the rules and limits need, read in one query.
type subscribeState struct {
	core.Subscription
	disabled bool
	bounced  bool // whether it bounced in another system, according to a file; ends when the address confirms
	mails    int  // confirmation emails to the address in the period
	listMail int  // confirmation emails for this list
	already  int  // "already subscribed" emails for this list

	leftOut          int    // requests for this list whose email was not sent
	shared           string // row of the newest such request, if another request may replace it
	sharedGeneration int64
}

// repeats reports whether the new request, for which no email is sent, replaces an earlier one.
func (st *subscribeState) repeats(generation int64) bool {
	return st.listMail+st.already+st.leftOut >= tenants.RequestsApart && st.shared != "" &&
		st.sharedGeneration == generation
}

// Each EXISTS compares a single value. For a list of values, SQLite would fill a temporary table each time.
const readSubscribeState = `SELECT coalesce(s.email, ''), coalesce(s.status, ''), coalesce(s.preferences, ''),
	coalesce(s.generation, 0),
	coalesce(s.means, ''), coalesce(s.created_at, 0), coalesce(s.changed_at, 0), coalesce(s.event_at, 0),
	EXISTS (SELECT 1 FROM disabled WHERE email_key = ?3 AND tenant_id = '') OR EXISTS (SELECT 1 FROM disabled WHERE
	email_key = ?3 AND tenant_id = ?4)
	OR EXISTS (SELECT 1 FROM erased WHERE hash = ?6 AND tenant_id = '' AND kind = 'disabled')
	OR EXISTS (SELECT 1 FROM erased WHERE hash = ?6 AND tenant_id = ?4 AND kind = 'disabled'),
	EXISTS (SELECT 1 FROM suppression WHERE tenant_id = ?4 AND email_key = ?3 AND kind = 'bounced'),
	m.mails, m.list_mails,
	(SELECT count(*) FROM mail WHERE email_key = ?3 AND kind = 'already_subscribed' AND created_at > ?5 AND list_id = ?1
	AND state != ` + tenants.SQLMailLeftOut + `),
	o.requests, coalesce(c.id, ''), coalesce(c.generation, 0)
	FROM (SELECT count(*) AS mails, count(*) FILTER (WHERE list_id = ?1) AS list_mails FROM mail
		WHERE email_key = ?3 AND kind = 'confirm' AND created_at > ?5 AND state != ` + tenants.SQLMailLeftOut + `) AS m
	CROSS JOIN (SELECT count(*) AS requests, max(id), token_id FROM mail
		WHERE email_key = ?3 AND list_id = ?1 AND created_at > ?5 AND state = ` + tenants.SQLMailLeftOut + ` AND kind IN
		('confirm', 'already_subscribed')) AS o
	LEFT JOIN confirm_token AS c ON c.id = o.token_id AND c.shared = 1
	LEFT JOIN subscription AS s ON s.list_id = ?1 AND s.id = ?2`

func stateOfSubscribing(tx *db.Tx, list *core.ListWithTenant, ask *core.Subscription, erased string,
	now core.Instant,
) (st subscribeState, err error) {
	st.ListID, st.ID = list.ID, ask.ID
	err = tx.Scan(readSubscribeState,
		[]any{list.ID, ask.ID, ask.Email.Key(), list.TenantID, int64(now.Add(-tenants.MailPeriod)), erased},
		&st.Email, &st.Status, &st.Preferences, &st.Generation, &st.Proof, &st.CreatedAt, &st.ChangedAt, &st.EventAt,
		&st.disabled, &st.bounced, &st.mails, &st.listMail, &st.already, &st.leftOut, &st.shared, &st.sharedGeneration)
	return st, err
}

// subscribeStatements is the number of statements that subscribe runs, regardless of the state of the address.
const subscribeStatements = 4

// subscribe stores a request and returns its row id: fresh for a new row, or the id of an earlier request that this one
// replaces. It runs the same number of statements in both cases.
func subscribe(tx *db.Tx, list *core.ListWithTenant, ask core.Subscription, fresh, erased string, r *SubscribeRequest,
	now core.Instant,
) (rowID string, err error) {
	st, err := stateOfSubscribing(tx, list, &ask, erased, now)
	if err != nil {
		return "", err
	}
	was := st.Status
	tenants.TouchCounts(tx, list.ID)
	mail := core.Mail{
		Kind: core.MailConfirm, TenantID: list.TenantID, ListID: list.ID, Email: ask.Email,
		TokenID: fresh, DueAt: now.Add(tenants.MailDelay),
	}
	state := tenants.MailQueued
	if st.mails >= tenants.ConfirmsPerEmail || st.listMail >= tenants.ConfirmsPerListEmail {
		state = tenants.MailLeftOut
	}
	if st.disabled { // the generation stays 0, so the token confirms nothing
		state = tenants.MailLeftOut
	} else {
		said := ask.Preferences
		if !r.Team {
			said = list.Fields.Guarded(st.Preferences, said)
		}
		switch st.Subscribe(ask.Email, said, now) {
		case core.SubscribeNotNeeded:
			if st.bounced { // the address gets emails again once it is confirmed
				break
			}
			mail.Kind, state = core.MailAlreadySubscribed, tenants.MailQueued
			if st.already >= tenants.AlreadyPerListEmail {
				state = tenants.MailLeftOut
			}
		default:
			err = SaveSubscription(tx, was, &st.Subscription)
		}
		ask.Generation = st.Generation
	}
	if err != nil {
		return "", err
	}
	if state == tenants.MailLeftOut && st.repeats(ask.Generation) {
		tx.Kick(db.TopicMailSoon)
		return st.shared, errors.Join(repeatRequest(tx, &ask, st.shared, r, now), tenants.PadTo(tx, subscribeStatements))
	}
	if err := AddConfirmToken(tx, &ask, fresh, state == tenants.MailLeftOut, r, now); err != nil {
		return "", err
	}
	return fresh, errors.Join(tenants.WriteMail(tx, mail, state, now), tenants.PadTo(tx, subscribeStatements))
}

var insertConfirmToken = db.InsertInto("confirm_token", `id, list_id, subscription_id, generation, email, preferences,
	source, remote, user_agent, text_version, created_at, shared, evidence`)

// AddConfirmToken adds the confirm_token row of a request. If shared is true, a later request may replace the row.
func AddConfirmToken(tx *db.Tx, s *core.Subscription, rowID string, shared bool, r *SubscribeRequest,
	now core.Instant,
) error {
	_, err := tx.Exec(insertConfirmToken,
		rowID, s.ListID, s.ID, s.Generation, string(s.Email), string(s.Preferences), r.Origin.Source, r.Origin.Remote,
		r.Origin.UserAgent,
		r.TextVersion, int64(now), shared, r.Evidence)
	return err
}

// repeatRequest replaces an earlier request with a new one. The tokens of both stay valid, because each contains its
// own request.
func repeatRequest(tx *db.Tx, s *core.Subscription, rowID string, r *SubscribeRequest, now core.Instant) error {
	_, err := tx.Exec(`UPDATE confirm_token SET email = ?2, preferences = ?3, source = ?4, remote = ?5, user_agent =
		?6, text_version = ?7,
		created_at = max(created_at, ?8) WHERE id = ?1`,
		rowID, string(s.Email), string(s.Preferences), r.Origin.Source, r.Origin.Remote, r.Origin.UserAgent,
		r.TextVersion, int64(now))
	return err
}

// RequestOrigin is a remote address with its number of requests to subscribe.
type RequestOrigin struct {
	Remote   string `db:"remote"`
	Requests int    `db:"requests"`
}

// RequestOrigins counts the newest 10,000 requests by remote address, most requests first. Its only error is
// core.ErrStorage.
func (s *Store) RequestOrigins(ctx context.Context) (origins []RequestOrigin, err error) {
	err = s.All(ctx, &origins,
		`SELECT remote, count(*) AS requests FROM (SELECT remote FROM confirm_token ORDER BY id DESC LIMIT 10000)
		WHERE remote <> '' GROUP BY remote ORDER BY requests DESC, remote`)
	return origins, err
}
