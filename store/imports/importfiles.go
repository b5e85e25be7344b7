package imports

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/files"
)

// These are kinds of import_chunk. Others are importBrought, importReplaced, importTagged, importEveryone and
// importStayed.
const (
	importFile   = 0
	importFaults = 1
	importSurvey = 4
	importPosts  = 6 // represents the rows of import_post instead of chunks
	importPacked = 8 // images from the archive; see PackPicture
	importCopies = 9 // represents the rows of import_picture instead of chunks
)

// ImportUpload is an upload of a file with subscribers. It must be used by one goroutine.
type ImportUpload struct {
	Tool         string // program whose export the file is; empty if unknown
	PostsOnly    bool   // whether the export has no people, so that the import ends with the upload
	PostsSkipped int64  // number of posts that were not stored
	Relative     int64  // number of posts whose links or images are relative to an unknown site
	PostRoom     int64  // number of bytes of posts that can still be stored

	pictures map[[sha256.Size]byte]int64 // maps sums of image addresses to numbers, which are negative after Wants
	store    *Store
	job      core.ImportJob
	limit    int64
	no       int64
	kept     bool
}

// NewImportUpload starts the upload of a file of at most limit bytes. j has the id, list, name and creator of the
// import. The caller must call Close. If there is no such list, it returns core.ErrListNotFound. If another member
// service manages the list or the tenant has core.MaxOpenImports, it returns a Conflict.
func (s *Store) NewImportUpload(ctx context.Context, j core.ImportJob, limit int64) (*ImportUpload, error) {
	im, err := s.NewImport(ctx, j.ListID, core.SubscriptionActive, "import "+j.Name)
	if err != nil {
		return nil, err
	}
	j.TenantID, j.Source = im.list.TenantID, im.source
	u := &ImportUpload{
		store: s, limit: limit, job: j, PostRoom: core.MaxPostBytes,
		pictures: map[[sha256.Size]byte]int64{},
	}
	return u, s.Update(ctx, func(tx *db.Tx) error {
		n, err := tx.Number(`SELECT count(*) FROM import_job WHERE tenant_id = ? AND status IN ('uploading', 'uploaded',
			'waiting', 'running', 'checked')`, u.job.TenantID)
		if err == nil {
			var posts int64
			posts, err = tx.Number(`SELECT count(*) FROM import_job AS j WHERE tenant_id = ? AND status = 'completed'
				AND started_at = 0 AND posts > 0 AND EXISTS (SELECT 1 FROM import_post WHERE import_id = j.id)
				AND NOT EXISTS (SELECT 1 FROM import_post INDEXED BY sqlite_autoindex_import_post_1
				WHERE import_id = j.id AND issue_no > 0)`, u.job.TenantID) // only posts, and none of them is an issue
			n += posts
		}
		if err == nil && n >= core.MaxOpenImports {
			return core.Conflictf("conflict", "A tenant can have at most %d open imports. Run, cancel or delete one.",
				core.MaxOpenImports)
		}
		if err == nil {
			_, err = tx.Exec(`INSERT INTO import_job (id, tenant_id, list_id, name, status, source, created_by, created_at,
				touched_at) VALUES (?, ?, ?, ?, 'uploading', ?, ?, ?, ?)`, j.ID, j.TenantID, j.ListID, j.Name, j.Source,
				j.CreatedBy, int64(j.CreatedAt), int64(j.CreatedAt))
		}
		return err
	})
}

