package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/frontmatter"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store"
	"newsletterd/store/campaigns"
	"newsletterd/store/people"
)

// publisher runs the command publish.
type publisher struct{ commands }

// Publish returns the command that sends a newsletter from a file.
func Publish(program *cli.Program) *cli.Command {
	p := publisher{commands{program}}
	publish := p.Command("publish", "send a newsletter from a Markdown file", []cli.Flag{
		cli.Tenant("tenant of the list (`ID` or name)"), cli.Reference("list", people.NounList, "list (`ID` or name)"),
		cli.Strings("test", "only send a test to `ADDRESS` (repeatable)"),
		cli.String("at", "start sending at `TIME`: \"2026-12-24 08:00\", local or in --time-zone, or "+
			"2026-12-24T08:00:00Z (default: now)"),
		timeZoneFlag(), issueSegmentFlag(),
		cli.Bool("test-group", "only send a test to the file's test_addresses, or else the tenant's"),
		cli.Bool("draft", "only save it as a draft campaign"),
		cli.Bool("again", "create another campaign from a file that was already sent"), themeFlag(),
		cli.Bool("allow-outside", "allow images and attachments outside the file's folder"),
		cli.Bool("yes", "send to more than one recipient without asking"), firstFewFlag(), forceFlag(),
		testingFlag(),
	}, []string{"list"}, p.publish)
	publish.ArgsUsage, publish.UsageText = "FILE", "newsletterd publish FILE [flags]"
	publish.Description = `   newsletterd publish issue.md --list Gartenbrief --test me@example.org
   newsletterd publish issue.md --list Gartenbrief

The file starts with front matter: TOML between two lines of +++, or YAML
between two lines of ---. Allowed keys: ` + strings.Join(frontmatter.Keys, ", ") + `.

Images that the file references by path, and attachments (images and PDF),
are uploaded to the tenant. They must be in the file's folder or below it,
unless you pass --allow-outside. Publishing the same file again updates the
same campaign while it is a draft; a sent campaign isn't sent again. Files
are matched by the key id in the front matter, otherwise by file name and
list.`
	run := publish.Action
	publish.Action = func(c *cli.Context) error {
		if c.Args().Len() != 1 {
			return cli.UsageError(c, "pass exactly one file")
		}
		issue, err := readIssue(c.Args().First())
		if err != nil {
			return err
		}
		if lists := issue.Texts["lists"]; lists != nil && !c.IsSet("list") {
			c.Context = context.WithValue(c.Context, listsOfHead{}, true)
			issue.Values["list"] = lists[0]
		}
		for _, flag := range []string{"list", "tenant"} {
			if v := issue.Values[flag]; v != "" && !c.IsSet(flag) {
				if err := c.Set(flag, v); err != nil {
					return err
				}
			}
		}
		return run(c)
	}
	return publish
}

// issueSegmentFlag returns the flag that names the segment to send to, or everyone.
func issueSegmentFlag() cli.Flag {
	f := cli.Reference("segment", people.NounSegment,
		"only send to subscribers in this segment (`ID` or name); everyone means the whole list")
	f.Also = everyone
	return f
}

// listsOfHead is a context key that is set if the lists come from the file's front matter.
type listsOfHead struct{}

// readIssue reads the file of a newsletter and parses its front matter.
func readIssue(name string) (m frontmatter.Matter, err error) {
	var source string
	if err := readBody(name, &source); err != nil {
		return m, err
	}
	return frontmatter.Read(name, source)
}

