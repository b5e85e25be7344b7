package people

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// Unsubscribe ends a subscription and returns it. A repeated call can only add a reason. If the subscription does not
// exist, it returns core.ErrSubscriptionNotFound; callers should respond as if it existed. If anyone could have
// requested the token, an active subscriber gets an email with an undo link. The number of these emails per address is
// limited.
func (s *Store) Unsubscribe(ctx context.Context, l members.UnsubscribeRequest, now core.Instant) (sub core.Subscription,
	err error,
) {
	var gone error
	err = s.Update(ctx, func(tx *db.Tx) error {
		tenants.TouchCounts(tx, l.ListID)
		change, left, err := members.Unsubscribe(tx, l, now)
		sub = left
		if errors.Is(err, core.ErrNotFound) {
			gone, err = err, EndMirrored(tx, l, now)
		}
		if err != nil || l.Proof != core.ProofResponse {
			return err
		}
		return members.NoticeUnsubscribed(tx, l, &left, change, now)
	})
	if err == nil {
		err = gone
	}
	return sub, err
}

// EndMirrored unsubscribes a subscriber who is known only to the send side because another member service manages the
// subscription. The tenant's endpoints are notified, and so is the member service if this server knows its address.
// Later events from the member service apply again.
func EndMirrored(tx *db.Tx, l members.UnsubscribeRequest, now core.Instant) error {
	var sub core.Subscriber
	err := tx.Get(&sub, campaigns.SelectSubscriber, l.ListID, l.SubscriptionID)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return nil
	case err != nil:
		return err
	case sub.MemberStatus != core.StatusActive:
		return members.LeaveUndone(tx, l, &sub, now)
	}
	tenantID, err := tenants.TenantOfList(tx, l.ListID)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	tx.Departs(tenantID)
	left := core.EventSubscriber{
		ID: sub.ID, Email: sub.Email, Status: string(core.StatusUnsubscribed),
		Preferences: sub.Preferences,
	}
	was, status := sub.Counted(), sub.MemberStatus
	sub.Apply(left, core.EventUnsubscribed, max(now, sub.MemberStatusAt), now)
	if err := campaigns.SaveSubscriber(tx, was, &sub); err != nil {
		return err
	}
	if l.JobNo > 0 {
		if _, err := tx.Exec("UPDATE send_job SET unsubscribed = unsubscribed + 1 WHERE no = ?", l.JobNo); err != nil {
			return err
		}
	}
	if err := members.AuditLeaving(tx, l, tenantID, sub.Email, string(status), now); err != nil {
		return err
	}
	if tx.DB().Options().MemberElsewhere {
		if err := campaigns.AddPendingLeave(tx, tenantID, &sub, now); err != nil {
			return err
		}
	}
	return tenants.AddToEndpoints(tx, &core.Event{
		ID: core.NewID(), Type: core.EventUnsubscribed, TenantID: tenantID, ListID: sub.ListID, Subscriber: left,
		OccurredAt: sub.MemberStatusAt,
	}, now)
}
