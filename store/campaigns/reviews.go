package campaigns

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// reviewsPer is the maximum number of reviews that a tenant can request per reviewPeriod. reviewersPer is the maximum
// number of people who are emailed about a request.
const (
	reviewPeriod = 24 * time.Hour
	reviewsPer   = 50
	reviewersPer = 20
)

// reviewer is a user who is emailed about a review.
type reviewer struct {
	Actor string     `db:"actor"` // the user, in the form of the audit log
	Email core.Email `db:"email"`
	Name  string     `db:"name"`
}

const selectReviewers = `SELECT DISTINCT 'user:' || u.id AS actor, u.email, u.name FROM role AS r
	JOIN user AS u ON u.id = r.user_id
	WHERE r.tenant_id = ? AND r.pending = 0 AND r.role IN (SELECT value FROM json_each(?)) AND u.email_verified = 1
	AND u.disabled_at = 0 ORDER BY u.id`

// approving returns a JSON array of the roles that may approve.
func approving() string {
	approve, _ := core.PermissionFor(core.ActionCampaignApprove)
	return db.JsonOf(core.Roles[slices.Index(core.Roles, approve.Least):])
}

// reviewers returns the members of a tenant's team who may approve and whose email address is verified.
func reviewers(tx *db.Tx, tenantID string) (all []reviewer, err error) {
	err = tx.All(&all, selectReviewers, tenantID, approving())
	return all, err
}

// maxWaiting is the maximum length of a list of people who can't approve yet.
const maxWaiting = 20

// Approvers returns the number of people other than by who may approve a campaign. by is a name from the audit log.
// Approvers also returns the addresses of people who can't approve yet because they have not accepted their invitation
// or verified their address. If there is no such tenant, it returns core.ErrNotFound.
func (s *Store) Approvers(ctx context.Context, c *core.Campaign, by string, now core.Instant) (a core.Approvers,
	err error,
) {
	t, err := s.Tenant(ctx, c.TenantID)
	if err != nil {
		return a, err
	}
	var all []reviewer
	if err := s.All(ctx, &all, selectReviewers, t.ID, approving()); err != nil {
		return a, err
	}
	for _, r := range all {
		if r.Actor != by && t.Accepts(c, r.Actor) == nil {
			a.People++
		}
	}
	a.Waiting = []core.Email{}
	err = s.All(ctx, &a.Waiting, `SELECT email FROM invitation WHERE tenant_id = ?1 AND expires_at > ?2
		AND role IN (SELECT value FROM json_each(?3))
		UNION SELECT u.email FROM role AS r JOIN user AS u ON u.id = r.user_id WHERE r.tenant_id = ?1 AND u.disabled_at = 0
		AND (r.pending = 1 OR u.email_verified = 0) AND r.role IN (SELECT value FROM json_each(?3))
		ORDER BY 1 LIMIT +?4`, t.ID, int64(now), approving(), maxWaiting)
	return a, err
}

// reviewerOf returns the user whom the audit log names as actor. If there is no such user, it returns the zero
// reviewer.
func reviewerOf(tx *db.Tx, actor string) (r reviewer, err error) {
	err = tx.Get(&r, "SELECT ? AS actor, email, name FROM user WHERE id = ? AND email_verified = 1 AND disabled_at = 0",
		actor, core.ActorUser(actor))
	if errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return r, err
}

// tellReview emails people about a review.
func tellReview(tx *db.Tx, c *core.Campaign, kind, note string, by reviewer, to []reviewer, now core.Instant) error {
	mail := core.ReviewMail{
		Subject: c.Subject, By: cmp.Or(by.Name, string(by.Email)), Note: note, WantedAt: c.ReviewWantedAt,
	}
	for _, r := range to {
		if err := tenants.AddMail(tx, mail.MailTo(r.Email, kind, c.TenantID, c.ID), now); err != nil {
			return err
		}
	}
	return nil
}

// AskReview requests another person's approval of a draft and emails the people who can approve it. wantedAt is the
// deadline; 0 means no deadline. It returns core.ErrCampaignNotFound, core.ErrPreconditionFailed if the revision has
// changed, or core.ErrConflict. If the tenant has already made 50 requests for reviews and fixes in a day, it returns
// core.ErrTooMany.
func (s *Store) AskReview(ctx context.Context, e CampaignEdit, wantedAt core.Instant, note string) (core.Campaign,
	error,
) {
	return s.changeCampaign(ctx, e, "campaign.review", func(tx *db.Tx, c *core.Campaign) (bool, error) {
		if err := c.AskReview(wantedAt, note, e.Actor); err != nil {
			return false, err
		}
		if err := tallyReview(tx, c.TenantID, e.Now); err != nil {
			return false, err
		}
		asked, err := tellReviewers(tx, c, core.MailReview, c.ReviewNote, e)
		if err != nil {
			return false, err
		}
		c.ReviewAsked = asked
		if wantedAt != 0 {
			tx.Kick(db.TopicJobs) // so that the scheduler notices when the time passes
		}
		return true, closeVersion(tx, c.No, c.Version)
	})
}

