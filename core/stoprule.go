package core

import (
	"fmt"
	"strings"
)

// The reasons why a running job currently sends no emails. They are shown and stored, so they must not change.
const (
	PauseTenant = "tenant suspended"
	PauseList   = "list inactive"
	HoldSender  = "sender refused by the relay"
)

// Prefixes of pause reasons. Figures follow, after a colon or a space. They are also stored, so they must not change.
const (
	PauseFirst      = "first recipients"
	PauseBounces    = "too many hard bounces"
	PauseComplaints = "too many complaints"
	HoldDaily       = "daily quota"
)

// PauseRestored is the prefix of the reason why jobs, even pending ones, are held after the database was copied or
// restored: they may have sent emails that the copy doesn't contain.
const PauseRestored = "restored"

// HoldQuota returns the reason for a job that is waiting until the next day because a quota is used up. whose is
// "tenant" or "relay".
func HoldQuota(whose string, until Instant) string {
	return HoldDaily + " of the " + whose + " used up until " + until.String()
}

// StopRule holds the limits above which a job is paused to protect the sender's reputation. Mailbox providers count
// complaints, and emails to addresses that don't exist. The zero value never pauses a job.
type StopRule struct {
	Complaints  float64 // share of the sent emails, from 0 to 1; 0: not checked
	HardBounces float64 // share of emails that the relay accepted or refused; 0: not checked
	Sample      int64   // number of emails that makes a share meaningful
}

// Judge returns the reason why a job must pause, or "" if it may continue. Before Sample emails have been sent, the
// hard bounce limit is the one for Sample emails, and complaints are not checked.
func (r StopRule) Judge(j *SendJob) string {
	if j.Unstoppable || j.Status != JobRunning {
		return ""
	}
	tried := j.Sent + j.Failed
	if r.HardBounces > 0 && float64(j.HardBounced) > r.HardBounces*float64(max(tried, r.Sample)) {
		return fmt.Sprintf(PauseBounces+": %d of %d", j.HardBounced, tried)
	}
	if r.Complaints > 0 && j.Complained > 0 && j.Sent >= r.Sample &&
		float64(j.Complained) >= r.Complaints*float64(j.Sent) {
		return fmt.Sprintf(PauseComplaints+": %d of %d", j.Complained, j.Sent)
	}
	return ""
}

// PausePerson is the reason for a job paused by a person.
const PausePerson = "by a person"

// Pause pauses a running job and reports whether the state changed.
func (j *SendJob) Pause(reason string, now Instant) bool {
	if j.Status != JobRunning || j.PausedAt != 0 {
		return false
	}
	j.PausedAt, j.PauseReason = now, reason
	return true
}

// PauseByPerson pauses a job until a person resumes it. If the job is already paused or has ended, it returns
// ErrConflict.
func (j *SendJob) PauseByPerson(now Instant) error {
	switch {
	case j.Status.Final():
		return Conflictf("conflict", "The send job has ended with the status %s. There is nothing to pause.", j.Status)
	case j.PausedAt != 0:
		return Conflictf("conflict", "The send job is already paused: %s. Resume or cancel it.", j.PauseReason)
	}
	j.PausedAt, j.PauseReason = now, PausePerson
	return nil
}

// PauseLink is the prefix of the reason for a job with a link that does not respond.
const PauseLink = "dead link"

// PausedForHarm reports whether the daemon paused the job because it may harm others or send emails twice. Other pauses
// concern only the tenant: those by a person, and those because of a lost sender domain, a dead link or a segment.
func (j *SendJob) PausedForHarm() bool {
	return j.PausedAt != 0 && j.PauseReason != PausePerson && j.PauseReason != PauseSender &&
		!strings.HasPrefix(j.PauseReason, PauseLink) && !strings.HasPrefix(j.PauseReason, PauseSegment)
}

// Resume resumes a paused job. If the stop rule paused the job, the rule no longer applies to it. If the job is not
// paused, is only waiting for something, or has ended, Resume returns ErrConflict.
func (j *SendJob) Resume() error {
	switch {
	case j.Status.Final():
		return Conflictf("conflict", "The send job has ended with the status %s. There is nothing to resume.",
			j.Status)
	case j.PausedAt == 0 && j.PauseReason != "":
		return Conflictf("conflict", "The send job is paused: %s. It resumes automatically.", j.PauseReason)
	case j.PausedAt == 0:
		return Conflictf("conflict", "The send job is not paused. There is nothing to resume.")
	}
	if j.PausedForHarm() && j.PauseReason != PauseRestored {
		j.Unstoppable = true
	}
	j.PausedAt, j.PauseReason = 0, ""
	return nil
}

// Retry returns a job that sends j's content to the recipients that j didn't reach. If j ended before all recipients
// were known, the new job also covers the list's remaining subscribers. If there is nothing to retry, or j has not
// ended, Retry returns ErrConflict.
func (j *SendJob) Retry(now Instant) (SendJob, error) {
	switch {
	case !j.Status.Final() || j.Sent+j.Failed+j.Skipped < j.Recipients:
		return SendJob{}, Conflictf("conflict", "The send job has not ended. Wait, or cancel it first.")
	case j.StartedAt == 0:
		return SendJob{}, Conflictf("conflict",
			"The send job ended before it started, so it had no recipients. Create a new one.")
	case !j.Expanded && j.RetryOf != "":
		return SendJob{}, Conflictf("conflict",
			"The send job ended before all its recipients were known. Create a new one.")
	case j.Expanded && j.Failed == 0 && (j.Status != JobCancelled || j.Skipped == 0):
		return SendJob{}, Conflictf("conflict", "The send job reached every recipient. There is nothing to retry.")
	}
	return SendJob{
		ID: NewID(), TenantID: j.TenantID, ListID: j.ListID, Lists: j.Lists, Narrowing: j.Narrowing, CopyID: j.CopyID, CampaignID: j.CampaignID,
		Status: JobPending, DueAt: now, CreatedAt: now, RetryOf: j.ID,
	}, nil
}
