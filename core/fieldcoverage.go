package core

// FieldCoverage is how many of a campaign's readers have a value of a field.
type FieldCoverage struct {
	Name    string `json:"name"`            // key of the preferences, with dots where one is within another
	Label   string `json:"label,omitempty"` // as a list of the campaign has it
	Known   int64  `json:"known"`           // readers who have a value
	Readers int64  `json:"readers"`         // who were looked at: the newest 1,000 at most
	Used    bool   `json:"used"`            // the mail prints it
	Default string `json:"default"`         // what the others read in its place
}