// tallyReview counts a review request of a tenant. If there are too many in a day, it returns core.ErrTooMany.
func tallyReview(tx *db.Tx, tenantID string, now core.Instant) error {
	n, until, err := tx.Tally("reviews "+tenantID, reviewPeriod, now)
	if err == nil && n > reviewsPer {
		err = &core.Error{
			Kind: core.TooMany, Code: "rate_limited",
			Message:    "Too many approvals were requested today. Try again tomorrow.",
			RetryAfter: int(until.Sub(now) / time.Second),
		}
	}
	return err
}

// tellReviewers emails the people who may approve or fix a campaign, except the actor, and returns their number.
func tellReviewers(tx *db.Tx, c *core.Campaign, kind, note string, e CampaignEdit) (int, error) {
	t, err := tenants.ReadTenant(tx, c.TenantID)
	if err != nil {
		return 0, err
	}
	all, err := reviewers(tx, c.TenantID)
	if err != nil {
		return 0, err
	}
	all = slices.DeleteFunc(all, func(r reviewer) bool { return r.Actor == e.Actor || t.Accepts(c, r.Actor) != nil })
	all = all[:min(len(all), reviewersPer)]
	by, err := reviewerOf(tx, e.Actor)
	if err != nil {
		return 0, err
	}
	by.Name = cmp.Or(by.Name, string(by.Email), t.Name)
	return len(all), tellReview(tx, c, kind, note, by, all, e.Now)
}

// RejectCampaign turns a campaign that is approved or in review back into a draft and stores the note with it. It sends
// the note to the person who requested the review. It returns core.ErrCampaignNotFound, core.ErrPreconditionFailed if
// the revision has changed, or core.ErrConflict.
func (s *Store) RejectCampaign(ctx context.Context, e CampaignEdit, note string) (core.Campaign, error) {
	return s.changeCampaign(ctx, e, "campaign.reject", func(tx *db.Tx, c *core.Campaign) (bool, error) {
		was := *c
		if err := c.Reject(note, e.Actor, e.Now); err != nil {
			return false, err
		}
		return true, answerReview(tx, &was, core.MailReviewRejected, note, e)
	})
}

// answerReview emails the outcome of a review to the person who requested it, unless that person is the actor.
func answerReview(tx *db.Tx, c *core.Campaign, kind, note string, e CampaignEdit) error {
	if c.ReviewBy == "" || c.ReviewBy == e.Actor {
		return nil
	}
	asked, err := reviewerOf(tx, c.ReviewBy)
	if err != nil || asked.Email == "" {
		return err
	}
	by, err := reviewerOf(tx, e.Actor)
	if err != nil {
		return err
	}
	if by.Email == "" { // the requester is an API client, or a command on this machine
		t, err := tenants.ReadTenant(tx, c.TenantID)
		if err != nil {
			return err
		}
		by.Name = t.Name
	}
	return tellReview(tx, c, kind, note, by, []reviewer{asked}, e.Now)
}

// missedStep is the number of reviews that one operation of MissReviews handles.
const missedStep = 100

// MissReviews emails the requester and the reviewers of each review whose deadline has passed. It doesn't send the
// campaign. It returns the next deadline, or 0 if there is none. Its only error is core.ErrStorage.
func (s *Store) MissReviews(ctx context.Context, now core.Instant) (next core.Instant, err error) {
	const waiting = "FROM campaign WHERE state = 'in_review' AND review_missed = 0 AND review_wanted_at > 0 "
	first := func(get func(any, string, ...any) error) (at core.Instant, err error) {
		err = get(&at, "SELECT review_wanted_at "+waiting+"ORDER BY review_wanted_at LIMIT 1")
		if errors.Is(err, core.ErrNotFound) {
			err = nil
		}
		return at, err
	}
	next, err = first(func(to any, query string, args ...any) error { return s.Get(ctx, to, query, args...) })
	if err != nil || next == 0 || next > now {
		return next, err
	}
	err = s.Update(ctx, func(tx *db.Tx) error {
		var ids []string
		if err := tx.All(&ids, "SELECT id "+waiting+"AND review_wanted_at <= ? ORDER BY review_wanted_at LIMIT +?",
			int64(now), missedStep); err != nil {
			return err
		}
		for _, id := range ids {
			if err := missReview(tx, id, now); err != nil {
				return err
			}
		}
		next, err = first(tx.Get)
		return err
	})
	return next, err
}

func missReview(tx *db.Tx, id string, now core.Instant) error {
	c, err := campaign(tx, id)
	if err != nil {
		return err
	}
	if err := tx.One("UPDATE campaign SET review_missed = 1, revision = revision + 1 WHERE no = ?", c.No); err != nil {
		return err
	}
	t, err := tenants.ReadTenant(tx, c.TenantID)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	to, err := reviewers(tx, c.TenantID)
	if err != nil {
		return err
	}
	to = slices.DeleteFunc(to, func(r reviewer) bool { return r.Actor == c.ReviewBy || t.Accepts(&c, r.Actor) != nil })
	asked, err := reviewerOf(tx, c.ReviewBy)
	if err != nil {
		return err
	}
	to = to[:min(len(to), reviewersPer)]
	if asked.Email != "" {
		to = append(to, asked)
	}
	return tellReview(tx, &c, core.MailReviewMissed, "", asked, to, now)
}