// ReadFrom stores the whole file from r, in parts that end at the end of a line. If grow is not nil, ReadFrom requests
// memory from grow before using it, and releases the memory at the end. It returns errors of r unchanged. If the file
// is larger than the limit, it returns an error of kind core.TooLarge, and if the upload was stopped, a Conflict.
func (u *ImportUpload) ReadFrom(ctx context.Context, r io.Reader, grow files.Grow, now func() core.Instant) error {
	b := files.Buffer{Grow: grow}
	defer b.Release()
	for rest := 0; ; {
		n, err := b.Fill(r, rest)
		if err != nil && err != io.EOF {
			return err
		}
		part := b.Bytes[:n]
		if end := bytes.LastIndexByte(part, '\n') + 1; err == nil && end > 0 {
			part = part[:end]
		}
		if u.job.Bytes+int64(len(part)) > u.limit {
			return core.ImportTooLarge(u.limit)
		}
		if len(part) > 0 {
			if err := u.addParts(ctx, part, now); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		rest = copy(b.Bytes, b.Bytes[len(part):n])
	}
}

// beginning is the size in bytes of the first part of a file. A preview of the file usually needs only this part.
const beginning = 16 << 10

// addParts stores a part of a file. It stores the beginning of the file as a separate part.
func (u *ImportUpload) addParts(ctx context.Context, part []byte, now func() core.Instant) error {
	if u.no == 0 && len(part) > beginning {
		if end := bytes.LastIndexByte(part[:beginning], '\n') + 1; end > 0 {
			if err := u.add(ctx, part[:end], now()); err != nil {
				return err
			}
			part = part[end:]
		}
	}
	return u.add(ctx, part, now())
}

func (u *ImportUpload) add(ctx context.Context, part []byte, now core.Instant) error {
	if err := u.store.Room(2 * int64(len(part))); err != nil { // space in the WAL and in the database file
		return err
	}
	err := u.store.Bulk(ctx, func(tx *db.Tx) error {
		err := tx.One("UPDATE import_job SET bytes = bytes + ?, touched_at = ? WHERE id = ? AND status = 'uploading'",
			len(part), int64(now), u.job.ID)
		if errors.Is(err, core.ErrNotFound) {
			return errUploadEnded
		}
		if err == nil {
			err = addImportChunk(tx, u.job.ID, importFile, u.no, part)
		}
		return err
	})
	if err == nil {
		u.no, u.job.Bytes = u.no+1, u.job.Bytes+int64(len(part))
	}
	return err
}

// errUploadEnded is returned to an upload whose import has ended or no longer exists.
var errUploadEnded = core.Conflictf("conflict",
	"The upload was stopped: it was canceled, or less than 1 MiB arrived in %d minutes. Start it again.",
	files.UploadDead/time.Minute)

func addImportChunk(tx *db.Tx, id string, kind, no int64, data []byte) error {
	tx.BringsFile()
	_, err := tx.Exec("INSERT INTO import_chunk (import_id, kind, no, data) VALUES (?, ?, ?, ?)", id, kind, no, data)
	return err
}

// Job returns the current state of the import.
func (u *ImportUpload) Job() *core.ImportJob { return &u.job }

// Commit ends the upload, keeps the file and returns the import. If the upload was stopped, it returns a Conflict.
func (u *ImportUpload) Commit(ctx context.Context, now core.Instant) (j core.ImportJob, err error) {
	err = u.store.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("import_job", u.job.ID); err != nil {
			return err
		}
		status, finished := core.ImportUploaded, core.Instant(0)
		if u.PostsOnly {
			status, finished = core.ImportCompleted, now
		}
		err := tx.One(`UPDATE import_job SET status = ?, finished_at = ?, touched_at = ?, tool = ?, posts_skipped = ?,
			relative_posts = ?
			WHERE id = ? AND status = 'uploading'`, status, int64(finished), int64(now), u.Tool,
			u.PostsSkipped, u.Relative, u.job.ID)
		if errors.Is(err, core.ErrNotFound) {
			return errUploadEnded
		}
		if err == nil {
			j, err = ImportJob(tx, u.job.ID)
		}
		if err == nil {
			err = tx.Audit(now, u.job.CreatedBy, "import.create", u.job.TenantID, u.job.ID)
		}
		return err
	})
	u.kept = err == nil
	return j, err
}

// Close discards the upload unless it was committed. If discarding fails, housekeeping removes the upload after a
// period without new parts.
func (u *ImportUpload) Close(ctx context.Context) {
	if u.kept {
		return
	}
	_ = u.store.Update(ctx, func(tx *db.Tx) error {
		tx.Kick(db.TopicImports)
		_, err := tx.Exec("UPDATE import_job SET status = 'deleted' WHERE id = ? AND status = 'uploading'", u.job.ID)
		return err
	})
}

