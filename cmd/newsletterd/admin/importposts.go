package admin

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store"
	"newsletterd/store/exports"
	"newsletterd/store/people"
)

// postCommands returns the commands for an export's posts.
func (p commands) postCommands() []*cli.Command {
	posts := p.Command("posts", "import the posts of an export into the archive of a list", []cli.Flag{
		cli.Reference("list", people.NounList, "list (`ID` or name)"),
		cli.String("file", "export to read: a zip `FILE` or Ghost's JSON file, or - for standard input"),
		cli.Bool("drafts", "also import posts that were never published"),
		cli.Bool("paid", "also import posts that only members or paid subscribers could read"),
		cli.String("site", "`URL` of the old site, to complete links and images and to link posts to each other"),
		cli.Strings("post", "import only the post with this `NUMBER` in the dry run (repeatable)"),
		cli.Bool("dry-run", "dry run: list the posts, without importing"),
	}, []string{"list", "file"}, p.importPosts)
	posts.Description = `Reads the posts in an export of Substack, Ghost, Buttondown, beehiiv or
Mailchimp and adds them to the archive, with title, date, author and text.
No one gets an email. Importing the same export again creates no duplicates.
Drafts and posts for paid subscribers are left out, because everyone can
read the archive. To make links between posts lead to the imported issues,
pass the URL of your old site; Ghost exports don't include it. To import
subscribers: newsletterd admin subscriber import

   newsletterd admin import posts --list ID --file export.zip --dry-run
   newsletterd admin import posts --list ID --file export.zip`
	remove := p.Command("remove-posts", "remove the posts of an import from the archive",
		[]cli.Flag{cli.ID(people.NounImport)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			err := s.WithdrawPosts(c.Context, c.String("id"), cli.Actor(), now())
			return cli.Missing(err, "import", c.String("id"))
		})
	remove.Description = `Works for a week after the import. The posts stay uploaded for that week, so
the console can add them again.

   newsletterd admin import remove-posts --id ID`
	return []*cli.Command{posts, remove}
}

// postsRow is the output of the command that imports posts.
type postsRow struct {
	ID      string `json:"id"`
	Tool    string `json:"tool"`
	Posts   int64  `json:"posts"`   // in the export
	Issues  int64  `json:"issues"`  // in the archive now
	Drafts  int64  `json:"drafts"`  // not in the archive: never published
	Pages   int64  `json:"pages"`   // not in the archive: pages of the old site
	Paid    int64  `json:"paid"`    // not in the archive: for a limited audience
	Present int64  `json:"present"` // in the archive from an earlier import
	Skipped int64  `json:"skipped"` // without displayable content

	Relative int64        `json:"relative"` // with relative links or images, because the site's address is unknown
	Site     core.OldSite `json:"site"`
}

// count counts a post under its outcome. wanted is true if the flags select the post, and in if this import adds it to
// the archive.
func (r *postsRow) count(post *core.ImportedPost, wanted, in bool) {
	r.Posts++
	switch {
	case in:
		r.Issues++
	case wanted:
		r.Present++
	case post.IsPage():
		r.Pages++
	case post.Draft:
		r.Drafts++
	case post.Paid:
		r.Paid++
	}
}

// postsInput returns the selection of posts and the address of their site, according to the flags.
func postsInput(c *cli.Context) (in core.PostsInput, err error) {
	in = core.PostsInput{Drafts: c.Bool("drafts"), Paid: c.Bool("paid"), Site: core.OldSite(c.String("site"))}
	if numbers := c.StringSlice("post"); len(numbers) > 0 {
		in.Posts = &[]int64{}
		for _, number := range numbers {
			no, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			if err != nil {
				return in, core.Invalidf("post", "--post must be the number of a post, as the dry run lists it.")
			}
			*in.Posts = append(*in.Posts, no)
		}
	}
	return in, in.CheckInput()
}

func (p commands) importPosts(c *cli.Context, _ *config.Config, s *store.Store) error {
	f, err := p.openTwice(c.String("file"), filepath.Dir(s.Path()))
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	e, err := exports.Open(c.Context, f, fi.Size())
	if errors.Is(err, exports.ErrUnknown) || err == nil && !e.HasPosts() {
		return core.Invalidf("", "%s has no posts that newsletterd recognizes. Pass the zip export as you downloaded "+
			"it, or Ghost's JSON file.", filepath.Base(c.String("file")))
	}
	if err != nil {
		return err
	}
	in, err := postsInput(c)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return p.listPosts(c, e, in)
	}
	return p.publishPosts(c, s, e, in)
}

