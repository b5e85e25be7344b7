package handlers

import (
	"bytes"
	"encoding/json"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/subscribercsv"
)

// look reads an uploaded file to its end, and keeps what that tells. An error of the file is the caller's fault.
func (a imports) look(c *web.Call, up *store.ImportUpload) error {
	s, err := subscribercsv.Look(c, a.store.ImportFile(c, up.Job().ID))
	if err == nil {
		_, err = subscribercsv.NewReader(a.store.ImportFile(c, up.Job().ID), subscribercsv.Options{Survey: s})
		if subscribercsv.IsMapping(err) {
			err = nil
		}
	}
	switch {
	case err != nil && c.Err() != nil:
		return c.Err()
	case core.KindOf(err) == core.Unavailable, core.KindOf(err) == core.MediaType:
		return err
	case err != nil:
		return core.Invalidf("", "The file can't be read: %s.", err.Error())
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
func (a imports) survey(c *web.Call, id string) (*subscribercsv.Survey, error) {
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
	return core.Invalidf("mapping", "Nothing was imported: %s. Map it to \"status\", to a field, or to \"\" to leave it out.",
		subscribercsv.Asking(questions))
}
