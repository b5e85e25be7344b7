package main

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/campaigns"
	"newsletterd/store/people"
)

// recipientRecord is what became of one recipient of a job.
type recipientRecord struct {
	Seq           int64        `json:"seq"`
	Email         string       `json:"email"`
	Status        string       `json:"status"`
	Reason        string       `json:"reason,omitempty"`
	Tries         int          `json:"tries"`
	NextAttemptAt core.Instant `json:"next_try_at,omitzero"`
	FinishedAt    core.Instant `json:"finished_at,omitzero"`
	Events        string       `json:"events"` // what was reported of it since
}

func (p *program) recipientsCommand() *cli.Command {
	c := p.command("recipients", "list the recipients of a send job with their status", []cli.Flag{
		idFlag(people.NounJob), oneOfFlag("status", "filter by `STATUS`: "+
			strings.Join(core.RecipientStates[:], ", "), optional(core.RecipientStates[:])...),
		stringFlag("code", "filter by the receiving server's `CODE`, for example 550 or 5.1.1"),
		stringFlag("email", "filter by email `ADDRESS`"),
		stringFlag("search", "filter by `TEXT` at the start of the address or of a word in the name"),
		oneOfFlag("event", "filter by `EVENT`: "+strings.Join(core.RecipientEvents, ", "),
			optional(core.RecipientEvents)...),
	}, []string{"id"}, p.listRecipients)
	c.Description = "   newsletterd admin job recipients --id ID --status failed --code 5.1.1"
	return c
}

func (p *program) listRecipients(c *cli.Context, _ *config.Config, s *store.Store) error {
	f := campaigns.RecipientFilter{
		Status: c.String("status"), Code: c.String("code"), Event: c.String("event"), Search: c.String("search"),
	}
	if c.IsSet("email") {
		email, err := givenEmail(c)
		if err != nil {
			return err
		}
		f.Email = email
	}
	j, err := s.SendJob(c.Context, c.String("id"))
	if err != nil {
		return missing(err, "job", c.String("id"))
	}
	rows, err := pages(func(r core.Recipient) string { return strconv.FormatInt(r.Seq, 10) },
		func(page core.Page) ([]core.Recipient, error) {
			return s.Recipients(c.Context, &j, f, page)
		})
	if err != nil {
		return err
	}
	out := make([]recipientRecord, len(rows))
	for i, r := range rows {
		out[i] = recipientRecord{
			r.Seq, r.Email, core.RecipientStates[r.State], r.Reason, r.Tries, r.DueAt, r.FinishedAt,
			strings.Join(r.Marks.Names(), " "),
		}
	}
	return list(p.printer(c), out, "email", "status", "reason", "tries", "next_try_at", "finished_at", "events")
}
