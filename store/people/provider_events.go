package people

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/members"
)

// reportStep is the number of reports that one operation applies.
const reportStep = 200

// ApplyReports applies reports in order. A repeated report changes nothing. If the address of a report is on none of
// the tenant's lists, or its email is unknown, the report is stored without effect. After an error, the caller can pass
// the same reports again. Its only error is core.ErrStorage.
func (s *Store) ApplyReports(ctx context.Context, reports []core.ProviderReport, now core.Instant) error {
	for len(reports) > 0 {
		n := min(len(reports), reportStep)
		err := s.Update(ctx, func(tx *db.Tx) error {
			for i := range reports[:n] {
				if err := applyReport(tx, reports[i], now); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		reports = reports[n:]
	}
	return nil
}

var insertReport = db.InsertInto("provider_event",
	`provider, event_key, tenant_id, message_id, event_type, bounce_type, email_key,
	occurred_at, received_at, job_no, seq`) + " ON CONFLICT (provider, event_key) DO NOTHING"

func applyReport(tx *db.Tx, r core.ProviderReport, now core.Instant) error {
	to, err := recipientOf(tx, &r, now)
	if err != nil {
		return err
	}
	e := &r.Event
	m := core.MarkOf(e.Effect())
	engaged, named := m == core.MarkOpened || m == core.MarkClicked, true
	if engaged {
		if named, err = campaigns.MayNameEngaged(tx, &r); err != nil {
			return err
		}
		if !named {
			r.Seq, e.Email = 0, ""
		}
	}
	n, err := tx.Exec(insertReport,
		r.Provider, r.Key, e.TenantID, e.MessageID, e.Type, e.BounceType, e.Email.Key(), int64(e.OccurredAt),
		int64(now), r.JobNo, r.Seq)
	if err != nil || n == 0 || e.TenantID == "" {
		return err
	}
	if r.Unsubscribe {
		return leaveByProvider(tx, &r, to, now)
	}
	if err := applyEffect(tx, &r, now); err != nil || r.JobNo == 0 {
		return err
	}
	switch {
	case engaged && named:
		return campaigns.MarkReported(tx, r.JobNo, r.Seq, m, !r.ByMachine, e.OccurredAt)
	case engaged: // the provider's own pixel or links, which can't be distinguished from newsletterd's
		return nil
	}
	first, err := mark(tx, r.JobNo, r.Seq, m)
	if err != nil || !first {
		return err
	}
	switch e.Effect() {
	case core.HardBounce:
		if _, err := tx.Exec("UPDATE send_job SET hard_bounced = hard_bounced + 1 WHERE no = ?", r.JobNo); err != nil {
			return err
		}
		return campaigns.JudgeJob(tx, r.JobNo, now)
	case core.Complaint:
		return campaigns.JudgeJob(tx, r.JobNo, now)
	}
	return nil
}

// recipientOf finds the recipient of a report and the recipient's tenant. If the provider belongs to another tenant,
// the email is treated as unknown. If the report has no address, the recipient's address is used.
func recipientOf(tx *db.Tx, r *core.ProviderReport, now core.Instant) (to campaigns.SentTo, err error) {
	if r.JobNo == 0 {
		if err := recipientByQueueID(tx, r); err != nil {
			return to, err
		}
	}
	if r.JobNo == 0 {
		return to, campaigns.GuessRecipient(tx, r, &to, now)
	}
	err = tx.Get(&to,
		`SELECT j.tenant_id, `+campaigns.ReachedList+` AS list_id, r.email_key FROM recipient AS r CROSS JOIN send_job AS
			j ON j.no = r.job_no
		WHERE r.job_no = ? AND r.seq = ?`, r.JobNo, r.Seq)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return to, err
	}
	if err != nil || r.Event.TenantID != "" && r.Event.TenantID != to.TenantID {
		r.JobNo, r.Seq = 0, 0
		return campaigns.SentTo{}, nil
	}
	r.Event.TenantID = to.TenantID
	if to.EmailKey == "" { // the address was erased; the report counts only for the job
		r.Event.Email, to.ListID = "", ""
		return to, nil
	}
	if r.Event.Email == "" {
		r.Event.Email = core.Email(to.EmailKey)
	}
	return to, nil
}

// recipientByQueueID finds the email of a report by the queue ID from the provider's reply.
func recipientByQueueID(tx *db.Tx, r *core.ProviderReport) error {
	var found struct {
		JobNo int64 `db:"job_no"`
		Seq   int64 `db:"seq"`
	}
	err := tx.Get(&found, "SELECT job_no, seq FROM queue_id WHERE id = ?", r.Event.MessageID)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	r.JobNo, r.Seq = found.JobNo, found.Seq
	return err
}

// applyEffect applies the effect of a report to the address. A doubtful bounce counts once per email, even if it is
// reported several times.
func applyEffect(tx *db.Tx, r *core.ProviderReport, now core.Instant) error {
	e, effect := &r.Event, r.Effect()
	switch effect {
	case "", core.Open, core.Click:
		return nil
	case core.DoubtfulBounce:
		again, err := tx.Number("SELECT count(*) FROM recipient WHERE job_no = ? AND seq = ? AND marks & ? <> 0",
			r.JobNo, r.Seq, int(core.MarkBounced))
		if err != nil {
			return err
		}
		if again > 0 {
			effect = core.SoftBounce
		}
	}
	known, err := campaigns.ApplyEffect(tx, e.TenantID, e.Email.Key(), effect, e.OccurredAt, now)
	if err != nil || !known {
		return err
	}
	switch effect {
	case core.Complaint:
		if err := campaigns.AddPendingDisable(tx, e, now); err != nil {
			return err
		}
		return suppress(tx, e.TenantID, e.Email.Key(), core.StatusComplaint, providerWord, now)
	case core.Suppression:
		return suppress(tx, e.TenantID, e.Email.Key(), core.StatusSuppressed, providerWord, now)
	}
	return nil
}

// providerWord is the reason stored with a suppression that a provider reported.
const providerWord = "provider event"

// suppress blocks an address for all lists of a tenant, including those that it joins later.
func suppress(tx *db.Tx, tenantID, emailKey string, kind core.Status, reason string, now core.Instant) error {
	tx.Departs(tenantID)
	_, err := tx.Exec(`INSERT INTO suppression (tenant_id, email_key, kind, reason, created_at) VALUES (?1, ?2, ?3, ?4,
		?5)
		ON CONFLICT DO UPDATE SET kind = iif(kind = 'suppressed', kind, ?3), reason = iif(kind = 'suppressed', reason, ?4),
		import_id = '' WHERE kind <> 'suppressed' OR import_id <> ''`,
		tenantID, emailKey, string(kind), reason, int64(now))
	return err
}

// mark sets a mark on a recipient. The job's statistics count it only the first time.
func mark(tx *db.Tx, jobNo, seq int64, m core.Marks) (first bool, err error) {
	count, ok := countMark[m]
	if !ok {
		return false, nil
	}
	n, err := tx.Exec("UPDATE recipient SET marks = marks | ?1 WHERE job_no = ?2 AND seq = ?3 AND marks & ?1 = 0",
		int(m), jobNo, seq)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = tx.Exec(count, jobNo)
	return true, err
}

var countMark = map[core.Marks]string{
	core.MarkDelivered:  "UPDATE send_job SET delivered = delivered + 1 WHERE no = ?",
	core.MarkBounced:    "UPDATE send_job SET bounced = bounced + 1 WHERE no = ?",
	core.MarkComplained: "UPDATE send_job SET complained = complained + 1 WHERE no = ?",
}

// leaveByProvider unsubscribes the recipient of an email who has used the provider's own unsubscribe link. If another
// member service manages the subscription, only the send side is updated.
func leaveByProvider(tx *db.Tx, r *core.ProviderReport, to campaigns.SentTo, now core.Instant) error {
	if to.ListID == "" {
		return nil
	}
	_, _, err := members.Unsubscribe(tx, members.UnsubscribeRequest{
		ListID: to.ListID, SubscriptionID: tx.DB().SubscriptionID(to.ListID,
			to.EmailKey), Proof: core.ProofMailed, JobNo: r.JobNo,
		Origin: core.Origin{Source: "provider " + r.Provider},
	}, now)
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	sub := core.EventSubscriber{Email: r.Event.Email, Status: string(core.StatusUnsubscribed)}
	if sub.Email.Key() != to.EmailKey {
		sub.Email = core.Email(to.EmailKey)
	}
	return campaigns.ApplySubscriber(
		tx,
		campaigns.Applying{ListID: to.ListID, EventType: core.EventUnsubscribed, OccurredAt: r.Event.OccurredAt},
		sub,
		now,
	)
}

// lastEvents selects the newest event of each provider among the newest 20,000 events.
const lastEvents = `SELECT provider, event_type, max(received_at) AS received_at FROM (
	SELECT provider, event_type, received_at FROM provider_event ORDER BY id DESC LIMIT 20000) GROUP BY provider`

// LastProviderEvents returns the newest event of each provider that has reported one lately. Its only error is
// core.ErrStorage.
func (s *Store) LastProviderEvents(ctx context.Context) (map[string]core.LastEvent, error) {
	var rows []struct {
		Provider string `db:"provider"`
		core.LastEvent
	}
	err := s.All(ctx, &rows, lastEvents)
	last := make(map[string]core.LastEvent, len(rows))
	for _, r := range rows {
		last[r.Provider] = r.LastEvent
	}
	return last, err
}
