package core

// FieldCoverage is the number of a campaign's recipients who have a value for a certain field.
type FieldCoverage struct {
	Name    string `json:"name" about:"Key in the preferences; dots separate nested keys"`
	Label   string `json:"label,omitempty" about:"Label of the field in a list of the campaign; absent: no list has the field"`
	Known   int64  `json:"known" about:"Subscribers with a value"`
	Readers int64  `json:"readers" about:"Subscribers who were checked: at most the newest 1,000"`
	Used    bool   `json:"used" about:"Whether the email contains the field"`
	Default string `json:"default" about:"Fallback for subscribers without a value; empty: none"`
}
