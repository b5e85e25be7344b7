package core

import (
	"slices"
	"time"
)

// CampaignState is the state of a campaign.
type CampaignState string

// The states of a campaign: draft → in_review → approved → scheduled → sending → sent. A draft or a sent campaign can
// be archived. The states after approved follow its send job.
const (
	CampaignDraft     CampaignState = "draft"
	CampaignInReview  CampaignState = "in_review"
	CampaignApproved  CampaignState = "approved"
	CampaignScheduled CampaignState = "scheduled"
	CampaignSending   CampaignState = "sending"
	CampaignSent      CampaignState = "sent"
	CampaignArchived  CampaignState = "archived"
)

// String returns the state in words, for use in a sentence.
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

// Limits for campaigns.
const (
	// VersionSpan is the period within which all saves by the same person update the same version.
	VersionSpan = 30 * time.Minute
	// VersionsKept is how many of a campaign's versions are kept, in addition to those that were tested, approved,
	// restored or named.
	VersionsKept = 50
	// MaxUndo is the longest that sending can be delayed so that it can still be undone.
	MaxUndo = 10 * time.Minute
)

// ErrCampaignNotFound is returned if no such campaign exists.
var ErrCampaignNotFound = &Error{
	Kind: NotFound, Code: "campaign_not_found",
	Message: "Campaign not found. It may have been deleted, or you don't have access.",
}

// Campaign is an email that is written, reviewed and approved before it is sent. CampaignFields holds the content of
// a version.
type Campaign struct {
	No       int64         `db:"no"`
	ID       string        `db:"id"`
	TenantID string        `db:"tenant_id"`
	State    CampaignState `db:"state"`
	Name     string        `db:"name"`    // name in the current version
	Subject  string        `db:"subject"` // subject in the current version
	Revision int64         `db:"revision"`
	Version  int64         `db:"version"` // the current version

	ApprovedVersion int64   `db:"approved_version"` // 0: none
	ApprovedBy      string  `db:"approved_by"`
	ApprovedAt      Instant `db:"approved_at"`
	LastApproved    int64   `db:"last_approved"`    // the version approved last, even if edited since
	Writers         Strings `db:"writers"`          // actors who saved since that version, as named in the audit log
	AuditSeen       int64   `db:"audit_seen"`       // newest audit log entry at the last approval, or at the start
	ApprovedBySend  bool    `db:"approved_by_send"` // approved by sending; undoing the send undoes the approval
	// Designers has those who changed the layout or theme without another's approval since, and those who manage a
	// client among the writers; empty if approved.
	Designers []string `db:"-"`
	CopyID    string   `db:"copy_id"` // CampaignCopy of the approved version; empty: none
	InArchive string   `db:"archive"` // ArchiveShown, ArchiveHidden, or empty: its lists decide
	JobNo     int64    `db:"job_no"`  // the job that sends it or sent it last; 0: none
	JobID     string   `db:"job_id"`  // id of that job

	// In a draft, the next three fields hold who requested changes, when and why.
	ReviewBy       string  `db:"review_by"` // the person who requested the review; empty: none
	ReviewWantedAt Instant `db:"review_wanted_at"`
	ReviewNote     string  `db:"review_note"`
	ReviewAsked    int     `db:"review_asked"`  // number of people who were emailed
	ReviewMissed   bool    `db:"review_missed"` // the deadline has passed, and those people were notified

	CreatedBy string  `db:"created_by"`
	CreatedAt Instant `db:"created_at"`
	UpdatedBy string  `db:"updated_by"`
	UpdatedAt Instant `db:"updated_at"`
}

// CampaignView is a campaign without its content, as shown by the API and commands.
type CampaignView struct {
	No       int64         `json:"-"`
	ID       string        `json:"id"`
	TenantID string        `json:"tenant_id"`
	State    CampaignState `json:"state" enum:"draft|in_review|approved|scheduled|sending|sent|archived" about:"State of the campaign"`
	Name     string        `json:"name"`
	Subject  string        `json:"subject"`
	Version  int64         `json:"version" about:"Number of the current version"`

	ApprovedVersion int64           `json:"approved_version,omitempty"`
	ApprovedBy      string          `json:"approved_by,omitempty" about:"Who approved it, such as user:ID; absent: none"`
	ApprovedAt      Instant         `json:"approved_at,omitzero"`
	JobID           string          `json:"send_job_id,omitempty" about:"Send job that sends the campaign or sent it last; absent: none"`
	Review          *CampaignReview `json:"review,omitempty" about:"Open request for approval; absent: none"`
	SentBack        *SentBack       `json:"sent_back,omitempty" about:"Last request for changes; absent once approval is requested again"`
	Archive         *bool           `json:"archive,omitempty" about:"Whether archives show the campaign; absent: as its lists say"`

	CreatedBy string  `json:"created_by"`
	CreatedAt Instant `json:"created_at"`
	UpdatedBy string  `json:"updated_by"`
	UpdatedAt Instant `json:"updated_at"`
}