func (p publisher) publish(c *cli.Context, cfg *config.Config, s *store.Store) error {
	file := c.Args().First()
	issue, err := readIssue(file)
	if err != nil {
		return err
	}
	l, err := s.List(c.Context, c.String("list"))
	if err != nil {
		return cli.Missing(err, "list", c.String("list"))
	}
	tenant, err := s.Tenant(c.Context, l.TenantID)
	if err != nil {
		return err
	}
	if err := setZone(c, file, &issue); err != nil {
		return err
	}
	at, err := notPast(c, &tenant, "at", c.String("time-zone"))
	if err != nil {
		return err
	}
	readers, err := readersOf(c, s, &l, file, &issue)
	if err != nil {
		return err
	}
	kept, err := keptIssue(c, s, &l, file, issue.Values["id"])
	if err != nil {
		return err
	}
	source, err := p.keepPictures(c, cfg, s, l.TenantID, file, &issue)
	if err != nil {
		return err
	}
	attachments, err := p.keepAttachments(c, cfg, s, l.TenantID, file, &issue)
	if err != nil {
		return err
	}
	campaign, err := saveIssue(c, s, kept, &l, readers, file, &issue, source, attachments)
	if err != nil {
		return err
	}
	d, err := draftsOf(c, cfg, s)
	if err != nil {
		return err
	}
	compile := d.Ready
	tested := c.IsSet("test") || c.Bool("test-group")
	if tested || c.Bool("draft") {
		compile = d.Complete
	}
	draft, warnings, err := compile(c.Context, &campaign, 0, now())
	if err != nil {
		return inFile(file, &issue, err)
	}
	if id := draft.Fields.SegmentID; id != readers.SegmentID {
		g, err := s.Segment(c.Context, id)
		if err != nil {
			return cli.Missing(err, "segment", id)
		}
		fmt.Fprintf(p.Err, "warning: %s: The campaign keeps its segment %q. To send to everyone, pass --segment "+
			"everyone, or set segment to everyone at the top of the file.\n", file, g.Name)
	}
	for _, w := range warnings {
		fmt.Fprintf(p.Err, "warning: %s: %s\n", file, issue.InFile(w))
	}
	switch {
	case tested:
		return p.testIssue(c, s, &draft)
	case c.Bool("draft"):
		return p.Done(c, "Saved %s as campaign %s. Review it: %s", file, campaign.ID, d.View(&draft, "", now()))
	}
	return p.sendDraft(c, cfg, s, &draft, at)
}

func (p publisher) testIssue(c *cli.Context, s *store.Store, draft *campaigns.Draft) error {
	to, err := addresses(c, "test")
	if err != nil {
		return err
	}
	if c.Bool("test-group") {
		group, err := (drafts.Drafts{Store: s}).TestGroup(c.Context, &draft.Campaign, draft.Version.Version)
		if err != nil {
			return err
		}
		to = append(to, group...)
	}
	if to, err = queueTests(c, s, draft, to); err != nil {
		return err
	}
	return p.Done(c, "%s queued; the daemon sends them. Campaign %s is a draft.",
		testsTo(to), draft.Campaign.ID)
}

// keptIssue returns the campaign that was saved from a file earlier. If there is none, it returns a campaign that has
// only an id. If the campaign was already sent, it returns an error.
func keptIssue(c *cli.Context, s *store.Store, l *core.List, file, id string) (core.Campaign, error) {
	kept, err := s.Campaign(c.Context, issueID(l, file, id))
	switch {
	case core.KindOf(err) == core.NotFound:
		return core.Campaign{ID: issueID(l, file, id)}, nil
	case err != nil || kept.Editable() == nil:
		return kept, err
	case c.Bool("again"):
		return core.Campaign{ID: core.NewID()}, nil
	}
	return kept, fmt.Errorf("%s is already %s as campaign %s. To create another campaign from it, pass "+
		"--again", file, kept.State,
		kept.ID)
}

