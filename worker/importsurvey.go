package worker

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/subscribercsv"
)

// survey returns what a look through the file of an import tells: what was kept at the upload, or else a look now.
func (i *importer) survey(ctx context.Context, j *core.ImportJob) (*subscribercsv.Survey, error) {
	b, err := i.store.ImportSurvey(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	if s := subscribercsv.ParseSurvey(b); s != nil {
		return s, nil
	}
	return subscribercsv.Look(ctx, i.store.ImportFile(ctx, j.ID))
}
