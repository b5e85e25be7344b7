package people

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/polls"
)

// Ballot identifies a recipient's email and a poll in it.
type Ballot struct {
	JobNo, Seq int64
	Poll       int // number in the campaign
}

// Voting is a poll as shown to one recipient.
type Voting struct {
	core.PollResult
	List   core.ListWithTenant
	Email  core.Email
	Option int  // number of the chosen option; 0 means none yet
	Left   bool // whether the recipient has unsubscribed, so that no answer is accepted

	poll         int64  // number in the database
	subscriberID string // id of the subscriber on List
}

// Voting returns a poll for a recipient. If the email, its subscriber or its list is no longer known, or the campaign
// has no such poll, it returns a NotFound error.
func (s *Store) Voting(ctx context.Context, b Ballot, now core.Instant) (v Voting, err error) {
	j, sub, err := s.MailedTo(ctx, b.JobNo, b.Seq)
	if err != nil {
		return v, err
	}
	list, err := s.ListWithTenant(ctx, sub.ListID)
	if err != nil {
		return v, err
	}
	v.List, v.Email, v.subscriberID = *list, sub.Email, sub.ID
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		p, err := polls.Numbered(r, j.CampaignID, b.Poll)
		if err != nil {
			return err
		}
		v.poll = p.No
		if v.PollResult, err = p.Result(r, now); err != nil {
			return err
		}
		v.BreakDown()
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

// leftList is 1 if a person has unsubscribed from a list, according to the member side or the send side. It is also 1
// for a person unknown to both sides.
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

// Vote stores a recipient's answer to a poll, and updates v. It replaces an earlier answer. It also sets the field that
// the poll names, if the person has a subscription here. It returns the errors of polls.Poll.Answer and ErrVoterLeft.
// If the poll was deleted in the meantime, it returns core.ErrPollNotFound.
func (s *Store) Vote(ctx context.Context, v *Voting, option int, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		p, err := polls.ByNo(tx, v.poll)
		if err != nil {
			return err
		}
		if v.Left, err = hasLeft(tx, v.List.ID, v.subscriberID); err != nil {
			return err
		}
		if v.Left {
			return ErrVoterLeft
		}
		changed, err := p.Answer(tx, v.List.ID, v.subscriberID, option, now)
		if err != nil {
			v.Open = v.Open && !errors.Is(err, core.ErrPollClosed)
			return err
		}
		if v.Option = option; changed && p.Field != "" {
			if err := setAnswer(tx, v, p.Field, v.Options[option-1].Text, now); err != nil {
				return err
			}
		}
		if v.ShowResults {
			v.PollResult, err = p.Result(tx, now)
			v.BreakDown()
		}
		return err
	})
}

// setAnswer saves the text of an answer in the poll's field. If the list's fields have changed so that the field can't
// take the answer, or if another member service manages the subscription, it does nothing.
func setAnswer(tx *db.Tx, v *Voting, field, text string, now core.Instant) error {
	asked := core.Poll{Field: field, Options: core.Strings{text}}
	if asked.Fits(v.Number, &v.List.List) != nil {
		return nil
	}
	sub, err := members.Subscription(tx, v.List.ID, v.subscriberID)
	if errors.Is(err, core.ErrSubscriptionNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return members.SetField(tx, v.List.TenantID, &sub, field, text, now)
}
