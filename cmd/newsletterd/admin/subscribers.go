package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/imports"
	"newsletterd/store/people"
	"newsletterd/store/subscribercsv"
)

const (
	maxShownErrors = 10 // on a terminal; the file in --errors contains all errors
)

func (p commands) subscriberCommands() *cli.Command {
	imp := p.Command("import", "import subscribers from a CSV file", []cli.Flag{
		cli.Reference("list", people.NounList, "list (`ID` or name)"),
		cli.String("file", "`FILE` to read, or - for standard input"),
		cli.OneOf("status", "`STATUS` of new subscribers: active (you have their consent) or pending (each gets a "+
			"confirmation email)",
			core.SubscriptionActive, core.SubscriptionPending).ByDefault(core.SubscriptionActive),
		cli.Strings("map", mapUsage),
		cli.Strings("tag", "add the tag `NAME` to everyone in this import (repeatable)"),
		cli.Bool("known-only", "skip columns unless they are recognized, custom fields, or mapped by --map"),
		cli.String("source", "source `TEXT` for the consent history (default: \"import\" and the file name)"),
		cli.Bool("dry-run", "dry run: check every row and show what would happen, without importing"),
		cli.String("errors", "write rows with errors to `FILE`, with row number and reason (replaces an earlier "+
			"run's file)"),
	}, []string{"list", "file"}, p.importSubscribers)
	imp.Description = `The first row names the columns. One column is the email address; others
become custom fields of the same name. Without such a row, each line is a
person, for example Ann Gray <ann@acme.example>. Delimiter (comma, semicolon,
tab or |), encoding (UTF-8, UTF-16, Windows-1252, Mac Roman) and line ends
are detected. You can run the same import again: rows that are already
imported change nothing. Unsubscribed people stay unsubscribed, and blocked
addresses stay blocked.

Map columns with --map: NAME=email, NAME=status, NAME=tags, NAME=FIELD for a
custom field, or NAME= to skip the column.

TAGS. A column named tags or labels contains tags, separated by commas or
semicolons. People keep the tags that they have. Unknown tags are created.
--tag NAME adds a tag to everyone in this import.

STATUS. People the file marks as unsubscribed are imported as unsubscribed.
People who bounced, marked emails as spam or are blocked join the tenant's
suppression list. People who never confirmed are skipped, or asked again with
--status pending.
Columns such as status, unsubscribed, email_opt_out and unsubscribed_at are
recognized. If it isn't clear whether a column contains unsubscribes, nothing
is imported and the command names the column. If rows contradict each other,
unsubscribed wins; these rows are reported as contradicted.

EXPORTS. FILE can be the zip export of another service, as you downloaded it.
All subscriber files in it become one import. The column file_status contains
the status from the name of each file, for example unsubscribed_members.csv.
To import the posts in an export: newsletterd admin import posts

Files from Mailchimp and listmonk are recognized. Columns for
email, first name and last name are recognized in English, German, French,
Spanish, Italian, Dutch and Portuguese, unless the list has a field of that
name. Addresses can have the form "Name <address>" or mailto:. Contacts
without an address are skipped (no_address).

CONSENT. Time and IP address of the consent go to the consent history;
columns such as OPTIN_TIME, CONFIRM_IP, "Confirmation time" and created_at
are recognized. To declare a column yourself: --map "NAME=subscribed_at" (or
confirmed_at, subscribed_ip, confirmed_ip); unreadable cells are then
errors. Times without a zone are UTC. If dates such as 3/5/2023 are
ambiguous, append :dmy or :mdy. Other unreadable cells are kept as text
(evidence_unreadable), and future times are dropped (evidence_future).

   newsletterd admin subscriber import --list ID --file people.csv --map "E-Mail=email" --map Notes= --errors faulty.csv`
	exp := p.Command("export", "export a list's subscriptions as CSV", []cli.Flag{
		cli.Reference("list", people.NounList, "list (`ID` or name)"),
		exportFile(),
		cli.OneOf("status", "filter by `STATUS`: "+strings.Join(shownStatuses, ", "),
			cli.Optional(shownStatuses)...),
		matchingFlag(), ruleFlag("only subscribers who match this rule"),
		cli.String("email", "instead of a list: export all list data about this email `ADDRESS`, as JSON"),
		tenantOrAll(),
	}, nil, p.exportSubscribers)
	exp.Description = `Subscribers who can't be emailed have the status bounced, complaint or
suppressed; an import skips them. Cells that a spreadsheet would run as a
formula start with an apostrophe, which an import removes.

   newsletterd admin subscriber export --list ID --status active --file people.csv
   newsletterd admin subscriber export --list ID --segment "New in Berlin" --file berlin.csv
   newsletterd admin subscriber export --email ann@acme.example --tenant ID`
	return &cli.Command{
		Name: "subscriber", Usage: "manage subscribers: add, import, export, look up",
		Subcommands: append(p.subscriptionCommands(), imp, exp, p.subscriberHistory(), p.eraseSubscriber()),
	}
}