// saveIssue saves a file as a campaign: the one that was saved from it earlier, or a new one. If the file names neither
// a segment nor everyone, an existing draft keeps its segment, which may come from the flag of an earlier run.
func saveIssue(c *cli.Context, s *store.Store, kept core.Campaign, l *core.List, to readers, file string,
	issue *frontmatter.Matter, source string, attachments []string,
) (core.Campaign, error) {
	change := func(f *core.CampaignFields) error {
		narrowing := to.Narrowing
		if !to.everyone {
			narrowing.SegmentID = cmp.Or(to.SegmentID, f.SegmentID)
		}
		polls := f.Polls
		if _, said := issue.Lines["polls"]; said {
			polls = issue.Polls
		}
		*f = core.CampaignFields{
			Polls:   polls,
			ListIDs: to.lists, Narrowing: narrowing, TestAddresses: slices.Clone(issue.Texts["test_addresses"]),
			Attachments: attachments, Tracking: core.TrackingOff, Theme: c.String("theme"),
			Content: core.CampaignContent{Kind: core.ContentMarkdown, Source: source},
		}
		for key, to := range map[string]*string{
			"subject": &f.Subject, "preheader": &f.Preheader, "name": &f.Name, "from_name": &f.FromName,
			"from_email": &f.FromEmail, "reply_to": &f.ReplyTo, "language": &f.Language, "tracking": &f.Tracking,
			"theme": &f.Theme, "utm_source": &f.UTM.Source, "utm_medium": &f.UTM.Medium, "utm_campaign": &f.UTM.Campaign,
			"utm_term": &f.UTM.Term, "utm_content": &f.UTM.Content,
		} {
			if v, ok := issue.Values[key]; ok && (key != "theme" || !c.IsSet("theme")) {
				*to = v
			}
		}
		if link := issue.Values["unsubscribe_url"]; link != "" {
			f.Template = fmt.Appendf(nil, `{"unsubscribe_url":%q}`, link)
		}
		return f.Check()
	}
	at := now()
	var shown *bool
	if v, ok := issue.Values["archive"]; ok {
		shown = new(v == "true")
	}
	if kept.No != 0 {
		changed, err := s.EditCampaign(c.Context,
			campaigns.CampaignEdit{ID: kept.ID, Actor: cli.Actor(), Now: at, Archive: shown, Sends: true}, change)
		return changed, inFile(file, issue, err)
	}
	var f core.CampaignFields
	if err := change(&f); err != nil {
		return kept, inFile(file, issue, err)
	}
	made := core.NewCampaign(l.TenantID, &f, cli.Actor(), at)
	made.ID = kept.ID
	if shown != nil {
		made.ShowInArchive(*shown)
	}
	made, err := s.AddCampaign(c.Context, made, &f)
	return made, inFile(file, issue, err)
}

// setZone sets the time zone flag from the front matter if the flag is not set.
func setZone(c *cli.Context, file string, issue *frontmatter.Matter) error {
	zone := issue.Values["time_zone"]
	if zone == "" || c.IsSet("time-zone") {
		return nil
	}
	if _, err := core.ParseZone(zone); err != nil {
		return inFile(file, issue, err)
	}
	return c.Set("time-zone", zone)
}

// readers holds the recipients that a file names.
type readers struct {
	lists    []string
	everyone bool // all subscribers of the lists, even if the campaign has a segment
	core.Narrowing
}

// everyone is the value of segment in a file that makes a campaign go to everyone. An empty or missing segment doesn't,
// because it could be a mistake.
const everyone = "everyone"

// noneIsEveryone returns an error if the tenant has a segment called everyone, because a file or flag with that value
// could mean the segment.
func noneIsEveryone(c *cli.Context, s *store.Store, tenantID string) error {
	all, err := s.Segments(c.Context, tenantID, core.Page{Limit: core.MaxSegments})
	for i := range all {
		if core.SameSegmentName(all[i].Name, everyone) {
			return fmt.Errorf("%[1]q is the name of a segment, but here it means all subscribers. Rename the segment, "+
				"or use its ID", all[i].Name)
		}
	}
	return err
}

