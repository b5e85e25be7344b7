package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
	"newsletterd/store/campaigns"
	"newsletterd/store/people"
)

func (p *program) jobCommands() *cli.Command {
	create := p.command("create", "make a send job", append(sourceFlags(), []cli.Flag{
		referenceFlag("list", people.NounList, "the `ID` or name of the list"),
		stringFlag("subject", "`TEXT` of the subject, with placeholders"),
		stringFlag("name", "`NAME` of the job, for yourself"), stringFlag("html", "the HTML part: `FILE`"),
		stringFlag("text", "the text part: `FILE` (else it is made of the HTML)"),
		refFlag{
			StringFlag: &cli.StringFlag{Name: "template", Usage: "`NAME` or id of a template of the tenant"},
			noun:       people.NounTemplate, byName: true,
		},
		stringFlag("unsubscribe-url", "visible unsubscribe `URL` with {{unsubscribe_token}} (else ours)"),
		stringFlag("scheduled-at", "not before `TIME`, as 2026-12-24T08:00:00Z"),
		stringFlag("window-start", "send from `TIME` on"),
		stringFlag("window-end", "send until `TIME`; what is left then is not sent"),
		boolFlag("track-open", "count who opens it"), boolFlag("track-click", "count who follows its links"),
		boolFlag("yes", "do not ask before a job to more than one reader"), forceFlag(),
	}...), []string{"list", "subject"}, p.createJob)
	create.Description = "   newsletterd admin job create --list ID --subject \"News for {{preferences.first_name | " +
		"default: \\\"you\\\"}}\" --markdown issue.md\n\n" +
		"On a terminal it asks once before a job to more than one reader, unless --yes or --json is given."
	all := p.command("list", "list the send jobs, the newest first", []cli.Flag{
		tenantFlag("only those of the tenant `ID` or name"),
		oneOfFlag("status", "only those that are `STATUS`: "+strings.Join(jobStates, ", "), optional(jobStates)...),
	}, nil, p.listJobs)
	show := p.command("show", "show a send job with its figures", []cli.Flag{idFlag(people.NounJob)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			return p.printJob(c, s, c.String("id"))
		})
	cancel := p.command("cancel", "stop a send job; what is in flight is finished", []cli.Flag{idFlag(people.NounJob)},
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			j, err := s.CancelSendJob(c.Context, c.String("id"), now())
			if err != nil {
				return missing(err, "job", c.String("id"))
			}
			return p.printJob(c, s, j.ID)
		})
	watch := p.command("watch", "follow a send job to its end",
		[]cli.Flag{idFlag(people.NounJob), boolFlag("to-the-end",
			"wait for deferred recipients too, which are tried for two days")}, []string{"id"}, p.watchJob)
	watch.Description = "On a terminal one line that tells how fast it goes and when it will be done, else a line " +
		"whenever something has changed.\nExit code 1 if the job ends otherwise than completed.\nIt also ends, with exit " +
		"code 0, when only recipients are left that wait for another try."
	return &cli.Command{
		Name: "job", Usage: "send jobs",
		Subcommands: []*cli.Command{
			create, all, show, p.previewJobCommand(), p.testJobCommand(), moveCommand(p), cancel, p.pauseCommand(),
			p.resumeCommand(),
			p.retryCommand(), p.recipientsCommand(), watch,
		},
	}
}

func (p *program) pauseCommand() *cli.Command {
	pause := p.command("pause", "hold a send job up; what is in flight is finished", []cli.Flag{idFlag(people.NounJob)},
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			j, err := s.PauseSendJobBy(c.Context, c.String("id"), actor(), now())
			if err != nil {
				return missing(err, "job", c.String("id"))
			}
			return p.printJob(c, s, j.ID)
		})
	pause.Description = "A job that has not begun waits, too. `newsletterd admin job resume` lets it go on."
	return pause
}