// importing is one run of the import command.
type importing struct {
	*imports.Import
	reader *subscribercsv.Reader
	faulty *subscribercsv.Faults // nil: none
	shown  int
	err    io.Writer

	terminal bool // err is a terminal
}

func (p commands) importSubscribers(c *cli.Context, _ *config.Config, s *store.Store) error {
	rename, err := renames(c)
	if err != nil {
		return err
	}
	source := c.String("source")
	if source == "" {
		source = "import " + filepath.Base(c.String("file"))
	}
	im, err := s.NewImport(c.Context, c.String("list"), c.String("status"), source)
	if err != nil {
		return cli.Missing(err, "list", c.String("list"))
	}
	im.DryRun = c.Bool("dry-run")
	im.MayEnd, im.MaySuppress, im.By = true, true, cli.Actor()
	in, survey, err := p.surveyed(c, s)
	if err != nil {
		return err
	}
	defer in.Close()
	run := &importing{Import: im, err: p.Err, terminal: cli.IsTerminal(p.Err)}
	o := subscribercsv.Options{Map: rename, Survey: survey, Fields: im.Fields(), KnownOnly: c.Bool("known-only")}
	if o.Tags, err = core.TagNames(c.StringSlice("tag")); err != nil {
		return err
	}
	if run.reader, err = subscribercsv.NewReader(in, o); err != nil {
		return err
	}
	if asked := run.reader.Questions(survey); len(asked) > 0 {
		return unasked(asked)
	}
	run.reader.AskAgain = c.String("status") == core.SubscriptionPending
	if err := p.finish(c, run); err != nil {
		return err
	}
	p.hintAtFirstName(c, s, run.reader)
	return allFaulty(im.Counts)
}

var errNobody = errors.New("no row was imported. Correct the errors above, then import the file again")

// finish completes an import and prints the result.
func (p commands) finish(c *cli.Context, run *importing) (err error) {
	run.reader.Now = now()
	if name := c.String("errors"); name != "" {
		f, err := openFaulty(name, c.String("file"))
		if err != nil {
			return fmt.Errorf("--errors: %w", err)
		}
		defer f.Close()
		if run.faulty, err = subscribercsv.NewFaults(f, run.reader.Header()); err != nil {
			return err
		}
	}
	if err := run.all(c); err != nil {
		return err
	}
	if run.shown > maxShownErrors && run.faulty == nil {
		fmt.Fprintf(p.Err, "… and %d more. To save them all, pass --errors FILE.\n", run.shown-maxShownErrors)
	}
	if err := p.Printer(c).Record(importRow{run.DryRun, run.Counts.Rows(), run.Counts, run.reader.Typos}); err != nil {
		return err
	}
	p.hintAtFile(run.reader)
	if run.DryRun {
		fmt.Fprintln(p.Err, "Dry run: nothing was imported.")
	}
	return nil
}

