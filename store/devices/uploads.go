package devices

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/files"
)

// Upload is a file that is being uploaded. Each chunk is a bulk operation in its own transaction. No model refers to
// the chunks until Commit. An Upload is not safe for concurrent use.
type Upload struct {
	store  *Store
	owner  string
	limits core.ModelLimits
	no     int64 // number of the file; 0: nothing was written yet
	chunks int64
	size   int64
	sum    hash.Hash
	kept   bool
}

// NewUpload starts an upload for a user. The caller must call Close.
func (s *Store) NewUpload(ownerID string, limits core.ModelLimits) *Upload {
	return &Upload{store: s, owner: ownerID, limits: limits, sum: sha256.New()}
}

// Size returns the number of bytes stored so far. If a reader failed, only its whole chunks are stored, and the next
// ReadFrom continues after them.
func (u *Upload) Size() int64 { return u.size }

// ReadFrom reads a file to its end, in chunks. It calls now once per chunk. If grow is not nil, ReadFrom calls it
// before it uses memory, and again with a negative number to release the memory. Errors of the reader are returned
// unchanged. If the file is too large, ReadFrom returns the error of ModelLimits.
func (u *Upload) ReadFrom(ctx context.Context, r io.Reader, grow files.Grow, now func() core.Instant) (err error) {
	b := files.Buffer{Grow: grow}
	defer b.Release()
	for {
		n, err := b.Fill(r, 0)
		switch {
		case err != nil && err != io.EOF:
			return err
		case u.size+int64(n) > u.limits.Bytes:
			return u.limits.TooLarge()
		case n > 0:
			if err := u.add(ctx, b.Bytes[:n], now()); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// ErrSlowUpload is returned for an upload that was ended because it was too slow.
var ErrSlowUpload = core.Invalidf("",
	"The upload was stopped: less than 1 MiB arrived in %d minutes. Start it again.",
	files.UploadDead/time.Minute)

// add writes one chunk. The first chunk also creates the file's row.
func (u *Upload) add(ctx context.Context, chunk []byte, now core.Instant) error {
	if err := u.store.Room(2 * int64(len(chunk))); err != nil { // once in the -wal and once in the file
		return err
	}
	if u.size != u.chunks*files.ChunkSize {
		return errEnded
	}
	total, err := u.store.modelBytes(u.limits)
	if err != nil {
		return err
	}
	u.sum.Write(chunk)
	no := u.no
	err = u.store.Bulk(ctx, func(tx *db.Tx) (err error) {
		if err := fits(tx, int64(len(chunk)), total); err != nil {
			return err
		}
		if err := use(tx, u.owner, int64(len(chunk)), u.limits); err != nil {
			return err
		}
		if no == 0 {
			no, err = tx.Insert("INSERT INTO model_file (owner_id, by_daemon, size, chunks, touched_at) VALUES (?, "+
				"?, ?, 1, ?)",
				u.owner, u.store.Options().Mode == db.Daemon, len(chunk), now)
		} else {
			err = tx.One("UPDATE model_file SET size = size + ?, chunks = chunks + 1, touched_at = ? WHERE no = ? "+
				"AND state = "+files.SQLFileGrowing,
				len(chunk), now, no)
			if errors.Is(err, core.ErrNotFound) {
				err = ErrSlowUpload
			}
		}
		if err != nil {
			return err
		}
		tx.BringsFile()
		_, err = tx.Exec("INSERT INTO model_chunk (file_no, chunk_no, data) VALUES (?, ?, ?)", no, u.chunks, chunk)
		return err
	})
	if err != nil {
		return err
	}
	u.no, u.chunks, u.size = no, u.chunks+1, u.size+int64(len(chunk))
	return nil
}

// errEnded is returned for data after the end of a file. A file ends with the first chunk that isn't full.
var errEnded = core.Invalidf("", "The file is longer than announced. Upload it again.")

var errModelsFull = &core.Error{
	Kind: core.Unavailable, Code: core.ErrStorage.Code,
	Message: "The server's file storage is full. Delete some files, or try again later.",
	Err:     errors.New("the limit limits.model_bytes_total is reached"),
}

// modelBytes returns the maximum total size of all model files in bytes.
func (s *Store) modelBytes(limits core.ModelLimits) (int64, error) {
	if limits.BytesTotal > 0 {
		return limits.BytesTotal, nil
	}
	_, disk, _, err := db.DiskOf(s.Path())
	if err != nil {
		return 0, core.ErrStorage.With(err)
	}
	return disk / 2, nil
}

// fits returns errModelsFull if the total size of all files plus the given bytes would exceed total.
func fits(tx *db.Tx, bytes, total int64) error {
	var n int64
	if err := tx.Get(&n, "SELECT bytes FROM model_total"); err != nil {
		return err
	}
	if n+bytes > total {
		return errModelsFull
	}
	return nil
}

// MayAddModel returns a Conflict error if the owner has as many models as limits allow.
func (s *Store) MayAddModel(ctx context.Context, ownerID string, limits core.ModelLimits) error {
	if limits.PerOwner == 0 {
		return nil
	}
	var n int
	if err := s.Get(ctx, &n, modelsOfOwner, ownerID, limits.PerOwner); err != nil {
		return err
	}
	return limits.OwnerHas(n)
}

// modelsOfOwner counts an owner's models, up to a bound.
const modelsOfOwner = "SELECT count(*) FROM (SELECT 1 FROM model WHERE owner_id = ? LIMIT +?)"

// use adds bytes to an owner's usage. If that would exceed the limits, it returns an error.
func use(tx *db.Tx, ownerID string, bytes int64, limits core.ModelLimits) error {
	n, err := tx.Exec("UPDATE model_usage SET bytes = bytes + ?2 WHERE owner_id = ?1 AND bytes + ?2 <= ?3", ownerID,
		bytes, limits.BytesPerOwner)
	if err != nil || n == 1 {
		return err
	}
	if err := owner(tx, ownerID); err != nil {
		return err
	}
	n, err = tx.Exec("INSERT INTO model_usage (owner_id, bytes) SELECT ?1, ?2 WHERE ?2 <= ?3 ON CONFLICT DO NOTHING",
		ownerID, bytes, limits.BytesPerOwner)
	if err == nil && n == 0 {
		return limits.OwnerFull()
	}
	return err
}

// Usage returns the size in bytes of an owner's files, including uploads in progress. The only error is
// core.ErrStorage.
func (s *Store) Usage(ctx context.Context, ownerID string) (bytes int64, err error) {
	err = s.Get(ctx, &bytes, "SELECT bytes FROM model_usage WHERE owner_id = ?", ownerID)
	if errors.Is(err, core.ErrNotFound) {
		return 0, nil
	}
	return bytes, err
}

// Commit turns the file into a model and returns it. An empty file is allowed. If the owner has as many models as the
// limits allow, Commit returns a Conflict error.
func (u *Upload) Commit(ctx context.Context, m core.Model, actor string) (core.Model, error) {
	m.Size, m.SHA256 = u.size, hex.EncodeToString(u.sum.Sum(nil))
	err := u.store.Update(ctx, func(tx *db.Tx) (err error) {
		if err := owner(tx, m.OwnerID); err != nil {
			return err
		}
		if u.limits.PerOwner > 0 {
			var n int
			if err := tx.Get(&n, modelsOfOwner, m.OwnerID, u.limits.PerOwner); err != nil {
				return err
			}
			if err := u.limits.OwnerHas(n); err != nil {
				return err
			}
		}
		if m.FileNo = u.no; u.no == 0 {
			m.FileNo, err = tx.Insert("INSERT INTO model_file (owner_id, state, by_daemon, touched_at) VALUES (?, "+
				""+files.SQLFileWhole+", 0, ?)", m.OwnerID, m.CreatedAt)
		} else {
			err = tx.One("UPDATE model_file SET state = "+files.SQLFileWhole+" WHERE no = ? AND state = "+files.SQLFileGrowing,
				u.no)
		}
		if err != nil {
			return err
		}
		if err := tx.Watch("model", m.ID); err != nil {
			return err
		}
		if m.No, err = db.InsertRow(tx, &modelTable, &m); err != nil {
			return err
		}
		return tx.Audit(m.CreatedAt, actor, "model.create", "", m.ID)
	})
	u.kept = err == nil
	return m, err
}

// Close discards an upload that was not committed. If that fails, the next start or housekeeping discards it.
func (u *Upload) Close(ctx context.Context) {
	if u.kept || u.no == 0 {
		return
	}
	err := u.store.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE model_file SET state = "+files.SQLFileDropped+" WHERE no = ? AND state = "+files.SQLFileGrowing,
			u.no)
		return err
	})
	for more := err == nil; more; {
		more, err = u.store.removeChunks(ctx, u.no)
		more = more && err == nil
	}
}

