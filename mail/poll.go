package mail

import (
	"strconv"

	"newsletterd/core"
)

// PollPath is the path of the pages where subscribers answer polls. A token follows.
const PollPath = "/poll/"

// PollPreview replaces the token in previews. Its page says that answers from previews aren't counted.
const PollPreview = "preview"

// Answer is an option in a poll. Numbers start at 1.
type Answer struct{ Poll, Option int }

// Voter creates the tokens with which one recipient answers polls.
type Voter struct {
	Ident    *Ident
	Job, Seq int64
}

// Poll returns the token that lets recipient seq of a job choose an option in a poll.
func (n *Ident) Poll(job, seq int64, a Answer) string {
	return string(n.append(nil, kindPoll, messageMAC, job, seq, int64(a.Poll*optionsBase+a.Option)))
}

// optionsBase is the base for combining the numbers of a poll and an option into one number.
const optionsBase = 100

// ParsePoll parses a token created by Poll. ok is false for any string that this key didn't create.
func (n *Ident) ParsePoll(token string) (job, seq int64, a Answer, ok bool) {
	var v [3]int64
	if ok = n.parse(token, kindPoll, messageMAC, v[:]); !ok {
		return 0, 0, a, false
	}
	return v[0], v[1], Answer{int(v[2] / optionsBase), int(v[2] % optionsBase)}, true
}

func (v *Vars) pollURL(a Answer) string {
	switch {
	case v.PollURL == "":
		return ""
	case v.Voter == nil:
		return v.PollURL + PollPreview
	}
	return v.PollURL + v.Voter.Ident.Poll(v.Voter.Job, v.Voter.Seq, a)
}

// pollURL parses the path after poll_url: the numbers of a poll and an option.
func (e *expression) pollURL(path []string) (operand, error) {
	var n [2]int
	for i := range n {
		if len(path) == len(n) {
			n[i], _ = strconv.Atoi(path[i])
		}
	}
	if n[0] < 1 || n[0] > core.MaxPolls || n[1] < 1 || n[1] > core.MaxPollOptions {
		return operand{}, e.fail("poll_url needs a poll number and an option number, as in poll_url.1.2")
	}
	e.t.polls = true
	return operand{root: rootPollURL, answer: Answer{n[0], n[1]}}, nil
}

// PrintsPoll reports whether any part links to a poll. If so, each Recipient should have a PollURL.
func (b *Bulk) PrintsPoll() bool {
	return b.subject.polls || b.text.polls || b.html != nil && b.html.polls
}
