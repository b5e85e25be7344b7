package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store"
	"newsletterd/store/campaigns"
	"newsletterd/store/people"
)

// campaignStates lists the values of --state.
var campaignStates = []string{
	string(core.CampaignDraft), string(core.CampaignInReview), string(core.CampaignApproved),
	string(core.CampaignScheduled), string(core.CampaignSending), string(core.CampaignSent),
	string(core.CampaignArchived),
}

func (p commands) campaignCommands() *cli.Command {
	all := p.Command("list", "list campaigns, newest first", []cli.Flag{
		cli.Tenant("filter by tenant (`ID` or name)"),
		cli.Reference("list", people.NounList, "filter by list (`ID` or name)"),
		cli.OneOf("state", "filter by `STATUS`: "+strings.Join(campaignStates, ", "),
			cli.Optional(campaignStates)...),
		cli.String("search", "filter by `TEXT` in the name or subject"),
	}, nil, p.listCampaigns)
	show := p.Command("show", "show a campaign", []cli.Flag{cli.ID(people.NounCampaign)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			found, err := s.Campaign(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "campaign", c.String("id"))
			}
			return p.Printer(c).Record(found.View())
		})
	undo := p.campaignStep("undo", "undo a scheduled send before the first email is sent",
		(*store.Store).UndoCampaign)
	reject := p.campaignStep("reject", "request changes to a campaign; it becomes a draft again",
		func(s *store.Store, ctx context.Context, e campaigns.CampaignEdit) (core.Campaign, error) {
			return s.RejectCampaign(ctx, e, "")
		})
	archive := p.campaignStep("archive", "archive a draft or a sent campaign", (*store.Store).ArchiveCampaign)
	del := p.Command("delete", "delete a draft that was never sent", []cli.Flag{cli.ID(people.NounCampaign)},
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteCampaign(c.Context, campaignEdit(c)); err != nil {
				return cli.Missing(err, "campaign", c.String("id"))
			}
			return p.Done(c, "Campaign %s deleted.", c.String("id"))
		})
	return &cli.Command{
		Name: "campaign", Usage: "manage campaigns: check, preview, approve, send",
		Subcommands: []*cli.Command{
			all, show, p.duplicateCommand(), p.audienceCommand(), p.previewCampaignCommand(), p.checkCampaignCommand(),
			p.testCampaignCommand(),
			p.approveCommand(), p.sendCampaignCommand(),
			undo, reject, archive, p.campaignLinksCommand(), p.mendLinkCommand(), p.correctCommand(),
			p.campaignPollsCommand(), p.closePollCommand(), del,
		},
	}
}

// campaignStep returns a command that moves a campaign from one state to another.
func (p commands) campaignStep(name, usage string, move func(*store.Store, context.Context, campaigns.CampaignEdit) (
	core.Campaign, error),
) *cli.Command {
	return p.Command(name, usage, []cli.Flag{cli.ID(people.NounCampaign)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			moved, err := move(s, c.Context, campaignEdit(c))
			if err != nil {
				return cli.Missing(err, "campaign", c.String("id"))
			}
			return p.Printer(c).Record(moved.View())
		})
}

func campaignEdit(c *cli.Context) campaigns.CampaignEdit {
	return campaigns.CampaignEdit{ID: c.String("id"), Actor: cli.Actor(), Now: now()}
}

func (p commands) listCampaigns(c *cli.Context, _ *config.Config, s *store.Store) error {
	f := campaigns.CampaignFilter{
		State: core.CampaignState(c.String("state")), ListID: c.String("list"), Text: c.String("search"),
	}
	var err error
	if f.Tenants, f.All, err = cli.TenantOf(c, s); err != nil {
		return err
	}
	rows, err := cli.Pages(func(v campaignRow) string { return strconv.FormatInt(v.No, 10) },
		func(page core.Page) ([]campaignRow, error) {
			found, err := s.Campaigns(c.Context, f, page)
			if err != nil {
				return nil, err
			}
			views := make([]campaignRow, len(found))
			for i := range found {
				if views[i], err = campaignRowOf(c.Context, s, &found[i]); err != nil {
					return nil, err
				}
			}
			return views, nil
		})
	if err != nil {
		return err
	}
	return cli.List(p.Printer(c), rows, campaignColumns...)
}

