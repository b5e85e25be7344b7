package people

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/polls"
)

// Ballot names the email of a recipient, and a poll of its campaign.
type Ballot struct {
	JobNo, Seq int64
	Poll       int // number in the campaign
}

// Voting is a poll as a recipient sees it.
type Voting struct {
	core.PollResult
	List   core.ListWithTenant
	Email  core.Email
	Option int  // the number of the chosen option; 0: none yet
	Left   bool // the recipient has unsubscribed, so no answer is accepted
}

// Voting returns a poll for a recipient. If the email, its subscriber or its list is no longer known, or the campaign has
// no such poll, it returns a NotFound error.
func (s *Store) Voting(ctx context.Context, b Ballot, now core.Instant) (v Voting, err error) {
	j, sub, err := s.MailedTo(ctx, b.JobNo, b.Seq)
	if err != nil {
		return v, err
	}
	list, err := s.ListWithTenant(ctx, sub.ListID)
	if err != nil {
		return v, err
	}
	v.List, v.Email = *list, sub.Email
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		p, err := polls.Numbered(r, j.CampaignID, b.Poll)
		if err != nil {
			return err
		}
		if v.PollResult, err = p.Result(r, now); err != nil {
			return err
		}
		given, err := p.AnswerOf(r, sub.ListID, sub.ID)
		if err != nil {
			return err
		}
		v.Option = given.Option
		v.Left, err = hasLeft(r, sub.ListID, sub.ID)
		return err
	})
	return v, err
}

// leftList is 1 if a person has unsubscribed from a list, on the member side or as the send side knows it. A person of
// whom neither side knows has left, too.
const leftList = `SELECT NOT EXISTS (SELECT 1 FROM subscriber WHERE list_id = ?1 AND id = ?2 AND word = 'active')
	OR EXISTS (SELECT 1 FROM subscription WHERE list_id = ?1 AND id = ?2 AND status = 'unsubscribed')`

func hasLeft(q db.Querier, listID, id string) (left bool, err error) {
	err = q.Get(&left, leftList, listID, id)
	return left, err
}

// ErrVoterLeft is returned for the answer of someone who has unsubscribed.
var ErrVoterLeft = &core.Error{
	Kind: core.Conflict, Code: "unsubscribed", Message: "Answers of people who unsubscribed aren't recorded.",
}

// Vote stores a recipient's answer to a poll. It replaces an earlier answer. It also sets the field that the poll names,
// if the person has a subscription here. Besides the errors of Voting, it returns those of polls.Poll.Answer and
// ErrVoterLeft.
func (s *Store) Vote(ctx context.Context, b Ballot, option int, now core.Instant) error {
	j, sub, err := s.MailedTo(ctx, b.JobNo, b.Seq)
	if err != nil {
		return err
	}
	return s.Update(ctx, func(tx *db.Tx) error {
		p, err := polls.Numbered(tx, j.CampaignID, b.Poll)
		if err != nil {
			return err
		}
		left, err := hasLeft(tx, sub.ListID, sub.ID)
		if err != nil {
			return err
		}
		if left {
			return ErrVoterLeft
		}
		changed, err := p.Answer(tx, sub.ListID, sub.ID, option, now)
		if err != nil || !changed || p.Field == "" {
			return err
		}
		subscription, err := members.Subscription(tx, sub.ListID, sub.ID)
		if errors.Is(err, core.ErrSubscriptionNotFound) { // another member service has it
			return nil
		}
		if err != nil {
			return err
		}
		text, err := p.Option(tx, option)
		if err != nil {
			return err
		}
		return members.SetField(tx, j.TenantID, &subscription, p.Field, text, now)
	})
}
