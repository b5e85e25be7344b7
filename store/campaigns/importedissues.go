package campaigns

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

// ImportedIssue is an issue that was published with another tool.
type ImportedIssue struct {
	Slug, Title, Summary string
	Source               string // the other tool
	Author, Kind         string // both may be empty
	Body                 string // clean HTML
	Words, Excerpt       string // texts of Body
	At                   core.Instant
	Undated              bool   // At is not from the other tool
	TenantID, OldPath    string // of the issue at the other tool; an empty path if it is unknown
}

// AddImportedIssue adds an issue to the archive of a list and returns its number. If an earlier import has added the
// issue, it returns 0. The only error is core.ErrStorage.
func AddImportedIssue(tx *db.Tx, listID string, i *ImportedIssue) (no int64, err error) {
	same, err := sameIssues(tx, listID, i)
	if err != nil || same > 0 {
		return 0, err
	}
	slug, err := freeSlug(tx, listID, i.Slug)
	if err == nil {
		no, err = tx.Number("SELECT coalesce(max(no), 0) + 1 FROM issue")
	}
	if err == nil {
		_, err = tx.Exec(`INSERT INTO issue (no, list_id, campaign_no, slug, title, summary, sent_at)
			VALUES (?1, ?2, -?1, ?3, ?4, ?5, ?6)`, no, listID, slug, i.Title, i.Summary, int64(i.At))
	}
	if err == nil {
		_, err = tx.Exec(`INSERT INTO imported_issue (issue_no, source, author, kind, body, tenant_id, old_path)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, no, i.Source, i.Author, i.Kind, i.Body, i.TenantID, i.OldPath)
	}
	if err == nil {
		text := IssueText{Words: i.Words, Excerpt: i.Excerpt}
		err = text.keep(tx, no)
	}
	return no, err
}

const (
	sameDated = `SELECT count(*) FROM issue AS i INDEXED BY issue_sent CROSS JOIN imported_issue AS m
		ON m.issue_no = i.no WHERE i.list_id = ?1 AND i.sent_at = ?2 AND i.title = ?3 AND m.source = ?4`
	sameUndated = `SELECT count(*) FROM issue AS i INDEXED BY sqlite_autoindex_issue_1 CROSS JOIN imported_issue AS m
		ON m.issue_no = i.no WHERE i.list_id = ?1 AND i.slug >= ?2 AND i.slug < ?2 || char(127) AND i.title = ?3 AND
		m.source = ?4 AND m.body = ?5`
)

// sameIssues counts the issues from earlier imports that are the same: those with the same date and title or, without a
// date, with the same slug, title and body.
func sameIssues(tx *db.Tx, listID string, i *ImportedIssue) (int64, error) {
	if i.Undated {
		return tx.Number(sameUndated, listID, slugBegin(i.Slug), i.Title, i.Source, i.Body)
	}
	return tx.Number(sameDated, listID, int64(i.At), i.Title, i.Source)
}

// RemoveImportedIssue removes an issue that AddImportedIssue has added. Triggers remove its body and its text. If there is
// no such issue, it does nothing. The only error is core.ErrStorage.
func RemoveImportedIssue(tx *db.Tx, no int64) error {
	_, err := tx.Exec("DELETE FROM issue WHERE no = ? AND campaign_no < 0", no)
	return err
}

// ImportedBody returns the clean HTML of an imported issue. If there is no such issue, it returns core.ErrNotFound.
func ImportedBody(ctx context.Context, s *db.DB, no int64) (body string, err error) {
	err = s.Get(ctx, &body, "SELECT body FROM imported_issue WHERE issue_no = ?", no)
	return body, err
}

// issuesAtOldPath is the number of issues with the same old path that IssuesAt returns at most.
const issuesAtOldPath = 10

const issuesAt = `SELECT i.no, i.list_id, i.slug FROM imported_issue AS m INDEXED BY imported_issue_old
	CROSS JOIN issue AS i ON i.no = m.issue_no WHERE m.tenant_id = ?1 AND m.old_path = ?2 ORDER BY m.issue_no LIMIT +?3`

// IssuesAt returns the issues of a tenant that were at a path at another tool, the one imported first at the beginning.
// Only number, list and slug are set. The path must have the form of core.OldPath. The only error is core.ErrStorage.
func IssuesAt(ctx context.Context, s *db.DB, tenantID, path string) (is []core.Issue, err error) {
	err = s.All(ctx, &is, issuesAt, tenantID, path, issuesAtOldPath)
	return is, err
}
