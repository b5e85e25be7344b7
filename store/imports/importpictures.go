package imports

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strconv"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/files"
)

// picturesStep is the number of images in one operation.
const picturesStep = 200

// keepPictures stores the images of a post that are new to the import, up to core.MaxImportedPictures.
func (u *ImportUpload) keepPictures(ctx context.Context, keys []string) error {
	var fresh []string
	for _, key := range keys {
		sum := sha256.Sum256([]byte(key))
		if _, known := u.pictures[sum]; known {
			continue
		}
		if key == "" || len(u.pictures) == core.MaxImportedPictures {
			u.job.PicturesSkipped++
			continue
		}
		u.pictures[sum] = int64(len(u.pictures)) + 1
		fresh = append(fresh, key)
	}
	for step := range slices.Chunk(fresh, picturesStep) {
		from := u.job.Pictures
		u.job.Pictures += int64(len(step))
		err := u.store.Bulk(ctx, func(tx *db.Tx) error {
			for k, key := range step {
				if _, err := tx.Exec("INSERT INTO import_picture (import_id, no, address) VALUES (?, ?, ?)", u.job.ID,
					from+int64(k)+1, key); err != nil {
					return err
				}
			}
			return tx.One("UPDATE import_job SET pictures = ? WHERE id = ?", u.job.Pictures, u.job.ID)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// packedPieces is the maximum number of chunks of an image from the archive.
const packedPieces = 16

// Wants reports whether a kept post shows an image from this address whose data was not requested yet. It marks the
// data as requested.
func (u *ImportUpload) Wants(key string) bool {
	sum := sha256.Sum256([]byte(key))
	no := u.pictures[sum]
	if no > 0 {
		u.pictures[sum] = -no
	}
	return no > 0
}

// PackPicture stores the data of an image from the archive for which Wants returned true. If the image is larger than
// PostRoom, PackPicture does nothing. It returns the errors of KeepPost.
func (u *ImportUpload) PackPicture(ctx context.Context, key string, data []byte) error {
	no := -u.pictures[sha256.Sum256([]byte(key))]
	if no <= 0 || int64(len(data)) > u.PostRoom || len(data) > packedPieces*files.ChunkSize {
		return nil
	}
	u.PostRoom -= int64(len(data))
	k := int64(0)
	for piece := range slices.Chunk(data, files.ChunkSize) {
		if err := u.store.Room(2 * int64(len(piece))); err != nil {
			return err
		}
		err := u.store.Bulk(ctx, func(tx *db.Tx) error {
			if err := u.charge(tx, len(piece)); err != nil {
				return err
			}
			return addImportChunk(tx, u.job.ID, importPacked, no*packedPieces+k, piece)
		})
		if err != nil {
			return err
		}
		k++
	}
	return nil
}

// charge counts bytes that an import stores for its posts. It returns an error if the tenant has no room for them.
func (u *ImportUpload) charge(tx *db.Tx, bytes int) error {
	used, err := tx.Number(`SELECT coalesce(sum(post_bytes), 0) FROM import_job INDEXED BY import_job_posts
		WHERE tenant_id = ? AND post_bytes > 0`, u.job.TenantID)
	if most := u.store.Options().TenantPostBytes; err == nil && used+int64(bytes) > most {
		err = core.PostsFull(most)
	}
	if err != nil {
		return err
	}
	return tx.One("UPDATE import_job SET post_bytes = post_bytes + ? WHERE id = ?", bytes, u.job.ID)
}

// PackedPicture returns the data that PackPicture stored for the image with a number, or nil if there is none. Its only
// error is core.ErrStorage.
func (s *Store) PackedPicture(ctx context.Context, id string, no int64) (data []byte, err error) {
	var pieces [][]byte
	err = s.All(ctx, &pieces, `SELECT data FROM import_chunk WHERE import_id = ?1 AND kind = 8 AND no >= ?2 AND
		no < ?2 + ?3 ORDER BY no`, id, no*packedPieces, packedPieces)
	return bytes.Join(pieces, nil), err
}

// awaitPictures marks a post's images as waiting to be copied. Copies that wait to be removed stay.
func awaitPictures(tx *db.Tx, id string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	tx.Kick(db.TopicPictures)
	_, err := tx.Exec(`UPDATE import_picture INDEXED BY import_picture_address SET state = iif(media_id = '', 'waiting',
		'stored') WHERE import_id = ?1 AND address IN (SELECT value FROM json_each(?2))
		AND state IN ('listed', 'removing')`, id, core.Strings(keys).Column())
	return err
}

// forgetPictures stops copying an import's images.
func forgetPictures(tx *db.Tx, id string) error {
	_, err := tx.Exec("UPDATE import_post SET fetching = 0 WHERE import_id = ? AND fetching = 1", id)
	if err == nil {
		_, err = tx.Exec(`UPDATE import_picture INDEXED BY import_picture_state SET state = 'listed', reason = ''
			WHERE import_id = ? AND state IN ('waiting', 'failed')`, id)
	}
	return err
}

// removePictures marks the copies of an import's images as waiting to be removed.
func (s *Store) removePictures(ctx context.Context, id string) error {
	return s.Bulk(ctx, func(tx *db.Tx) error {
		tx.Kick(db.TopicPictures)
		_, err := tx.Exec(`UPDATE import_picture INDEXED BY import_picture_state SET state = 'removing'
			WHERE import_id = ? AND state = 'stored'`, id)
		if err == nil {
			err = endWaiting(tx, id)
		}
		return err
	})
}

// dropPictures deletes the records of some images of an import. Their copies stay.
func (s *Store) dropPictures(ctx context.Context, id string) error {
	return s.Bulk(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(`DELETE FROM import_picture WHERE import_id = ?1 AND no IN (SELECT no FROM import_picture
			WHERE import_id = ?1 AND state <> 'removing' ORDER BY no LIMIT +?2)`, id, picturesStep)
		return err
	})
}

// ImportPictures returns a page of the images of an import in the order of its posts. If state is not empty, it returns
// only those with this state. A week after the end of the import, there are none. Its only error is core.ErrStorage.
func (s *Store) ImportPictures(ctx context.Context, id, state string, page core.Page) (ps []core.ImportedPicture,
	err error,
) {
	after, _ := strconv.ParseInt(page.After, 10, 64)
	err = s.All(ctx, &ps, `SELECT no, address, state, reason, media_id FROM import_picture WHERE import_id = ?1
		AND no > ?2 AND (?3 = '' OR state = ?3) ORDER BY no LIMIT +?4`, id, after, state, page.Limit)
	return ps, err
}

// PictureCounts counts an import's images. Its only error is core.ErrStorage.
func (s *Store) PictureCounts(ctx context.Context, id string) (c core.PictureCounts, err error) {
	err = s.Get(ctx, &c, `SELECT coalesce(sum(state = 'waiting'), 0) AS waiting, coalesce(sum(state = 'stored'), 0) AS
		stored, coalesce(sum(state = 'failed'), 0) AS failed FROM import_picture INDEXED BY import_picture_state
		WHERE import_id = ? AND state IN ('waiting', 'stored', 'failed')`, id)
	return c, err
}

// picturesWait is the minimum time between two calls of RetryPictures for an import. Each may fetch 5,000 images.
const picturesWait = 10 * time.Minute

// RetryPictures marks the failed images of an import as waiting to be copied again, including those of issues whose
// removal was interrupted. If there are none, the posts are no longer stored, or the last call was less than 10 minutes
// ago, it returns a core.Conflict error.
func (s *Store) RetryPictures(ctx context.Context, id, actor string, now core.Instant) (core.ImportJob, error) {
	return s.changeImport(ctx, id, actor, "import.pictures", now, func(tx *db.Tx, j *core.ImportJob) error {
		last, err := tx.Number(`SELECT coalesce(max(at), 0) FROM audit INDEXED BY audit_object WHERE object = ? AND at > ?
			AND action = 'import.pictures'`, id, int64(now.Add(-picturesWait)))
		if err == nil && last > 0 {
			err = core.Conflictf("conflict", "You can retry images once every %d minutes. Try again in a few minutes.",
				picturesWait/time.Minute)
		}
		if err != nil {
			return err
		}
		n, err := tx.Exec(`UPDATE import_picture INDEXED BY import_picture_state SET state = 'waiting', reason = ''
			WHERE import_id = ?1 AND state IN ('failed', 'listed') AND EXISTS (SELECT 1 FROM import_post
			INDEXED BY sqlite_autoindex_import_post_1 WHERE import_id = ?1 AND issue_no <> 0)`, id)
		switch {
		case err != nil:
			return err
		case n == 0:
			return core.Conflictf("conflict", "There are no failed images to retry, or the import ended over a week "+
				"ago.")
		}
		tx.Tell("pictures", nil, n)
		return fetchAgain(tx, id)
	})
}

// fetchAgain marks an import's issues so that they are read again and their images copied.
func fetchAgain(tx *db.Tx, id string) error {
	tx.Kick(db.TopicPictures)
	_, err := tx.Exec(`UPDATE import_post INDEXED BY sqlite_autoindex_import_post_1 SET fetching = 1
		WHERE import_id = ? AND issue_no <> 0`, id)
	return err
}

// endWaiting sets an import's waiting images back to listed if no issue waits for images. Otherwise, they would wait
// forever.
func endWaiting(tx *db.Tx, id string) error {
	_, err := tx.Exec(`UPDATE import_picture INDEXED BY import_picture_state SET state = 'listed' WHERE import_id = ?1
		AND state = 'waiting' AND NOT EXISTS (SELECT 1 FROM import_post INDEXED BY import_post_fetching
		WHERE import_id = ?1 AND fetching = 1)`, id)
	return err
}

// PictureTurn is a unit of work on a tenant's images: copying the images of an imported issue, or removing copies.
type PictureTurn struct {
	TenantID  string       `db:"tenant_id"`
	ImportID  string       `db:"import_id"`
	Removing  bool         `db:"removing"` // whether to remove copies; the fields below are then empty
	PostNo    int64        `db:"post_no"`
	IssueNo   int64        `db:"issue_no"`
	CreatedBy string       `db:"created_by"` // body of the issue
	Title     string       `db:"title"`
	Body      string       `db:"body"` // body of the issue
	Site      core.OldSite `db:"site"` // site of the issue
}

const (
	nextRemoving = `SELECT j.tenant_id, x.import_id, 1 AS removing FROM import_picture AS x
		INDEXED BY import_picture_removing CROSS JOIN import_job AS j INDEXED BY sqlite_autoindex_import_job_1
		ON j.id = x.import_id WHERE x.state = 'removing' AND j.tenant_id NOT IN (SELECT value FROM json_each(?1)) LIMIT 1`
	nextFetching = `SELECT j.tenant_id, p.import_id, 0 AS removing, p.no AS post_no, abs(p.issue_no) AS issue_no,
		j.created_by FROM import_post AS p INDEXED BY import_post_fetching
		CROSS JOIN import_job AS j INDEXED BY sqlite_autoindex_import_job_1 ON j.id = p.import_id
		CROSS JOIN list AS l ON l.id = j.list_id CROSS JOIN tenant AS t ON t.id = j.tenant_id
		WHERE p.fetching = 1 AND j.status <> 'deleted' AND l.deleted_at = 0 AND t.deleted_at = 0
		AND j.tenant_id NOT IN (SELECT value FROM json_each(?1))
		ORDER BY j.tenant_id <= ?2, j.tenant_id, p.import_id, p.no LIMIT 1`
)

// NextPictures returns the next unit of work on images. Tenants take turns: it picks the next tenant after the given
// one that is not in busy. An empty after means the first tenant. If there is no work, it returns core.ErrNotFound.
func (s *Store) NextPictures(ctx context.Context, after string, busy []string) (t PictureTurn, err error) {
	err = s.Get(ctx, &t, nextRemoving, core.Strings(busy).Column())
	if errors.Is(err, core.ErrNotFound) {
		err = s.Get(ctx, &t, nextFetching, core.Strings(busy).Column(), after)
	}
	if err != nil || t.Removing {
		return t, err
	}
	title, post, err := campaigns.ImportedText(ctx, s.DB, t.IssueNo)
	t.Title, t.Body, t.Site = title, post.Body, post.Site
	return t, err
}

// PicturesAt returns the images of an import with these addresses, keyed by address. Addresses without an image are
// left out. Its only error is core.ErrStorage.
func (s *Store) PicturesAt(ctx context.Context, id string, keys []string) (map[string]core.ImportedPicture, error) {
	var all []core.ImportedPicture
	err := s.All(ctx, &all, `SELECT x.no, x.address, x.state, x.reason, x.media_id FROM json_each(?2) AS k
		CROSS JOIN import_picture AS x INDEXED BY import_picture_address ON x.import_id = ?1 AND x.address = k.value`,
		id, core.Strings(keys).Column())
	found := make(map[string]core.ImportedPicture, len(all))
	for _, p := range all {
		found[p.Address] = p
	}
	return found, err
}

// StorePicture adds the copy of an image to the tenant's images. If the import has the same image from another address,
// it uses that image. If the image is no longer waiting, StorePicture returns core.ErrNotFound and stores nothing. It
// also returns the errors of campaigns.Store.AddMedia.
func (s *Store) StorePicture(ctx context.Context, t *PictureTurn, no int64, m core.Media, limits core.MediaLimits) error {
	const stored = `UPDATE import_picture SET state = 'stored', reason = '', media_id = ? WHERE import_id = ? AND no = ?
		AND state = 'waiting'`
	var same string
	err := s.Get(ctx, &same, `SELECT x.media_id FROM media_file AS f INDEXED BY media_file_content CROSS JOIN media AS m
		INDEXED BY media_full ON m.full_no = f.no CROSS JOIN import_picture AS x INDEXED BY import_picture_media
		ON x.import_id = ?1 AND x.media_id = m.id WHERE f.sha256 = ?2 AND f.tenant_id = ?3 AND f.state = 1
		AND x.state = 'stored' LIMIT 1`, t.ImportID, m.Full.SHA256, t.TenantID)
	if err == nil {
		return s.Update(ctx, func(tx *db.Tx) error { return tx.One(stored, same, t.ImportID, no) })
	}
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	_, err = campaigns.AddMediaFor(ctx, s.campaignStore, m, limits, func(tx *db.Tx, m *core.Media) error {
		return tx.One(stored, m.ID, t.ImportID, no)
	})
	return err
}

// FailPicture records that an image could not be copied. If the image is no longer waiting, it does nothing. Its only
// error is core.ErrStorage.
func (s *Store) FailPicture(ctx context.Context, t *PictureTurn, no int64, reason string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(`UPDATE import_picture SET state = 'failed', reason = ? WHERE import_id = ? AND no = ?
			AND state = 'waiting'`, reason, t.ImportID, no)
		return err
	})
}

// SettlePictures replaces the body of an issue with one that shows copies of its images. If the issue is no longer
// waiting for images, it does nothing. Its only error is core.ErrStorage.
func (s *Store) SettlePictures(ctx context.Context, t *PictureTurn, body string, text *campaigns.IssueText) error {
	return s.Bulk(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(`UPDATE import_post SET fetching = 0 WHERE import_id = ? AND no = ? AND abs(issue_no) = ?
			AND fetching = 1`, t.ImportID, t.PostNo, t.IssueNo)
		if err == nil && n > 0 {
			err = campaigns.ReplaceImportedBody(tx, t.IssueNo, body, text)
		}
		if err == nil {
			err = endWaiting(tx, t.ImportID)
		}
		return err
	})
}

