package core

import (
	"slices"
	"time"
)

// CampaignState is how far a campaign has come.
type CampaignState string

// The states of a campaign: draft → in_review → approved → scheduled → sending → sent; archived from draft and sent.
// The states after approved follow its send job.
const (
	CampaignDraft     CampaignState = "draft"
	CampaignInReview  CampaignState = "in_review"
	CampaignApproved  CampaignState = "approved"
	CampaignScheduled CampaignState = "scheduled"
	CampaignSending   CampaignState = "sending"
	CampaignSent      CampaignState = "sent"
	CampaignArchived  CampaignState = "archived"
)

// String returns the state as a sentence says it.
func (s CampaignState) String() string {
	switch s {
	case CampaignDraft:
		return "a draft"
	case CampaignInReview:
		return "in review"
	case CampaignSending:
		return "being sent"
	}
	return string(s)
}

// Figures of the rules about campaigns.
const (
	// VersionSpan is how long the saves of one person go into one version.
	VersionSpan = 30 * time.Minute
	// VersionsKept is how many versions stay that were neither tested, approved, restored nor named.
	VersionsKept = 50
	// MaxUndo is how long a campaign may wait for its undo at most.
	MaxUndo = 10 * time.Minute
)

// ErrCampaignNotFound is returned for a campaign that there is not.
var ErrCampaignNotFound = &Error{
	Kind: NotFound, Code: "campaign_not_found",
	Message: "Campaign not found. It may have been deleted, or you don't have access.",
}

// Campaign is what is written, looked at, approved, and only then sent. What a version of it says is CampaignFields.
type Campaign struct {
	No       int64         `db:"no"`
	ID       string        `db:"id"`
	TenantID string        `db:"tenant_id"`
	State    CampaignState `db:"state"`
	Name     string        `db:"name"`    // of the version
	Subject  string        `db:"subject"` // of the version
	Revision int64         `db:"revision"`
	Version  int64         `db:"version"` // what is written on

	ApprovedVersion int64    `db:"approved_version"` // 0: none
	ApprovedBy      string   `db:"approved_by"`
	ApprovedAt      Instant  `db:"approved_at"`
	LastApproved    int64    `db:"last_approved"`    // the version approved last, also when it was written on since
	Writers         Strings  `db:"writers"`          // who has saved since then, or what it is, as the trail names them
	AuditSeen       int64    `db:"audit_seen"`       // the newest entry of the trail when it was approved last, or begun
	ApprovedBySend  bool     `db:"approved_by_send"` // no one was asked: undoing the send takes the approval back
	Designers       []string `db:"-"`                // who has changed its layout or theme, which no one else has approved since, or keeps a client among the writers; not of one that is approved
	CopyID          string   `db:"copy_id"`          // of the CampaignCopy of the approved version; empty: none
	InArchive       string   `db:"archive"`          // ArchiveShown, ArchiveHidden, or empty: as the list has it
	JobNo           int64    `db:"job_no"`           // the last job that sends it or has sent it; 0: none
	JobID           string   `db:"job_id"`           // of that job

	// Of a draft: who has sent it back, when and why.
	ReviewBy       string  `db:"review_by"` // who asked for the review; empty: no one
	ReviewWantedAt Instant `db:"review_wanted_at"`
	ReviewNote     string  `db:"review_note"`
	ReviewAsked    int     `db:"review_asked"`  // how many people were asked by mail
	ReviewMissed   bool    `db:"review_missed"` // the wanted time has passed, and those people were told

	CreatedBy string  `db:"created_by"`
	CreatedAt Instant `db:"created_at"`
	UpdatedBy string  `db:"updated_by"`
	UpdatedAt Instant `db:"updated_at"`
}

