package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// postsStep is the number of posts in one operation.
const postsStep = 20

// PostText holds the searchable text and the images of a post's body.
type PostText struct {
	Words, Excerpt string   // text for the archive's search and its list
	Pictures       []string // their addresses as stored; see core.PictureKey
}

// KeepPost stores a post of the uploaded export with its images. body is the post's cleaned HTML. If body is longer
// than PostRoom, KeepPost doesn't store the post and counts it as skipped. If the disk is full, it returns the error of
// Room. If the posts of the tenant's imports would exceed Options.TenantPostBytes, it returns an error of kind
// core.TooLarge.
func (u *ImportUpload) KeepPost(ctx context.Context, p *core.ImportedPost, body string, pictures ...string) error {
	if int64(len(body)) > u.PostRoom {
		u.PostsSkipped++
		return nil
	}
	u.PostRoom -= int64(len(body))
	if err := u.store.Room(2 * int64(len(body))); err != nil {
		return err
	}
	if err := u.keepPictures(ctx, pictures); err != nil {
		return err
	}
	u.job.Posts++
	return u.store.Bulk(ctx, func(tx *db.Tx) error {
		if err := u.charge(tx, len(body)); err != nil {
			return err
		}
		tx.BringsFile()
		_, err := tx.Exec(`INSERT INTO import_post (import_id, no, title, summary, slug, author, kind, posted_at, draft,
			paid, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, u.job.ID, p.No, p.Title, p.Summary, p.Slug, p.Author,
			p.Kind, int64(p.PostedAt), p.Draft, p.Paid, body)
		if err == nil {
			err = tx.One("UPDATE import_job SET posts = posts + 1 WHERE id = ?", u.job.ID)
		}
		return err
	})
}

// ImportedPosts returns the posts of an import in the order of the export. The posts are deleted a week after the end
// of the import. Its only error is core.ErrStorage.
func (s *Store) ImportedPosts(ctx context.Context, id string) (posts []core.ImportedPost, err error) {
	posts = []core.ImportedPost{}
	err = s.All(ctx, &posts, `SELECT p.no, p.title, p.summary, p.slug, p.author, p.kind, p.posted_at, p.draft, p.paid,
		coalesce(i.slug, '') AS issue FROM import_post AS p LEFT JOIN issue AS i ON i.no = p.issue_no
		WHERE p.import_id = ? ORDER BY p.no`, id)
	return posts, err
}

// PublishPosts adds an import's posts to the archive of its list, oldest first, in steps. Their images wait to be
// copied. For posts that are already issues, it only changes the site, unless in.Site is empty. If the site changes,
// failed images that need it wait to be copied again. If another import has added the issues, the same happens to that
// import, unless it has a site and other issues. If the posts of that import are no longer stored, this import copies
// the images that failed. An interrupted call can be repeated. text reads a post with a title and a body; PublishPosts
// also returns its errors. If the tenant requires approval by a second person, and the actor is not a person or
// uploaded the export, it returns core.ErrPostsApproval. If the imported issues of the tenant would exceed
// Options.TenantPostBytes, it returns an error of kind core.TooLarge.
func (s *Store) PublishPosts(ctx context.Context, id string, in core.PostsInput, actor string, now core.Instant,
	text func(title, body string) (PostText, error),
) error {
	var posts []int64
	j, err := s.changeImport(ctx, id, actor, "import.posts", now, func(tx *db.Tx, j *core.ImportJob) error {
		if err := hasPosts(tx, j); err != nil {
			return err
		}
		t, err := tenants.ReadTenant(tx, j.TenantID)
		if err == nil && t.AsksSecondPerson() && (core.ActorUser(actor) == "" || actor == j.CreatedBy) {
			err = core.ErrPostsApproval
		}
		if err != nil {
			return err
		}
		if in.Site != "" && in.Site != j.Site {
			if err = tx.One("UPDATE import_job SET site = ? WHERE id = ?", in.Site, id); err == nil {
				err = retryRelative(tx, id)
			}
		}
		if err != nil {
			return err
		}
		posts, err = wantedPosts(tx, id, &in)
		tx.Tell("posts", nil, len(posts))
		return err
	})
	if err == nil && in.Site != "" {
		err = s.spreadSite(ctx, id, now)
	}
	others := map[string]bool{}
	for step := range slices.Chunk(posts, postsStep) {
		if err == nil {
			err = s.publishStep(ctx, &j, step, now, others, text)
		}
	}
	for other := range others {
		if err == nil && j.Site != "" {
			err = s.correctOwner(ctx, other, j.Site, actor, now)
		}
	}
	return err
}

// wantedPosts returns the numbers of an import's posts that will become issues, oldest first.
func wantedPosts(tx *db.Tx, id string, in *core.PostsInput) (posts []int64, err error) {
	if in.Posts == nil {
		err = tx.All(&posts, `SELECT no FROM import_post WHERE import_id = ?1 AND issue_no <= 0 AND (draft = 0 OR ?2)
			AND (paid = 0 OR ?3) AND kind <> 'page' ORDER BY posted_at <= 0, posted_at, no`, id, in.Drafts, in.Paid)
		return posts, err
	}
	wanted, err := json.Marshal(*in.Posts)
	if err != nil {
		return nil, err
	}
	var unknown []int64
	err = tx.All(&unknown, `SELECT value FROM json_each(?2) WHERE value NOT IN (SELECT no FROM import_post
		INDEXED BY sqlite_autoindex_import_post_1 WHERE import_id = ?1) LIMIT 1`, id, string(wanted))
	if err == nil && len(unknown) > 0 {
		err = core.NoPost(unknown[0])
	}
	if err == nil {
		err = tx.All(&posts, `SELECT no FROM import_post WHERE import_id = ?1 AND issue_no <= 0 AND no IN (SELECT value
			FROM json_each(?2)) ORDER BY posted_at <= 0, posted_at, no`, id, string(wanted))
	}
	return posts, err
}

// otherSites selects the issues of an import's posts that have a different site, and their sizes.
const otherSites = `SELECT m.issue_no AS no, octet_length(m.body) AS size FROM import_job AS j
	CROSS JOIN import_post AS p INDEXED BY sqlite_autoindex_import_post_1 ON p.import_id = j.id
	CROSS JOIN imported_issue AS m ON m.issue_no = abs(p.issue_no) WHERE j.id = ? AND p.issue_no <> 0
	AND m.site <> j.site`

// spreadSite sets an import's site on the issues of its posts. It works in steps, because each change rewrites the text
// of an issue. An interrupted call can be repeated.
func (s *Store) spreadSite(ctx context.Context, id string, now core.Instant) error {
	var issues []struct{ No, Size int64 }
	err := s.All(ctx, &issues, otherSites, id)
	for step := range slices.Chunk(issues, postsStep) {
		var size int64
		for _, i := range step {
			size += i.Size
		}
		if err == nil {
			err = s.Room(2 * size)
		}
		if err != nil {
			return err
		}
		err = s.Bulk(ctx, func(tx *db.Tx) error {
			j, err := ImportJob(tx, id)
			for _, i := range step {
				if err == nil {
					err = campaigns.SetImportedSite(tx, i.No, j.Site, now)
				}
			}
			return err
		})
	}
	return err
}

// retryRelative marks the failed images of an import that need its site's URL as waiting to be copied again.
func retryRelative(tx *db.Tx, id string) error {
	var failed core.Strings
	err := tx.All(&failed, `SELECT address FROM import_picture INDEXED BY import_picture_state
		WHERE import_id = ? AND state = 'failed'`, id)
	if err != nil {
		return err
	}
	failed = slices.DeleteFunc(failed, func(address string) bool { return !core.IsRelative(address) })
	n, err := tx.Exec(`UPDATE import_picture INDEXED BY import_picture_state SET state = 'waiting', reason = ''
		WHERE import_id = ? AND state = 'failed' AND address IN (SELECT value FROM json_each(?))`, id, failed.Column())
	if err == nil && n > 0 {
		err = fetchAgain(tx, id)
	}
	return err
}

// hasPosts returns a core.Conflict error if an import's posts are not stored, or no longer stored.
func hasPosts(tx *db.Tx, j *core.ImportJob) error {
	n, err := tx.Number("SELECT count(*) FROM (SELECT 1 FROM import_post WHERE import_id = ? LIMIT 1)", j.ID)
	if err == nil && (n == 0 || j.Status == core.ImportUploading) {
		return core.Conflictf("conflict", "This import has no posts, or it ended more than a week ago.")
	}
	return err
}

// nextIssue is a post that is about to become an issue.
type nextIssue struct {
	campaigns.ImportedIssue
	no       int64    // number of the post
	pictures []string // see PostText
}

// readPost reads a post of an import and calls text to extract the post's text.
func (s *Store) readPost(ctx context.Context, j *core.ImportJob, no int64, now core.Instant,
	text func(title, body string) (PostText, error),
) (nextIssue, error) {
	var p struct {
		core.ImportedPost
		Body string `db:"body"`
	}
	err := s.Get(ctx, &p, `SELECT no, title, summary, slug, author, kind, posted_at, draft, paid, body, '' AS issue
		FROM import_post WHERE import_id = ? AND no = ?`, j.ID, no)
	if err != nil {
		return nextIssue{}, err
	}
	t, err := text(p.Title, p.Body)
	return nextIssue{no: no, pictures: t.Pictures, ImportedIssue: campaigns.ImportedIssue{
		Slug: cmp.Or(p.Slug, p.Title), Title: p.Title, Summary: p.Summary, Source: j.Tool, Author: p.Author,
		Kind: p.Kind, Body: p.Body, Words: t.Words, Excerpt: t.Excerpt, At: cmp.Or(max(p.PostedAt, 0), now),
		Undated: p.PostedAt <= 0, TenantID: j.TenantID, OldPath: core.OldPath(j.Tool, p.Slug), Site: j.Site,
	}}, err
}

// publishStep adds posts of an import to the archive. If other imports had already added the same issues, it adds those
// imports to others.
func (s *Store) publishStep(ctx context.Context, j *core.ImportJob, posts []int64, now core.Instant,
	others map[string]bool, text func(title, body string) (PostText, error),
) error {
	issues := make([]nextIssue, len(posts))
	var size, bodies int64
	for k, no := range posts {
		var err error
		if issues[k], err = s.readPost(ctx, j, no, now, text); err != nil {
			return err
		}
		bodies += int64(len(issues[k].Body))
		size += int64(len(issues[k].Body) + len(issues[k].Words))
	}
	if err := s.Room(2 * size); err != nil {
		return err
	}
	return s.Bulk(ctx, func(tx *db.Tx) error {
		if job, err := ImportJob(tx, j.ID); err != nil || job.Status == core.ImportDeleted {
			return cmp.Or[error](err, core.ErrNotFound)
		}
		used, err := campaigns.ImportedBytes(tx, j.TenantID)
		if most := s.Options().TenantPostBytes; err == nil && used+bodies > most {
			err = core.IssuesFull(most)
		}
		if err != nil {
			return err
		}
		first, err := tx.Number(`SELECT coalesce(min(issue_no), 0) FROM import_post
			INDEXED BY sqlite_autoindex_import_post_1 WHERE import_id = ? AND issue_no > 0`, j.ID)
		for k := 0; k < len(issues) && err == nil; k++ {
			issues[k].First = first
			var added int64
			added, err = publishPost(tx, j, &issues[k], now, others)
			first = cmp.Or(first, added)
		}
		return err
	})
}

// publishPost adds a post to the archive and returns the number of its issue. If the issue was imported before, it
// returns 0.
func publishPost(tx *db.Tx, j *core.ImportJob, i *nextIssue, now core.Instant, others map[string]bool) (added int64,
	err error,
) {
	added, err = campaigns.AddImportedIssue(tx, j.ListID, &i.ImportedIssue, now)
	no := added
	if err == nil && no == 0 {
		no, err = findOwners(tx, j, i.Same, others)
	}
	if err != nil || no == 0 {
		return added, err
	}
	err = tx.One("UPDATE import_post SET issue_no = ?, fetching = ? WHERE import_id = ? AND no = ?", no,
		len(i.pictures) > 0, j.ID, i.no)
	if err == nil {
		err = awaitPictures(tx, j.ID, i.pictures)
	}
	return added, err
}

// ownersOf returns the imports that added an issue: at most one, and none if its posts are no longer stored.
func ownersOf(tx *db.Tx, issue int64) (ids []string, err error) {
	err = tx.All(&ids, `SELECT import_id FROM import_post INDEXED BY import_post_issue WHERE issue_no = ?
		AND issue_no > 0`, issue)
	return ids, err
}

// countIssues counts the posts of an import that are issues.
func countIssues(tx *db.Tx, id string) (int64, error) {
	return tx.Number(`SELECT count(*) FROM import_post INDEXED BY sqlite_autoindex_import_post_1
		WHERE import_id = ? AND issue_no > 0`, id)
}

// forgetIssue records that the issue created from a post was removed.
func forgetIssue(tx *db.Tx, issue int64) error {
	return tx.One(`UPDATE import_post INDEXED BY import_post_issue SET issue_no = 0, fetching = 0 WHERE issue_no = ?
		AND issue_no > 0`, issue)
}

// findOwners adds to others the imports that added the given issues, except j. If some issues no longer have such an
// import, it returns the negated number of the first one: j copies the images of that issue, but didn't add it.
// Otherwise, it returns 0.
func findOwners(tx *db.Tx, j *core.ImportJob, issues []int64, others map[string]bool) (no int64, err error) {
	for _, issue := range issues {
		owners, err := ownersOf(tx, issue)
		if err != nil {
			return 0, err
		}
		if len(owners) == 0 && no == 0 {
			no = -issue
		}
		for _, id := range owners {
			if id != j.ID {
				others[id] = true
			}
		}
	}
	return no, nil
}

// correctOwner sets the site of another import if that import has no site, or if all its issues already have the new
// site because both imports contain them. Failed images that need the site wait to be copied again.
func (s *Store) correctOwner(ctx context.Context, id string, site core.OldSite, actor string, now core.Instant) error {
	var has bool
	err := s.Update(ctx, func(tx *db.Tx) error {
		j, err := ImportJob(tx, id)
		if has = err == nil && j.Site == site; err != nil || has {
			return err
		}
		var differs bool
		err = tx.Get(&differs, `SELECT EXISTS (SELECT 1 FROM import_post AS p INDEXED BY sqlite_autoindex_import_post_1
			CROSS JOIN imported_issue AS m ON m.issue_no = p.issue_no WHERE p.import_id = ? AND p.issue_no > 0
			AND m.site <> ?)`, id, site)
		if err != nil || j.Site != "" && differs {
			return err
		}
		if err := tx.Watch("import_job", id); err != nil {
			return err
		}
		if err = tx.One("UPDATE import_job SET site = ? WHERE id = ?", site, id); err == nil {
			err = retryRelative(tx, id)
		}
		if err != nil {
			return err
		}
		has = true
		tx.Tell("posts", nil, 0)
		return tx.Audit(now, actor, "import.posts", j.TenantID, id)
	})
	if err == nil && has {
		err = s.spreadSite(ctx, id, now)
	}
	return err
}

// WithdrawPosts removes the issues created from an import's posts, in steps. An interrupted call can be repeated.
// Copies of their images are removed later, by StepPictures. If the posts are no longer stored, it returns a
// core.Conflict error.
func (s *Store) WithdrawPosts(ctx context.Context, id, actor string, now core.Instant) error {
	_, err := s.changeImport(ctx, id, actor, "import.posts_undo", now, func(tx *db.Tx, j *core.ImportJob) error {
		if err := hasPosts(tx, j); err != nil {
			return err
		}
		n, err := countIssues(tx, id)
		tx.Tell("posts", n, nil)
		if err == nil {
			err = forgetPictures(tx, id)
		}
		return err
	})
	for more := err == nil; more; {
		err = s.Bulk(ctx, func(tx *db.Tx) error {
			var issues []int64
			err := tx.All(&issues, `SELECT issue_no FROM import_post INDEXED BY sqlite_autoindex_import_post_1
				WHERE import_id = ? AND issue_no > 0 LIMIT +?`, id, postsStep)
			for _, no := range issues {
				if err == nil {
					err = campaigns.RemoveImportedIssue(tx, no)
				}
				if err == nil {
					err = forgetIssue(tx, no)
				}
			}
			more = len(issues) == postsStep
			return err
		})
		more = more && err == nil
	}
	if err == nil {
		err = s.removePictures(ctx, id)
	}
	return err
}

// dropPosts deletes up to postsStep posts of an import. Issues created from them stay.
func (s *Store) dropPosts(ctx context.Context, id string) error {
	return s.Bulk(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("DELETE FROM import_post WHERE import_id = ?1 AND no IN (SELECT no FROM import_post "+
			"WHERE import_id = ?1 LIMIT +?2)", id, postsStep)
		return err
	})
}
