package campaigns

import (
	"context"
	"math"

	"newsletterd/core"
	"newsletterd/store/db"
)

// ListsBySlug returns the ids of the lists with a slug, at most one per host. Its only error is core.ErrStorage.
func (s *Store) ListsBySlug(ctx context.Context, slug string) (ids []string, err error) {
	err = s.All(ctx, &ids, "SELECT id FROM list WHERE slug = ? AND slug <> '' AND deleted_at = 0 ORDER BY id", slug)
	return ids, err
}

// IssueHead is the title and summary of a campaign in a public archive.
type IssueHead struct{ Title, Summary string }

// keepIssue adds a campaign to the archives of its lists. An existing issue stays unchanged, unless no email of the
// campaign was sent yet.
func keepIssue(tx *db.Tx, c *core.Campaign, head IssueHead) error {
	if _, err := tx.Exec("DELETE FROM issue WHERE campaign_no = ? AND sent_at = 0", c.No); err != nil {
		return err
	}
	var lists []string
	err := tx.All(&lists, `SELECT list_id FROM campaign_list WHERE campaign_no = ?1 AND list_id NOT IN (SELECT list_id
		FROM issue WHERE campaign_no = ?1)`, c.No)
	if err != nil {
		return err
	}
	for _, list := range lists {
		var taken []string
		like := core.IssueSlug(head.Title, nil)
		like = like[:min(len(like), 60)] // the end of a long slug may be replaced by a number
		if err := tx.All(&taken, "SELECT slug FROM issue WHERE list_id = ?1 AND slug >= ?2 AND slug < ?2 || char(127)",
			list, like); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO issue (list_id, campaign_no, slug, title, summary, sent_at) VALUES (?1, ?2, ?3, ?4,
			?5, coalesce((SELECT min(started_at) FROM send_job INDEXED BY send_job_campaign
			WHERE campaign_id = ?6 AND started_at > 0), 0))`, list, c.No,
			core.IssueSlug(head.Title, taken), head.Title, head.Summary, c.ID)
		if err != nil {
			return err
		}
	}
	return nil
}

// shownIssues selects the issues that archives show: emails were sent, and no recipient waits for the first attempt.
// Deferred recipients do not delay an issue.
const shownIssues = `SELECT i.no, i.list_id, i.campaign_no, i.slug, i.title, i.summary, i.sent_at, i.changed_at,
	coalesce((SELECT made_at FROM correction WHERE campaign_no = i.campaign_no), 0) AS corrected_at, c.id AS campaign_id,
	(SELECT min(j.no) FROM ` + throughJob + `) AS job_no
	FROM issue AS i JOIN campaign AS c ON c.no = i.campaign_no
	WHERE i.list_id = ?1 AND i.sent_at > 0 AND c.state <> 'archived' AND c.archive <> 'hidden'
	AND EXISTS (SELECT 1 FROM ` + throughJob + `)`

const throughJob = `send_job AS j INDEXED BY send_job_campaign WHERE j.campaign_id = c.id AND j.sent > 0
	AND (j.status IN ('completed', 'failed', 'cancelled') OR j.expanded = 1 AND j.sent + j.failed + j.skipped + j.deferred >= j.recipients)`

const (
	issueBySlug  = shownIssues + " AND i.slug = ?2"
	issuesBefore = shownIssues + " AND (i.sent_at, i.no) < (?2, ?3) ORDER BY i.sent_at DESC, i.no DESC LIMIT +?4"
	issuesAfter  = shownIssues + " AND (i.sent_at, i.no) > (?2, ?3) ORDER BY i.sent_at, i.no LIMIT +?4"
)

// Issue returns an issue in the archive of a list. If there is none, it returns core.ErrNotFound.
func (s *Store) Issue(ctx context.Context, listID, slug string) (i core.Issue, err error) {
	err = s.Get(ctx, &i, issueBySlug, listID, slug)
	return i, err
}

// IssuesBefore returns at most limit issues of a list's archive before another one, newest first. If other is zero,
// it starts with the newest. Its only error is core.ErrStorage.
func (s *Store) IssuesBefore(ctx context.Context, listID string, other core.Issue, limit int) (is []core.Issue,
	err error,
) {
	if other.No == 0 {
		other.SentAt = math.MaxInt64
	}
	err = s.All(ctx, &is, issuesBefore, listID, other.SentAt, other.No, limit)
	return is, err
}

// IssuesAfter returns up to limit issues that follow other in a list's archive, oldest first. Its only error is
// core.ErrStorage.
func (s *Store) IssuesAfter(ctx context.Context, listID string, other core.Issue, limit int) (is []core.Issue,
	err error,
) {
	err = s.All(ctx, &is, issuesAfter, listID, other.SentAt, other.No, limit)
	return is, err
}
