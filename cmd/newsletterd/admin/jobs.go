package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
	"newsletterd/store/campaigns"
	"newsletterd/store/people"
)

func (p commands) jobCommands() *cli.Command {
	create := p.Command("create", "create a send job", append(sourceFlags(), []cli.Flag{
		cli.Reference("list", people.NounList, "list (`ID` or name)"),
		cli.Reference("segment", people.NounSegment, "only send to subscribers in this segment (`ID` or name)"),
		cli.String("subject", "subject `TEXT`; can contain placeholders"),
		cli.String("name", "internal `NAME` of the job"), cli.String("html", "`FILE` with the HTML part"),
		cli.String("text", "`FILE` with the text part (default: generated from the HTML)"),
		cli.Name("template", people.NounTemplate, "template of the tenant (`NAME` or ID)"),
		cli.String("unsubscribe-url", "`URL` of the visible unsubscribe link, with {{unsubscribe_token}} (default: "+
			"newsletterd's page)"),
		cli.String("scheduled-at", "start sending at `TIME`, for example 2026-12-24T08:00:00Z (default: now)"),
		cli.String("window-start", "don't send before `TIME`"),
		cli.String("window-end", "stop sending at `TIME`; the remaining recipients get no email"),
		cli.Bool("track-open", "track opens"), cli.Bool("track-click", "track clicks"),
		cli.Bool("yes", "send to more than one recipient without asking"), forceFlag(),
	}...), []string{"list", "subject"}, p.createJob)
	create.Description = `   newsletterd admin job create --list ID --subject "News for {{preferences.first_name | default: \"you\"}}" --markdown issue.md

On a terminal, the command asks before it sends to more than one recipient,
unless you pass --yes or --json.`
	all := p.Command("list", "list send jobs, newest first", []cli.Flag{
		cli.Tenant("filter by tenant (`ID` or name)"),
		cli.OneOf("status", "filter by `STATUS`: "+strings.Join(jobStates, ", "), cli.Optional(jobStates)...),
	}, nil, p.listJobs)
	show := p.Command("show", "show a send job with its counts", []cli.Flag{cli.ID(people.NounJob)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			return p.printJob(c, s, c.String("id"))
		})
	cancel := p.Command("cancel", "cancel a send job; emails already in progress are still sent",
		[]cli.Flag{cli.ID(people.NounJob)},
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			j, err := s.CancelSendJob(c.Context, c.String("id"), now())
			if err != nil {
				return cli.Missing(err, "job", c.String("id"))
			}
			return p.printJob(c, s, j.ID)
		})
	watch := p.Command("watch", "follow a send job until it ends",
		[]cli.Flag{cli.ID(people.NounJob), cli.Bool("to-the-end",
			"also wait for deferred recipients, which are retried for two days")}, []string{"id"}, p.watchJob)
	watch.Description = `Shows progress, speed and remaining time: one updating line on a terminal,
otherwise a line per change. Without --to-the-end it also ends when only
deferred recipients are left. Exits with 1 unless the job completes.`
	return &cli.Command{
		Name: "job", Usage: "manage send jobs",
		Subcommands: []*cli.Command{
			create, all, show, p.previewJobCommand(), p.testJobCommand(), moveCommand(p), cancel, p.pauseCommand(),
			p.resumeCommand(),
			p.retryCommand(), p.recipientsCommand(), watch,
		},
	}
}

func (p commands) pauseCommand() *cli.Command {
	pause := p.Command("pause", "pause a send job; emails already in progress are still sent",
		[]cli.Flag{cli.ID(people.NounJob)},
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			j, err := s.PauseSendJobBy(c.Context, c.String("id"), cli.Actor(), now())
			if err != nil {
				return cli.Missing(err, "job", c.String("id"))
			}
			return p.printJob(c, s, j.ID)
		})
	pause.Description = "A paused job doesn't start at its scheduled time. To resume it: newsletterd admin job " +
		"resume --id ID"
	return pause
}

func moveCommand(p commands) *cli.Command {
	times := []string{"scheduled-at", "window-start", "window-end"}
	move := p.Command("move", "reschedule a send job that hasn't started", []cli.Flag{
		cli.ID(people.NounJob), cli.String(times[0], "start sending at `TIME`, for example 2026-12-24T08:00:00Z "+
			"(empty: now)"),
		cli.String(times[1], "don't send before `TIME` (empty: no limit)"),
		cli.String(times[2], "stop sending at `TIME` (empty: no limit)"),
	}, []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		var to core.JobTimes
		for i, at := range []**core.Instant{&to.ScheduledAt, &to.WindowStart, &to.WindowEnd} {
			if !c.IsSet(times[i]) {
				continue
			}
			t, err := cli.GivenInstant(c, times[i])
			if err != nil {
				return err
			}
			*at = &t
		}
		if to == (core.JobTimes{}) {
			return cli.UsageError(c, "nothing to change: pass --scheduled-at, --window-start or "+
				"--window-end")
		}
		j, err := s.MoveSendJob(c.Context, c.String("id"), cli.Actor(), to, now())
		if err != nil {
			return cli.Missing(err, "job", c.String("id"))
		}
		return p.printJob(c, s, j.ID)
	})
	move.Description = "Flags you leave out change nothing. An approval of the campaign stays valid."
	return move
}

