package core

// The kinds of transactional mail. Each is a template of mail/texts.
const (
	MailConfirm           = "confirm"            // follow the link to subscribe
	MailAlreadySubscribed = "already_subscribed" // you asked for what you have
	MailVerify            = "verify"             // follow the link to verify your address
	MailClaim             = "claim"              // somebody registered your unverified address again
	MailAlreadyRegistered = "already_registered" // you asked for an account that you have
	MailReset             = "reset"              // follow the link for a new password
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