// CampaignView is a campaign as the API and the commands show it, without what it says.
type CampaignView struct {
	No       int64         `json:"-"`
	ID       string        `json:"id"`
	TenantID string        `json:"tenant_id"`
	State    CampaignState `json:"state" enum:"draft|in_review|approved|scheduled|sending|sent|archived"`
	Name     string        `json:"name"`
	Subject  string        `json:"subject"`
	Version  int64         `json:"version"` // what is written on

	ApprovedVersion int64           `json:"approved_version,omitempty"`
	ApprovedBy      string          `json:"approved_by,omitempty"`
	ApprovedAt      Instant         `json:"approved_at,omitzero"`
	JobID           string          `json:"send_job_id,omitempty"` // of the job that sends it, or has sent it last
	Review          *CampaignReview `json:"review,omitempty"`
	SentBack        *SentBack       `json:"sent_back,omitempty"`
	Archive         *bool           `json:"archive,omitempty"` // shown in the archives of its lists; absent: as they have it

	CreatedBy string  `json:"created_by"`
	CreatedAt Instant `json:"created_at"`
	UpdatedBy string  `json:"updated_by"`
	UpdatedAt Instant `json:"updated_at"`
}

// CampaignReview is what was asked for with a review.
type CampaignReview struct {
	By       string  `json:"by"`
	WantedAt Instant `json:"wanted_at,omitzero"`
	Note     string  `json:"note,omitempty"`
	Asked    int     `json:"asked"`            // people who were asked by mail
	Missed   bool    `json:"missed,omitempty"` // wanted_at has passed
}

// SentBack is who has sent a campaign back to be changed, until its approval is asked for again.
type SentBack struct {
	By   string  `json:"by"`
	Name string  `json:"name,omitempty"` // of that person; only of a campaign that is shown alone
	At   Instant `json:"at"`
	Note string  `json:"note,omitempty"`
}

// View returns the campaign as it is shown.
func (c *Campaign) View() CampaignView {
	v := CampaignView{
		No: c.No, ID: c.ID, TenantID: c.TenantID, State: c.State, Name: c.Name, Subject: c.Subject, Version: c.Version,
		ApprovedVersion: c.ApprovedVersion, JobID: c.JobID, CreatedBy: c.CreatedBy, CreatedAt: c.CreatedAt,
		UpdatedBy: c.UpdatedBy, UpdatedAt: c.UpdatedAt,
	}
	if c.ApprovedVersion != 0 {
		v.ApprovedBy, v.ApprovedAt = c.ApprovedBy, c.ApprovedAt
	}
	switch {
	case c.ReviewBy == "":
	case c.State == CampaignDraft:
		v.SentBack = &SentBack{By: c.ReviewBy, At: c.ReviewWantedAt, Note: c.ReviewNote}
	default:
		v.Review = &CampaignReview{
			c.ReviewBy, c.ReviewWantedAt, c.ReviewNote, c.ReviewAsked, c.ReviewMissed,
		}
	}
	if c.InArchive != "" {
		v.Archive = new(c.InArchive == ArchiveShown)
	}
	return v
}

// CampaignCompiler makes the parts of a campaign's mail of what is written. The theme is the tenant's own that the
// campaign has; nil: it has a built-in one.
type CampaignCompiler func(*CampaignFields, *Theme, *List, *Tenant) (html, text string, err error)

// CampaignVersion is a version of a campaign as it was saved last.
type CampaignVersion struct {
	No         int64   `db:"no"`
	CampaignNo int64   `db:"campaign_no"`
	Version    int64   `db:"version"`
	Fields     string  `db:"fields"` // JSON of CampaignFields; empty: as the copy with the campaign's id has them
	Closed     bool    `db:"closed"` // another person has looked at it: it is not written on
	Kept       bool    `db:"kept"`   // it was tested, approved, restored or named: it is not dropped, either
	Name       string  `db:"name"`
	SavedBy    string  `db:"saved_by"`
	ClientID   string  `db:"client_id"` // the OAuth client that the user acted through; empty: none
	BegunAt    Instant `db:"begun_at"`
	SavedAt    Instant `db:"saved_at"`
}

// TakesSave reports whether a save of a person, through a client or none, goes into the version, instead of beginning
// another one.
func (v *CampaignVersion) TakesSave(by, client string, now Instant) bool {
	return !v.Closed && !v.Kept && v.SavedBy == by && v.ClientID == client && now < v.BegunAt.Add(VersionSpan)
}

