package core

import (
	"fmt"
	"strings"
)

// Why a running job sends nothing just now, in words that do not change: they are shown.
const (
	PauseTenant = "tenant suspended"
	PauseList   = "list inactive"
	HoldSender  = "sender refused by the relay"
)

// PauseRestored begins the reason of jobs that are held, pending ones too, because the database file is a copy of
// another one or was restored: what they have sent since is not known.
const PauseRestored = "restored"

// HoldQuota says of a job that it waits for the next day's quota, of the tenant or of the relay.
func HoldQuota(whose string, until Instant) string {
	return "daily quota of the " + whose + " used up until " + until.String()
}

// StopRule pauses a job that does harm: mailbox providers judge a sender by complaints and by mail to addresses that do
// not exist. Its zero value never does.
type StopRule struct {
	Complaints  float64 // share of the sent mails, from 0 to 1; 0: not looked at
	HardBounces float64 // share of the mails that the relay took or refused; 0: not looked at
	Sample      int64   // mails from which on a share says something
}

// Judge says why a job must pause; empty: it may go on. So many hard bounces as would be too many of the first Sample
// mails are too many before, complaints are judged only when Sample mails were sent.
func (r StopRule) Judge(j *SendJob) string {
	if j.Unstoppable || j.Status != JobRunning {
		return ""
	}
	tried := j.Sent + j.Failed
	if r.HardBounces > 0 && float64(j.HardBounced) > r.HardBounces*float64(max(tried, r.Sample)) {
		return fmt.Sprintf("too many hard bounces: %d of %d", j.HardBounced, tried)
	}
	if r.Complaints > 0 && j.Complained > 0 && j.Sent >= r.Sample &&
		float64(j.Complained) >= r.Complaints*float64(j.Sent) {
		return fmt.Sprintf("too many complaints: %d of %d", j.Complained, j.Sent)
	}
	return ""
}

// PausePerson is the reason of a job that a person has paused.
const PausePerson = "by a person"

// Pause holds a running job up; it reports whether the state changed.
func (j *SendJob) Pause(reason string, now Instant) bool {
	if j.Status != JobRunning || j.PausedAt != 0 {
		return false
	}
	j.PausedAt, j.PauseReason = now, reason
	return true
}

// PauseByPerson holds up a job that has not ended, until a person resumes it. core.ErrConflict: it is paused, or has
// ended.
func (j *SendJob) PauseByPerson(now Instant) error {
	switch {
	case j.Status.Final():
		return Conflictf("conflict", "The send job has ended with the status %s.", j.Status)
	case j.PausedAt != 0:
		return Conflictf("conflict", "The send job is already paused: %s.", j.PauseReason)
	}
	j.PausedAt, j.PauseReason = now, PausePerson
	return nil
}

// PauseLink begins the reason of a job one of whose links does not answer.
const PauseLink = "dead link"

// PausedForHarm reports whether the daemon has paused the job for what it may do to others or send twice. What a person
// has paused, a sender that was not the tenant's, or a dead link concerns its tenant alone.
func (j *SendJob) PausedForHarm() bool {
	return j.PausedAt != 0 && j.PauseReason != PausePerson && j.PauseReason != PauseSender &&
		!strings.HasPrefix(j.PauseReason, PauseLink)
}

// Resume lets a paused job go on. One that the stop rule has paused goes on without it.
func (j *SendJob) Resume() error {
	switch {
	case j.Status.Final():
		return Conflictf("conflict", "The send job has ended with the status %s.", j.Status)
	case j.PausedAt == 0 && j.PauseReason != "":
		return Conflictf("conflict", "The send job resumes automatically when this is over: %s.", j.PauseReason)
	case j.PausedAt == 0:
		return Conflictf("conflict", "The send job is not paused.")
	}
	if j.PausedForHarm() && j.PauseReason != PauseRestored {
		j.Unstoppable = true
	}
	j.PausedAt, j.PauseReason = 0, ""
	return nil
}

// Retry makes the job that sends what j has not: the same content to those of its recipients whom no mail went to, and
// to those of the list whom it ended too early to find. ErrConflict: there can be none.
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
