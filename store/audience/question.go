package audience

import (
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
)

// Question asks which active subscribers of lists match a rule. Only subscribers who may be emailed count: active,
// without a block, and not suppressed.
type Question struct {
	TenantID string
	ListIDs  []string
	Rule     *core.Rule    // may refer to segments
	Exact    bool          // for CountSegment: count everyone, however long it takes
	Within   time.Duration // for CountSegment: time for a sample; 0: core.AudienceBudget
	Now      core.Instant
}

// asked is a question together with its rule in a form that can be evaluated.
type asked struct {
	*Question
	*campaigns.RuleMatch
}

// ask prepares a question for evaluation. If a list doesn't belong to the tenant, it returns core.ErrListNotFound. It
// also returns the errors of campaigns.MatchRule.
func (s *Store) ask(q db.Querier, question *Question) (*asked, error) {
	for _, id := range question.ListIDs {
		known, err := campaigns.HasList(q, question.TenantID, id)
		if err != nil {
			return nil, err
		}
		if !known {
			return nil, core.ErrListNotFound
		}
	}
	match, err := campaigns.MatchRule(q, question.TenantID, question.Rule, question.Now)
	return &asked{question, match}, err
}

// profileColumns are the columns of a subscriber "s" that a rule can need.
const profileColumns = "s.list_id, s.id, s.email_key, s.email, s.preferences, s.joined_at, s.created_at, s.word_at"

const peopleOf = "SELECT s.word, s.block, s.block_at, s.soft_bounces, s.soft_at, s.doubted_at, s.sync_no, " +
	"s.changed_at, " + profileColumns + campaigns.MailableOf