// NewCampaign makes the draft of a tenant.
func NewCampaign(tenantID string, f *CampaignFields, by string, now Instant) Campaign {
	return Campaign{
		ID: NewID(), TenantID: tenantID, State: CampaignDraft, Name: f.Name, Subject: f.Subject, Revision: 1,
		Version: 1, Writers: Strings{by},
		CreatedBy: by, CreatedAt: now, UpdatedBy: by, UpdatedAt: now,
	}
}

// WrittenBy reports whether one of some actors counts as a writer of the campaign.
func (c *Campaign) WrittenBy(by ...string) bool {
	return slices.ContainsFunc(by, func(who string) bool {
		return slices.Contains(c.Writers, who) || slices.Contains(c.Designers, who)
	})
}

// AlsoWrittenBy counts others as writers: who copies or restores a text has not written it alone.
func (c *Campaign) AlsoWrittenBy(others ...string) { c.Writers = c.Writers.With(others...) }

// CampaignOfJob makes the campaign of a job that was asked for without one: it is approved by whom the job is made by.
func CampaignOfJob(j *SendJob, c *CampaignCopy) Campaign {
	return Campaign{
		ID: j.CampaignID, TenantID: j.TenantID, State: CampaignScheduled, Name: c.Name, Subject: c.Subject, Revision: 1,
		Version: 1, ApprovedVersion: 1, LastApproved: 1, ApprovedBy: j.CreatedBy, ApprovedAt: j.CreatedAt,
		CopyID: c.ID, JobNo: j.No, Writers: Strings{j.CreatedBy}, InArchive: ArchiveHidden, ApprovedBySend: true,
		CreatedBy: j.CreatedBy, CreatedAt: j.CreatedAt, UpdatedBy: j.CreatedBy, UpdatedAt: j.CreatedAt,
	}
}

// Editable returns a conflict for a campaign that can't be written on.
func (c *Campaign) Editable() error {
	switch c.State {
	case CampaignDraft, CampaignInReview, CampaignApproved:
		return nil
	case CampaignScheduled:
		return Conflictf("conflict", "The campaign is scheduled. Undo the schedule or cancel its send job first.")
	}
	return Conflictf("conflict", "The campaign is %s and can't be edited. Duplicate it to continue writing.", c.State)
}

// Edited makes the campaign a draft of what a person has just saved: what was approved is no longer. A draft that was
// sent back stays one.
func (c *Campaign) Edited(f *CampaignFields, by string, now Instant) error {
	if err := c.Editable(); err != nil {
		return err
	}
	if c.State != CampaignDraft {
		c.back()
	}
	if c.LastApproved == c.Version {
		c.Writers = Strings{}
	}
	c.AlsoWrittenBy(by)
	c.Name, c.Subject, c.UpdatedBy, c.UpdatedAt = f.Name, f.Subject, by, now
	return nil
}

// back makes the campaign a draft.
func (c *Campaign) back() {
	c.State, c.ApprovedVersion, c.ApprovedBy, c.ApprovedAt, c.CopyID = CampaignDraft, 0, "", 0, ""
	c.ApprovedBySend = false
	c.endReview()
}

// endReview forgets what was asked for with a review, or why the draft was sent back.
func (c *Campaign) endReview() {
	c.ReviewBy, c.ReviewWantedAt, c.ReviewNote, c.ReviewAsked, c.ReviewMissed = "", 0, "", 0, false
}

// AtVersion returns a conflict where another version is written on by now.
func (c *Campaign) AtVersion(version int64) error {
	if version != c.Version {
		return Conflictf("conflict", "The campaign has changed and is now at version %d. Review it again.", c.Version)
	}
	return nil
}

// AskReview asks for another person's approval, until a wanted time or 0. Asked once more without a note, the one
// before stays. ErrConflict: it is no draft.
func (c *Campaign) AskReview(wantedAt Instant, note, by string) error {
	if c.State != CampaignDraft && c.State != CampaignInReview {
		return Conflictf("conflict", "The campaign is %s. Only drafts can be reviewed.", c.State)
	}
	if note == "" && c.State == CampaignInReview {
		note = c.ReviewNote
	}
	c.State, c.ReviewBy, c.ReviewWantedAt, c.ReviewNote, c.ReviewMissed = CampaignInReview, by, wantedAt, note, false
	return nil
}