func (p commands) resumeCommand() *cli.Command {
	resume := p.Command("resume", "resume a paused send job", []cli.Flag{
		cli.ID(people.NounJob), cli.Bool("all", "resume all jobs that were paused because the database was restored "+
			"or copied"),
	}, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		if c.Bool("all") == c.IsSet("id") {
			return cli.UsageError(c, "--id or --all is missing")
		}
		if c.Bool("all") {
			n, err := s.ResumeRestored(c.Context, cli.Actor(), now())
			if err != nil {
				return err
			}
			return p.Done(c, "%s resumed.", cli.Counted(n, "job"))
		}
		j, err := s.ResumeSendJob(c.Context, c.String("id"), cli.Actor(), now())
		if err != nil {
			return cli.Missing(err, "job", c.String("id"))
		}
		return p.printJob(c, s, j.ID)
	})
	resume.Description = `newsletterd pauses a job that causes too many failures, bounces or
complaints ([send] stop_…); pause_reason contains the reason. After you resume the
job, the same reason doesn't pause it again. In a restored or copied
database, all jobs are paused (restored), because emails sent since the copy
are unknown.`
	return resume
}

func (p commands) retryCommand() *cli.Command {
	retry := p.Command("retry-failed", "resend an ended send job to the recipients it didn't reach",
		[]cli.Flag{cli.ID(people.NounJob)},
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			j, err := s.RetryFailed(c.Context, c.String("id"), cli.Actor(), now())
			if err != nil {
				return cli.Missing(err, "job", c.String("id"))
			}
			return p.printJob(c, s, j.ID)
		})
	retry.Description = "Creates a new job with the same content for recipients that failed or that a canceled job " +
		"didn't reach, unless they are blocked by now."
	return retry
}

func (p commands) createJob(c *cli.Context, _ *config.Config, s *store.Store) error {
	n, err := newJob(c)
	if err != nil {
		return err
	}
	if err := p.writtenContent(c, s, &n); err != nil {
		return err
	}
	at := now()
	if err := n.Validate(at); err != nil {
		return err
	}
	if n.ScheduledInPast(at) {
		return core.Invalidf("scheduled_at", "--scheduled-at is in the past. Leave it out to send now.")
	}
	warnings, err := mail.TryContent(&n)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(p.Err, "warning:", w)
	}
	if err := p.confirmJob(c, s, &n); err != nil {
		return err
	}
	j, known, err := s.AddSendJob(c.Context, campaigns.JobRequest{
		NewJob: n, CreatedBy: cli.Actor(), Caller: core.CommandCaller(cli.Actor()), Force: c.Bool("force"),
	}, now())
	if err != nil {
		return err
	}
	if !known {
		fmt.Fprintln(p.Err, "warning: The template doesn't exist. Create it before the job starts, or the job fails.")
	}
	return p.printJob(c, s, j.ID)
}

// confirmJob asks for confirmation at a terminal before a job with more than one recipient is created. If the answer is
// no, it returns an error.
func (p commands) confirmJob(c *cli.Context, s *store.Store, n *core.NewJob) error {
	l, err := s.CountedList(c.Context, n.ListID)
	if core.KindOf(err) == core.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	readers := l.Counts.Readers()
	if n.SegmentID != "" {
		narrowed := core.CampaignFields{ListIDs: []string{l.ID}, Narrowing: core.Narrowing{SegmentID: n.SegmentID}}
		audience, err := s.CountAudience(c.Context, l.TenantID, &narrowed, 0)
		if err != nil {
			return err
		}
		readers = audience.Recipients
	}
	return p.confirm(c, readers, fmt.Sprintf("Send %q to %s of the list %q %s?",
		n.Subject, cli.Counted(readers, "subscriber"), l.Name, whenSent(n)))
}