// deadUploads counts the unfinished uploads of the previous daemon. It contains the redundant condition state <> 1,
// because otherwise SQLite doesn't use the index on the other states.
const deadUploads = "SELECT count(*) FROM model_file WHERE state <> " + files.SQLFileWhole + " AND state = " +
	files.SQLFileGrowing + " AND by_daemon = 1"

// dropUploads discards the unfinished uploads of the previous daemon.
func (s *Store) dropUploads(ctx context.Context) error {
	var n int
	if err := s.Get(ctx, &n, deadUploads); err != nil || n == 0 {
		return err
	}
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE model_file SET state = " + files.SQLFileDropped + " WHERE state <> " + files.SQLFileWhole +
			" AND state = " + files.SQLFileGrowing + " AND by_daemon = 1")
		return err
	})
}

// RemoveFiles removes a few chunks of a file that no model refers to or whose upload has stopped. more reports
// whether there is more to remove.
func (s *Store) RemoveFiles(ctx context.Context, now core.Instant) (more bool, err error) {
	var no int64
	err = s.Get(ctx, &no,
		"SELECT no FROM model_file WHERE state <> "+files.SQLFileWhole+" AND (state = "+files.SQLFileDropped+
			" OR touched_at < ?) ORDER BY state DESC LIMIT 1", now.Add(-files.UploadDead))
	if err != nil {
		if errors.Is(err, core.ErrNotFound) {
			err = nil
		}
		return false, err
	}
	_, err = s.removeChunks(ctx, no)
	return err == nil, err
}

// removeChunks removes the last few chunks of a file and, with the last one, the file.
func (s *Store) removeChunks(ctx context.Context, no int64) (more bool, err error) {
	err = s.Bulk(ctx, func(tx *db.Tx) error {
		// First change the state of a stale upload, so that its process, if it still runs, can't add further chunks.
		if _, err := tx.Exec("UPDATE model_file SET state = "+files.SQLFileDropped+" WHERE no = ? AND state = "+files.SQLFileGrowing,
			no); err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM model_chunk WHERE file_no = ?1 AND chunk_no IN
			(SELECT chunk_no FROM model_chunk WHERE file_no = ?1 ORDER BY chunk_no DESC LIMIT +?2)
			AND EXISTS (SELECT 1 FROM model_file WHERE no = ?1 AND state = `+files.SQLFileDropped+`)`, no, files.RemoveBatch)
		if err != nil {
			return err
		}
		if more = n == files.RemoveBatch; more {
			return nil
		}
		_, err = tx.Exec("DELETE FROM model_file WHERE no = ? AND state = "+files.SQLFileDropped, no)
		return err
	})
	return more, err
}