// Reject makes a campaign in review, or an approved one, a draft again. It keeps who has sent it back and why, unless
// that is the person who had asked for the review. ErrConflict: it is neither in review nor approved.
func (c *Campaign) Reject(note, by string, now Instant) error {
	if c.State != CampaignInReview && c.State != CampaignApproved {
		return Conflictf("conflict", "The campaign is %s. There is no approval to reject or withdraw.", c.State)
	}
	asked := c.ReviewBy
	c.back()
	if asked != "" && asked != by {
		c.ReviewBy, c.ReviewWantedAt, c.ReviewNote = by, now, note
	}
	return nil
}

// Approve keeps the copy of the version that a person approves. ErrConflict: another version is written on by now, or
// it was approved or sent already.
func (c *Campaign) Approve(version int64, copyID, by string, now Instant) error {
	if c.State != CampaignDraft && c.State != CampaignInReview {
		return Conflictf("conflict", "The campaign is already %s.", c.State)
	}
	if err := c.AtVersion(version); err != nil {
		return err
	}
	if c.State == CampaignDraft {
		c.endReview()
	}
	c.State, c.ApprovedVersion, c.ApprovedBy, c.ApprovedAt, c.CopyID = CampaignApproved, version, by, now, copyID
	c.LastApproved, c.ApprovedBySend = version, false
	return nil
}

// Written reports whether the campaign is made of its records as they are now: what was approved is frozen.
func (c *Campaign) Written() bool { return c.State == CampaignDraft || c.State == CampaignInReview }

// WantedAt is when what is in review is to be sent, if it is approved by its review; 0: there is no time.
func (c *Campaign) WantedAt() Instant {
	if c.State != CampaignInReview {
		return 0
	}
	return c.ReviewWantedAt
}

// Frozen reports whether a version was approved: it is sent as it was then.
func (c *Campaign) Frozen(version int64) bool { return c.CopyID != "" && version == c.ApprovedVersion }

// MaySend returns a conflict for a campaign that can't be sent, or not in this version.
func (c *Campaign) MaySend(version int64) error {
	switch c.State {
	case CampaignDraft, CampaignInReview, CampaignApproved:
		return c.AtVersion(version)
	case CampaignScheduled, CampaignSending:
		return Conflictf("conflict", "The campaign is already %s.", c.State)
	}
	return Conflictf("conflict", "The campaign is %s. Duplicate it to send it again.", c.State)
}

// Scheduled notes the job that sends what was approved, which ends the review: where the sending is taken back, no one
// has sent the draft back.
func (c *Campaign) Scheduled(jobNo int64) {
	c.State, c.JobNo = CampaignScheduled, jobNo
	c.endReview()
}

// ShowInArchive shows the campaign in the archives of its lists, or hides it, and reports whether that is a change.
func (c *Campaign) ShowInArchive(shown bool) bool {
	was := c.InArchive
	if c.InArchive = ArchiveHidden; shown {
		c.InArchive = ArchiveShown
	}
	return c.InArchive != was
}

// Archive puts a campaign away. ErrConflict: it is neither a draft nor sent.
func (c *Campaign) Archive() error {
	if c.State != CampaignDraft && c.State != CampaignSent {
		return Conflictf("conflict", "The campaign is %s. Only drafts and sent campaigns can be archived.", c.State)
	}
	if c.State == CampaignDraft {
		c.endReview()
	}
	c.State = CampaignArchived
	return nil
}

// Deletable returns a conflict for a campaign of which something was or will be sent.
func (c *Campaign) Deletable() error {
	if c.State != CampaignDraft || c.JobNo != 0 {
		return Conflictf("conflict", "Only drafts without a send job can be deleted. Archive the campaign instead.")
	}
	return nil
}
