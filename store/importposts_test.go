package store_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
)

// uploadedPosts uploads an export with posts but no people.
func uploadedPosts(n *storetest.Seeder, room int64, bodies ...string) core.ImportJob {
	n.Helper()
	u, err := n.NewImportUpload(n.Context(), newcomers(n), 1000)
	n.Must(err)
	u.PostsOnly, u.Tool = true, "ghost"
	if room > 0 {
		u.PostRoom = room
	}
	for k, body := range bodies {
		n.Must(u.KeepPost(n.Context(), &core.ImportedPost{No: int64(k + 1), Title: "Post " + body}, body))
	}
	j, err := u.Commit(n.Context(), now0)
	n.Must(err)
	return j
}

func postText(_, body string) (imports.PostText, error) {
	return imports.PostText{Words: body, Excerpt: body}, nil
}

// The total size of the posts of an import is limited. Imports of exports that contain only posts count as open until a
// post is published.
func TestPostsOfImportsAreBounded(t *testing.T) {
	n := storetest.SeedList(t, now0)
	j := uploadedPosts(n, 6, "1234", "123", "12")
	if j.Posts != 2 || j.PostsSkipped != 1 || n.Count("SELECT count(*) FROM import_post WHERE no <> 2") != 2 {
		t.Errorf("%d posts, %d skipped", j.Posts, j.PostsSkipped)
	}
	for range core.MaxOpenImports - 1 {
		uploadedPosts(n, 0, "1")
	}
	if _, err := n.NewImportUpload(t.Context(), newcomers(n), 10); core.KindOf(err) != core.Conflict ||
		!strings.Contains(err.Error(), "open imports") {
		t.Errorf("one more than may be open: %v", err)
	}
	n.Must(n.PublishPosts(t.Context(), j.ID, core.PostsInput{}, "user:1", now0, postText))
	uploadedPosts(n, 0, "1")
}

// The size of posts is that of those that are left, and the check of the database compares it.
func TestCheckComparesPostBytes(t *testing.T) {
	n := storetest.SeedList(t, now0)
	j := uploadedPosts(n, 0, "1234", "ü")
	check := func(step string, want, findings int) {
		t.Helper()
		found, err := n.Check(t.Context())
		if err != nil || len(found) != findings {
			t.Errorf("%s: %q, %v", step, found, err)
		}
		if got := n.Count("SELECT post_bytes FROM import_job WHERE id = ?", j.ID); got != want {
			t.Errorf("%s: %d bytes", step, got)
		}
	}
	n.SQL("INSERT INTO import_chunk (import_id, kind, no, data) VALUES (?, 8, 9, x'0102030405')", j.ID)
	n.SQL("UPDATE import_job SET post_bytes = post_bytes + 5")
	check("uploaded", 11, 0)
	n.SQL("DELETE FROM import_post WHERE no = 2")
	check("a post is deleted", 9, 0)
	n.SQL("DELETE FROM import_chunk WHERE kind = 8")
	check("an image is deleted", 4, 0)
	n.SQL("UPDATE import_job SET post_bytes = 5")
	check("wrong", 5, 1)
}

// An import can't be deleted while any of its posts are issues, because nothing else can remove these issues.
func TestImportsOfIssuesStay(t *testing.T) {
	n := storetest.SeedList(t, now0)
	j := uploadedPosts(n, 0, "1")
	n.Must(n.PublishPosts(t.Context(), j.ID, core.PostsInput{}, "user:1", now0, postText))
	if err := n.DeleteImport(t.Context(), j.ID, "user:1", now0); core.KindOf(err) != core.Conflict {
		t.Errorf("with an issue: %v", err)
	}
	n.Must(n.WithdrawPosts(t.Context(), j.ID, "user:1", now0))
	n.Must(n.DeleteImport(t.Context(), j.ID, "user:1", now0))

	j = uploadedPosts(n, 0, "1")
	err := n.PublishPosts(t.Context(), j.ID, core.PostsInput{}, "user:1", now0,
		func(_, body string) (imports.PostText, error) {
			return imports.PostText{Words: body}, n.DeleteImport(t.Context(), j.ID, "user:1", now0)
		})
	if left := n.Count("SELECT count(*) FROM issue"); core.KindOf(err) != core.NotFound || left != 0 {
		t.Errorf("deleted meanwhile: %v, %d issues", err, left)
	}
}

// The number of a removed issue isn't given to another one. Feeds notice changes by these numbers.
func TestNumbersOfRemovedIssuesStayUnused(t *testing.T) {
	n := storetest.SeedList(t, now0)
	seen := map[int]bool{}
	marks := map[string]bool{}
	for _, body := range []string{"1", "2", "3"} {
		j := uploadedPosts(n, 0, body)
		n.Must(n.PublishPosts(t.Context(), j.ID, core.PostsInput{}, "user:1", now0, postText))
		seen[n.Count("SELECT max(no) FROM issue")] = true
		mark, err := campaigns.IssuesMark(t.Context(), n.DB, n.ListID)
		n.Must(err)
		marks[mark] = true
		n.Must(n.RemoveIssue(t.Context(), n.ListID, "post-"+body, "user:1", now0))
	}
	if len(seen) != 3 || len(marks) != 3 {
		t.Errorf("numbers %v, marks %v", seen, marks)
	}
}

