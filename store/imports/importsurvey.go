package imports

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

// KeepSurvey stores the survey of the whole file. The survey may contain data from the file, and is deleted with the
// file. The only error is core.ErrStorage.
func (u *ImportUpload) KeepSurvey(ctx context.Context, survey []byte) error {
	if err := u.store.Room(2 * int64(len(survey))); err != nil {
		return err
	}
	return u.store.Bulk(ctx, func(tx *db.Tx) error { return addImportChunk(tx, u.job.ID, importSurvey, 0, survey) })
}

// ImportSurvey returns the survey that KeepSurvey stored, or nil if there is none or the file was deleted. Its only
// error is core.ErrStorage.
func (s *Store) ImportSurvey(ctx context.Context, id string) (survey []byte, err error) {
	err = s.Get(ctx, &survey, "SELECT data FROM import_chunk WHERE import_id = ? AND kind = ? AND no = 0", id,
		importSurvey)
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	return survey, err
}
