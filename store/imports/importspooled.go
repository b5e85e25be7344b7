package imports

import (
	"context"
	"errors"
	"io"
	"os"

	"newsletterd/core"
	"newsletterd/store/db"
)

// spooledStep is the number of bytes after which an upload's progress is recorded.
const spooledStep = 1 << 20

// Spool copies a file to an unnamed file next to the database, because archives are read from the end. The caller must
// close it. It returns errors of r unchanged. If the file is larger than the upload's limit, Spool returns an error of
// kind core.TooLarge. If the upload was stopped, it returns a Conflict.
func (u *ImportUpload) Spool(ctx context.Context, r io.Reader, now func() core.Instant) (f *os.File, size int64,
	err error,
) {
	if f, err = os.CreateTemp(u.store.spoolDir(), ".import-*"); err != nil {
		return nil, 0, err
	}
	if err = os.Remove(f.Name()); err == nil {
		size, err = u.spool(ctx, f, r, now)
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, size, nil
}

func (u *ImportUpload) spool(ctx context.Context, f *os.File, r io.Reader, now func() core.Instant) (size int64,
	err error,
) {
	for {
		if err := u.store.Room(spooledStep); err != nil {
			return size, err
		}
		n, err := io.CopyN(f, r, spooledStep)
		size += n
		switch {
		case size > u.limit:
			return size, core.ImportTooLarge(u.limit)
		case err == io.EOF:
			return size, nil
		case err != nil:
			return size, err
		}
		if err := u.alive(ctx, now()); err != nil {
			return size, err
		}
	}
}

// alive records that a part of the file has arrived.
func (u *ImportUpload) alive(ctx context.Context, now core.Instant) error {
	return u.store.Bulk(ctx, func(tx *db.Tx) error {
		err := tx.One("UPDATE import_job SET touched_at = ? WHERE id = ? AND status = 'uploading'",
			int64(now), u.job.ID)
		if errors.Is(err, core.ErrNotFound) {
			return errUploadEnded
		}
		return err
	})
}
