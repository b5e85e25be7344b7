package core

import "time"

// The subscribers of a list who may be asked again.
const (
	AskUnconfirmed = "unconfirmed" // never confirmed
	AskSilent      = "silent"      // get emails, but have been inactive for long
)

// Limits of the rules about asking again.
const (
	AskAfter     = 3 * 24 * time.Hour  // minimum time before a request is repeated
	AnswerWithin = 14 * 24 * time.Hour // subscribers without an answer may then be unsubscribed
	MinSilence   = 3                   // months
	MaxSilence   = 12                  // months
	MinMailings  = 3                   // minimum number of tracked campaigns in that time; fewer say nothing
	monthOfDays  = 30 * 24 * time.Hour
)

// SilentSince returns the start of an inactive period that lasts the given number of months and ends now.
func SilentSince(months int, now Instant) Instant {
	if months == MaxSilence {
		return now.Add(-365 * 24 * time.Hour)
	}
	return now.Add(-time.Duration(months) * monthOfDays)
}

// SilenceKnown reports whether the tracked campaigns of a list suffice to show who has been inactive since the given
// instant. There must be enough campaigns, and the oldest must lie in the first quarter of that time, or before it.
func SilenceKnown(mailings int, oldest, since, now Instant) bool {
	return mailings >= MinMailings && oldest <= since.Add(now.Sub(since)/4)
}

// ReasonNoAnswer is the reason for unsubscribing people who were asked again and did not answer.
const ReasonNoAnswer = "no_answer"

// Hygiene counts the subscribers of a list who are not reached or may be inactive.
type Hygiene struct {
	Bounced    int64 `json:"bounced"`
	Complaint  int64 `json:"complaint"`
	Suppressed int64 `json:"suppressed"`
	Pending    int64 `json:"pending"` // not confirmed yet
	// pending subscribers who may be reminded
	AskPending int64 `json:"ask_pending"`
	// pending subscribers who may be removed, because all their confirmation links have expired
	RemovePending int64 `json:"remove_pending"`

	Silence Silence `json:"silence"`
	Asked   Asked   `json:"asked"`
}

// Silence counts the subscribers of a list who were inactive for some months.
type Silence struct {
	Months   int     `json:"months"`
	Since    Instant `json:"since"`
	Known    bool    `json:"known"`    // the emails of this time were tracked; otherwise the numbers are 0
	Mailings int     `json:"mailings"` // tracked campaigns in this time
	Mailable int64   `json:"mailable"` // subscribers who get emails
	Looked   int64   `json:"looked"`   // number of them that were checked, practically at random
	Silent   int64   `json:"silent"`   // checked subscribers who were inactive
	Ask      int64   `json:"ask"`      // inactive subscribers who may be asked again
}

// Asked counts the subscribers who were asked again, by outcome.
type Asked struct {
	Waiting  int64 `db:"waiting" json:"waiting"`     // waiting for an answer
	Answered int64 `db:"answered" json:"answered"`   // answered, or were active otherwise
	NoAnswer int64 `db:"no_answer" json:"no_answer"` // no answer in 14 days: may be unsubscribed
}
