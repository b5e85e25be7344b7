package imports

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

// KeepSurvey keeps what a look through the whole file has told, next to the file: it may hold what is in the file, and
// goes with it.
func (u *ImportUpload) KeepSurvey(ctx context.Context, survey []byte) error {
	if err := u.store.Room(2 * int64(len(survey))); err != nil {
		return err
	}
	return u.store.Bulk(ctx, func(tx *db.Tx) error { return addImportChunk(tx, u.job.ID, importSurvey, 0, survey) })
}

// ImportSurvey reads what KeepSurvey has kept; nil: nothing, or the file is gone. Its only error is core.ErrStorage.
func (s *Store) ImportSurvey(ctx context.Context, id string) (survey []byte, err error) {
	err = s.Get(ctx, &survey, "SELECT data FROM import_chunk WHERE import_id = ? AND kind = ? AND no = 0", id,
		importSurvey)
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	return survey, err
}
