package core

// Person says whose data are meant, and which of them.
type Person struct {
	Email    Email
	TenantID string // what this tenant's lists and mails hold; empty: every tenant's
	Account  bool   // the account too, with all that it owns: users are no tenant's
}

// PersonData is everything that the database holds about a person, but for hashes of secrets and the bytes of models.
type PersonData struct {
	Email         string               `json:"email"`
	Account       *AccountData         `json:"account,omitempty"`
	Subscriptions []PersonSubscription `json:"subscriptions"`
	Requests      []PersonRequest      `json:"requests"`    // to subscribe, confirmed or not, while their tokens live
	Subscribers   []PersonSubscriber   `json:"subscribers"` // as the send side knows them
	Mailings      []PersonMailing      `json:"mailings"`    // what jobs sent, oldest first
	Reports       []PersonReport       `json:"provider_events"`
	Blocks        []PersonBlock        `json:"blocks"`         // what stands against mailing the address
	Said          []PersonSaid         `json:"said,omitempty"` // by files, kept for a month
	Mails         []PersonMail         `json:"mails"`
	Events        []PersonEvent        `json:"events"` // not delivered yet
	Invitations   []Invitation         `json:"invitations"`
	// what the person has changed here, and what was changed about the account
	Audit []PersonAudit `json:"audit"`
}

// Empty reports whether nothing is known of the person.
func (d *PersonData) Empty() bool {
	return d.Account == nil &&
		len(d.Subscriptions)+len(d.Requests)+len(d.Subscribers)+len(d.Mailings)+len(d.Reports)+len(d.Blocks)+
			len(d.Said)+len(d.Mails)+len(d.Events)+len(d.Invitations) == 0
}

// AccountData is what belongs to a user's account.
type AccountData struct {
	User       User           `json:"user"`
	Browsers   []Browser      `json:"browsers"`
	SignIns    []ClientSignIn `json:"sign_ins"` // ended ones too, while they are kept
	Allowances []Allowance    `json:"allowances"`
	Known      []PersonPlace  `json:"known_from"` // remote addresses and devices that have signed in
	Change     []PersonChange `json:"email_changes"`
	Factor     SecondFactor   `json:"second_factor"`
	Passkeys   []Passkey      `json:"passkeys"`
	Devices    []Device       `json:"devices"` // unpaired ones too, while they are kept
	Agents     []Agent        `json:"agents"`
	Models     []Model        `json:"models"`
	Shares     []Share        `json:"shares"`            // given to others
	SharedWith []Share        `json:"shared_with_me"`    // by others
	Clients    []Client       `json:"oauth_clients"`     // that the person has created, but for deleted ones
	Endpoints  []Endpoint     `json:"webhook_endpoints"` // that the person has created
}

// PersonSubscription is a subscription with its list and its ledger.
type PersonSubscription struct {
	Subscription
	TenantID   string    `db:"tenant_id" json:"tenant_id"`
	ListName   string    `db:"list_name" json:"list_name"`
	Proved     string    `db:"proved" json:"means"`
	StatusAt   Instant   `db:"status_at" json:"status_at"`
	Generation int64     `db:"gen" json:"generation"`
	Consents   []Consent `db:"-" json:"consents"`

	// fields that an import has replaced, kept while it can be taken back
	Replaced []PersonReplaced `db:"-" json:"replaced,omitempty"`
}

// PersonReplaced is what an import has replaced of the fields of a subscription.
type PersonReplaced struct {
	ImportID string       `db:"import_id" json:"import_id"`
	Fields   FieldsBefore `db:"fields" json:"fields"`
}

// PersonSaid is what the file of an import says of an address that another file has said already, or that it was taken
// back (resumed).
type PersonSaid struct {
	TenantID string  `db:"tenant_id" json:"tenant_id"`
	ListID   string  `db:"list_id" json:"list_id,omitempty"` // empty: of the suppression list
	ImportID string  `db:"import_id" json:"import_id,omitempty"`
	Kind     string  `db:"kind" json:"kind"`
	Reason   string  `db:"reason" json:"reason,omitempty"`
	SaidAt   Instant `db:"said_at" json:"said_at"`
}

// PersonRequest is a request to subscribe.
type PersonRequest struct {
	ListID      string      `db:"list_id" json:"list_id"`
	Email       string      `db:"email" json:"email"`
	Preferences Preferences `db:"preferences" json:"preferences"`
	Origin
	// of an import: the sign-up as the other system has it
	Evidence  string  `db:"evidence" json:"evidence,omitempty"`
	CreatedAt Instant `db:"created_at" json:"created_at"`
}