// CampaignReview is a request for approval.
type CampaignReview struct {
	By       string  `json:"by" about:"Who requested the approval, such as user:ID"`
	WantedAt Instant `json:"wanted_at,omitzero"`
	Note     string  `json:"note,omitempty"`
	Asked    int     `json:"asked" about:"Number of people who were emailed"`
	Missed   bool    `json:"missed,omitempty" about:"Whether wanted_at has passed"`
}

// SentBack is a reviewer's request for changes. The campaign keeps it until approval is requested again.
type SentBack struct {
	By   string  `json:"by" about:"Who requested changes, such as user:ID"`
	Name string  `json:"name,omitempty" about:"Name of that person; only in the response for a single campaign"`
	At   Instant `json:"at" about:"Time of the request"`
	Note string  `json:"note,omitempty"`
}

// View returns the campaign as the API shows it.
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

// CampaignCompiler compiles a campaign's fields into the HTML and text parts of its email. The theme is nil if the
// campaign uses a built-in one.
type CampaignCompiler func(*CampaignFields, *Theme, *List, *Tenant) (html, text string, err error)

// CampaignVersion is a version of a campaign, as last saved.
type CampaignVersion struct {
	No         int64   `db:"no"`
	CampaignNo int64   `db:"campaign_no"`
	Version    int64   `db:"version"`
	Fields     string  `db:"fields"` // JSON of CampaignFields; if empty, the copy with the campaign's id holds them
	Closed     bool    `db:"closed"` // another person has viewed it, so the next save starts a new version
	Kept       bool    `db:"kept"`   // it was tested, approved, restored or named, so it is never deleted
	Name       string  `db:"name"`
	SavedBy    string  `db:"saved_by"`
	ClientID   string  `db:"client_id"` // the OAuth client that the user acted through; empty: none
	BegunAt    Instant `db:"begun_at"`
	SavedAt    Instant `db:"saved_at"`
}

// TakesSave reports whether a save updates this version instead of creating a new one. by is the person who saves, and
// client the id of the OAuth client that the person acts through, or "".
func (v *CampaignVersion) TakesSave(by, client string, now Instant) bool {
	return !v.Closed && !v.Kept && v.SavedBy == by && v.ClientID == client && now < v.BegunAt.Add(VersionSpan)
}

// NewCampaign returns a new draft for a tenant.
func NewCampaign(tenantID string, f *CampaignFields, by string, now Instant) Campaign {
	return Campaign{
		ID: NewID(), TenantID: tenantID, State: CampaignDraft, Name: f.Name, Subject: f.Subject, Revision: 1,
		Version: 1, Writers: Strings{by},
		CreatedBy: by, CreatedAt: now, UpdatedBy: by, UpdatedAt: now,
	}
}

// WrittenBy reports whether any of the given actors counts as a writer of the campaign.
func (c *Campaign) WrittenBy(by ...string) bool {
	return slices.ContainsFunc(by, func(who string) bool {
		return slices.Contains(c.Writers, who) || slices.Contains(c.Designers, who)
	})
}

// AlsoWrittenBy adds writers to the campaign, for example the authors of content that was copied into it.
func (c *Campaign) AlsoWrittenBy(others ...string) { c.Writers = c.Writers.With(others...) }

// CampaignOfJob returns a new campaign for a job that was requested without one. The job's creator counts as the
// approver.
func CampaignOfJob(j *SendJob, c *CampaignCopy) Campaign {
	return Campaign{
		ID: j.CampaignID, TenantID: j.TenantID, State: CampaignScheduled, Name: c.Name, Subject: c.Subject, Revision: 1,
		Version: 1, ApprovedVersion: 1, LastApproved: 1, ApprovedBy: j.CreatedBy, ApprovedAt: j.CreatedAt,
		CopyID: c.ID, JobNo: j.No, Writers: Strings{j.CreatedBy}, InArchive: ArchiveHidden, ApprovedBySend: true,
		CreatedBy: j.CreatedBy, CreatedAt: j.CreatedAt, UpdatedBy: j.CreatedBy, UpdatedAt: j.CreatedAt,
	}
}

