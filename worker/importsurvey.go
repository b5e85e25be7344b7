package worker

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/subscribercsv"
)

// survey returns the survey of an import's file. If none was stored when the file was uploaded, survey creates it.
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
