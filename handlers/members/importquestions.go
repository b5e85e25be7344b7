package members

import (
	"bytes"
	"encoding/json"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/imports"
	"newsletterd/store/subscribercsv"
)

// keep stores the survey that was created during a file's upload. An error in the file is the caller's fault.
func (a importsAPI) keep(c *web.Call, up *imports.ImportUpload, s *subscribercsv.Survey) error {
	_, err := subscribercsv.NewReader(a.store.ImportFile(c, up.Job().ID), subscribercsv.Options{Survey: s})
	if err != nil && !subscribercsv.IsMapping(err) {
		return unreadable(err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // addresses stay unchanged, so that erasing finds them
	if err := enc.Encode(s); err != nil {
		return err
	}
	return up.KeepSurvey(c, b.Bytes())
}

// survey returns an uploaded file's survey. It creates the survey if an earlier version of newsletterd accepted the
// upload. If the header can't be read, it returns nil, and the preview reports the error.
func (a importsAPI) survey(c *web.Call, id string) (*subscribercsv.Survey, error) {
	b, err := a.store.ImportSurvey(c, id)
	if err != nil {
		return nil, err
	}
	s := subscribercsv.ParseSurvey(b)
	if s == nil {
		if s, err = subscribercsv.Look(c, a.store.ImportFile(c, id)); core.KindOf(err) == core.Unavailable {
			return nil, err
		}
	}
	return s, nil
}

// unasked returns an error if the mapping leaves out columns that may show who unsubscribed. questions contains these
// columns.
func unasked(questions []subscribercsv.Question) error {
	if len(questions) == 0 {
		return nil
	}
	return core.Invalidf("mapping",
		`Nothing was imported: %s. Map it to "status", to a field, or to "" to skip it.`,
		subscribercsv.Asking(questions))
}

// mayTag returns an error if the file has a tags column and the caller may not tag people.
func mayTag(c *web.Call, j *core.ImportJob, columns []subscribercsv.Column) error {
	for i := range columns {
		if columns[i].Use == subscribercsv.UseTags && !c.Caller.May(core.ActionPeopleTag, j.TenantID) {
			return core.Forbiddenf(
				`Column %q contains tags, but you don't have the permission %s. Map it to a field, or to "" to skip it.`,
				columns[i].Name, core.ActionPeopleTag)
		}
	}
	return nil
}
