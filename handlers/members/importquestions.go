package members

import (
	"bytes"
	"encoding/json"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/imports"
	"newsletterd/store/subscribercsv"
)

// keep keeps what a look through a file has told while it was uploaded. An error of the file is the caller's fault.
func (a importsAPI) keep(c *web.Call, up *imports.ImportUpload, s *subscribercsv.Survey) error {
	_, err := subscribercsv.NewReader(a.store.ImportFile(c, up.Job().ID), subscribercsv.Options{Survey: s})
	if err != nil && !subscribercsv.IsMapping(err) {
		return unreadable(err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // an address stays as it is, for an erasing to find it
	if err := enc.Encode(s); err != nil {
		return err
	}
	return up.KeepSurvey(c, b.Bytes())
}

// survey is what a look through an uploaded file has told, or tells now where an earlier version took the file in. nil:
// its header can't be read, which the preview tells.
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

// unasked refuses a run while it is not declared what columns mean that may say who unsubscribed.
func unasked(questions []subscribercsv.Question) error {
	if len(questions) == 0 {
		return nil
	}
	return core.Invalidf("mapping",
		`Nothing was imported: %s. Map it to "status", to a field, or to "" to skip it.`,
		subscribercsv.Asking(questions))
}