// readersOf looks up the lists, segments and campaigns that a file's front matter names. The first list is l.
func readersOf(c *cli.Context, s *store.Store, l *core.List, file string, issue *frontmatter.Matter) (r readers,
	err error,
) {
	find := func(key string, noun people.Noun, words []string) (ids []string, err error) {
		for _, word := range words {
			ref, err := cli.Reference(key, noun, "").Find(c, s, word, l.TenantID)
			if err != nil {
				fault := strings.TrimPrefix(err.Error(), "--"+key+": ")
				return nil, fmt.Errorf("%s:%d: %s: %s", file, issue.Lines[key], key, fault)
			}
			ids = append(ids, ref.ID)
		}
		return ids, nil
	}
	r.lists = []string{l.ID}
	if c.Context.Value(listsOfHead{}) != nil {
		further, err := find("lists", people.NounList, issue.Texts["lists"][1:])
		if err != nil {
			return r, err
		}
		r.lists = append(r.lists, further...)
	}
	if r.ExcludeListIDs, err = find("exclude_lists", people.NounList, issue.Texts["exclude_lists"]); err != nil {
		return r, err
	}
	if r.ExcludeSegmentIDs, err = find("exclude_segments", people.NounSegment,
		issue.Texts["exclude_segments"]); err != nil {
		return r, err
	}
	segment, at := c.String("segment"), "--segment"
	if segment == "" {
		segment, at = issue.Values["segment"], fmt.Sprintf("%s:%d: segment", file, issue.Lines["segment"])
	}
	switch {
	case segment == "":
	case core.SameSegmentName(segment, everyone):
		if r.everyone, err = true, noneIsEveryone(c, s, l.TenantID); err != nil {
			return r, fmt.Errorf("%s: %w", at, err)
		}
	case c.IsSet("segment"):
		r.SegmentID = segment
	default:
		ids, err := find("segment", people.NounSegment, []string{segment})
		if err != nil {
			return r, err
		}
		r.SegmentID = ids[0]
	}
	r.ExcludeCampaignIDs, err = find("exclude_campaigns", people.NounCampaign, issue.Texts["exclude_campaigns"])
	who, of := issue.Values["audience"], issue.Values["audience_of"]
	switch {
	case err != nil || who == "" && of == "":
		return r, err
	case who == "":
		return r, fmt.Errorf("%s:%d: audience_of is only allowed with audience: %s", file, issue.Lines["audience_of"],
			strings.Join(core.FollowUps, ", "))
	case of == "":
		return r, fmt.Errorf("%s:%d: audience needs audience_of, the ID of the earlier campaign", file,
			issue.Lines["audience"])
	}
	ids, err := find("audience_of", people.NounCampaign, []string{of})
	if err == nil {
		r.Audience = &core.FollowUp{Of: ids[0], Who: who}
	}
	return r, err
}

// issueID returns the ID of the campaign for a file. It derives the ID from the one in the front matter or, without
// one, from the list and the file name.
func issueID(l *core.List, file, id string) string {
	name := "file:" + l.ID + "/" + filepath.Base(file)
	if id != "" {
		name = "id:" + id
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("newsletterd:"+l.TenantID+":"+name)).String()
}

// inFile adds the file name to an error about the content of a file.
func inFile(file string, issue *frontmatter.Matter, err error) error {
	fault, ok := errors.AsType[*core.Error](err)
	if !ok {
		return err
	}
	key := keyOf(issue, fault.Field)
	line := issue.Lines[key]
	switch {
	case line > 0 && fault.Field != key:
		return fmt.Errorf("%s:%d: %s", file, line, strings.Replace(fault.Message, fault.Field, key, 1))
	case line > 0:
		return fmt.Errorf("%s:%d: %s", file, line, fault.Message)
	case fault.Kind == core.Invalid:
		return fmt.Errorf("%s: %s", file, issue.InFile(fault.Message))
	}
	return err
}

// keyOf returns the front matter key that sets the given campaign field.
func keyOf(issue *frontmatter.Matter, field string) string {
	switch field {
	case "list_ids":
		if issue.Lines["lists"] == 0 {
			return "list"
		}
		return "lists"
	case "exclude_list_ids":
		return "exclude_lists"
	case "exclude_campaign_ids":
		return "exclude_campaigns"
	case "segment_id":
		return "segment"
	case "exclude_segment_ids":
		return "exclude_segments"
	case "audience.who":
		return "audience"
	case "audience.of":
		return "audience_of"
	}
	return strings.Replace(field, "utm.", "utm_", 1)
}

// message returns an error's message without its code.
func message(err error) string {
	if fault, ok := errors.AsType[*core.Error](err); ok {
		return fault.Message
	}
	return err.Error()
}
