package campaigns

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/files"
	"newsletterd/store/tenants"
)

const mediaColumns = `m.id, m.tenant_id, m.name, m.alt, m.decorative, m.created_by, m.created_at, m.updated_at,
	s.no AS "mail.no", s.sha256 AS "mail.sha256", s.type AS "mail.type", s.width AS "mail.width",
	s.height AS "mail.height", s.bytes AS "mail.bytes",
	f.no AS "full.no", f.sha256 AS "full.sha256", f.type AS "full.type", f.width AS "full.width",
	f.height AS "full.height", f.bytes AS "full.bytes"
	FROM media m `

const mediaFiles = "JOIN media_file s ON s.no = m.mail_no JOIN media_file f ON f.no = m.full_no"

// Media returns an image. If the image doesn't exist, or its tenant was deleted, it returns core.ErrNotFound.
func (s *Store) Media(ctx context.Context, id string) (m core.Media, err error) {
	err = s.Get(
		ctx,
		&m,
		"SELECT "+mediaColumns+mediaFiles+` WHERE m.id = ? AND EXISTS (SELECT 1 FROM tenant WHERE id = m.tenant_id
		AND deleted_at = 0)`,
		id,
	)
	return m, err
}

// MediaOf returns a page of a tenant's images, newest first. If text is not empty, it returns only images whose name or
// alt text contains it. Its only error is core.ErrStorage.
func (s *Store) MediaOf(ctx context.Context, tenantID, text string, page core.Page) (ms []core.Media, err error) {
	before := page.After
	if before == "" {
		before = "~" // greater than all ids
	}
	err = s.All(ctx, &ms, "SELECT "+mediaColumns+"INDEXED BY media_tenant "+mediaFiles+` WHERE m.tenant_id = ?1
		AND m.id < ?2
		AND (?3 = '' OR instr(lower(m.name), lower(?3)) OR instr(lower(m.alt), lower(?3))) ORDER BY m.id DESC
		LIMIT +?4`,
		tenantID, before, text, page.Limit)
	return ms, err
}

// MediaBytes returns the total size in bytes of the files of a tenant's images. Its only error is core.ErrStorage.
func (s *Store) MediaBytes(ctx context.Context, tenantID string) (n int64, err error) {
	err = s.Get(ctx, &n, mediaBytes, tenantID)
	return n, err
}

const mediaBytes = "SELECT coalesce(sum(bytes), 0) FROM media_file WHERE tenant_id = ? AND state < " + files.SQLFileDropped

// UpdateMedia changes an image with rule and returns the result. It returns core.ErrNotFound if there is no such image,
// or an error of rule.
func (s *Store) UpdateMedia(ctx context.Context, id, actor string, now core.Instant, rule func(*core.Media) error) (
	m core.Media, err error,
) {
	var at core.Instant
	err = s.TouchRecord(ctx, "media", id, "media.update", actor, now, func(tx *db.Tx) error {
		if err := tx.Get(&m, "SELECT "+mediaColumns+mediaFiles+" WHERE m.id = ?", id); err != nil {
			return err
		}
		at = m.UpdatedAt
		if err := rule(&m); err != nil {
			return err
		}
		return tx.One("UPDATE media SET name = ?, alt = ?, decorative = ?, updated_at = ? WHERE id = ?", m.Name, m.Alt,
			m.Decorative, int64(m.UpdatedAt), id)
	})
	return m, db.AsItStood(err, &m.UpdatedAt, at)
}

// DeleteMedia deletes an image. It also deletes the image's files, unless another image of the tenant uses them. If
// there is no such image, it returns core.ErrNotFound. If MediaUses finds a use and force is false, it returns
// core.ErrMediaUsed.
func (s *Store) DeleteMedia(ctx context.Context, id string, force bool, actor string, now core.Instant) error {
	if !force {
		m, err := s.Media(ctx, id)
		if err != nil {
			return err
		}
		uses, err := s.MediaUses(ctx, &m)
		if err != nil {
			return err
		}
		if len(uses) > 0 {
			return core.ErrMediaUsed(uses)
		}
	}
	return s.RemoveRecord(ctx, "media", id, "media.delete", actor, now)
}

// DropMedia deletes an image like DeleteMedia, but without an audit entry and without searching for uses. If there is
// no such image, it does nothing.
func DropMedia(tx *db.Tx, id string) error {
	_, err := tx.Exec("DELETE FROM media WHERE id = ?", id)
	return err
}