// PersonSubscriber is a subscriber of the send side.
type PersonSubscriber struct {
	ListID      string      `db:"list_id" json:"list_id"`
	Email       string      `db:"email" json:"email"`
	Word        string      `db:"word" json:"word"`
	WordAt      Instant     `db:"word_at" json:"word_at"`
	Block       string      `db:"block" json:"block"`
	BlockAt     Instant     `db:"block_at" json:"block_at"`
	Preferences Preferences `db:"preferences" json:"preferences"`
	SoftBounces int         `db:"soft_bounces" json:"soft_bounces"`
	CreatedAt   Instant     `db:"created_at" json:"created_at"`
}

// PersonMailing is what became of one job's mail to the person.
type PersonMailing struct {
	JobNo      int64           `db:"job_no" json:"-"`
	Seq        int64           `db:"seq" json:"-"`
	JobID      string          `db:"job_id" json:"job_id"`
	TenantID   string          `db:"tenant_id" json:"tenant_id"`
	ListID     string          `db:"list_id" json:"list_id"`
	Subject    string          `db:"subject" json:"subject"`
	State      int             `db:"state" json:"-"`
	StateWord  string          `db:"-" json:"state"`
	Tries      int             `db:"tries" json:"tries"`
	FinishedAt Instant         `db:"finished_at" json:"finished_at"`
	Reason     string          `db:"reason" json:"reason"`
	Marks      Marks           `db:"marks" json:"-"`
	MarkWords  []string        `db:"-" json:"marks"`
	Attempts   []PersonAttempt `db:"-" json:"attempts"` // those that did not end in "sent at once"
	Opened     []PersonOpening `db:"-" json:"opened"`
}

// PersonAttempt is one try of a mail.
type PersonAttempt struct {
	At      Instant `db:"at" json:"at"`
	Outcome string  `db:"outcome" json:"outcome"`
	Reply   string  `db:"reply" json:"reply"`
}

// PersonReport is what a mail provider said.
type PersonReport struct {
	TenantID   string  `db:"tenant_id" json:"tenant_id"`
	Provider   string  `db:"provider" json:"provider"`
	Type       string  `db:"event_type" json:"event_type"`
	BounceType string  `db:"bounce_type" json:"bounce_type,omitempty"`
	OccurredAt Instant `db:"occurred_at" json:"occurred_at"`
}

// PersonBlock is something that stands against mailing: kind is disabled, complaint, suppressed, bounced, or (on its
// way to the member service) left.
type PersonBlock struct {
	Kind      string  `db:"kind" json:"kind"`
	TenantID  string  `db:"tenant_id" json:"tenant_id,omitempty"` // empty: everywhere
	Reason    string  `db:"reason" json:"reason"`
	By        string  `db:"disabled_by" json:"disabled_by,omitempty"`
	Pending   bool    `db:"pending" json:"pending,omitempty"` // on its way to the member service
	CreatedAt Instant `db:"created_at" json:"created_at"`
}

// PersonMail is a transactional mail, sent or not.
type PersonMail struct {
	Kind       string  `db:"kind" json:"kind"`
	TenantID   string  `db:"tenant_id" json:"tenant_id,omitempty"`
	ListID     string  `db:"list_id" json:"list_id,omitempty"`
	Email      string  `db:"email" json:"email"`
	CreatedAt  Instant `db:"created_at" json:"created_at"`
	FinishedAt Instant `db:"finished_at" json:"finished_at"`
}

// PersonEvent is an event that waits to be delivered, or is a dead letter.
type PersonEvent struct {
	ListID     string  `db:"list_id" json:"list_id"`
	Type       string  `db:"event_type" json:"event_type"`
	OccurredAt Instant `db:"occurred_at" json:"occurred_at"`
}

// PersonAudit is a line of the audit log.
type PersonAudit struct {
	At       Instant `db:"at" json:"at"`
	Actor    string  `db:"actor" json:"actor"`
	Action   string  `db:"action" json:"action"`
	TenantID string  `db:"tenant_id" json:"tenant_id,omitempty"`
	Object   string  `db:"object" json:"object"`
	Origin   string  `db:"origin" json:"origin,omitempty"` // of what the person did
}

// PersonPlace is where a user has signed in from.
type PersonPlace struct {
	Key    string  `db:"key" json:"key"`
	UsedAt Instant `db:"used_at" json:"used_at"`
}

// PersonChange is a change of address that waits for its link to be followed.
type PersonChange struct {
	Email     string  `db:"email" json:"email"`
	CreatedAt Instant `db:"created_at" json:"created_at"`
	ExpiresAt Instant `db:"expires_at" json:"expires_at"`
}