// importReader reads the chunks of a file in order.
type importReader struct {
	ctx   context.Context
	store *Store
	id    string
	kind  int
	no    int64
	part  []byte
}

// ImportFile returns a reader of an uploaded file. If the file is deleted while it is read, the reader ends early.
func (s *Store) ImportFile(ctx context.Context, id string) io.Reader {
	return &importReader{ctx: ctx, store: s, id: id, kind: importFile}
}

// ImportFaults returns a reader of an import's rows with errors, as CSV. If there are no such rows, it reads nothing.
func (s *Store) ImportFaults(ctx context.Context, id string) io.Reader {
	return &importReader{ctx: ctx, store: s, id: id, kind: importFaults}
}

// Read implements io.Reader. It returns core.ErrStorage or io.EOF.
func (r *importReader) Read(p []byte) (int, error) {
	if len(r.part) == 0 {
		r.part = nil
		err := r.store.Get(r.ctx, &r.part, "SELECT data FROM import_chunk WHERE import_id = ? AND kind = ? AND no = ?",
			r.id, r.kind, r.no)
		if errors.Is(err, core.ErrNotFound) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		r.no++
	}
	n := copy(p, r.part)
	r.part = r.part[n:]
	return n, nil
}

// FaultWriter stores the rows with errors of an import. It must be used by one goroutine, which must call Flush at
// the end.
type FaultWriter struct {
	ctx   context.Context
	store *Store
	id    string
	no    int64
	part  []byte
}

// NewFaultWriter deletes the rows with errors of an earlier run and returns a writer for the rows with errors of this
// run. Its only error is core.ErrStorage.
func (s *Store) NewFaultWriter(ctx context.Context, id string) (*FaultWriter, error) {
	for more := true; more; {
		var err error
		if more, err = s.dropImportChunks(ctx, id, importFaults); err != nil {
			return nil, err
		}
	}
	return &FaultWriter{ctx: ctx, store: s, id: id}, nil
}

// Write implements io.Writer.
func (w *FaultWriter) Write(p []byte) (int, error) {
	w.part = append(w.part, p...)
	if len(w.part) < files.ChunkSize/4 {
		return len(p), nil
	}
	return len(p), w.Flush()
}

// Flush writes the buffered data. It returns core.ErrStorage if that fails, or if the disk has no space beyond its
// reserve.
func (w *FaultWriter) Flush() error {
	if len(w.part) == 0 {
		return nil
	}
	if err := w.store.Room(2 * int64(len(w.part))); err != nil {
		return err
	}
	err := w.store.Bulk(w.ctx, func(tx *db.Tx) error { return addImportChunk(tx, w.id, importFaults, w.no, w.part) })
	if err == nil {
		w.no, w.part = w.no+1, w.part[:0]
	}
	return err
}