// mediaUses holds queries for the newest records of the tenant ?1 that use an image. ?2 contains the digits in the
// image's address.
var mediaUses = []string{
	`SELECT 'template' AS kind, name FROM template WHERE tenant_id = ?1 AND (instr(body_html, ?2) OR
		instr(body_text, ?2)) ORDER BY updated_at DESC LIMIT 2`,
	`SELECT 'theme' AS kind, name FROM theme WHERE tenant_id = ?1 AND instr(concat(logo_url, footer_text, social), ?2)
		ORDER BY updated_at DESC LIMIT 2`,
	`SELECT 'tenant' AS kind, name FROM tenant WHERE id = ?1 AND instr(concat(brand_logo_url,
		brand_dark_logo_url, privacy_url, mail_texts), ?2)`,
	`SELECT 'list' AS kind, name FROM list INDEXED BY list_tenant WHERE tenant_id = ?1 AND deleted_at = 0 AND
		instr(concat(description, consent_text, mail_texts, subscribe_redirect_url, confirm_redirect_url,
		unsubscribe_redirect_url), ?2) ORDER BY updated_at DESC LIMIT 2`,
	`SELECT 'job' AS kind, iif(c.name = '', c.subject, c.name) AS name FROM send_job j JOIN campaign_copy c ON
		c.id = j.copy_id LEFT JOIN frozen_content z ON z.copy_id = c.id
		WHERE j.tenant_id = ?1 AND (instr(c.body_html, ?2) OR instr(c.body_text, ?2) OR EXISTS (SELECT 1 FROM frozen_body b
		WHERE b.no IN (z.template_html, z.template_text, z.layout_html, z.layout_text) AND instr(b.body, ?2)) OR
		EXISTS (SELECT 1 FROM link WHERE job_no = j.no AND instr(target, ?2))) ORDER BY j.no DESC LIMIT 2`,
	`SELECT 'campaign' AS kind, iif(c.name = '', c.subject, c.name) AS name FROM campaign c JOIN campaign_version v ON
		v.campaign_no = c.no AND v.version = c.version WHERE c.tenant_id = ?1 AND instr(v.fields, ?2)
		ORDER BY c.no DESC LIMIT 2`,
	`SELECT 'web version' AS kind, iif(c.name = '', c.subject, c.name) AS name FROM campaign AS c
		CROSS JOIN correction AS k ON k.campaign_no = c.no CROSS JOIN campaign_copy AS y ON y.id = k.copy_id
		WHERE c.tenant_id = ?1 AND (instr(k.source, ?2) OR instr(k.text, ?2) OR instr(y.body_html, ?2) OR
		instr(y.body_text, ?2)) ORDER BY c.no DESC LIMIT 2`,
	`SELECT 'issue' AS kind, i.title AS name FROM list l INDEXED BY list_tenant CROSS JOIN issue i INDEXED BY issue_sent
		ON i.list_id = l.id CROSS JOIN imported_issue m ON m.issue_no = i.no WHERE l.tenant_id = ?1 AND instr(m.body, ?2)
		ORDER BY i.sent_at DESC LIMIT 2`,
}

// attachedTo selects campaigns of the tenant ?1 that have the media file ?2 attached and are not approved yet. An
// approved campaign has its own copies of the files.
const attachedTo = `SELECT 'campaign' AS kind, iif(c.name = '', c.subject, c.name) AS name FROM campaign c JOIN
	campaign_version v ON v.campaign_no = c.no AND v.version = c.version WHERE c.tenant_id = ?1 AND c.state IN ('draft',
	'in_review') AND instr(v.fields, ?2) ORDER BY c.no DESC LIMIT 2`

// MediaUses returns some of the records that would no longer show an image, or link to a document, if it were deleted.
// These can be templates, themes, campaigns, send jobs, corrected web versions, imported issues, and the settings of
// the tenant and its lists. It searches for the digits of the files that no other image of the tenant uses. It also
// returns campaigns that have the image attached. Its only error is core.ErrStorage.
func (s *Store) MediaUses(ctx context.Context, m *core.Media) (uses []core.MediaUse, err error) {
	for i, f := range []core.MediaFile{m.Mail, m.Full} {
		if i == 1 && f.No == m.Mail.No {
			break
		}
		var others int
		if err := s.Get(ctx, &others, `SELECT EXISTS (SELECT 1 FROM media WHERE mail_no = ?1 AND id <> ?2) OR
			EXISTS (SELECT 1 FROM media WHERE full_no = ?1 AND id <> ?2)`, f.No, m.ID); err != nil {
			return nil, err
		}
		if others > 0 {
			continue
		}
		for _, query := range mediaUses {
			var found []core.MediaUse
			if err := s.All(ctx, &found, query, m.TenantID, f.Digits()); err != nil {
				return nil, err
			}
			uses = append(uses, found...)
		}
	}
	var found []core.MediaUse
	err = s.All(ctx, &found, attachedTo, m.TenantID, m.ID)
	return append(uses, found...), err
}