// Editable returns a Conflict error if the campaign can't be edited.
func (c *Campaign) Editable() error {
	switch c.State {
	case CampaignDraft, CampaignInReview, CampaignApproved:
		return nil
	case CampaignScheduled:
		return Conflictf("conflict", "The campaign is scheduled. Undo the schedule or cancel its send job first.")
	}
	return Conflictf("conflict", "The campaign is %s and can't be edited. Duplicate it to continue writing.", c.State)
}

// Edited updates the campaign after a person saved it: it becomes a draft again and loses any approval, but keeps a
// request for changes. If the campaign can't be edited, Edited returns a Conflict error.
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

// back makes the campaign a draft again.
func (c *Campaign) back() {
	c.State, c.ApprovedVersion, c.ApprovedBy, c.ApprovedAt, c.CopyID = CampaignDraft, 0, "", 0, ""
	c.ApprovedBySend = false
	c.endReview()
}

// endReview clears the review request, or the request for changes.
func (c *Campaign) endReview() {
	c.ReviewBy, c.ReviewWantedAt, c.ReviewNote, c.ReviewAsked, c.ReviewMissed = "", 0, "", 0, false
}

// AtVersion returns a Conflict error if version is not the campaign's current version.
func (c *Campaign) AtVersion(version int64) error {
	if version != c.Version {
		return Conflictf("conflict", "The campaign has changed and is now at version %d. Review it again.", c.Version)
	}
	return nil
}

// AskReview requests another person's approval by wantedAt; 0 means no deadline. If a review is already requested and
// note is empty, the earlier note is kept. If the campaign is neither a draft nor in review, it returns a Conflict
// error.
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

// Reject turns a campaign that is in review or approved back into a draft. It records who requested the changes and
// why, unless that person had requested the review. In any other state it returns a Conflict error.
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

// Approve records a person's approval of a version and its copy. If the campaign is at another version, or was already
// approved or sent, it returns a Conflict error.
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

// Written reports whether changes to the campaign's template, theme or lists still affect it. Approval freezes its
// content.
func (c *Campaign) Written() bool { return c.State == CampaignDraft || c.State == CampaignInReview }

// WantedAt returns the deadline for a campaign in review, or 0 if there is none.
func (c *Campaign) WantedAt() Instant {
	if c.State != CampaignInReview {
		return 0
	}
	return c.ReviewWantedAt
}

// Frozen reports whether version is the approved one, whose frozen copy is sent.
func (c *Campaign) Frozen(version int64) bool { return c.CopyID != "" && version == c.ApprovedVersion }

// MaySend returns a Conflict error if the campaign, or this version of it, can't be sent.
func (c *Campaign) MaySend(version int64) error {
	switch c.State {
	case CampaignDraft, CampaignInReview, CampaignApproved:
		return c.AtVersion(version)
	case CampaignScheduled, CampaignSending:
		return Conflictf("conflict", "The campaign is already %s.", c.State)
	}
	return Conflictf("conflict", "The campaign is %s. Duplicate it to send it again.", c.State)
}

// Scheduled records the job that sends the approved version, and ends the review. If the send is undone, the draft
// has no request for changes.
func (c *Campaign) Scheduled(jobNo int64) {
	c.State, c.JobNo = CampaignScheduled, jobNo
	c.endReview()
}

// ShowInArchive shows the campaign in its lists' archives, or hides it there. It reports whether that changed anything.
func (c *Campaign) ShowInArchive(shown bool) bool {
	was := c.InArchive
	if c.InArchive = ArchiveHidden; shown {
		c.InArchive = ArchiveShown
	}
	return c.InArchive != was
}

// CopiedInArchive returns InArchive for a copy of the campaign. Sending a campaign to segments hides it. A copy does
// not inherit that, because sending the copy to segments would hide it, too. A campaign that was never sent can only
// have been hidden by a person.
func (c *Campaign) CopiedInArchive(f *CampaignFields) string {
	if f.Segmented() && c.InArchive != ArchiveShown && c.JobNo != 0 {
		return ""
	}
	return c.InArchive
}

// Archive archives the campaign. If it is neither a draft nor sent, it returns a Conflict error.
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

// Deletable returns a Conflict error if the campaign is not a draft or has a send job.
func (c *Campaign) Deletable() error {
	if c.State != CampaignDraft || c.JobNo != 0 {
		return Conflictf("conflict", "Only drafts without a send job can be deleted. Archive the campaign instead.")
	}
	return nil
}