func moveCommand(p *program) *cli.Command {
	times := []string{"scheduled-at", "window-start", "window-end"}
	move := p.command("move", "change the times of a send job that has not begun", []cli.Flag{
		idFlag(people.NounJob), stringFlag(times[0], "not before `TIME`, as 2026-12-24T08:00:00Z; empty: at once"),
		stringFlag(times[1], "send from `TIME` on; empty: no such time"),
		stringFlag(times[2], "send until `TIME`; empty: no such time"),
	}, []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		var to core.JobTimes
		for i, at := range []**core.Instant{&to.ScheduledAt, &to.WindowStart, &to.WindowEnd} {
			if !c.IsSet(times[i]) {
				continue
			}
			t, err := instantFlag(c, times[i])
			if err != nil {
				return err
			}
			*at = &t
		}
		if to == (core.JobTimes{}) {
			return usageError{c.Command.HelpName, "give --scheduled-at, --window-start or --window-end"}
		}
		j, err := s.MoveSendJob(c.Context, c.String("id"), actor(), to, now())
		if err != nil {
			return missing(err, "job", c.String("id"))
		}
		return p.printJob(c, s, j.ID)
	})
	move.Description = "What is not given stays as it is, and so does an approval of the campaign."
	return move
}

func (p *program) resumeCommand() *cli.Command {
	resume := p.command("resume", "let a paused send job go on", []cli.Flag{
		idFlag(people.NounJob), boolFlag("all", "all jobs that are held since the file was restored or copied"),
	}, nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		if c.Bool("all") == c.IsSet("id") {
			return usageError{c.Command.HelpName, "give --id or --all"}
		}
		if c.Bool("all") {
			n, err := s.ResumeRestored(c.Context, actor(), now())
			if err != nil {
				return err
			}
			return p.done(c, "%s resumed.", counted(n, "job"))
		}
		j, err := s.ResumeSendJob(c.Context, c.String("id"), actor(), now())
		if err != nil {
			return missing(err, "job", c.String("id"))
		}
		return p.printJob(c, s, j.ID)
	})
	resume.Description = `A job is paused when it does harm ([send] stop_…); pause_reason tells. What was resumed is not paused for that again.
In a file that was restored or copied all jobs are held (restored): what they have sent since is not known.`
	return resume
}

func (p *program) retryCommand() *cli.Command {
	retry := p.command("retry-failed", "send what an ended send job has not", []cli.Flag{idFlag(people.NounJob)},
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			j, err := s.RetryFailed(c.Context, c.String("id"), actor(), now())
			if err != nil {
				return missing(err, "job", c.String("id"))
			}
			return p.printJob(c, s, j.ID)
		})
	retry.Description = "Makes a new job with the same content for the recipients that failed, or that a cancelled job " +
		"left, if they may still be mailed."
	return retry
}

func (p *program) createJob(c *cli.Context, _ *config.Config, s *store.Store) error {
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
		return core.Invalidf("scheduled_at", "--scheduled-at lies in the past; without it the job starts at once.")
	}
	warnings, err := mail.TryContent(&n)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(p.err, "warning:", w)
	}
	if err := p.confirmJob(c, s, &n); err != nil {
		return err
	}
	j, known, err := s.AddSendJob(c.Context, campaigns.JobRequest{
		NewJob: n, CreatedBy: actor(), Caller: core.CommandCaller(actor()), Force: c.Bool("force"),
	}, now())
	if err != nil {
		return err
	}
	if !known {
		fmt.Fprintln(p.err, "warning: The template does not exist yet; the job fails if it is still missing when it starts.")
	}
	return p.printJob(c, s, j.ID)
}

// confirmJob asks a person at a terminal before a job to more than one reader, and fails where the answer is no.
func (p *program) confirmJob(c *cli.Context, s *store.Store, n *core.NewJob) error {
	l, err := s.CountedList(c.Context, n.ListID)
	if core.KindOf(err) == core.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return p.confirm(c, l.Counts.Readers(), fmt.Sprintf("Send %q to %s of the list %q (as many as it has now), %s?",
		n.Subject, counted(l.Counts.Readers(), "reader"), l.Name, whenSent(n)))
}

