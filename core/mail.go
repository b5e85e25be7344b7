package core

// The kinds of transactional emails. Each is a notice.Kind.
const (
	MailConfirm           = "confirm"            // follow the link to subscribe
	MailAlreadySubscribed = "already_subscribed" // you already have the subscription you asked for
	MailAskAgain          = "ask_again"          // you have been inactive for a long time: follow the link to stay
	MailUnsubscribed      = "unsubscribed"       // you unsubscribed; follow the link to undo it
	MailPreferences       = "preferences"        // you requested the link to your data
	MailVerify            = "verify"             // follow the link to verify your address
	MailClaim             = "claim"              // a person registered your unverified address again
	MailAlreadyRegistered = "already_registered" // you already have the account you asked for
	MailReset             = "reset"              // follow the link for a new password
	MailChange            = "change"             // follow the link to use this address for your account
	MailChangeTaken       = "change_taken"       // a person wanted to use your address for another account
	MailChangeAsked       = "change_asked"       // to the old address: a change was requested
	MailChanged           = "changed"            // to the old address: your account now has another address
	MailPasskeyAdded      = "passkey_added"      // your account has a new passkey
	MailPasskeyRemoved    = "passkey_removed"    // a passkey was removed from your account
	MailTwoStepOn         = "two_step_on"        // an authenticator app was added to your account
	MailTwoStepOff        = "two_step_off"       // the authenticator app was removed from your account
	MailRecoveryCodes     = "recovery_codes"     // your account has new recovery codes
	MailInvitation        = "invitation"         // follow the link to join a tenant's team
	MailReview            = "review"             // you are asked to approve a campaign
	MailReviewApproved    = "review_approved"    // a campaign that you submitted for approval was approved
	MailReviewRejected    = "review_rejected"    // … needs changes
	MailReviewMissed      = "review_missed"      // … was not approved by the deadline
	MailMending           = "mending"            // you are asked to fix a link in a campaign
	MailClientAdded       = "client_added"       // a tenant of yours, or the server, has a new API client
	MailClientsAdded      = "clients_added"      // … has several; Params say since when
	MailServerChanged     = "server_changed"     // the daemon's mail server changed; Params name the new one
	MailTest              = "test"               // a send job's content; Params name it
)

// Mail is a transactional email in the queue. It never contains a token: the mailer creates one from the row TokenID
// when it renders the email.
type Mail struct {
	ID        int64   `db:"id" json:"id" about:"Number of the email"`
	Kind      string  `db:"kind" json:"kind" about:"Kind of email, such as confirm or reset"`
	TenantID  string  `db:"tenant_id" json:"tenant_id,omitempty"` // empty: the daemon's own
	ListID    string  `db:"list_id" json:"list_id,omitempty"`
	Email     Email   `db:"email" json:"email"`
	TokenID   string  `db:"token_id" json:"-"`
	Params    string  `db:"params" json:"-"` // a JSON object for the text; empty: none
	Tries     int     `db:"tries" json:"tries"`
	DueAt     Instant `db:"due_at" json:"due_at"`
	CreatedAt Instant `db:"created_at" json:"created_at"`
}

// AskedOnceMore is the value of Mail.Params for an email that reminds a subscriber to confirm. These emails are sent
// one by one, so a person who unsubscribes in the meantime doesn't get one.
const AskedOnceMore = `{"once_more":true}`

// The states of an email in the queue, as shown to server administrators. Sent emails are not shown.
const (
	MailWaiting = "waiting"
	MailFailed  = "failed"
)

// QueuedMail is a transactional email that is waiting to be sent or was permanently refused.
type QueuedMail struct {
	Mail
	State      string  `db:"state" json:"state" enum:"waiting|failed" about:"Whether the email waits or failed permanently"`
	FinishedAt Instant `db:"finished_at" json:"finished_at,omitzero" about:"Time when it failed permanently; absent: it waits"`
	LastError  string  `db:"reason" json:"last_error,omitempty"` // without addresses or tokens
}

// AboutAccount reports whether an email is about an account, that is, neither about a list nor a test of a send job.
// Because its token gives access to the account, such an email always uses the daemon's relay, sender and Reply-To,
// even if it names a tenant.
func (m *Mail) AboutAccount() bool { return m.ListID == "" && m.Kind != MailTest }

// MailStyle holds the tenant and language that determine the look of emails about an account.
type MailStyle struct {
	TenantID string // tenant whose language, name and color they use; empty: the daemon's
	// Language is one of Languages. It is used if the tenant has no language or, for invitations, even if it has one.
	// If neither is set, the first language is used.
	Language string
}

// OfTeam reports whether an email goes to members of a tenant's team, or to people invited to join it. Such an email is
// sent in the tenant's name, because its recipients know the tenant but not the daemon.
func (m *Mail) OfTeam() bool {
	switch m.Kind {
	case MailInvitation, MailReview, MailReviewApproved, MailReviewRejected, MailReviewMissed, MailMending,
		MailClientAdded, MailClientsAdded:
		return m.TenantID != ""
	}
	return false
}

// AccountMail is the content of Mail.Params for emails about accounts.
type AccountMail struct {
	Language string      `json:"language,omitempty"`
	Review   *ReviewMail `json:"review,omitempty"` // of an email about a review
	Since    Instant     `json:"since,omitzero"`   // of an email about several clients: when the first was created
	Server   *ServerMail `json:"server,omitempty"` // of an email about the mail server
}

// ServerMail is the content of the email about a changed mail server.
type ServerMail struct {
	Address string `json:"address,omitempty"` // host and port; empty: removed
	By      string `json:"by,omitempty"`      // name or email address of the user who changed it; empty: a command
}

// ReviewMail is the content of an email about a campaign's review.
type ReviewMail struct {
	Subject  string  `json:"subject"` // subject of the campaign
	By       string  `json:"by"`      // name or address of the person who asked, approved or rejected
	Note     string  `json:"note,omitempty"`
	WantedAt Instant `json:"wanted_at,omitzero"`
}

// InvitationMail is the content of an invitation's email and page.
type InvitationMail struct {
	By   string // name or address of the inviting user; empty: no user
	Role string
}

// ClientMail is the content of the email about a new client.
type ClientMail struct {
	Name   string
	By     string // name or address of the user, or name of the client; empty: a command on the server
	Scopes string // comma-separated
	At     Instant
}

// ClientsMail returns an email about all clients that a tenant has created since the given instant. The email is sent
// at due.
func ClientsMail(email Email, tenantID string, since, due Instant) Mail {
	return Mail{
		Kind: MailClientsAdded, TenantID: tenantID, Email: email, DueAt: due,
		Params: jsonColumn(AccountMail{Since: since}, false, "{}"),
	}
}

// MailTo returns an email about a campaign's review.
func (r ReviewMail) MailTo(email Email, kind, tenantID, campaignID string) Mail {
	return Mail{
		Kind: kind, TenantID: tenantID, Email: email, TokenID: campaignID,
		Params: jsonColumn(AccountMail{Review: &r}, false, "{}"),
	}
}

// MailTo returns an email about an account in this style.
func (l MailStyle) MailTo(email Email, kind, tokenID string) Mail {
	return Mail{
		Kind: kind, TenantID: l.TenantID, Email: email, TokenID: tokenID,
		Params: jsonColumn(AccountMail{Language: l.Language}, l.Language == "", "{}"),
	}
}

// TestMail is the content of Mail.Params for test emails.
type TestMail struct {
	JobID      string `json:"job_id,omitempty"`
	CampaignID string `json:"campaign_id,omitempty"` // instead of a job
	Version    int64  `json:"version,omitempty"`     // version of the campaign
}
