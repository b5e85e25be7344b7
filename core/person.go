package core

// Person selects the data that an export or an erasure covers.
type Person struct {
	Email    Email
	TenantID string // limits the data to this tenant's lists and emails; empty: every tenant's
	Account  bool   // include the account and everything it owns; accounts belong to no tenant
}

// PersonData is everything that the database holds about a person, except secret hashes and model files.
type PersonData struct {
	Email         string               `json:"email"`
	Account       *AccountData         `json:"account,omitempty"`
	Subscriptions []PersonSubscription `json:"subscriptions"`
	Requests      []PersonRequest      `json:"requests"`    // subscribe requests whose tokens are valid
	Subscribers   []PersonSubscriber   `json:"subscribers"` // records of the send side
	Mailings      []PersonMailing      `json:"mailings"`    // emails sent by jobs, oldest first
	Reports       []PersonReport       `json:"provider_events"`
	Tags          []PersonTag          `json:"tags"` // given by teams
	Answers       []PersonAnswer       `json:"poll_answers,omitempty"`
	Bulk          []PersonBulk         `json:"bulk_actions,omitempty"` // that can still be undone
	Blocks        []PersonBlock        `json:"blocks"`                 // reasons not to email the address
	Said          []PersonSaid         `json:"said,omitempty"`         // see PersonSaid; kept for a month
	Mails         []PersonMail         `json:"mails"`
	Events        []PersonEvent        `json:"events"` // events not delivered yet
	Invitations   []Invitation         `json:"invitations"`
	// entries about changes that the person made, and about changes to the account
	Audit []PersonAudit `json:"audit"`
}

// Empty reports whether d holds no data about the person.
func (d *PersonData) Empty() bool {
	return d.Account == nil &&
		len(d.Subscriptions)+len(d.Requests)+len(d.Subscribers)+len(d.Mailings)+len(d.Reports)+len(d.Blocks)+
			len(d.Said)+len(d.Bulk)+len(d.Mails)+len(d.Events)+len(d.Invitations)+len(d.Tags)+len(d.Answers) == 0
}

// AccountData is the data in a user's account.
type AccountData struct {
	User       User           `json:"user"`
	Browsers   []Browser      `json:"browsers"`
	SignIns    []ClientSignIn `json:"sign_ins"` // including ended ones until they are deleted
	Allowances []Allowance    `json:"allowances"`
	Known      []PersonPlace  `json:"known_from"` // remote addresses and devices used to sign in
	Change     []PersonChange `json:"email_changes"`
	Factor     SecondFactor   `json:"second_factor"`
	Passkeys   []Passkey      `json:"passkeys"`
	Devices    []Device       `json:"devices"` // including unpaired ones until they are deleted
	Agents     []Agent        `json:"agents"`
	Models     []Model        `json:"models"`
	Shares     []Share        `json:"shares"`            // given to others
	SharedWith []Share        `json:"shared_with_me"`    // received from others
	Clients    []Client       `json:"oauth_clients"`     // created by the person and not deleted
	Endpoints  []Endpoint     `json:"webhook_endpoints"` // created by the person
	Segments   []Segment      `json:"segments"`          // created or last changed by the person
}

// PersonSubscription is a subscription with its list and its consent records.
type PersonSubscription struct {
	Subscription
	TenantID   string    `db:"tenant_id" json:"tenant_id"`
	ListName   string    `db:"list_name" json:"list_name"`
	Proved     string    `db:"proved" json:"means"`
	StatusAt   Instant   `db:"status_at" json:"status_at"`
	Generation int64     `db:"gen" json:"generation"`
	Consents   []Consent `db:"-" json:"consents"`

	// fields that an import replaced, stored while the import can be undone
	Replaced []PersonReplaced `db:"-" json:"replaced,omitempty"`
}

// PersonBulk holds the data about a person that a bulk action stores for its undo.
type PersonBulk struct {
	ActionID string  `db:"action_id" json:"action_id"`
	ListID   string  `db:"list_id" json:"list_id"`
	Kind     string  `db:"kind" json:"action"`
	Tag      string  `db:"tag" json:"tag,omitempty"`
	At       Instant `db:"at" json:"at,omitzero"`

	Was BulkBefore `db:"was" json:"was"`
}

// PersonReplaced holds the subscription fields that an import replaced.
type PersonReplaced struct {
	ImportID string       `db:"import_id" json:"import_id"`
	Fields   FieldsBefore `db:"fields" json:"fields"`
}