// TestPostsAreAddedOnce checks that importing an export again adds no post twice, and that two posts of an export with
// the same date and title are both added if their texts differ.
func TestPostsAreAddedOnce(t *testing.T) {
	for _, posted := range []core.Instant{0, now0} {
		n := storetest.SeedList(t, now0)
		for day := range core.Instant(2) {
			u, err := n.NewImportUpload(t.Context(), newcomers(n), 1000)
			n.Must(err)
			u.PostsOnly = true
			for k, body := range []string{"1", "2", "2", "3"} {
				post := core.ImportedPost{No: int64(k + 1), Title: "Untitled", PostedAt: posted}
				n.Must(u.KeepPost(t.Context(), &post, body))
			}
			j, err := u.Commit(t.Context(), now0)
			n.Must(err)
			n.Must(n.PublishPosts(t.Context(), j.ID, core.PostsInput{}, "user:1", now0+day, postText))
		}
		if issues := n.Count("SELECT count(*) FROM issue"); issues != 3 {
			t.Errorf("%d: %d issues", posted, issues)
		}
	}
}

// If a tenant requires a second person, neither the person who uploaded an export nor an API client can publish it.
func TestPostsNeedSecondPerson(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.ChangeTenant(n.TenantID, core.TenantInput{Approval: new(core.ApprovalSecondPerson)})
	j := uploadedPosts(n, 0, "1")
	for actor, may := range map[string]bool{"user:1": false, "token:1": false, "user:2": true} {
		err := n.PublishPosts(t.Context(), j.ID, core.PostsInput{}, actor, now0, postText)
		if may && err != nil || !may && (!errors.Is(err, core.ErrApprovalRequired) ||
			strings.Contains(err.Error(), "campaign")) {
			t.Errorf("%s: %v", actor, err)
		}
	}
}

// A site that is entered after posts were imported is given to the issues in steps, so that other operations don't
// wait. An interrupted call can be repeated.
func TestSitesOfManyIssues(t *testing.T) {
	n := storetest.SeedList(t, now0)
	var bodies []string
	for i := range 45 {
		bodies = append(bodies, strconv.Itoa(i))
	}
	j := uploadedPosts(n, 0, bodies...)
	publish := func(site core.OldSite) {
		t.Helper()
		n.Must(n.PublishPosts(t.Context(), j.ID, core.PostsInput{Site: site}, "user:1", now0, postText))
		if left := n.Count("SELECT count(*) FROM imported_issue WHERE site <> ?", site); left != 0 {
			t.Errorf("%d issues lack the site %q", left, site)
		}
	}
	publish("")
	before := n.Stats().Ops
	publish("https://a.example")
	if ops := n.Stats().Ops - before; ops < 4 {
		t.Errorf("%d operations change %d issues", ops, n.Count("SELECT count(*) FROM imported_issue"))
	}
	n.SQL("UPDATE import_job SET site = 'https://b.example'")
	n.SQL("UPDATE imported_issue SET site = 'https://b.example' WHERE issue_no % 2")
	publish("https://b.example")
}

// An import of some posts of another import doesn't change the site of the others, but an import of all of them does.
// The audit log names each import whose site changes.
func TestSitesOfOtherImports(t *testing.T) {
	n := storetest.SeedList(t, now0)
	first := uploadedPosts(n, 0, "1", "2")
	n.Must(n.PublishPosts(t.Context(), first.ID, core.PostsInput{}, "user:1", now0, postText))
	for _, step := range []struct {
		site, want core.OldSite
		posts      []string
		entries    int
	}{
		{"https://b.example", "https://b.example", []string{"1"}, 2}, // it had no site
		{"https://c.example", "https://b.example", []string{"1"}, 2},
		{"https://d.example", "https://d.example", []string{"2", "1"}, 3},
	} {
		j := uploadedPosts(n, 0, step.posts...)
		n.Must(n.PublishPosts(t.Context(), j.ID, core.PostsInput{Site: step.site}, "user:1", now0, postText))
		left := n.Count("SELECT count(*) FROM imported_issue WHERE site <> ?", step.site)
		same := n.Count("SELECT count(*) FROM import_job WHERE id = ? AND site = ?", first.ID, step.want)
		entries := n.Count("SELECT count(*) FROM audit WHERE action = 'import.posts' AND object = ?", first.ID)
		if same != 1 || (left == 0) != (step.site == step.want) || entries != step.entries {
			t.Errorf("%s: %d, %d issues of other sites, %d entries", step.site, same, left, entries)
		}
	}
}

// The sweep removes both the pictures of an import and the list of people who stay subscribed.
func TestSweepOfPicturesAndPeople(t *testing.T) {
	n := storetest.SeedList(t, now0)
	u, err := n.NewImportUpload(t.Context(), newcomers(n), 1000)
	n.Must(err)
	u.PostsOnly = true
	n.Must(u.KeepPost(t.Context(), &core.ImportedPost{No: 1, Title: "Post"}, "a", "https://e.example/a.png"))
	j, err := u.Commit(t.Context(), now0)
	n.Must(err)
	n.Must(n.Update(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec("INSERT INTO import_chunk (import_id, kind, no, data) VALUES (?, 7, 0, x'00')", j.ID)
		return err
	}))
	for more, steps := true, 0; more; steps++ {
		more, err = n.SweepImports(t.Context(), now0.Add(imports.FaultsKept)+1)
		n.Must(err)
		if steps > 10 {
			t.Fatal("the sweep doesn't end")
		}
	}
	left := n.Count("SELECT (SELECT count(*) FROM import_chunk) + (SELECT count(*) FROM import_picture)")
	if left != 0 {
		t.Errorf("%d rows are left", left)
	}
}
