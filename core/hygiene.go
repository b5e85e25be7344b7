package core

import "time"

// The groups of a list's subscribers who can be asked whether they want to stay.
const (
	AskUnconfirmed = "unconfirmed" // never confirmed
	AskSilent      = "silent"      // get emails, but have been inactive for a long time
)

// Limits for asking subscribers whether they want to stay.
const (
	AskAfter     = 3 * 24 * time.Hour  // minimum time before a request is repeated
	AnswerWithin = 14 * 24 * time.Hour // after this time, subscribers without an answer may be unsubscribed
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

// SilenceKnown reports whether a list's tracked campaigns suffice to show who has been inactive since the given
// instant. There must be enough campaigns, and the oldest must be from the first quarter of that time or earlier.
func SilenceKnown(mailings int, oldest, since, now Instant) bool {
	return mailings >= MinMailings && oldest <= since.Add(now.Sub(since)/4)
}

// ReasonNoAnswer is the recorded reason for unsubscribing people who did not answer when asked whether they want to
// stay.
const ReasonNoAnswer = "no_answer"

// Hygiene holds the number of a list's subscribers who can't be reached, haven't confirmed, or may be inactive.
type Hygiene struct {
	Bounced       int64 `json:"bounced" about:"Subscribers not emailed because of a bounce"`
	Complaint     int64 `json:"complaint" about:"Subscribers not emailed because they marked an email as spam"`
	Suppressed    int64 `json:"suppressed" about:"Subscribers not emailed because they are on the suppression list"`
	Pending       int64 `json:"pending" about:"Subscribers who haven't confirmed yet"`
	AskPending    int64 `json:"ask_pending" about:"Pending subscribers who may be reminded; at most 20,000 are counted"`
	RemovePending int64 `json:"remove_pending" about:"Pending subscribers who may be removed, because all their links have expired; at most 20,000 are counted"`

	Silence Silence `json:"silence" about:"Subscribers without an open or click"`
	Asked   Asked   `json:"asked" about:"Subscribers who were asked whether they want to stay, by outcome"`
}

// Silence holds the number of a list's subscribers who were inactive for the given number of months.
type Silence struct {
	Months   int     `json:"months" about:"Length of the period in months"`
	Since    Instant `json:"since" about:"Start of the period"`
	Known    bool    `json:"known" about:"Whether enough tracked campaigns were sent in the period; otherwise looked, silent and ask are 0"`
	Mailings int     `json:"mailings" about:"Tracked campaigns in the period"`
	Mailable int64   `json:"mailable" about:"Subscribers who get emails"`
	Looked   int64   `json:"looked" about:"Number of them that were checked, practically at random"`
	Silent   int64   `json:"silent" about:"Checked subscribers who got at least three tracked emails without an open or click"`
	Ask      int64   `json:"ask" about:"Inactive subscribers who may be asked whether they want to stay"`
}

// Asked holds the number of subscribers who were asked whether they want to stay, by outcome.
type Asked struct {
	Waiting  int64 `db:"waiting" json:"waiting" about:"Subscribers who can still answer"`
	Answered int64 `db:"answered" json:"answered" about:"Subscribers who answered or became active"`
	NoAnswer int64 `db:"no_answer" json:"no_answer" about:"Subscribers who didn't answer within 14 days and may be unsubscribed"`
}