// PersonSaid records that an imported file repeats what an earlier file said about the person's address. The kind
// resumed means that undoing an import reactivated the subscription.
type PersonSaid struct {
	TenantID string  `db:"tenant_id" json:"tenant_id"`
	ListID   string  `db:"list_id" json:"list_id,omitempty"` // empty: the suppression list
	ImportID string  `db:"import_id" json:"import_id,omitempty"`
	Kind     string  `db:"kind" json:"kind"`
	Reason   string  `db:"reason" json:"reason,omitempty"`
	SaidAt   Instant `db:"said_at" json:"said_at"`
}

// PersonRequest is a subscribe request.
type PersonRequest struct {
	ListID      string      `db:"list_id" json:"list_id"`
	Email       string      `db:"email" json:"email"`
	Preferences Preferences `db:"preferences" json:"preferences"`
	Origin
	// for imported addresses: the signup as the other system recorded it
	Evidence  string  `db:"evidence" json:"evidence,omitempty"`
	CreatedAt Instant `db:"created_at" json:"created_at"`
}

// PersonSubscriber is a subscriber on the send side.
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

// PersonTag is a tag that a tenant's team gave to the person.
type PersonTag struct {
	TenantID string  `db:"tenant_id" json:"tenant_id"`
	Name     string  `db:"name" json:"name"`
	At       Instant `db:"at" json:"at"`
}

// PersonAnswer is the person's answer to a poll.
type PersonAnswer struct {
	CampaignID string  `db:"campaign_id" json:"campaign_id"`
	Question   string  `db:"question" json:"question"`
	Answer     string  `db:"answer" json:"answer"`
	At         Instant `db:"at" json:"at"`
}

// PersonMailing is the outcome of one job's email to a person.
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
	Attempts   []PersonAttempt `db:"-" json:"attempts"` // all but a successful first try
	Opened     []PersonOpening `db:"-" json:"opened"`
}

// PersonAttempt is one attempt to deliver an email.
type PersonAttempt struct {
	At      Instant `db:"at" json:"at"`
	Outcome string  `db:"outcome" json:"outcome"`
	Reply   string  `db:"reply" json:"reply"`
}

// PersonReport is an event from a mail provider.
type PersonReport struct {
	TenantID   string  `db:"tenant_id" json:"tenant_id"`
	Provider   string  `db:"provider" json:"provider"`
	Type       string  `db:"event_type" json:"event_type"`
	BounceType string  `db:"bounce_type" json:"bounce_type,omitempty"`
	OccurredAt Instant `db:"occurred_at" json:"occurred_at"`
}

// PersonBlock is a reason not to email the address. Kind is disabled, complaint, suppressed, bounced or left. left
// means that an unsubscribe is on its way to the member service.
type PersonBlock struct {
	Kind      string  `db:"kind" json:"kind"`
	TenantID  string  `db:"tenant_id" json:"tenant_id,omitempty"` // empty: all tenants
	Reason    string  `db:"reason" json:"reason"`
	By        string  `db:"disabled_by" json:"disabled_by,omitempty"`
	Pending   bool    `db:"pending" json:"pending,omitempty"` // on its way to the member service
	CreatedAt Instant `db:"created_at" json:"created_at"`
}

// PersonMail is a transactional email, sent or not.
type PersonMail struct {
	Kind       string  `db:"kind" json:"kind"`
	TenantID   string  `db:"tenant_id" json:"tenant_id,omitempty"`
	ListID     string  `db:"list_id" json:"list_id,omitempty"`
	Email      string  `db:"email" json:"email"`
	CreatedAt  Instant `db:"created_at" json:"created_at"`
	FinishedAt Instant `db:"finished_at" json:"finished_at"`
}

// PersonEvent is an event that is waiting for delivery or is a dead letter.
type PersonEvent struct {
	ListID     string  `db:"list_id" json:"list_id"`
	Type       string  `db:"event_type" json:"event_type"`
	OccurredAt Instant `db:"occurred_at" json:"occurred_at"`
}

// PersonAudit is an entry in the audit log.
type PersonAudit struct {
	At       Instant `db:"at" json:"at"`
	Actor    string  `db:"actor" json:"actor"`
	Action   string  `db:"action" json:"action"`
	TenantID string  `db:"tenant_id" json:"tenant_id,omitempty"`
	Object   string  `db:"object" json:"object"`
	Origin   string  `db:"origin" json:"origin,omitempty"` // of changes that the person made
}

// PersonPlace is a place that a user signed in from.
type PersonPlace struct {
	Key    string  `db:"key" json:"key"`
	UsedAt Instant `db:"used_at" json:"used_at"`
}

// PersonChange is an unconfirmed change of address.
type PersonChange struct {
	Email     string  `db:"email" json:"email"`
	CreatedAt Instant `db:"created_at" json:"created_at"`
	ExpiresAt Instant `db:"expires_at" json:"expires_at"`
}