// confirmCampaign is confirmJob for a campaign, with the sum of its audience.
func (p *program) confirmCampaign(c *cli.Context, s *store.Store, draft *campaigns.Draft, a *core.Audience,
	n *core.NewJob,
) error {
	names := make([]string, len(draft.Fields.ListIDs))
	for i, id := range draft.Fields.ListIDs {
		l, err := s.CountedList(c.Context, id)
		if err != nil {
			return err
		}
		names[i] = strconv.Quote(l.Name)
		if late := l.Counts.Active - a.Active; len(names) == 1 && late > 0 { // a job waits for the news of these
			a.Active, a.Recipients = a.Active+late, a.Recipients+late
		}
	}
	of, sum := "list "+names[0], "as many as it has now"
	if len(names) > 1 {
		of, sum = "lists "+strings.Join(names, ", "), "as many as they have now"
	}
	if words := a.Sum(); words != "" {
		sum += ": " + words
	}
	return p.confirm(c, a.Recipients, fmt.Sprintf("Send %q to %s of the %s (%s), %s?", n.Subject,
		counted(a.Recipients, "reader"), of, sum, whenSent(n)))
}

// confirm asks a person at a terminal a question before a mail to more than one reader, and fails where the answer is
// no.
func (p *program) confirm(c *cli.Context, readers int64, question string) error {
	if readers <= 1 {
		return nil
	}
	sure, err := sure(p, c, question)
	if err == nil && !sure {
		err = errors.New("no job was made")
	}
	return err
}

// whenSent says in words when a new job sends.
func whenSent(n *core.NewJob) string {
	when := "at once"
	if from := max(n.ScheduledAt, n.WindowStart); from != 0 {
		when = "from " + from.Time().Format(time.RFC3339)
	}
	if n.WindowEnd != 0 {
		when += " until " + n.WindowEnd.Time().Format(time.RFC3339)
	}
	return when
}

// newJob reads the flags and the files that they name.
func newJob(c *cli.Context) (n core.NewJob, err error) {
	n = core.NewJob{
		ListID: c.String("list"), Name: c.String("name"), Subject: c.String("subject"),
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
		if *to, err = instantFlag(c, flag); err != nil {
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

// readBody reads a part of a mail from a file of a bearable size.
func readBody(name string, to *string) error {
	if name == "" {
		return nil
	}
	fi, err := os.Stat(name)
	if err != nil {
		return err
	}
	if fi.Size() > core.MaxBody {
		return fmt.Errorf("%s has %d bytes, more than %d", name, fi.Size(), core.MaxBody)
	}
	b, err := os.ReadFile(name)
	*to = string(b)
	return err
}

// printJob shows a job as it is now.
func (p *program) printJob(c *cli.Context, s *store.Store, id string) error {
	v, err := s.JobView(c.Context, id)
	if err != nil {
		return missing(err, "job", id)
	}
	return p.printer(c).record(v)
}

var jobStates = []string{
	string(core.JobPending), string(core.JobRunning), string(core.JobCompleted),
	string(core.JobFailed), string(core.JobCancelled),
}

func (p *program) listJobs(c *cli.Context, _ *config.Config, s *store.Store) error {
	f := campaigns.JobFilter{Status: core.JobStatus(c.String("status"))}
	var err error
	if f.Tenants, f.All, err = tenantOf(c, s); err != nil {
		return err
	}
	jobs, err := pages(func(v core.JobView) string { return strconv.FormatInt(v.No, 10) },
		func(page core.Page) ([]core.JobView, error) {
			return s.JobViews(c.Context, f, page)
		})
	if err != nil {
		return err
	}
	return list(p.printer(c), jobs, jobColumns...)
}

// jobColumns are those of the list.
var jobColumns = []string{
	"id", "status", "transport", "subject", "recipients", "sent", "failed", "skipped", "deferred", "next_attempt_at",
	"created_at",
}

func yesFlag() cli.Flag { return boolFlag("yes", "do not ask") }

// sure asks a person at a terminal a question. --yes counts as yes, and so does standard input that is no terminal.
func sure(p *program, c *cli.Context, question string) (yes bool, err error) {
	ask := asker{p: p, c: c, lines: bufio.NewReader(p.in)}
	if c.Bool("yes") || !ask.terminal() {
		return true, nil
	}
	err = ask.ask(question+" [y/N]", "no", func(word string) error {
		switch strings.ToLower(word) {
		case "y", "yes":
			yes = true
		case "n", "no":
		default:
			return fmt.Errorf("%q is neither yes nor no", word)
		}
		return nil
	})
	return yes, err
}