// LeavePictures ends the work on the images of an issue without changing its body, because the body can't show the
// copies. Its only error is core.ErrStorage.
func (s *Store) LeavePictures(ctx context.Context, t *PictureTurn) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(`UPDATE import_post SET fetching = 0 WHERE import_id = ? AND no = ? AND abs(issue_no) = ?`,
			t.ImportID, t.PostNo, t.IssueNo)
		if err == nil {
			err = endWaiting(tx, t.ImportID)
		}
		return err
	})
}

// removesStep is the number of copies that one operation removes. For each copy, the operation searches everything that
// may show it.
const removesStep = 10

// RemovePictures removes some copies of an import's images whose issues were removed. Copies that are shown elsewhere
// stay. Its only error is core.ErrStorage.
func (s *Store) RemovePictures(ctx context.Context, id string) error {
	var ids []string
	err := s.All(ctx, &ids, `SELECT DISTINCT media_id FROM (SELECT media_id FROM import_picture
		INDEXED BY import_picture_removing WHERE import_id = ? AND state = 'removing' ORDER BY no LIMIT +?)`,
		id, removesStep)
	if err != nil {
		return err
	}
	unused := core.Strings{}
	for _, mediaID := range ids {
		m, err := s.Media(ctx, mediaID)
		if errors.Is(err, core.ErrNotFound) {
			continue // someone has deleted it
		}
		if err != nil {
			return err
		}
		uses, err := s.MediaUses(ctx, &m)
		if err != nil {
			return err
		}
		if len(uses) == 0 {
			unused = append(unused, mediaID)
		}
	}
	return s.Bulk(ctx, func(tx *db.Tx) error {
		for _, mediaID := range ids {
			n, err := tx.Exec(`UPDATE import_picture INDEXED BY import_picture_media SET state = 'listed', media_id = ''
				WHERE import_id = ? AND media_id = ? AND state = 'removing'`, id, mediaID)
			if err == nil && n > 0 && slices.Contains(unused, mediaID) {
				err = campaigns.DropMedia(tx, mediaID)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ImportedIssues returns a page of the imported issues in a list's archive, most recently added first. Its only error
// is core.ErrStorage.
func (s *Store) ImportedIssues(ctx context.Context, listID string, page core.Page) ([]core.ImportedIssue, error) {
	return campaigns.ImportedIssues(ctx, s.DB, listID, page.After, page.Limit)
}

// RemoveIssue removes an imported issue from a list's archive. Copies of its images stay. If there is no such issue, it
// returns core.ErrNotFound.
func (s *Store) RemoveIssue(ctx context.Context, listID, slug, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var i struct {
			No       int64  `db:"no"`
			Title    string `db:"title"`
			TenantID string `db:"tenant_id"`
		}
		err := tx.Get(&i, `SELECT i.no, i.title, l.tenant_id FROM issue AS i JOIN list AS l ON l.id = i.list_id
			WHERE i.list_id = ? AND i.slug = ? AND i.campaign_no < 0`, listID, slug)
		if err != nil {
			return err
		}
		owners, err := ownersOf(tx, i.No)
		if err != nil {
			return err
		}
		for _, id := range owners {
			if err := forgetIssue(tx, i.No); err != nil {
				return err
			}
			if err := endWaiting(tx, id); err != nil {
				return err
			}
		}
		if err := campaigns.RemoveImportedIssue(tx, i.No); err != nil {
			return err
		}
		tx.Tell("issue", slug, nil)
		tx.Tell("title", i.Title, nil)
		return tx.Audit(now, actor, "list.issue_remove", i.TenantID, listID)
	})
}
