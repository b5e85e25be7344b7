package core

// Correction is corrected content of a sent campaign, which web pages show instead of the original. Its kind, layout
// and theme are the same.
type Correction struct {
	CampaignNo int64   `db:"campaign_no" json:"-"`
	CopyID     string  `db:"copy_id" json:"-"` // id of the CampaignCopy that is shown
	Subject    string  `db:"subject" json:"subject" about:"Subject that web pages show instead of the sent one"`
	Source     string  `db:"source" json:"source" about:"Content that web pages show instead of the sent one, in the same format"`
	Text       string  `db:"text" json:"text,omitempty" about:"Text part for kind html; absent: generated from the HTML"`
	By         string  `db:"made_by" json:"corrected_by" about:"Who corrected it, such as user:ID"`
	At         Instant `db:"made_at" json:"corrected_at" about:"Time of the correction"`
}

// ErrNotCorrected is returned for a campaign without a correction.
var ErrNotCorrected = &Error{
	Kind: NotFound, Code: "correction_not_found",
	Message: "This campaign has no correction. Pages show it as it was sent.",
}

// Correctable returns a Conflict error if none of the campaign's emails were sent.
func (c *Campaign) Correctable() error {
	if c.JobNo == 0 || c.State == CampaignScheduled || c.Editable() == nil {
		return Conflictf("conflict", "The campaign is %s and has not been sent. Edit the campaign itself.", c.State)
	}
	return nil
}

// Mended holds the changes made to a campaign after it was sent, as shown on web pages.
type Mended struct {
	Links  map[string]string // new targets of links, by their original URLs
	CopyID string            // id of the copy that is shown; empty: the sent one
	At     Instant           // when it was corrected
}
