package core

import "strconv"

// The states of a recipient, as stored in the database.
const (
	RecipientQueued   = 0
	RecipientDeferred = 1
	RecipientSent     = 2
	RecipientFailed   = 3
	RecipientSkipped  = 4
)

// RecipientStates holds the names of the recipient states, indexed by state.
var RecipientStates = [...]string{"queued", "deferred", "sent", "failed", "skipped"}

// Recipient is one recipient of a job and its outcome.
type Recipient struct {
	Seq        int64   `db:"seq"`
	Email      string  `db:"email"`
	State      int     `db:"state"`
	Tries      int     `db:"tries"`
	Ambiguous  int     `db:"ambiguous"`
	DueAt      Instant `db:"due_at"`
	FinishedAt Instant `db:"finished_at"`
	Reason     string  `db:"reason"`
	Marks      Marks   `db:"marks"`
	Name       string  `db:"name"` // current name; empty: unknown
	ListID     string  `db:"-"`    // list through which the recipient is reached

	SubscriberID string `db:"subscriber_id"` // on that list; empty: the subscriber was erased since
}

// Claim is a recipient that a worker is about to email or, if Skip is set, to skip for that reason.
type Claim struct {
	Seq          int64
	Tries        int
	Ambiguous    int
	DueAt        Instant // of a deferred recipient
	EmailKey     string
	SubscriberID string
	Email        string
	Preferences  string
	Skip         string
	Place        int // index of its list among the job's lists, from 0
}

// Outcome is the result of one attempt for one recipient.
type Outcome struct {
	JobNo      int64
	TenantID   string
	Seq        int64
	EmailKey   string
	State      int     // RecipientQueued (with Ambiguous), RecipientDeferred, …
	Tried      bool    // an attempt was made and counts
	DueAt      Instant // of RecipientDeferred
	GivesUpAt  Instant // of RecipientDeferred: time of the last try
	Reason     string  // reason or the relay's reply; stored with the recipient
	Ambiguous  bool    // the reply to this message was lost; it is sent again
	HardBounce bool    // the address itself is invalid
	Doubtful   bool    // the address is probably invalid (DoubtfulBounce)
	SoftBounce bool    // the mailbox was still full on the last try
	// of RecipientSent: the id of the email at the relay's provider; empty: unknown or not needed
	QueueID string
}

// HistoryEntry is the outcome of one job's email to a certain address.
type HistoryEntry struct {
	JobNo      int64   `db:"no"`
	JobID      string  `db:"id"`
	TenantID   string  `db:"tenant_id"`
	ListID     string  `db:"list_id"`
	Name       string  `db:"name"`
	Subject    string  `db:"subject"`
	Seq        int64   `db:"seq"` // number of the address among the job's recipients
	State      int     `db:"state"`
	Tries      int     `db:"tries"`
	FinishedAt Instant `db:"finished_at"`
	Reason     string  `db:"reason"`
	Marks      Marks   `db:"marks"`
	Transport  string  `db:"transport"`  // of the job
	DueAt      Instant `db:"due_at"`     // next attempt; 0: none, or the job is paused or has ended
	WindowEnd  Instant `db:"window_end"` // of the job

	Engagements []PersonOpening `db:"-"`
}

// Mailed is a HistoryEntry as returned by the API.
type Mailed struct {
	JobID      string   `json:"job_id"`
	TenantID   string   `json:"tenant_id"`
	ListID     string   `json:"list_id"`
	Name       string   `json:"name,omitempty" about:"Name of the campaign; absent: none"`
	Subject    string   `json:"subject"`
	Status     string   `json:"status" enum:"queued|deferred|sent|failed|skipped" about:"What became of the email"`
	Reason     string   `json:"reason,omitempty" about:"Why the email was skipped, deferred or failed; absent: it was not"`
	Tries      int      `json:"tries"`
	FinishedAt Instant  `json:"finished_at,omitzero"`
	Events     []string `json:"events" about:"What was reported since: delivered, bounced, complained, opened or clicked"`
	// folder: the emails of the job were saved to a folder on the server; partly: some of them
	Transport string `json:"transport,omitempty" enum:"folder|partly"`

	Engagements []PersonOpening `json:"engagements" about:"Opens and clicked links, if the campaign was tracked"`

	NextTryAt Instant `json:"next_try_at,omitzero"`
	GivesUpAt Instant `json:"gives_up_at,omitzero" about:"Time of the last attempt; absent: none is planned"`

	no int64
}

// Mailed returns the entry as returned by the API.
func (e *HistoryEntry) Mailed() Mailed {
	m := Mailed{
		JobID: e.JobID, TenantID: e.TenantID, ListID: e.ListID, Name: e.Name, Subject: e.Subject,
		Status: RecipientStates[e.State], Reason: e.Reason, Tries: e.Tries, FinishedAt: e.FinishedAt,
		Events: e.Marks.Names(), Transport: e.Transport, Engagements: append([]PersonOpening{}, e.Engagements...),
		no: e.JobNo,
	}
	if e.State == RecipientDeferred && e.DueAt != 0 {
		m.NextTryAt = e.DueAt
		m.GivesUpAt = (&SendJob{WindowEnd: e.WindowEnd}).LastTry(e.Tries, e.DueAt)
	}
	return m
}

// Key returns the key by which a history is sorted and paged.
func (m Mailed) Key() string { return strconv.FormatInt(m.no, 10) }
