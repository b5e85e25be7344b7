package admin

import (
	"strconv"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/campaigns"
	"newsletterd/store/people"
)

// recipientRecord is a recipient of a job as commands print it, with the result.
type recipientRecord struct {
	Seq           int64        `json:"seq"`
	Email         string       `json:"email"`
	Status        string       `json:"status"`
	Reason        string       `json:"reason,omitempty"`
	Tries         int          `json:"tries"`
	NextAttemptAt core.Instant `json:"next_try_at,omitzero"`
	FinishedAt    core.Instant `json:"finished_at,omitzero"`
	Events        string       `json:"events"` // events reported since
}

func (p commands) recipientsCommand() *cli.Command {
	c := p.Command("recipients", "list the recipients of a send job with their status", []cli.Flag{
		cli.ID(people.NounJob), cli.OneOf("status", "filter by `STATUS`: "+
			strings.Join(core.RecipientStates[:], ", "), cli.Optional(core.RecipientStates[:])...),
		cli.String("code", "filter by the receiving server's `CODE`, for example 550 or 5.1.1"),
		cli.String("email", "filter by email `ADDRESS`"),
		cli.String("search", "filter by `TEXT` at the start of the address or of a word in the name"),
		cli.OneOf("event", "filter by `EVENT`: "+strings.Join(core.RecipientEvents, ", "),
			cli.Optional(core.RecipientEvents)...),
	}, []string{"id"}, p.listRecipients)
	c.Description = "   newsletterd admin job recipients --id ID --status failed --code 5.1.1"
	return c
}

func (p commands) listRecipients(c *cli.Context, _ *config.Config, s *store.Store) error {
	f := campaigns.RecipientFilter{
		Status: c.String("status"), Code: c.String("code"), Event: c.String("event"), Search: c.String("search"),
	}
	if c.IsSet("email") {
		email, err := cli.GivenEmail(c)
		if err != nil {
			return err
		}
		f.Email = email
	}
	j, err := s.SendJob(c.Context, c.String("id"))
	if err != nil {
		return cli.Missing(err, "job", c.String("id"))
	}
	rows, err := cli.Pages(func(r core.Recipient) string { return strconv.FormatInt(r.Seq, 10) },
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
	return cli.List(p.Printer(c), out, "email", "status", "reason", "tries", "next_try_at", "finished_at", "events")
}
