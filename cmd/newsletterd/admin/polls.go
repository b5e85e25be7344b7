package admin

import (
	"strconv"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store"
	"newsletterd/store/people"
)

// pollRow is one option of a poll as commands print it. Answers is absent before the campaign is sent.
type pollRow struct {
	Number   int    `json:"number"`
	Question string `json:"question"`
	Open     bool   `json:"open"`
	Total    int64  `json:"total"` // people who answered
	Option   string `json:"option"`
	Answers  *int64 `json:"answers,omitempty"`
}

func (p commands) campaignPollsCommand() *cli.Command {
	return p.Command("polls", "list a campaign's polls with the number of answers for each option",
		[]cli.Flag{cli.ID(people.NounCampaign)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			found, err := s.Campaign(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "campaign", c.String("id"))
			}
			polls, err := drafts.PollResults(c.Context, s, &found, true, now())
			if err != nil {
				return err
			}
			rows := []pollRow{}
			for i := range polls {
				r := &polls[i]
				for _, o := range r.Options {
					rows = append(rows, pollRow{r.Number, r.Question, r.Open, r.Answers, o.Text, o.Answers})
				}
			}
			return cli.List(p.Printer(c), rows, "number", "question", "open", "total", "option", "answers")
		})
}

func (p commands) closePollCommand() *cli.Command {
	return p.Command("close-poll", "close a poll in a sent campaign; you can't reopen it", []cli.Flag{
		cli.ID(people.NounCampaign), cli.String("poll", "`NUMBER` of the poll, as listed by \"polls\""),
	}, []string{"id", "poll"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		number, err := strconv.Atoi(c.String("poll"))
		if err != nil {
			return core.ErrPollNotFound
		}
		found, err := s.Campaign(c.Context, c.String("id"))
		if err != nil {
			return cli.Missing(err, "campaign", c.String("id"))
		}
		if err := s.ClosePoll(c.Context, &found, number, cli.Actor(), now()); err != nil {
			return err
		}
		return p.Done(c, "Poll %d closed.", number)
	})
}