// SweepImports ends uploads that have stalled and imports that were not started in time. It also deletes a few unneeded
// chunks, and reports whether there are more. Its only error is core.ErrStorage.
func (s *Store) SweepImports(ctx context.Context, now core.Instant) (more bool, err error) {
	var idle int64
	err = s.Get(ctx, &idle, "SELECT count(*) FROM import_job WHERE "+idleImports, int64(now.Add(-files.UploadDead)),
		int64(now.Add(-ImportIdle)))
	if err == nil && idle > 0 {
		err = s.Update(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec(`UPDATE import_job SET status = iif(status = 'uploading', 'deleted', 'cancelled'),
				finished_at = ?3, failure_reason = '`+core.ImportExpired+`' WHERE `+idleImports, int64(now.Add(-files.UploadDead)),
				int64(now.Add(-ImportIdle)), int64(now))
			return err
		})
	}
	if err != nil {
		return false, err
	}
	var unneeded struct {
		ID      string `db:"id"`
		Kind    int64  `db:"kind"`
		Deleted bool   `db:"deleted"`
	}
	err = s.Get(ctx, &unneeded, `SELECT id, kind, deleted FROM (
		SELECT j.id, c.kind, 0 AS deleted FROM import_job AS j CROSS JOIN import_chunk AS c ON c.import_id = j.id
			WHERE j.status = 'deleted' OR c.kind NOT IN (2, 5) AND j.failure_reason = '`+core.ImportErased+`'
			OR c.kind IN (0, 4) AND j.status IN ('completed', 'failed', 'cancelled')
			OR j.finished_at > 0 AND j.finished_at < ?1 AND (c.kind NOT IN (2, 5) OR j.undo_status <> 'running')
		UNION ALL SELECT j.id, ?2, 0 FROM import_job AS j WHERE (j.status = 'deleted' OR j.finished_at > 0 AND
			j.finished_at < ?1 AND j.undo_status <> 'running') AND EXISTS (SELECT 1 FROM import_before WHERE import_id = j.id)
		UNION ALL SELECT j.id, ?3, 0 FROM import_job AS j WHERE (j.status = 'deleted' OR j.finished_at > 0 AND
			j.finished_at < ?1) AND j.posts > 0 AND EXISTS (SELECT 1 FROM import_post WHERE import_id = j.id)
		UNION ALL SELECT j.id, ?4, 0 FROM import_job AS j WHERE (j.status = 'deleted' OR j.finished_at > 0 AND
			j.finished_at < ?1) AND j.pictures > 0 AND EXISTS (SELECT 1 FROM import_picture
			INDEXED BY import_picture_state WHERE import_id = j.id AND
			state IN ('listed', 'waiting', 'stored', 'failed'))
		UNION ALL SELECT id, 0, 1 FROM import_job AS j WHERE status = 'deleted' AND NOT EXISTS (SELECT 1
			FROM import_picture WHERE import_id = j.id)) LIMIT 1`, int64(now.Add(-FaultsKept)),
		importReplaced, importPosts, importCopies)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case unneeded.Deleted: // all chunks of the import are deleted
		return true, s.Bulk(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec("DELETE FROM import_job WHERE id = ? AND status = 'deleted'", unneeded.ID)
			return err
		})
	}
	switch unneeded.Kind {
	case importPosts:
		err = s.dropPosts(ctx, unneeded.ID)
	case importCopies:
		err = s.dropPictures(ctx, unneeded.ID)
	case importReplaced:
		err = s.dropReplaced(ctx, unneeded.ID)
	default:
		_, err = s.dropImportChunks(ctx, unneeded.ID, unneeded.Kind)
	}
	return err == nil, err
}

const idleImports = `(status = 'uploading' AND touched_at < ?1 OR status IN ('uploaded', 'checked') AND touched_at < ?2)`

// dropImportChunks deletes the last few chunks of a kind and reports whether there may be more.
func (s *Store) dropImportChunks(ctx context.Context, id string, kind int64) (more bool, err error) {
	err = s.Bulk(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(`DELETE FROM import_chunk INDEXED BY sqlite_autoindex_import_chunk_1
			WHERE import_id = ?1 AND kind = ?2 AND no > (SELECT max(no) - ?3
			FROM import_chunk WHERE import_id = ?1 AND kind = ?2)`, id, kind, files.RemoveBatch)
		more = n > 0
		return err
	})
	return more, err
}

// ImportsHolding returns the ids of imports that contain an address, in the file or in the rows with errors. An empty
// tenantID means the imports of all tenants.
func (s *Store) ImportsHolding(ctx context.Context, emailKey, tenantID string) (ids []string, err error) {
	err = s.All(ctx, &ids, `SELECT DISTINCT j.id FROM import_job AS j CROSS JOIN import_chunk AS c ON c.import_id = j.id
		WHERE (?2 = '' OR j.tenant_id = ?2) AND c.kind <> 8 AND instr(lower(CAST(c.data AS TEXT)), ?1)`,
		emailKey, tenantID)
	return ids, err
}