// AddMedia stores a new image with its files and returns it without their data. If there is no such tenant, it
// returns core.ErrNotFound. If the limits leave no room, it returns an error of kind core.TooLarge. It can also
// return core.ErrStorage.
func (s *Store) AddMedia(ctx context.Context, m core.Media, limits core.MediaLimits, actor string) (core.Media, error) {
	return AddMediaFor(ctx, s, m, limits, func(tx *db.Tx, m *core.Media) error {
		return tx.Audit(m.CreatedAt, actor, "media.create", m.TenantID, m.ID)
	})
}

// AddMediaFor is like Store.AddMedia, but writes no audit entry. Instead, it calls the function then in the operation
// that adds the image. If the function returns an error, nothing is stored, and AddMediaFor returns that error.
func AddMediaFor(ctx context.Context, s *Store, m core.Media, limits core.MediaLimits,
	then func(*db.Tx, *core.Media) error,
) (core.Media, error) {
	var fresh []int64
	keep := func(f *core.MediaFile) (err error) {
		if f.No, err = s.mediaFile(ctx, m.TenantID, f.SHA256); err != nil || f.No != 0 {
			return err
		}
		if err = s.writeMedia(ctx, m.TenantID, f, limits, m.CreatedAt); f.No != 0 {
			fresh = append(fresh, f.No)
		}
		return err
	}
	err := keep(&m.Mail)
	if err == nil && m.Full.SHA256 != m.Mail.SHA256 {
		err = keep(&m.Full)
	} else {
		m.Full.No = m.Mail.No
	}
	if err == nil {
		err = s.Update(ctx, func(tx *db.Tx) error { return addMedia(tx, &m, then) })
	}
	m.Mail.Data, m.Full.Data = nil, nil
	// Remove files that were not committed, or that exist already, even if the context is canceled.
	for _, no := range fresh {
		if err == nil && (no == m.Mail.No || no == m.Full.No) {
			continue
		}
		s.dropMedia(context.WithoutCancel(ctx), no)
	}
	return m, err
}

// mediaFile returns the number of a tenant's file with the given hash sum, or 0 if there is none.
func (s *Store) mediaFile(ctx context.Context, tenantID, sum string) (no int64, err error) {
	err = s.Get(ctx, &no, mediaFileOf, sum, tenantID)
	if errors.Is(err, core.ErrNotFound) {
		return 0, nil
	}
	return no, err
}

const mediaFileOf = "SELECT no FROM media_file WHERE sha256 = ? AND tenant_id = ? AND state = " + files.SQLFileWhole

// writeMedia writes a file in chunks, one operation each. No image uses the file yet.
func (s *Store) writeMedia(ctx context.Context, tenantID string, f *core.MediaFile, limits core.MediaLimits,
	now core.Instant,
) error {
	for at := 0; at < len(f.Data); at += files.ChunkSize {
		chunk := f.Data[at:min(at+files.ChunkSize, len(f.Data))]
		if err := s.Room(2 * int64(len(chunk))); err != nil { // space in the WAL and in the database file
			return err
		}
		no := f.No
		err := s.Bulk(ctx, func(tx *db.Tx) (err error) {
			if at == 0 {
				if no, err = newMediaFile(tx, tenantID, f, limits, now); err != nil {
					return err
				}
			}
			tx.BringsFile()
			_, err = tx.Exec("INSERT INTO media_chunk (file_no, chunk_no, data) SELECT no, ?2, ?3 FROM media_file WHERE "+
				"no = ?1 AND state = "+files.SQLFileGrowing, no, at/files.ChunkSize, chunk)
			return err
		})
		if err != nil {
			return err
		}
		f.No = no
	}
	return nil
}

