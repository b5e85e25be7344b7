package core

// Why holds the data that explains why an address got no email.
type Why struct {
	Email         Email
	Subscriptions []WhySubscription
	Blocks        []Suppressed   // reasons not to email the address
	Mails         []WhyMail      // transactional emails, newest first
	Campaigns     []HistoryEntry // campaign emails, newest first
}

// WhySubscription is a subscription of the address.
type WhySubscription struct {
	TenantID  string  `json:"tenant_id" db:"tenant_id"`
	ListID    string  `json:"list_id" db:"list_id"`
	ListName  string  `json:"list_name" db:"list_name"`
	Status    string  `json:"status" db:"status" enum:"pending|active|unsubscribed" about:"Status of the subscription"`
	Block     string  `json:"block,omitempty" db:"block" enum:"bounced|complaint|suppressed"` // why it gets no emails
	ChangedAt Instant `json:"changed_at" db:"changed_at" about:"Time of the last change of the status"`
}

// WhyMail is a transactional email to the address.
type WhyMail struct {
	ID         int64   `json:"id" db:"id" about:"Number of the email"`
	Kind       string  `json:"kind" db:"kind" about:"Kind of email, such as confirm or reset"`
	TenantID   string  `json:"tenant_id,omitempty" db:"tenant_id"`
	ListID     string  `json:"list_id,omitempty" db:"list_id"`
	State      string  `json:"state" db:"state" enum:"waiting|sent|failed" about:"Whether the email waits, was sent, or failed permanently"`
	Tries      int     `json:"tries" db:"tries"`
	CreatedAt  Instant `json:"created_at" db:"created_at"`
	DueAt      Instant `json:"due_at,omitzero" db:"due_at"` // when the next try is due; zero: sent or failed
	FinishedAt Instant `json:"finished_at,omitzero" db:"finished_at"`
	LastError  string  `json:"last_error,omitempty" db:"reason"` // reply of the receiving server
}
