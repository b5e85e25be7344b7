package core

// RelayState is what the mails of tenants without a relay of their own go out by.
type RelayState struct {
	// directory: they are only written to files, and reach no one
	Transport string `json:"transport" enum:"smtp|directory"`
	// of transport smtp, for operators
	Host     string `json:"host,omitempty"`
	Port     int    `json:"port,omitempty"`
	TLS      string `json:"tls,omitempty"`
	Username string `json:"username,omitempty"`
	// of transport directory, for operators
	Directory string `json:"directory,omitempty"`
}

// What a test mail has come to.
const (
	RelayAccepted = "accepted" // the relay has taken it
	RelayWritten  = "written"  // it stands in a file: the transport is a directory
	RelayRefused  = "refused"  // the relay works, and refuses this mail or its recipient
	RelayConnect  = "connect"  // there is no connection, or it broke
	RelayGreeting = "greeting" // the relay refuses the connection or the sender
	RelayTLS      = "tls"      // TLS is missing, or the certificate isn't trusted
	RelayAuth     = "auth"     // username and password are refused, or asked for
	RelayProtocol = "protocol" // the answer is none of SMTP
	RelayDisk     = "disk"     // the directory can't be written
)

// RelayMail is a mail that tries a relay: a message whose lines end with CRLF.
type RelayMail struct {
	From, To string
	Data     []byte
}

// RelayTest is what became of a test mail, with the relay's answer.
type RelayTest struct {
	Outcome  string `json:"outcome" enum:"accepted|written|refused|connect|greeting|tls|auth|protocol|disk"`
	Relay    string `json:"relay,omitempty"` // host and port; absent for the daemon's own, but to operators
	Stage    string `json:"stage,omitempty"` // the command that failed: dial, STARTTLS, AUTH, MAIL, RCPT …
	Code     int    `json:"code,omitempty"`  // of the reply (RFC 5321 section 4.2)
	Enhanced string `json:"enhanced,omitempty"`
	Answer   string `json:"answer,omitempty"` // the words of the reply, or what the machine says
	TookMS   int64  `json:"took_ms"`
}

// Good reports whether the mail was taken.
func (t *RelayTest) Good() bool { return t.Outcome == RelayAccepted || t.Outcome == RelayWritten }