// dryPost is a post in the output of a dry run.
type dryPost struct {
	core.ImportedPost
	Import bool `json:"import"` // it would be imported
}

// listPosts prints what importing an export's posts would do.
func (p commands) listPosts(c *cli.Context, e *exports.Export, in core.PostsInput) error {
	rows, sum := []dryPost{}, postsRow{}
	skipped, err := drafts.EachPost(c.Context, e, now(), func(post *exports.Post, _ string) error {
		row := dryPost{post.ImportedPost, in.Wants(&post.ImportedPost)}
		rows = append(rows, row)
		sum.count(&row.ImportedPost, row.Import, row.Import)
		if post.Relative {
			sum.Relative++
		}
		return nil
	})
	if err == nil {
		err = hasAll(in, rows, func(r dryPost) int64 { return r.No })
	}
	if err == nil {
		err = cli.List(p.Printer(c), rows, "no", "posted_at", "title", "author", "draft", "paid", "import")
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Err, "Dry run: nothing was imported. %s would be imported. Left out: %s, %s, %s for paid "+
		"subscribers, and %d without content.\n", cli.Counted(sum.Issues, "post"), cli.Counted(sum.Drafts, "draft"),
		cli.Counted(sum.Pages, "page"), cli.Counted(sum.Paid, "post"), skipped)
	p.askSite(sum.Relative, in.Site, "add")
	return nil
}

// hasAll returns an error if the flags name a post that the export doesn't contain.
func hasAll[P any](in core.PostsInput, posts []P, number func(P) int64) error {
	if in.Posts == nil {
		return nil
	}
	for _, no := range *in.Posts {
		if !slices.ContainsFunc(posts, func(p P) bool { return number(p) == no }) {
			return core.NoPost(no)
		}
	}
	return nil
}

// askSite prints that the address of the posts' site is unknown and needed. do says how to pass the flag.
func (p commands) askSite(posts int64, site core.OldSite, do string) {
	if posts > 0 && site == "" {
		fmt.Fprintf(p.Err, "%s: links or images lack the URL of your old site, so they are left out. To import them, "+
			"%s --site https://YOUR-OLD-SITE.\n", cli.Counted(posts, "post"), do)
	}
}

// publishPosts stores an export's posts and adds the selected ones to the archive.
func (p commands) publishPosts(c *cli.Context, s *store.Store, e *exports.Export, in core.PostsInput) error {
	up, err := s.NewImportUpload(c.Context, core.ImportJob{
		ID: core.NewID(), ListID: c.String("list"), Name: filepath.Base(c.String("file")), CreatedBy: cli.Actor(),
		CreatedAt: now(),
	}, 0)
	if err != nil {
		return cli.Missing(err, "list", c.String("list"))
	}
	defer up.Close(c.Context)
	up.Tool, up.PostsOnly = e.Tool, true
	if err := drafts.KeepPosts(c.Context, up, e, now()); err != nil {
		return err
	}
	if up.Job().Posts == 0 {
		return core.Invalidf("", "The export has no posts with content.")
	}
	posts, err := s.ImportedPosts(c.Context, up.Job().ID)
	if err == nil {
		err = hasAll(in, posts, func(p core.ImportedPost) int64 { return p.No })
	}
	if err != nil {
		return err
	}
	j, err := up.Commit(c.Context, now())
	if err != nil {
		return err
	}
	err = s.PublishPosts(c.Context, j.ID, in, cli.Actor(), now(), drafts.PostText)
	if core.KindOf(err) == core.Forbidden {
		fmt.Fprintf(p.Err, "The posts are uploaded (import %s). Another person can import them in the console.\n", j.ID)
	}
	if err != nil {
		return err
	}
	if posts, err = s.ImportedPosts(c.Context, j.ID); err != nil {
		return err
	}
	row := postsRow{ID: j.ID, Tool: j.Tool, Skipped: j.PostsSkipped, Relative: j.RelativePosts, Site: in.Site}
	for k := range posts {
		row.count(&posts[k], in.Wants(&posts[k]), posts[k].Issue != "")
	}
	if err := p.Printer(c).Record(row); err != nil {
		return err
	}
	p.askSite(row.Relative, row.Site, "run the command again with")
	return nil
}