// confirmCampaign is like confirmJob, for a campaign. The question contains the size of the campaign's audience.
func (p commands) confirmCampaign(c *cli.Context, s *store.Store, draft *campaigns.Draft, a *core.Audience,
	n *core.NewJob,
) error {
	names := make([]string, len(draft.Fields.ListIDs))
	for i, id := range draft.Fields.ListIDs {
		l, err := s.CountedList(c.Context, id)
		if err != nil {
			return err
		}
		names[i] = strconv.Quote(l.Name)
		if late := l.Counts.Active - a.Active; len(names) == 1 && late > 0 { // the job waits for these to be synced
			a.Active, a.Recipients = a.Active+late, a.Recipients+late
		}
	}
	of, sum := "list "+names[0], ""
	if len(names) > 1 {
		of = "lists " + strings.Join(names, ", ")
	}
	if words := a.Sum(); words != "" {
		sum = " (" + words + ")"
	}
	return p.confirm(c, a.Recipients, fmt.Sprintf("Send %q to %s of the %s%s %s?", n.Subject,
		cli.Counted(a.Recipients, "recipient"), of, sum, whenSent(n)))
}

// confirm asks a question at a terminal before more than one recipient is emailed. If the answer is no, it returns an
// error.
func (p commands) confirm(c *cli.Context, readers int64, question string) error {
	if readers <= 1 {
		return nil
	}
	sure, err := p.Sure(c, question)
	if err == nil && !sure {
		err = errors.New("canceled; no job was created")
	}
	return err
}

// whenSent describes when a new job starts, as part of a sentence.
func whenSent(n *core.NewJob) string {
	when := "now"
	if from := max(n.ScheduledAt, n.WindowStart); from != 0 {
		when = "from " + from.Time().Format(time.RFC3339)
	}
	if n.WindowEnd != 0 {
		when += " until " + n.WindowEnd.Time().Format(time.RFC3339)
	}
	return when
}

// newJob returns the job described by the flags and the files that they name.
func newJob(c *cli.Context) (n core.NewJob, err error) {
	n = core.NewJob{
		ListID: c.String("list"), SegmentID: c.String("segment"), Name: c.String("name"), Subject: c.String("subject"),
		TrackOpen: c.Bool("track-open"), TrackClick: c.Bool("track-click"),
	}
	for flag, to := range map[string]*string{"html": &n.BodyHTML, "text": &n.BodyText} {
		if err := readBody(c.String(flag), to); err != nil {
			return n, err
		}
	}
	for flag, to := range map[string]*core.Instant{
		"scheduled-at": &n.ScheduledAt, "window-start": &n.WindowStart,
		"window-end": &n.WindowEnd,
	} {
		if *to, err = cli.GivenInstant(c, flag); err != nil {
			return n, err
		}
	}
	keys := map[string]string{}
	for flag, key := range map[string]string{"template": "mailer_template_name", "unsubscribe-url": "unsubscribe_url"} {
		if c.IsSet(flag) {
			keys[key] = c.String(flag)
		}
	}
	if len(keys) > 0 {
		n.Template, err = json.Marshal(keys)
	}
	return n, err
}

// readBody reads the body of an email from a file of limited size.
func readBody(name string, to *string) error {
	if name == "" {
		return nil
	}
	fi, err := os.Stat(name)
	if err != nil {
		return err
	}
	if fi.Size() > core.MaxBody {
		return fmt.Errorf("%s has %d bytes, but the limit is %d. Shorten it", name, fi.Size(), core.MaxBody)
	}
	b, err := os.ReadFile(name)
	*to = string(b)
	return err
}

// printJob prints a job's current state.
func (p commands) printJob(c *cli.Context, s *store.Store, id string) error {
	v, err := s.JobView(c.Context, id)
	if err != nil {
		return cli.Missing(err, "job", id)
	}
	return p.Printer(c).Record(v)
}

var jobStates = []string{
	string(core.JobPending), string(core.JobRunning), string(core.JobCompleted),
	string(core.JobFailed), string(core.JobCancelled),
}

func (p commands) listJobs(c *cli.Context, _ *config.Config, s *store.Store) error {
	f := campaigns.JobFilter{Status: core.JobStatus(c.String("status"))}
	var err error
	if f.Tenants, f.All, err = cli.TenantOf(c, s); err != nil {
		return err
	}
	jobs, err := cli.Pages(func(v core.JobView) string { return strconv.FormatInt(v.No, 10) },
		func(page core.Page) ([]core.JobView, error) {
			return s.JobViews(c.Context, f, page)
		})
	if err != nil {
		return err
	}
	return cli.List(p.Printer(c), jobs, jobColumns...)
}

// jobColumns are the columns of the job list.
var jobColumns = []string{
	"id", "status", "transport", "subject", "recipients", "sent", "failed", "skipped", "deferred", "next_attempt_at",
	"created_at",
}
