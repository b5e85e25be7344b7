package core

// Correction is what pages show of a campaign instead of what was sent: in its kind, with its layout and theme.
type Correction struct {
	CampaignNo int64   `db:"campaign_no" json:"-"`
	CopyID     string  `db:"copy_id" json:"-"` // of the CampaignCopy that is shown
	Subject    string  `db:"subject" json:"subject"`
	Source     string  `db:"source" json:"source"`
	Text       string  `db:"text" json:"text,omitempty"` // of kind html
	By         string  `db:"made_by" json:"corrected_by"`
	At         Instant `db:"made_at" json:"corrected_at"`
}

// ErrNotCorrected is returned for a campaign of which pages show what was sent.
var ErrNotCorrected = &Error{
	Kind: NotFound, Code: "correction_not_found",
	Message: "This campaign has no correction. Pages show it as it was sent.",
}

// Correctable returns a conflict for a campaign of which nothing has gone out.
func (c *Campaign) Correctable() error {
	if c.JobNo == 0 || c.State == CampaignScheduled || c.Editable() == nil {
		return Conflictf("conflict", "The campaign is %s and has not been sent. Edit the campaign itself.", c.State)
	}
	return nil
}

// Mended is what pages show otherwise than it was sent.
type Mended struct {
	Links  map[string]string // where links lead, by their addresses as they were written
	CopyID string            // of the copy that is shown; empty: the one that was sent
	At     Instant           // when it was corrected
}
