package core

// The kinds of transactional mail. Each is a notice.Kind.
const (
	MailConfirm           = "confirm"            // follow the link to subscribe
	MailAlreadySubscribed = "already_subscribed" // you asked for what you have
	MailAskAgain          = "ask_again"          // nothing was heard of you for long: follow the link to stay
	MailUnsubscribed      = "unsubscribed"       // you have left; follow the link to take it back
	MailPreferences       = "preferences"        // you asked for the link to your data
	MailVerify            = "verify"             // follow the link to verify your address
	MailClaim             = "claim"              // a person registered your unverified address again
	MailAlreadyRegistered = "already_registered" // you asked for an account that you have
	MailReset             = "reset"              // follow the link for a new password
	MailChange            = "change"             // follow the link: your account has this address from then on
	MailChangeTaken       = "change_taken"       // a person wanted your address for another account
	MailChangeAsked       = "change_asked"       // to the old address: another one was asked for
	MailChanged           = "changed"            // to the old address: your account has another one
	MailPasskeyAdded      = "passkey_added"      // your account has another passkey
	MailPasskeyRemoved    = "passkey_removed"    // your account has a passkey less
	MailTwoStepOn         = "two_step_on"        // your account has an authenticator app
	MailTwoStepOff        = "two_step_off"       // your account has none any more
	MailRecoveryCodes     = "recovery_codes"     // your account has other recovery codes
	MailInvitation        = "invitation"         // follow the link to work for a tenant
	MailReview            = "review"             // you are asked to approve a campaign
	MailReviewApproved    = "review_approved"    // a campaign for which you have asked that is approved
	MailReviewRejected    = "review_rejected"    // … is sent back to you
	MailReviewMissed      = "review_missed"      // … was not approved when it was wanted
	MailMending           = "mending"            // you are asked to let a link of a campaign lead elsewhere
	MailClientAdded       = "client_added"       // a tenant of yours, or the server, has a new API client
	MailClientsAdded      = "clients_added"      // … has more of them; Params say since when
	MailServerChanged     = "server_changed"     // the daemon's own mail server is another one; Params say which
	MailTest              = "test"               // the content of a send job; Params name it
)

// Mail is a transactional mail in the queue. It never holds a token: TokenID names the row that the mailer
// makes the token of when it renders the mail.
type Mail struct {
	ID        int64   `db:"id" json:"id"`
	Kind      string  `db:"kind" json:"kind"`
	TenantID  string  `db:"tenant_id" json:"tenant_id,omitempty"` // empty: the daemon's own
	ListID    string  `db:"list_id" json:"list_id,omitempty"`
	Email     Email   `db:"email" json:"email"`
	TokenID   string  `db:"token_id" json:"-"`
	Params    string  `db:"params" json:"-"` // a JSON object for the text; empty: none
	Tries     int     `db:"tries" json:"tries"`
	DueAt     Instant `db:"due_at" json:"due_at"`
	CreatedAt Instant `db:"created_at" json:"created_at"`
}

// AskedOnceMore are the Params of a mail that asks subscribers once more to confirm. Who has left while it waited, for
// such mails go out one by one, doesn't get it.
const AskedOnceMore = `{"once_more":true}`

// The states of a mail in the queue that operators see. One that was sent is no longer shown.
const (
	MailWaiting = "waiting"
	MailFailed  = "failed"
)

// QueuedMail is a transactional mail that waits, or was refused for good.
type QueuedMail struct {
	Mail
	State      string  `db:"state" json:"state" enum:"waiting|failed"`
	FinishedAt Instant `db:"finished_at" json:"finished_at,omitzero"` // of one that was refused
	LastError  string  `db:"reason" json:"last_error,omitempty"`      // without addresses or tokens
}

// AboutAccount reports whether a mail is about an account: neither about a list nor a test of a send job. Such a mail
// leaves by the daemon's relay, with the daemon's sender and Reply-To, whatever tenant it names: its token opens the
// account.
func (m *Mail) AboutAccount() bool { return m.ListID == "" && m.Kind != MailTest }

// MailStyle is how mails about an account present themselves.
type MailStyle struct {
	TenantID string // whose language, name and color they have; empty: the daemon's
	Language string // of Languages, where the tenant has none; empty: the first
}

// OfTeam reports whether a mail is to people of a tenant's team, or who are asked to join it. They know the tenant, and
// not the daemon: its name is that of the sender.
func (m *Mail) OfTeam() bool {
	switch m.Kind {
	case MailInvitation, MailReview, MailReviewApproved, MailReviewRejected, MailReviewMissed, MailMending,
		MailClientAdded, MailClientsAdded:
		return m.TenantID != ""
	}
	return false
}

// AccountMail are the Params of a mail about an account.
type AccountMail struct {
	Language string      `json:"language,omitempty"`
	Review   *ReviewMail `json:"review,omitempty"` // of a mail about a review
	Since    Instant     `json:"since,omitzero"`   // of a mail about several clients: when the first one was created
	Server   *ServerMail `json:"server,omitempty"` // of a mail about the mail server
}

// ServerMail is what the mail about a changed mail server says.
type ServerMail struct {
	Address string `json:"address,omitempty"` // host and port; empty: there is none any more
	By      string `json:"by,omitempty"`      // the name or the email address of the user who changed it; empty: a command
}

// ReviewMail is what a mail about the review of a campaign tells.
type ReviewMail struct {
	Subject  string  `json:"subject"` // of the campaign
	By       string  `json:"by"`      // the name or the address of who asks, approves or sends back
	Note     string  `json:"note,omitempty"`
	WantedAt Instant `json:"wanted_at,omitzero"`
}

// InvitationMail is what the mail and the page of an invitation tell.
type InvitationMail struct {
	By   string // the name or the address of the user who invites; empty: no user
	Role string
}

// ClientMail is what the mail about a new client says.
type ClientMail struct {
	Name   string
	By     string // the name or the address of the user, or the name of the client; empty: a command on the server
	Scopes string // separated by commas
	At     Instant
}

// ClientsMail is a mail about the clients of a tenant that are created from an instant on, due at another.
func ClientsMail(email Email, tenantID string, since, due Instant) Mail {
	return Mail{
		Kind: MailClientsAdded, TenantID: tenantID, Email: email, DueAt: due,
		Params: jsonColumn(AccountMail{Since: since}, false, "{}"),
	}
}

// MailTo is a mail about the review of a campaign of a tenant.
func (r ReviewMail) MailTo(email Email, kind, tenantID, campaignID string) Mail {
	return Mail{
		Kind: kind, TenantID: tenantID, Email: email, TokenID: campaignID,
		Params: jsonColumn(AccountMail{Review: &r}, false, "{}"),
	}
}

// MailTo is a mail about an account in this look.
func (l MailStyle) MailTo(email Email, kind, tokenID string) Mail {
	return Mail{
		Kind: kind, TenantID: l.TenantID, Email: email, TokenID: tokenID,
		Params: jsonColumn(AccountMail{Language: l.Language}, l.Language == "", "{}"),
	}
}

// TestMail are the Params of a mail of kind test.
type TestMail struct {
	JobID      string `json:"job_id,omitempty"`
	CampaignID string `json:"campaign_id,omitempty"` // in place of a job
	Version    int64  `json:"version,omitempty"`     // of the campaign
}