func newMediaFile(tx *db.Tx, tenantID string, f *core.MediaFile, limits core.MediaLimits, now core.Instant) (int64,
	error,
) {
	used, err := tx.Number(mediaBytes, tenantID)
	if err != nil {
		return 0, err
	}
	if used+f.Bytes > limits.BytesPerTenant {
		return 0, limits.MediaFull(used)
	}
	return tx.Insert(`INSERT INTO media_file (tenant_id, sha256, type, width, height, bytes, touched_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, tenantID, f.SHA256, f.Type, f.Width, f.Height, f.Bytes, int64(now))
}

// errMediaLost is returned to an upload if another caller removed its file before it was complete.
var errMediaLost = core.Conflictf("conflict", "The image was deleted during the upload. Upload it again.")

func addMedia(tx *db.Tx, m *core.Media, then func(*db.Tx, *core.Media) error) error {
	if _, err := tenants.ReadTenant(tx, m.TenantID); err != nil {
		return err
	}
	if err := tx.Watch("media", m.ID); err != nil {
		return err
	}
	same := m.Full.No == m.Mail.No
	if err := settleMedia(tx, m.TenantID, &m.Mail); err != nil {
		return err
	}
	if same {
		m.Full.No = m.Mail.No
	} else if err := settleMedia(tx, m.TenantID, &m.Full); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO media (id, tenant_id, name, mail_no, full_no, alt, decorative, created_by, created_at,
		updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, m.ID, m.TenantID, m.Name, m.Mail.No, m.Full.No, m.Alt,
		m.Decorative, m.CreatedBy, int64(m.CreatedAt), int64(m.UpdatedAt))
	if err != nil {
		return err
	}
	return then(tx, m)
}

// settleMedia marks a file as complete. If another upload has stored the same content first, it changes f to that file.
func settleMedia(tx *db.Tx, tenantID string, f *core.MediaFile) error {
	no, err := tx.Number(mediaFileOf, f.SHA256, tenantID)
	if err == nil {
		f.No = no
		return nil
	}
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	err = tx.One(
		"UPDATE media_file SET state = "+files.SQLFileWhole+" WHERE no = ? AND state = "+files.SQLFileGrowing,
		f.No,
	)
	if errors.Is(err, core.ErrNotFound) {
		return errMediaLost
	}
	return err
}

// dropMedia removes a file that no image uses. If that fails, housekeeping removes it later.
func (s *Store) dropMedia(ctx context.Context, no int64) {
	err := s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(
			"UPDATE media_file SET state = "+files.SQLFileDropped+" WHERE no = ? AND state = "+files.SQLFileGrowing,
			no,
		)
		return err
	})
	for more := err == nil; more; {
		more, err = s.removeMediaChunks(ctx, no)
		more = more && err == nil
	}
}

// RemoveMedia removes a few chunks of a file that no image uses because the images were deleted or the upload was
// abandoned. It reports whether there is more to remove.
func (s *Store) RemoveMedia(ctx context.Context, now core.Instant) (more bool, err error) {
	var no int64
	err = s.Get(
		ctx,
		&no,
		"SELECT no FROM media_file WHERE state <> "+files.SQLFileWhole+" AND (state = "+files.SQLFileDropped+
			" OR touched_at < ?) ORDER BY state DESC LIMIT 1",
		now.Add(-files.UploadDead),
	)
	if err != nil {
		if errors.Is(err, core.ErrNotFound) {
			err = nil
		}
		return false, err
	}
	_, err = s.removeMediaChunks(ctx, no)
	return err == nil, err
}

// removeMediaChunks removes the last few chunks of a file, and the file itself once no chunk is left.
func (s *Store) removeMediaChunks(ctx context.Context, no int64) (more bool, err error) {
	err = s.Bulk(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec("UPDATE media_file SET state = "+files.SQLFileDropped+" WHERE no = ? AND state = "+files.SQLFileGrowing,
			no); err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM media_chunk WHERE file_no = ?1 AND chunk_no IN
			(SELECT chunk_no FROM media_chunk WHERE file_no = ?1 ORDER BY chunk_no DESC LIMIT +?2)
			AND EXISTS (SELECT 1 FROM media_file WHERE no = ?1 AND state = `+files.SQLFileDropped+`)`, no, files.RemoveBatch)
		if err != nil {
			return err
		}
		if more = n == files.RemoveBatch; more {
			return nil
		}
		_, err = tx.Exec("DELETE FROM media_file WHERE no = ? AND state = "+files.SQLFileDropped, no)
		return err
	})
	return more, err
}

// MediaFile returns the file of any tenant's image. digits are the digits of the file's hash in the image's address. If
// no image uses such a file, it returns core.ErrNotFound.
func (s *Store) MediaFile(ctx context.Context, digits string) (f core.MediaFile, since core.Instant, err error) {
	var row struct {
		core.MediaFile
		TouchedAt core.Instant `db:"touched_at"`
	}
	err = s.Get(ctx, &row, `SELECT f.no, f.sha256, f.type, f.width, f.height, f.bytes, f.touched_at FROM media_file f
		JOIN tenant t ON t.id = f.tenant_id AND t.deleted_at = 0
		WHERE f.sha256 >= ?1 AND f.sha256 < ?1 || 'g' AND f.state = `+files.SQLFileWhole+` AND (EXISTS (SELECT 1 FROM media
		WHERE mail_no = f.no) OR EXISTS (SELECT 1 FROM media WHERE full_no = f.no)) ORDER BY f.sha256, f.tenant_id
		LIMIT 1`, digits)
	return row.MediaFile, row.TouchedAt, err
}

// OpenMedia returns a reader of an image's file.
func (s *Store) OpenMedia(ctx context.Context, f *core.MediaFile) *files.File {
	return s.OpenPieces(ctx, files.ReadMediaPiece, f.No, f.Bytes)
}