// campaignColumns lists the columns of the campaign list.
var campaignColumns = []string{"id", "state", "transport", "subject", "version", "updated_by", "updated_at"}

// campaignRow is a row of the campaign list.
type campaignRow struct {
	core.CampaignView
	// Transport is where the campaign's emails went, as in core.SendJob. Emails saved to a folder reached no one.
	Transport string `json:"transport,omitempty"`
}

func campaignRowOf(ctx context.Context, s *store.Store, found *core.Campaign) (row campaignRow, err error) {
	row.CampaignView = found.View()
	switch found.State {
	case core.CampaignSending, core.CampaignSent, core.CampaignArchived:
	default:
		return row, nil
	}
	if row.JobID == "" {
		return row, nil
	}
	j, err := s.SendJob(ctx, row.JobID)
	if errors.Is(err, core.ErrJobNotFound) {
		err = nil // its tenant was deleted
	}
	row.Transport = j.Transport
	return row, err
}

// draftsOf returns Drafts that check campaigns in the same way as the API.
func draftsOf(c *cli.Context, cfg *config.Config, s *store.Store) (drafts.Drafts, error) {
	keys, err := parts.NewMailKeys(c.Context, s)
	return drafts.Drafts{Store: s, Sealer: keys.Sealer, Origin: cfg.Origin(), Checks: parts.CampaignChecks(cfg)}, err
}

// compiled compiles the campaign in --id with by, a method of Drafts, and prints warnings about probable mistakes.
func (p commands) compiled(c *cli.Context, cfg *config.Config, s *store.Store, by func(drafts.Drafts, context.Context,
	*core.Campaign, int64, core.Instant) (campaigns.Draft, []string, error),
) (draft campaigns.Draft, err error) {
	d, err := draftsOf(c, cfg, s)
	if err != nil {
		return draft, err
	}
	found, err := s.Campaign(c.Context, c.String("id"))
	if err != nil {
		return draft, cli.Missing(err, "campaign", c.String("id"))
	}
	draft, warnings, err := by(d, c.Context, &found, 0, now())
	if err != nil {
		return draft, err
	}
	for _, w := range warnings {
		fmt.Fprintln(p.Err, "warning:", w)
	}
	return draft, nil
}

func (p commands) previewCampaignCommand() *cli.Command {
	return p.Command("preview", "preview a campaign", previewFlags(
		cli.ID(people.NounCampaign), cli.String("email", "preview it for the subscriber with this `ADDRESS`"),
	), []string{"id"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		d, err := draftsOf(c, cfg, s)
		if err != nil {
			return err
		}
		found, err := s.Campaign(c.Context, c.String("id"))
		if err != nil {
			return cli.Missing(err, "campaign", c.String("id"))
		}
		l, err := d.Look(c.Context, &found, 0, now())
		if err == nil {
			err = l.Fault
		}
		if err != nil {
			return err
		}
		for _, w := range l.Warnings() {
			fmt.Fprintln(p.Err, "warning:", w)
		}
		r, err := d.Recipient(c.Context, &l, core.Email(c.String("email")), now())
		if err != nil {
			return err
		}
		return p.printPreview(c, l.Bulk, &r)
	})
}

func (p commands) testCampaignCommand() *cli.Command {
	return p.Command("test", "send a test email of a campaign", []cli.Flag{
		cli.ID(people.NounCampaign),
		cli.Strings("email",
			"send it to `ADDRESS` (repeatable; default: the test addresses of the campaign or tenant)"),
	}, []string{"id"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		to, err := addresses(c, "email")
		if err != nil {
			return err
		}
		draft, err := p.compiled(c, cfg, s, drafts.Drafts.Complete)
		if err != nil {
			return err
		}
		if to, err = queueTests(c, s, &draft, to); err != nil {
			return err
		}
		return p.Done(c, "%s queued. The daemon sends them.", testsTo(to))
	})
}

