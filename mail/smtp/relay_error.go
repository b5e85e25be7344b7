package smtp

import (
	"fmt"
	"time"
)

// Fault is the part of a relay that failed.
type Fault uint8

// The values of Fault.
const (
	FaultConnect  Fault = iota // no connection, or it broke
	FaultRefused               // a refusal at greeting, EHLO or MAIL, or a 421 anywhere
	FaultTLS                   // TLS is not supported, or the certificate is not trusted
	FaultAuth                  // the server rejects or demands credentials
	FaultProtocol              // a reply that does not match the command
	FaultDisk                  // Directory can't write
)

var faultNames = [...]string{"connect", "refused", "tls", "auth", "protocol", "disk"}

// String returns the name of f in lower case.
func (f Fault) String() string {
	if int(f) < len(faultNames) {
		return faultNames[f]
	}
	return fmt.Sprintf("fault %d", uint8(f))
}

// RelayError is returned by Deliver if the relay is at fault rather than a recipient.
type RelayError struct {
	Fault Fault
	// Stage is where the failure occurred: "dial", "greeting", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA",
	// "content", "dot", "BDAT" or "write".
	Stage string
	// Code, Enhanced and Text are the server's reply, if any.
	Code     int
	Enhanced string
	Text     string
	// Delivered is the number of envelopes that this call to Deliver has finished. If it is positive, the relay
	// basically works.
	Delivered int
	// Err is the cause, if any.
	Err error
}

// Error implements error.
func (e *RelayError) Error() string {
	s := "mail route: " + e.Fault.String() + " at " + e.Stage
	if e.Code != 0 {
		s += fmt.Sprintf(": %d", e.Code)
		if e.Enhanced != "" {
			s += " " + e.Enhanced
		}
		s += " " + e.Text
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// ClosedTransaction reports whether the server answered 421 to a command of a transaction after MAIL.
func (e *RelayError) ClosedTransaction() bool {
	switch e.Stage {
	case "RCPT", "DATA", "dot", "BDAT":
		return e.Code == 421
	}
	return false
}

// untouched returns the outcome for the envelope whose reply caused e.
func (e *RelayError) untouched() Outcome {
	return Outcome{Code: e.Code, Enhanced: e.Enhanced, Text: e.Text, Lost: e.ClosedTransaction()}
}

// Unwrap returns the cause.
func (e *RelayError) Unwrap() error { return e.Err }

var relayBackoff = [...]time.Duration{5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute}

// Backoff returns how long to pause after n consecutive failures: 5 s, 15 s, 60 s, 5 min, and 15 min from the fifth on.
// After rejected credentials or untrusted TLS, the pause is at least 60 s.
func (e *RelayError) Backoff(n int) time.Duration {
	d := relayBackoff[min(max(n, 1), len(relayBackoff))-1]
	if e.Fault == FaultAuth || e.Fault == FaultTLS {
		d = max(d, time.Minute)
	}
	return d
}
