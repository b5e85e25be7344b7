package campaigns

import (
	"context"
	"math"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// ListsBySlug returns the ids of the lists with a slug, at most one per host. Its only error is core.ErrStorage.
func (s *Store) ListsBySlug(ctx context.Context, slug string) (ids []string, err error) {
	err = s.All(ctx, &ids, "SELECT id FROM list WHERE slug = ? AND slug <> '' AND deleted_at = 0 ORDER BY id", slug)
	return ids, err
}

// IssueHead holds the parts of a campaign that public archives list and search.
type IssueHead struct {
	Title, Summary string
	IssueText
}

// IssueText is the part of an IssueHead that comes from the article.
type IssueText struct {
	Words         string // words of the article, one line for each block
	Excerpt       string
	Picture       string // address of the first image that this server stores; empty if there is none
	Width, Height int    // size of the image in pixels
}

// keep stores the text of an issue. Triggers update the search index.
func (t *IssueText) keep(tx *db.Tx, issueNo int64) error {
	_, err := tx.Exec(`INSERT INTO issue_text (issue_no, words, excerpt, picture, width, height)
		VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET words = excluded.words, excerpt = excluded.excerpt,
		picture = excluded.picture, width = excluded.width, height = excluded.height`,
		issueNo, t.Words, t.Excerpt, t.Picture, t.Width, t.Height)
	return err
}

// newIssueNo returns a number that no issue has ever had. For tables with AUTOINCREMENT, SQLite keeps the last number
// in sqlite_sequence. The table issue was created without AUTOINCREMENT, so newIssueNo does the same.
func newIssueNo(tx *db.Tx) (int64, error) {
	no, err := tx.Number(`SELECT max(coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'issue'), 0),
		coalesce((SELECT max(no) FROM issue), 0)) + 1`)
	if err != nil {
		return 0, err
	}
	n, err := tx.Exec("UPDATE sqlite_sequence SET seq = ? WHERE name = 'issue'", no)
	if err == nil && n == 0 {
		_, err = tx.Exec("INSERT INTO sqlite_sequence (name, seq) VALUES ('issue', ?)", no)
	}
	return no, err
}

// keepIssue adds a campaign to the archives of its lists. It replaces an existing issue only if no email of the
// campaign has been sent yet.
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
		slug, err := freeSlug(tx, list, head.Title)
		if err != nil {
			return err
		}
		no, err := newIssueNo(tx)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO issue (no, list_id, campaign_no, slug, title, summary, sent_at) VALUES (?7, ?1,
			?2, ?3, ?4, ?5, coalesce((SELECT min(started_at) FROM send_job INDEXED BY send_job_campaign
			WHERE campaign_id = ?6 AND started_at > 0), 0))`, list, c.No,
			slug, head.Title, head.Summary, c.ID, no)
		if err != nil {
			return err
		}
		if err := head.keep(tx, no); err != nil {
			return err
		}
	}
	return nil
}

// freeSlug returns a slug for a title that no issue of the list has.
func freeSlug(tx *db.Tx, list, title string) (string, error) {
	var taken []string
	like := slugBegin(title)
	err := tx.All(&taken, "SELECT slug FROM issue WHERE list_id = ?1 AND slug >= ?2 AND slug < ?2 || char(127)",
		list, like)
	return core.IssueSlug(title, taken), err
}

// slugBegin returns the common prefix of all slugs that freeSlug can return for a title. In a long slug, a number may
// replace the end.
func slugBegin(title string) string {
	slug := core.IssueSlug(title, nil)
	return slug[:min(len(slug), 60)]
}

// shownIssues selects the issues that archives show. Their emails were sent, and no recipient waits for the first
// attempt. Deferred recipients do not delay an issue.
const shownIssues = "SELECT " + issueColumns + " FROM issue AS i " + issueJoins + " WHERE " + issueShown

const issueColumns = `i.no, i.list_id, i.campaign_no, i.slug, i.title, i.summary, i.sent_at, i.changed_at,
	coalesce((SELECT made_at FROM correction WHERE campaign_no = i.campaign_no), 0) AS corrected_at,
	coalesce(c.id, '') AS campaign_id, coalesce((SELECT min(j.no) FROM ` + throughJob + `), 0) AS job_no,
	coalesce(t.excerpt, '') AS excerpt, coalesce(t.picture, '') AS picture, coalesce(t.width, 0) AS width,
	coalesce(t.height, 0) AS height, m.issue_no IS NOT NULL AS imported, coalesce(m.author, '') AS author`

const issueJoins = `LEFT JOIN campaign AS c ON c.no = i.campaign_no LEFT JOIN issue_text AS t ON t.issue_no = i.no
	LEFT JOIN imported_issue AS m ON m.issue_no = i.no`

const issueShown = `i.list_id = ?1 AND i.sent_at > 0 AND (m.issue_no IS NOT NULL
	OR c.state <> 'archived' AND c.archive <> 'hidden' AND EXISTS (SELECT 1 FROM ` + throughJob + `))`

const throughJob = `send_job AS j INDEXED BY send_job_campaign WHERE j.campaign_id = c.id AND j.sent > 0
	AND (j.status IN ('completed', 'failed', 'cancelled') OR j.expanded = 1 AND j.sent + j.failed + j.skipped + j.deferred >= j.recipients)`

const (
	issueBySlug  = shownIssues + " AND i.slug = ?2"
	issuesBefore = shownIssues + " AND (i.sent_at, i.no) < (?2, ?3) ORDER BY i.sent_at DESC, i.no DESC LIMIT +?4"
	issuesAfter  = shownIssues + " AND (i.sent_at, i.no) > (?2, ?3) ORDER BY i.sent_at, i.no LIMIT +?4"
)

// Issue returns an issue in a list's archive. If there is no such issue, it returns core.ErrNotFound.
func (s *Store) Issue(ctx context.Context, listID, slug string) (i core.Issue, err error) {
	err = s.Get(ctx, &i, issueBySlug, listID, slug)
	return i, err
}

// IssuesBefore returns up to limit issues that precede other in a list's archive, newest first. If other is zero, it
// starts with the newest issue. Its only error is core.ErrStorage.
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

// searchIssues selects the matching issues, newest first, which is the order of FTS5. In a long text, only matches near
// the start can be shown.
const searchIssues = "SELECT " + issueColumns + `, substr(coalesce(t.words, ''), 1, 50000) AS words
	FROM issue_search AS s CROSS JOIN issue AS i ON i.no = s.rowid ` +
	issueJoins + ` WHERE issue_search MATCH ?2 AND s.rowid < ?3 AND ` + issueShown + " ORDER BY s.rowid DESC LIMIT +?4"

// SearchIssues returns at most limit issues of a list's archive that contain all words of a query, newest first. The
// last word of the query may be a prefix, if core.FindsLonger allows it. before is the number of an issue, or 0 to
// start with the newest. A query without words finds nothing. Its only error is core.ErrStorage.
func (s *Store) SearchIssues(ctx context.Context, l *core.List, query string, before int64, limit int) (is []core.Issue,
	err error,
) {
	match := issueMatch(l, query)
	if match == "" {
		return nil, nil
	}
	if before == 0 {
		before = math.MaxInt64
	}
	err = s.All(ctx, &is, searchIssues, l.ID, match, before, limit)
	return is, err
}

// maxSearchWords is the maximum number of words in a query. It limits the work of a search.
const maxSearchWords = 8

// issueMatch returns a query as an FTS5 expression. The words are quoted, so their characters have no special meaning.
func issueMatch(l *core.List, query string) string {
	words := core.SearchWords(query)
	words = words[:min(len(words), maxSearchWords)]
	if len(words) == 0 {
		return ""
	}
	end := `"`
	if core.FindsLonger(words[len(words)-1]) {
		end = `"*`
	}
	id := func(s string) string { return strings.ReplaceAll(s, "-", "") }
	return `{title words} : ("` + strings.Join(words, `" AND "`) + end + ") AND place : (t" +
		id(l.TenantID) + " AND l" + id(l.ID) + ")"
}

