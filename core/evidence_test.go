package core

import "testing"

func TestEvidenceTime(t *testing.T) {
	t.Parallel()
	for evidence, want := range map[string]string{
		"subscribed 2023-05-03T10:11:12Z from 203.0.113.5; confirmed 2023-05-04T10:11:12Z": "2023-05-03T10:11:12Z",
		`subscribed "3/5/2023"; created 2023-05-03T10:11:12Z`:                              "2023-05-03T10:11:12Z",
		"confirmed 2019-05-01 10:00:00 from 203.0.113.7":                                   "2019-05-01T00:00:00Z",
		`subscribed "3/5/2023"`: "", "confirmed from 203.0.113.7": "", "": "", "not interested": "",
	} {
		at := EvidenceTime(evidence)
		if got := at.Time().UTC().Format("2006-01-02T15:04:05Z07:00"); at != 0 && got != want || (at == 0) != (want == "") {
			t.Errorf("%q: %s", evidence, got)
		}
	}
}

func TestOnlyEvidenceTime(t *testing.T) {
	t.Parallel()
	for evidence, want := range map[string]bool{
		"opted in 2023-05-03T10:11:12Z": true, "subscribed 2023-05-03": true,
		"subscribed 2023-05-03T10:11:12Z from 203.0.113.5":                false,
		"subscribed 2023-05-03T10:11:12Z; confirmed 2023-05-04T10:11:12Z": false,
		`subscribed "3/5/2023" 2023-05-03T10:11:12Z`:                      false,
		`subscribed "3/5/2023"`:                                           false,
		"confirmed from 203.0.113.7":                                      false, "": false,
	} {
		if got := OnlyEvidenceTime(evidence); got != want {
			t.Errorf("%q: %t", evidence, got)
		}
	}
}
