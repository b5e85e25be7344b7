package core

// The states of a recipient as the column holds them.
const (
	RecipientQueued   = 0
	RecipientDeferred = 1
	RecipientSent     = 2
	RecipientFailed   = 3
	RecipientSkipped  = 4
)

// RecipientStates holds the states of a recipient in words, by number.
var RecipientStates = [...]string{"queued", "deferred", "sent", "failed", "skipped"}

// Recipient is what became of one recipient of a job.
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
	Name       string  `db:"name"` // as it is known today; empty: it is not
	ListID     string  `db:"-"`    // by which the recipient is reached

	SubscriberID string `db:"subscriber_id"` // on that list; empty: the subscriber was erased since
}

// Claim is a recipient that is to be mailed now, or to be left out for the reason in Skip.
type Claim struct {
	Seq          int64
	Tries        int
	Ambiguous    int
	DueAt        Instant // of a deferred one
	EmailKey     string
	SubscriberID string
	Email        string
	Preferences  string
	Skip         string
	Place        int // of its list among those of the job, from 0
}

// Outcome is what became of one try at one recipient.
type Outcome struct {
	JobNo      int64
	TenantID   string
	Seq        int64
	EmailKey   string
	State      int     // RecipientQueued (with Ambiguous), RecipientDeferred, …
	Tried      bool    // a try was made: it counts
	DueAt      Instant // of RecipientDeferred
	GivesUpAt  Instant // of RecipientDeferred: when it is tried for the last time
	Reason     string  // why not sent, or the relay's words; kept with the recipient
	Ambiguous  bool    // the reply to this message was lost: it is sent once more
	HardBounce bool    // the address itself is at fault
	Doubtful   bool    // the address probably is at fault (DoubtfulBounce)
	SoftBounce bool    // its mailbox was full to the last
	// of RecipientSent: what the relay's provider calls the mail; empty: not told, or not needed
	QueueID string
}

// HistoryEntry is what became of the mail of one job to one address.
type HistoryEntry struct {
	JobNo      int64   `db:"no"`
	JobID      string  `db:"id"`
	TenantID   string  `db:"tenant_id"`
	ListID     string  `db:"list_id"`
	Name       string  `db:"name"`
	Subject    string  `db:"subject"`
	Seq        int64   `db:"seq"` // of the address among the job's recipients
	State      int     `db:"state"`
	Tries      int     `db:"tries"`
	FinishedAt Instant `db:"finished_at"`
	Reason     string  `db:"reason"`
	Marks      Marks   `db:"marks"`
	Transport  string  `db:"transport"` // of the job

	Engagements []PersonOpening `db:"-"`
}