// FillIssues adds the text to up to limit issues that lack it because they were sent before text was stored. It reports
// whether there may be more. It also returns errors of text.
func (s *Store) FillIssues(ctx context.Context, limit int, text func(*core.Issue) (IssueText, error)) (more bool,
	err error,
) {
	var is []core.Issue
	if err := s.All(ctx, &is, issuesWithoutText, limit); err != nil || len(is) == 0 {
		return false, err
	}
	texts := make([]IssueText, len(is))
	for k := range is {
		if texts[k], err = text(&is[k]); err != nil {
			return false, err
		}
	}
	err = s.Update(ctx, func(tx *db.Tx) error {
		for k := range is {
			var missing bool
			err := tx.Get(&missing, `SELECT EXISTS (SELECT 1 FROM issue WHERE no = ?1)
				AND NOT EXISTS (SELECT 1 FROM issue_text WHERE issue_no = ?1)`, is[k].No)
			if err == nil && missing {
				err = texts[k].keep(tx, is[k].No)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return len(is) == limit, err
}

const issuesWithoutText = `SELECT i.no, i.list_id, i.campaign_no, i.slug, i.title, i.summary, i.sent_at, i.changed_at,
	c.id AS campaign_id, coalesce((SELECT min(j.no) FROM send_job AS j INDEXED BY send_job_campaign
	WHERE j.campaign_id = c.id), 0) AS job_no
	FROM issue AS i CROSS JOIN campaign AS c ON c.no = i.campaign_no
	WHERE NOT EXISTS (SELECT 1 FROM issue_text WHERE issue_no = i.no) LIMIT +?`
