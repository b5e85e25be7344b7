package polls

import (
	"context"
	"strconv"

	"newsletterd/core"
	"newsletterd/store/db"
)

// Store stores polls. Its methods are safe for concurrent use.
type Store struct{ *db.DB }

// New returns the poll store of a database that is not open yet.
func New(d *db.DB) *Store { return &Store{d} }

// Poll is a poll of a sent campaign.
type Poll struct {
	No          int64        `db:"no"`
	TenantID    string       `db:"tenant_id"`
	CampaignID  string       `db:"campaign_id"`
	Number      int          `db:"number"` // position in the campaign, starting at 1
	Question    string       `db:"question"`
	Field       string       `db:"field"`
	ShowResults bool         `db:"show_results"`
	ClosesAt    core.Instant `db:"closes_at"`
	ClosedAt    core.Instant `db:"closed_at"`
}

const columns = "no, tenant_id, campaign_id, number, question, field, show_results, closes_at, closed_at"

const (
	ofCampaign = "SELECT " + columns + " FROM poll WHERE campaign_id = ? ORDER BY number"
	byNumber   = "SELECT " + columns + " FROM poll WHERE campaign_id = ? AND number = ?"
	byNo       = "SELECT " + columns + " FROM poll WHERE no = ?"
	options    = "SELECT text, answers FROM poll_option WHERE poll_no = ? ORDER BY number"
)

// Keep stores the polls of a campaign that has sent no email yet. due is when it will be sent. If a poll closes before
// that, Keep returns an Invalid error.
func Keep(tx *db.Tx, c *core.Campaign, all []core.Poll, due core.Instant) error {
	if err := Remove(tx, c.ID); err != nil {
		return err
	}
	for i := range all {
		p := &all[i]
		if p.ClosesAt != 0 && p.ClosesAt <= due {
			return core.Invalidf("polls["+strconv.Itoa(i)+"].closes_at",
				"Poll %d closes before the campaign is sent. Choose a later closing time, or none.", i+1)
		}
		no, err := tx.Insert(`INSERT INTO poll (tenant_id, campaign_id, number, question, field, show_results, closes_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, c.TenantID, c.ID, i+1, p.Question, p.Field, p.ShowResults, int64(p.ClosesAt))
		if err != nil {
			return err
		}
		for k, text := range p.Options {
			_, err := tx.Exec("INSERT INTO poll_option (poll_no, number, text) VALUES (?, ?, ?)", no, k+1, text)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// StayOpen returns an Invalid error if a poll of a campaign closes before due, the new time of the send.
func StayOpen(tx *db.Tx, campaignID string, due core.Instant) error {
	var all []Poll
	if err := tx.All(&all, ofCampaign, campaignID); err != nil {
		return err
	}
	for i := range all {
		if p := &all[i]; p.ClosesAt != 0 && p.ClosesAt <= due {
			return core.Invalidf("scheduled_at", "Poll %d closes before this time. Choose an earlier time.", p.Number)
		}
	}
	return nil
}

// Remove deletes the polls of a campaign that hasn't sent any email. Such polls have no answers.
func Remove(tx *db.Tx, campaignID string) error {
	_, err := tx.Exec("DELETE FROM poll_option WHERE poll_no IN (SELECT no FROM poll WHERE campaign_id = ?)", campaignID)
	if err == nil {
		_, err = tx.Exec("DELETE FROM poll WHERE campaign_id = ?", campaignID)
	}
	return err
}

// Numbered returns a poll of a campaign by its number. If there is none, it returns core.ErrPollNotFound.
func Numbered(q db.Querier, campaignID string, number int) (p Poll, err error) {
	err = q.Get(&p, byNumber, campaignID, number)
	return p, db.OrNotFound(err, core.ErrPollNotFound)
}

// ByNo returns a poll. If there is none, it returns core.ErrPollNotFound.
func ByNo(q db.Querier, no int64) (p Poll, err error) {
	err = q.Get(&p, byNo, no)
	return p, db.OrNotFound(err, core.ErrPollNotFound)
}

// Result returns a poll with the number of answers for each option, even if there are few.
func (p *Poll) Result(q db.Querier, now core.Instant) (r core.PollResult, err error) {
	r = core.PollResult{
		Number: p.Number, Question: p.Question, Field: p.Field, ClosesAt: p.ClosesAt, ClosedAt: p.ClosedAt,
		ShowResults: p.ShowResults,
	}
	r.Open = r.OpenAt(now)
	err = q.All(&r.Options, options, p.No)
	for i := range r.Options {
		r.Answers += *r.Options[i].Answers
	}
	return r, err
}

// PollResults returns the polls of a sent campaign with their answers, even if there are few. Before the campaign is
// sent, it returns none. Its only error is core.ErrStorage.
func (s *Store) PollResults(ctx context.Context, campaignID string, now core.Instant) (out []core.PollResult,
	err error,
) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		var all []Poll
		if err := r.All(&all, ofCampaign, campaignID); err != nil {
			return err
		}
		for i := range all {
			result, err := all[i].Result(r, now)
			if err != nil {
				return err
			}
			out = append(out, result)
		}
		return nil
	})
	return out, err
}

// ClosePoll ends a poll of a sent campaign. Closing it again changes nothing. If there is no such poll, it returns
// core.ErrPollNotFound.
func (s *Store) ClosePoll(ctx context.Context, c *core.Campaign, number int, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		p, err := Numbered(tx, c.ID, number)
		if err != nil || p.ClosedAt != 0 {
			return err
		}
		if err := tx.One("UPDATE poll SET closed_at = ? WHERE no = ?", int64(now), p.No); err != nil {
			return err
		}
		tx.Tell("poll", nil, p.Question)
		return tx.Audit(now, actor, "campaign.poll.close", c.TenantID, c.ID)
	})
}