// addresses reads a repeatable flag with email addresses.
func addresses(c *cli.Context, flag string) (to []core.Email, err error) {
	for _, address := range c.StringSlice(flag) {
		email, err := cli.AddressIn(c, flag, address)
		if err != nil {
			return nil, err
		}
		to = append(to, email)
	}
	return to, nil
}

// queueTests queues test emails of a draft and returns the addresses that they go to: to or, if that is empty, the
// campaign's test group.
func queueTests(c *cli.Context, s *store.Store, draft *campaigns.Draft, to []core.Email) (_ []core.Email, err error) {
	if len(to) == 0 {
		d := drafts.Drafts{Store: s}
		if to, err = d.TestGroup(c.Context, &draft.Campaign, draft.Version.Version); err != nil {
			return nil, err
		}
	}
	return to, s.AddCampaignTests(c.Context, draft, to, now())
}

// testsTo describes how many test emails are sent, and to which addresses.
func testsTo(to []core.Email) string {
	words := make([]string, len(to))
	for i, email := range to {
		words[i] = string(email)
	}
	return cli.Counted(int64(len(to)), "test email") + " to " + strings.Join(words, ", ")
}

func (p commands) duplicateCommand() *cli.Command {
	return p.Command("duplicate", "duplicate a campaign as a draft", []cli.Flag{
		cli.ID(people.NounCampaign),
		cli.OneOf("to", "`RECIPIENTS` of the new draft: same (as this campaign, for a correction), joined (people "+
			"who signed up since) or unopened (recipients without a known open; only "+
			"once)", cli.Optional(core.FollowUps)...),
	}, []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		of, err := s.Campaign(c.Context, c.String("id"))
		if err != nil {
			return cli.Missing(err, "campaign", c.String("id"))
		}
		_, f, err := s.CampaignVersion(c.Context, &of, 0)
		if err != nil {
			return err
		}
		if who := c.String("to"); who != "" {
			f.Audience = &core.FollowUp{Of: of.ID, Who: who}
		}
		made := core.NewCampaign(of.TenantID, &f, cli.Actor(), now())
		made.InArchive = of.CopiedInArchive(&f)
		if made, err = s.AddCampaign(c.Context, made, &f); err != nil {
			return err
		}
		return p.Printer(c).Record(made.View())
	})
}

func (p commands) audienceCommand() *cli.Command {
	return p.Command("audience", "count the recipients of a campaign and the people it skips",
		[]cli.Flag{cli.ID(people.NounCampaign)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			found, err := s.Campaign(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "campaign", c.String("id"))
			}
			fields, err := s.CountedVersion(c.Context, &found, 0)
			if err != nil {
				return err
			}
			counted, err := s.CountAudience(c.Context, found.TenantID, &fields, 0)
			if err != nil {
				return err
			}
			if w := counted.Warning(); w != "" {
				fmt.Fprintln(p.Err, "warning:", w)
			}
			return p.Printer(c).Record(counted)
		})
}

// forceFlag returns the flag that skips approval by a second person.
func forceFlag() cli.Flag {
	return cli.Bool("force", "skip the approval by a second person that the tenant requires")
}

// firstFewFlag returns the flag that sends a campaign to the first recipients before the rest.
func firstFewFlag() cli.Flag {
	return cli.Bool("first-few", "send to 500 recipients first and to the rest 10 minutes later, if there are more "+
		"than 2,000 (default: the tenant's setting)")
}

// sending returns the request to approve or send a compiled draft, according to the flags.
func sending(c *cli.Context, draft *campaigns.Draft) campaigns.CampaignSending {
	e := campaignEdit(c)
	e.ID, e.Revision, e.Seen = draft.Campaign.ID, draft.Campaign.Revision, draft.Digest
	return campaigns.CampaignSending{
		CampaignEdit: e, Version: draft.Campaign.Version, Fields: &draft.Fields, Copy: &draft.Content.Copy,
		Force: c.Bool("force"), FirstFew: cli.GivenBool(c, "first-few"),
		Head: draft.Head,
	}
}

