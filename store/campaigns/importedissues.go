package campaigns

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// ImportedIssue is an issue that was published with another tool.
type ImportedIssue struct {
	Slug, Title, Summary string
	Source               string // the other tool
	Author, Kind         string // both may be empty
	Body                 string // clean HTML
	Words, Excerpt       string // text of Body
	At                   core.Instant
	Undated              bool   // At is not from the other tool
	TenantID, OldPath    string // tenant, and path of the issue at the other tool, empty if unknown
	Site                 core.OldSite
	First                int64   // number of the first issue of the same import; 0: none yet
	Same                 []int64 // numbers of the issues that are the same, see sameIssues; set by AddImportedIssue
}

// AddImportedIssue adds an issue to a list's archive and returns its number. If the issue was imported before, it only
// corrects its site, unless i.Site is empty, and returns 0. now is the time of that change. The only error is
// core.ErrStorage.
func AddImportedIssue(tx *db.Tx, listID string, i *ImportedIssue, now core.Instant) (no int64, err error) {
	i.Same, err = sameIssues(tx, listID, i)
	for _, no := range i.Same {
		if err == nil && i.Site != "" {
			err = SetImportedSite(tx, no, i.Site, now)
		}
	}
	if err != nil || len(i.Same) > 0 {
		return 0, err
	}
	slug, err := freeSlug(tx, listID, i.Slug)
	if err == nil {
		no, err = newIssueNo(tx)
	}
	if err == nil {
		_, err = tx.Exec(`INSERT INTO issue (no, list_id, campaign_no, slug, title, summary, sent_at)
			VALUES (?1, ?2, -?1, ?3, ?4, ?5, ?6)`, no, listID, slug, i.Title, i.Summary, int64(i.At))
	}
	if err == nil {
		_, err = tx.Exec(`INSERT INTO imported_issue (issue_no, source, author, kind, body, tenant_id, old_path,
			body_sum, site) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, no, i.Source, i.Author, i.Kind, i.Body, i.TenantID,
			i.OldPath, bodySum(i.Body), i.Site)
	}
	if err == nil {
		text := IssueText{Words: i.Words, Excerpt: i.Excerpt}
		err = text.keep(tx, no)
	}
	return no, err
}

const (
	sameDated = `SELECT i.no, m.body_sum = ?6 AS body FROM issue AS i INDEXED BY issue_sent
		CROSS JOIN imported_issue AS m ON m.issue_no = i.no WHERE i.list_id = ?1 AND i.sent_at = ?2
		AND i.title = ?3 AND m.source = ?4 AND (?5 = 0 OR i.no < ?5 OR m.body_sum = ?6)`
	sameUndated = `SELECT i.no FROM issue AS i INDEXED BY sqlite_autoindex_issue_1 CROSS JOIN imported_issue AS m
		ON m.issue_no = i.no WHERE i.list_id = ?1 AND i.slug >= ?2 AND i.slug < ?2 || char(127) AND i.title = ?3 AND
		m.source = ?4 AND (m.body = ?5 OR m.body_sum = ?6)`
)

// bodySum returns a hash of a post's body. An issue's body changes when its images are replaced.
func bodySum(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// sameIssues returns the numbers of the issues that match i: those with the same date and title or, without a date,
// with the same slug, title and body. Within an import, the bodies must be equal, too. An issue with the same body
// comes first.
func sameIssues(tx *db.Tx, listID string, i *ImportedIssue) (same []int64, err error) {
	if i.Undated {
		err = tx.All(&same, sameUndated, listID, slugBegin(i.Slug), i.Title, i.Source, i.Body, bodySum(i.Body))
		return same, err
	}
	var found []struct {
		No   int64 `db:"no"`
		Body bool  `db:"body"` // whether the bodies are equal
	}
	err = tx.All(&found, sameDated, listID, int64(i.At), i.Title, i.Source, i.First, bodySum(i.Body))
	for _, f := range found {
		if same = append(same, f.No); f.Body {
			same[0], same[len(same)-1] = f.No, same[0]
		}
	}
	return same, err
}

// RemoveImportedIssue removes an issue that AddImportedIssue added. Triggers remove its body and its text. If there is
// no such issue, it does nothing. The only error is core.ErrStorage.
func RemoveImportedIssue(tx *db.Tx, no int64) error {
	_, err := tx.Exec("DELETE FROM issue WHERE no = ? AND campaign_no < 0", no)
	return err
}

// ReplaceImportedBody replaces the clean HTML of an imported issue, and the parts of it that archives list and search.
// If there is no such issue, it does nothing. The only error is core.ErrStorage.
func ReplaceImportedBody(tx *db.Tx, no int64, body string, text *IssueText) error {
	n, err := tx.Exec("UPDATE imported_issue SET body = ? WHERE issue_no = ?", body, no)
	if err == nil && n > 0 {
		err = text.keep(tx, no)
	}
	return err
}

// SetImportedSite sets the site of an imported issue, which changes its links. If there is no such issue, or the site
// is the same, it does nothing. The only error is core.ErrStorage.
func SetImportedSite(tx *db.Tx, no int64, site core.OldSite, now core.Instant) error {
	n, err := tx.Exec("UPDATE imported_issue SET site = ?1 WHERE issue_no = ?2 AND site <> ?1", site, no)
	if err == nil && n > 0 {
		_, err = tx.Exec("UPDATE issue SET changed_at = ? WHERE no = ?", int64(now), no)
	}
	return err
}

// ImportedBytes returns the size of the imported issues of a tenant.
func ImportedBytes(tx *db.Tx, tenantID string) (int64, error) {
	return tx.Number(importedBytes, tenantID)
}

// importedBytes selects the total size of a tenant's imported bodies, without reading the bodies.
const importedBytes = `SELECT coalesce(sum(octet_length(m.body)), 0) FROM list AS l INDEXED BY list_tenant CROSS JOIN
	issue AS i INDEXED BY issue_sent ON i.list_id = l.id CROSS JOIN imported_issue AS m ON m.issue_no = i.no
	WHERE l.tenant_id = ?`

// ImportedIssues returns a page of the imported issues of a list, newest first. after is the cursor of the last issue
// on the previous page, or empty for the first page. Its only error is core.ErrStorage.
func ImportedIssues(ctx context.Context, s *db.DB, listID, after string, limit int) (is []core.ImportedIssue,
	err error,
) {
	sent, no := int64(math.MaxInt64), int64(0)
	if at, of, ok := strings.Cut(after, "."); ok {
		sent, _ = strconv.ParseInt(at, 10, 64)
		no, _ = strconv.ParseInt(of, 10, 64)
	}
	err = s.All(ctx, &is, importedIssues, listID, sent, no, limit)
	return is, err
}

const importedIssues = `SELECT i.no, i.slug, i.title, i.sent_at, m.source, m.author FROM issue AS i
	INDEXED BY issue_sent CROSS JOIN imported_issue AS m ON m.issue_no = i.no WHERE i.list_id = ?1
	AND (i.sent_at, i.no) < (?2, ?3) ORDER BY i.sent_at DESC, i.no DESC LIMIT +?4`

// ImportedText returns the title and the content of an imported issue. If there is no such issue, both are empty.
func ImportedText(ctx context.Context, s *db.DB, no int64) (title string, p ImportedPost, err error) {
	var i struct {
		Title string `db:"title"`
		ImportedPost
	}
	err = s.Get(ctx, &i, `SELECT i.title, m.body, m.site, m.tenant_id FROM issue AS i CROSS JOIN imported_issue AS m
		ON m.issue_no = i.no WHERE i.no = ?`, no)
	if errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return i.Title, i.ImportedPost, err
}

// ImportedPost is the content of an imported issue, with what is needed to resolve its links.
type ImportedPost struct {
	Body     string       `db:"body"` // clean HTML
	Site     core.OldSite `db:"site"`
	TenantID string       `db:"tenant_id"`
}

// ImportedBody returns the content of an imported issue. If there is no such issue, it returns core.ErrNotFound.
func ImportedBody(ctx context.Context, s *db.DB, no int64) (p ImportedPost, err error) {
	err = s.Get(ctx, &p, "SELECT body, site, tenant_id FROM imported_issue WHERE issue_no = ?", no)
	return p, err
}

const slugsAt = `SELECT m.old_path, i.slug FROM json_each(?3) AS k CROSS JOIN imported_issue AS m
	INDEXED BY imported_issue_old ON m.tenant_id = ?1 AND m.old_path = k.value CROSS JOIN issue AS i
	ON i.no = m.issue_no WHERE i.list_id = ?2 ORDER BY m.issue_no DESC`

// SlugsAt returns the slugs of a list's imported issues, keyed by their paths at the tool that they came from. Paths
// without an issue are left out. If several issues had the same path, the one imported first counts. The paths must
// have the form of core.OldPath. The only error is core.ErrStorage.
func SlugsAt(ctx context.Context, s *db.DB, tenantID, listID string, paths []string) (map[string]string, error) {
	var found []struct {
		Path string `db:"old_path"`
		Slug string `db:"slug"`
	}
	err := s.All(ctx, &found, slugsAt, tenantID, listID, core.Strings(paths).Column())
	slugs := make(map[string]string, len(found))
	for _, f := range found {
		slugs[f.Path] = f.Slug
	}
	return slugs, err
}

// IssuesMark returns a string that changes when issues are added to a list or removed from it. Its only error is
// core.ErrStorage.
func IssuesMark(ctx context.Context, s *db.DB, listID string) (mark string, err error) {
	err = s.Get(ctx, &mark, issuesMark, listID)
	return mark, err
}

const issuesMark = "SELECT count(*) || ' ' || total(no) FROM issue INDEXED BY issue_sent WHERE list_id = ?"

// issuesAtOldPath is the maximum number of issues with the same old path that IssuesAt returns.
const issuesAtOldPath = 10

const issuesAt = `SELECT i.no, i.list_id, i.slug FROM imported_issue AS m INDEXED BY imported_issue_old
	CROSS JOIN issue AS i ON i.no = m.issue_no WHERE m.tenant_id = ?1 AND m.old_path = ?2 ORDER BY m.issue_no LIMIT +?3`

// IssuesAt returns the imported issues of a tenant that had the given path at another tool, in the order of their
// import. Only number, list and slug are set. The path must have the form of core.OldPath. The only error is
// core.ErrStorage.
func IssuesAt(ctx context.Context, s *db.DB, tenantID, path string) (is []core.Issue, err error) {
	err = s.All(ctx, &is, issuesAt, tenantID, path, issuesAtOldPath)
	return is, err
}
