package core

// FieldCoverage counts the recipients of a campaign who have a value for a field.
type FieldCoverage struct {
	Name    string `json:"name"`            // key of the preferences; dots separate nested keys
	Label   string `json:"label,omitempty"` // as defined by a list of the campaign
	Known   int64  `json:"known"`           // subscribers with a value
	Readers int64  `json:"readers"`         // subscribers checked: at most the newest 1,000
	Used    bool   `json:"used"`            // the email contains it
	Default string `json:"default"`         // fallback for the others
}