// openFaulty opens the file for lines with errors. It overwrites a file from an earlier run, such as a dry run, but no
// other file.
func openFaulty(name, source string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	begin := make([]byte, len(subscribercsv.FaultsBegin))
	n, err := io.ReadFull(f, begin)
	if errors.Is(err, io.EOF) {
		return f, nil
	}
	fi, serr := f.Stat()
	from, ferr := os.Stat(source)
	switch {
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF), serr != nil:
		err = errors.Join(err, serr)
	case ferr == nil && os.SameFile(fi, from):
		err = fmt.Errorf("--errors: %s is the file to import. Choose another file", name)
	case string(begin[:n]) != subscribercsv.FaultsBegin:
		err = fmt.Errorf("--errors: %s exists and is not a list of errors. Choose another file", name)
	default:
		if _, err = f.Seek(0, io.SeekStart); err == nil {
			err = f.Truncate(0)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// importRow is the output of the command that imports subscribers.
type importRow struct {
	DryRun bool  `json:"dry_run"` // nothing was imported
	Rows   int64 `json:"rows"`
	core.ImportCounts
	Typos core.DomainTypos `json:"typos"`
}

// hintAtFile prints hints about how an imported file was understood.
func (p commands) hintAtFile(r *subscribercsv.Reader) {
	for _, col := range r.TwoDays() {
		fmt.Fprintf(p.Err, "%s\n", cli.Printable(fmt.Sprintf("Dates such as %[2]s in column %[1]s are ambiguous, so "+
			"the column is kept as text. If the day comes first: --map \"%[1]s=%[3]s:dmy\". If the month comes first: "+
			"--map \"%[1]s=%[3]s:mdy\".",
			col.Column, col.Sample, col.Becomes)))
	}
	for _, typo := range r.Typos {
		fmt.Fprintf(p.Err, "%s\n", cli.Printable(fmt.Sprintf("Did you mean %s? The import doesn't change "+
			"addresses at %s (%s).", typo.Likely,
			typo.Domain, cli.Counted(typo.Rows, "row"))))
	}
}

// hintAtFirstName explains how to split a column with full names, so that templates can greet people by their first
// names. If the list has a field for the column, it prints nothing.
func (p commands) hintAtFirstName(c *cli.Context, s *store.Store, r *subscribercsv.Reader) {
	column, preference := r.NameColumn()
	if column == "" {
		return
	}
	list, err := s.List(c.Context, c.String("list"))
	if err != nil || slices.ContainsFunc(list.Fields, func(f core.Field) bool { return f.Name == preference }) {
		return // don't fail because of a hint
	}
	fmt.Fprintf(p.Err,
		"Column %[1]s becomes the custom field %[2]s. Templates usually greet with first_name. To split the names: --map "+
			"\"%[1]s=full_name\".\n",
		column, preference)
}

func renames(c *cli.Context) (map[string]string, error) {
	m := map[string]string{}
	for _, word := range c.StringSlice("map") {
		from, to, ok := strings.Cut(word, "=")
		if !ok || strings.TrimSpace(from) == "" {
			return nil, cli.UsageErrorf(c, "--map: %q is not of the form NAME=FIELD", word)
		}
		m[strings.TrimSpace(from)] = strings.TrimSpace(to)
	}
	return m, nil
}

// openInput opens a file or standard input. On a terminal it shows the progress of reading.
func (p commands) openInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(p.In), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || !cli.IsTerminal(p.Err) {
		return f, err
	}
	bar := progressbar.NewOptions64(fi.Size(), progressbar.OptionSetWriter(p.Err), progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription("read"), progressbar.OptionClearOnFinish())
	return struct {
		io.Reader
		io.Closer
	}{io.TeeReader(f, bar), f}, nil
}

// all reads the whole file and imports its rows in sorted order. In file order, each row would touch different database
// pages.
func (run *importing) all(c *cli.Context) error {
	defer run.Close()
	if err := run.flushed(run.reader.Load(c.Context, run.Import, run.report)); err != nil {
		return fmt.Errorf("nothing was imported: %w", err)
	}
	if !run.terminal {
		return unfinished(run.flushed(run.Write(c.Context, now, nil)))
	}
	bar := progressbar.NewOptions64(run.Held(), progressbar.OptionSetWriter(run.err),
		progressbar.OptionSetDescription("write"),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	return unfinished(run.flushed(run.Write(c.Context, now, func(rows int64) { _ = bar.Set64(rows) })))
}

// flushed writes the remaining faulty lines to their file. If that fails, it joins the error with err.
func (run *importing) flushed(err error) error {
	if run.faulty == nil {
		return err
	}
	return errors.Join(err, run.faulty.Flush())
}

// unfinished wraps an error that interrupted an import, and adds how to continue.
func unfinished(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("import stopped before the end. Imported rows stay; run the command again to continue: %w", err)
}

func (run *importing) report(fault subscribercsv.LineError, record []string) error {
	if run.faulty != nil {
		return run.faulty.Report(fault, record)
	}
	if run.shown++; run.shown <= maxShownErrors {
		fmt.Fprintln(run.err, cli.Printable(fault.Error()))
	}
	return nil
}

func (p commands) exportSubscribers(c *cli.Context, _ *config.Config, s *store.Store) error {
	if c.IsSet("email") {
		who, err := subscriberOf(c)
		if err != nil {
			return err
		}
		return p.exportPerson(c, s, who)
	}
	if err := cli.Need(c, "list"); err != nil {
		return err
	}
	list := c.String("list")
	rows, err := subscriptionRows(p, c, s, list)
	if err != nil {
		return err
	}
	return exportTo(p, c, "subscription", func(out io.Writer, asJSON bool) (int, error) {
		return writeSubscriptions(c.Context, s, asJSON, out, rows)
	})
}

// exportFile returns the flag that names the file to export to.
func exportFile() cli.Flag {
	return &cli.StringFlag{Name: "file", Usage: "new `FILE` to write, or - for standard output", Value: "-"}
}

// exportTo calls write with the file in the flag from exportFile, or with standard output. The file is CSV; standard
// output is JSON if --json is set. write returns the number of rows, which exportTo reports with the given noun.
func exportTo(p commands, c *cli.Context, noun string,
	write func(out io.Writer, asJSON bool) (int, error),
) (err error) {
	name := c.String("file")
	if name == "-" {
		_, err = write(p.Out, cli.JSONWanted(c))
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := write(f, false)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return p.Done(c, "%s: %s.", name, cli.Counted(n, noun))
}

// writeSubscriptions streams subscriptions with their tags as CSV or JSON lines.
func writeSubscriptions(ctx context.Context, s *store.Store, asJSON bool, out io.Writer, rows subscriptionReader) (
	n int, err error,
) {
	w := subscribercsv.NewWriter(out, asJSON, 0)
	var some []people.ListedSubscription
	write := func() error {
		if err := s.ReadTags(ctx, some); err != nil {
			return err
		}
		for i := range some {
			if err := w.Write(&some[i].Subscription, some[i].Tags); err != nil {
				return err
			}
		}
		some = some[:0]
		return nil
	}
	err = rows(func(sub *core.Subscription) error {
		n++
		if some = append(some, people.ListedSubscription{Subscription: *sub}); len(some) < cli.PageSize {
			return nil
		}
		return write()
	})
	if err == nil {
		err = write()
	}
	if err != nil {
		return n, err
	}
	return n, w.Close()
}