func (p commands) approveCommand() *cli.Command {
	return p.Command("approve", "approve a campaign; only the approved version can be sent",
		[]cli.Flag{cli.ID(people.NounCampaign), forceFlag()}, []string{"id"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			draft, err := p.compiled(c, cfg, s, drafts.Drafts.Ready)
			if err != nil {
				return err
			}
			approved, err := s.ApproveCampaign(c.Context, sending(c, &draft))
			if err != nil {
				return err
			}
			return p.Printer(c).Record(approved.View())
		})
}

func (p commands) sendCampaignCommand() *cli.Command {
	send := p.Command("send", "send or schedule a campaign", []cli.Flag{
		cli.ID(people.NounCampaign),
		cli.String("at", "start sending at `TIME`: \"2026-12-24 08:00\", local or in --time-zone, or "+
			"2026-12-24T08:00:00Z (default: now)"),
		timeZoneFlag(),
		cli.Bool("yes", "send to more than one recipient without asking"),
		firstFewFlag(), forceFlag(), testingFlag(),
	}, []string{"id"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		draft, err := p.compiled(c, cfg, s, drafts.Drafts.Ready)
		if err != nil {
			return err
		}
		at, err := notPast(c, &draft.Content.Tenant, "at", c.String("time-zone"))
		if err != nil {
			return err
		}
		return p.sendDraft(c, cfg, s, &draft, at)
	})
	send.Description = "Sending also approves the campaign. On a terminal, the command asks before it sends to more " +
		"than one recipient, unless you pass --yes or --json."
	return send
}

// testingFlag returns the flag that allows a campaign to be saved to a folder instead of sent.
func testingFlag() cli.Flag {
	return cli.Bool("testing", "send even if no mail server is set up; emails are saved to a folder")
}

// sendDraft creates a draft's job and prints it. At a terminal it asks for confirmation first.
func (p commands) sendDraft(c *cli.Context, cfg *config.Config, s *store.Store, draft *campaigns.Draft,
	at core.Instant,
) error {
	relay := parts.RelayOptions(cfg)
	if err := relay.Reaches(c.Context, s, &draft.Content.Tenant, c.Bool("testing")); err != nil {
		return err
	}
	n := core.NewJob{Subject: draft.Fields.Subject, ScheduledAt: at}
	counted, err := s.CountAudience(c.Context, draft.Campaign.TenantID, &draft.Fields, 0)
	if err != nil {
		return err
	}
	if w := counted.Warning(); w != "" {
		fmt.Fprintln(p.Err, "warning:", w)
	}
	if err := p.confirmCampaign(c, s, draft, &counted, &n); err != nil {
		return err
	}
	r := sending(c, draft)
	r.Expected = counted.Recipients
	j, err := s.SendCampaign(c.Context, r, campaigns.JobRequest{NewJob: core.NewJob{ScheduledAt: at}}, 0)
	if err != nil {
		return err
	}
	return p.printJob(c, s, j.ID)
}

// timeZoneFlag returns the flag that sets the time zone for times without an offset.
func timeZoneFlag() cli.Flag {
	return cli.String("time-zone",
		"time `ZONE` for times without an offset, for example Europe/Berlin (default: the "+
			"tenant's, then this machine's)")
}

// notPast reads a flag with a time, which must not be in the past. The time zone is the named one. Without a name, it
// is the tenant's or, if that has none, this machine's.
func notPast(c *cli.Context, t *core.Tenant, flag, named string) (at core.Instant, err error) {
	zone, err := t.ZoneOf(named)
	if err == nil {
		if zone == nil {
			zone = time.Local
		}
		at, err = core.ParseTime("--"+flag, c.String(flag), zone)
	}
	if fault, ok := errors.AsType[*core.Error](err); ok && fault.Kind == core.Invalid {
		return 0, cli.UsageError(c, fault.Message)
	}
	if n := (core.NewJob{ScheduledAt: at}); err == nil && n.ScheduledInPast(now()) {
		err = core.Invalidf("scheduled_at", "--%s is in the past. Leave it out to send now", flag)
	}
	return at, err
}
