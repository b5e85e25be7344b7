package core

import "time"

// Whom a list may ask once more.
const (
	AskUnconfirmed = "unconfirmed" // who has never confirmed
	AskSilent      = "silent"      // who gets mails, and was not heard of for long
)

// Figures of the rules about asking once more.
const (
	AskAfter     = 3 * 24 * time.Hour  // a request is not repeated before
	AnswerWithin = 14 * 24 * time.Hour // who has not answered by then may be unsubscribed
	MinSilence   = 3                   // months
	MaxSilence   = 12
	MinMailings  = 3 // measured ones within the silence; of fewer nothing follows
	monthOfDays  = 30 * 24 * time.Hour
)

// SilentSince returns the beginning of a silence of some months that ends now.
func SilentSince(months int, now Instant) Instant {
	if months == MaxSilence {
		return now.Add(-365 * 24 * time.Hour)
	}
	return now.Add(-time.Duration(months) * monthOfDays)
}

// SilenceKnown reports whether the measured mailings of a list, of which the oldest began at an instant, tell who was
// silent since another one: they reach back most of the way.
func SilenceKnown(mailings int, oldest, since, now Instant) bool {
	return mailings >= MinMailings && oldest <= since.Add(now.Sub(since)/4)
}

// ReasonNoAnswer is the reason by which those leave who were asked once more and have not answered.
const ReasonNoAnswer = "no_answer"

// Hygiene says how many on a list are not reached, or perhaps not read.
type Hygiene struct {
	Bounced    int64 `json:"bounced"`
	Complaint  int64 `json:"complaint"`
	Suppressed int64 `json:"suppressed"`
	Pending    int64 `json:"pending"` // have not confirmed
	// of the pending: may be asked once more
	AskPending int64 `json:"ask_pending"`
	// of the pending: no link to confirm is valid any more, so they may be removed
	RemovePending int64 `json:"remove_pending"`

	Silence Silence `json:"silence"`
	Asked   Asked   `json:"asked"`
}

// Silence says of how many subscribers of a list nothing was heard for some months.
type Silence struct {
	Months   int     `json:"months"`
	Since    Instant `json:"since"`
	Known    bool    `json:"known"`    // the mails of this time were measured; else the numbers are 0
	Mailings int     `json:"mailings"` // measured ones within this time
	Mailable int64   `json:"mailable"` // subscribers who get mails
	Looked   int64   `json:"looked"`   // at so many of them; they are as good as chosen by chance
	Silent   int64   `json:"silent"`   // of these
	Ask      int64   `json:"ask"`      // of the silent: may be asked once more
}

// Asked says what became of the subscribers who were asked once more.
type Asked struct {
	Waiting  int64 `db:"waiting" json:"waiting"`     // for their answer
	Answered int64 `db:"answered" json:"answered"`   // or were heard of otherwise
	NoAnswer int64 `db:"no_answer" json:"no_answer"` // in 14 days: may be unsubscribed
}
