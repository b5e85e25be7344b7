package core

import (
	"cmp"
	"strconv"
	"strings"
)

// RelayState describes the daemon's own mail server. It sends emails about accounts, and those of tenants without their
// own relay.
type RelayState struct {
	Transport   string     `json:"transport" enum:"smtp|directory" about:"smtp: a mail server; directory: emails are saved to a folder and reach no one"`
	Host        string     `json:"host,omitempty" about:"Host of the mail server; only for server administrators"`
	Port        int        `json:"port,omitempty" about:"Port of the mail server; only for server administrators"`
	TLS         string     `json:"tls,omitempty" about:"Encryption: starttls, implicit or none; only for server administrators"`
	Username    string     `json:"username,omitempty" about:"Username at the mail server; only for server administrators"`
	HasPassword bool       `json:"has_password,omitempty" about:"Whether a password is set; only for server administrators"`
	Limits      SendLimits `json:"limits,omitzero" about:"Limits of the sending rate; absent: none"`
	Directory   string     `json:"directory,omitempty" about:"Folder that emails are saved to; only for server administrators"`

	Source        string  `json:"source,omitempty" enum:"file|console" about:"Where the mail server is set; absent: nowhere; only for server administrators"`
	Editable      bool    `json:"editable,omitempty" about:"Whether the API and console can set the mail server; only for server administrators"`
	From          string  `json:"from,omitempty" about:"Sender of emails about accounts, and of tenants without mail_from; only for server administrators"`
	ChangedAt     Instant `json:"changed_at,omitzero" about:"Time of the last change in the console or through the API; only for server administrators"`
	KeyInDatabase bool    `json:"key_in_database,omitempty" about:"Whether the password is stored unencrypted, because [auth] key_file is not set"`
}

// The places where the daemon's own mail server is set.
const (
	RelayFile    = "file"    // the configuration: its file, the environment or a flag
	RelayConsole = "console" // the database, by PUT /api/admin/relay
)

// Errors about the daemon's own mail server.
var (
	ErrNoMailServer = &Error{
		Kind: Conflict, Code: "no_mail_server",
		Message: "No mail server is set up, so no one would receive this email. Set one up first, or send with " +
			"testing to save the emails to a folder.",
	}
	ErrMailServerSet = &Error{
		Kind: Conflict, Code: "mail_server_set", Field: "testing",
		Message: "A mail server is set up, so real subscribers would receive this email. To send it, leave out " +
			"testing.",
	}
	ErrMailServerInFile = &Error{
		Kind: Conflict, Code: "mail_server_in_file",
		Message: "The configuration file sets the mail server. Change it there. To set it here, remove [mail.smtp] " +
			"from the file and restart newsletterd.",
	}
	ErrMailServerLocked = &Error{
		Kind: Conflict, Code: "mail_server_locked",
		Message: "The mail server can't be set here, because [mail] console is false. Set it in the configuration " +
			"file.",
	}
)

// MailServerRefused returns the Conflict error for a new mail server that did not accept its test email and therefore
// was not saved. The code is "mail_server_" followed by the outcome.
func MailServerRefused(t *RelayTest) error {
	response := strings.TrimSpace(strings.Join([]string{codeWord(t.Code), t.Enhanced, t.Answer}, " "))
	return Conflictf("mail_server_"+t.Outcome,
		"%s didn't accept the test email, so nothing was saved. Check the settings. Response: %s",
		t.Relay, cmp.Or(response, "–"))
}

func codeWord(code int) string {
	if code == 0 {
		return ""
	}
	return strconv.Itoa(code)
}

// The outcomes of a test email.
const (
	RelayAccepted = "accepted" // the relay accepted it
	RelayWritten  = "written"  // it was saved to a folder
	RelayRefused  = "refused"  // the relay works, but refuses this email or its recipient
	RelayConnect  = "connect"  // no connection, or it was closed
	RelayGreeting = "greeting" // the relay refused the connection or the sender
	RelayTLS      = "tls"      // TLS is missing, or the certificate is not trusted
	RelayAuth     = "auth"     // username and password were refused, or are required
	RelayProtocol = "protocol" // the reply is not SMTP
	RelayDisk     = "disk"     // the directory can't be written
)

// RelayOutcome reports whether word is one of the outcomes of a test email.
func RelayOutcome(word string) bool {
	switch word {
	case RelayAccepted, RelayWritten, RelayRefused, RelayConnect, RelayGreeting, RelayTLS, RelayAuth, RelayProtocol,
		RelayDisk:
		return true
	}
	return false
}

// RelayMail is an email that tests a relay. Lines of Data end with CRLF.
type RelayMail struct {
	From, To string
	Data     []byte
}

// RelayTest is the result of a test email, with the relay's reply.
type RelayTest struct {
	Outcome  string `json:"outcome" enum:"accepted|written|refused|connect|greeting|tls|auth|protocol|disk" about:"accepted, or written to a folder: the test succeeded; other values name what failed"`
	Relay    string `json:"relay,omitempty" about:"Host and port of the mail server; of the server's own, only for server administrators"`
	Stage    string `json:"stage,omitempty" about:"Command that failed, such as STARTTLS, AUTH or RCPT; absent: none"`
	Code     int    `json:"code,omitempty" about:"Reply code of the mail server, such as 550; absent: none"`
	Enhanced string `json:"enhanced,omitempty" about:"Enhanced status code, such as 5.7.1; absent: none"`
	Answer   string `json:"answer,omitempty" about:"Text of the reply, or the system's error; absent: none"`
	TookMS   int64  `json:"took_ms"` // milliseconds
}

// Good reports whether the email was accepted or saved.
func (t *RelayTest) Good() bool { return t.Outcome == RelayAccepted || t.Outcome == RelayWritten }
