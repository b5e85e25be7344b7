package smtp

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"net"
	"strings"
	"time"
)

// connect dials the relay and runs the handshake, up to the first MAIL.
func (s *session) connect() (*wire, *RelayError) {
	c := s.client
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil, &RelayError{Fault: FaultConnect, Stage: "dial", Err: err}
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.timeouts.Dial)
	defer cancel()
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	nc, err := dial(ctx, "tcp", c.Addr)
	if err != nil {
		return nil, &RelayError{Fault: FaultConnect, Stage: "dial", Err: err}
	}
	h := &handshake{session: s, host: host, mode: c.TLS, local: loopback(nc.RemoteAddr())}
	if h.mode == TLSAuto {
		if h.mode = TLSStart; h.local {
			h.mode = TLSNone
		}
	}
	w := newWire(nc)
	w.secrets = c.secrets()
	if fault := h.run(w); fault != nil {
		h.wire.close()
		return nil, fault
	}
	h.wire.openedAt = time.Now()
	h.wire.pipelining = h.pipelining && !c.NoPipelining
	h.wire.chunking = h.wire.pipelining && h.chunking && !c.NoChunking && c.chunks.usable()
	h.wire.ready.Store(true)
	return h.wire, nil
}

// loopback reports whether a is a loopback address.
func loopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// handshake is the part of a session before the first MAIL: greeting, EHLO, TLS and AUTH.
type handshake struct {
	session    *session
	wire       *wire
	host       string // host for which the certificate must be valid
	mode       TLSMode
	local      bool // the server has a loopback address
	secure     bool // TLS is on
	pipelining bool
	chunking   bool
	starttls   bool
	auth       []string // mechanisms offered by the server
}

// secrets returns the password in each form in which commands contain it, so that it can be removed from replies. For a
// short password, which could occur in any reply, it returns nil.
func (c *Client) secrets() [][]byte {
	if len(c.Password) < 6 {
		return nil
	}
	return [][]byte{ // the longest first, because it may end with another one
		[]byte(base64.StdEncoding.EncodeToString([]byte("\x00" + c.Username + "\x00" + c.Password))),
		[]byte(base64.StdEncoding.EncodeToString([]byte(c.Password))), []byte(c.Password),
	}
}

// fail returns a RelayError that is caused by err or, if err is nil, by the latest reply.
func (h *handshake) fail(f Fault, stage string, err error) *RelayError {
	if err != nil {
		return &RelayError{Fault: f, Stage: stage, Err: err}
	}
	r := &h.wire.reply
	if authDemand(r.code, r.enhanced) {
		f = FaultAuth
	}
	return &RelayError{Fault: f, Stage: stage, Code: r.code, Enhanced: r.enhanced, Text: r.string()}
}

// run does the whole handshake on a new connection.
func (h *handshake) run(c *wire) *RelayError {
	h.wire = c
	c.watch(h.session.ctx, orDefault(h.session.client.DrainTimeout, 30*time.Second))
	if h.mode == TLSImplicit {
		if fault := h.encrypt(); fault != nil {
			return fault
		}
	}
	if err := c.read(h.session.timeouts.Greeting); err != nil {
		return h.fail(FaultConnect, "greeting", err)
	}
	if c.reply.code != 220 {
		return h.fail(FaultRefused, "greeting", nil)
	}
	if fault := h.ehlo(); fault != nil {
		return fault
	}
	if h.mode == TLSStart {
		if fault := h.start(); fault != nil {
			return fault
		}
	}
	if h.session.client.Username == "" {
		return nil
	}
	return h.login()
}

// ehlo sends EHLO and records the extensions. If the server doesn't support EHLO, it sends HELO and records none.
func (h *handshake) ehlo() *RelayError {
	name := h.session.client.LocalName
	if name == "" {
		name = "localhost"
	}
	h.pipelining, h.chunking, h.starttls, h.auth = false, false, false, nil
	h.wire.keep = true
	err := h.wire.ask(h.session.timeouts.Greeting, "EHLO ", name)
	h.wire.keep = false
	if err != nil {
		return h.fail(FaultConnect, "EHLO", err)
	}
	switch code := h.wire.reply.code; {
	case code == 250:
		h.extensions(h.wire.lines)
		return nil
	case code != 500 && code != 502 && code != 504 && code != 550:
		return h.fail(FaultRefused, "EHLO", nil)
	}
	if err := h.wire.ask(h.session.timeouts.Greeting, "HELO ", name); err != nil {
		return h.fail(FaultConnect, "EHLO", err)
	}
	if h.wire.reply.code != 250 {
		return h.fail(FaultRefused, "EHLO", nil)
	}
	return nil
}

// extensions records the extensions in an EHLO reply.
func (h *handshake) extensions(lines [][]byte) {
	for _, line := range lines[min(1, len(lines)):] {
		word, rest, _ := strings.Cut(strings.ToUpper(string(bytes.TrimSpace(line))), " ")
		switch {
		case word == "PIPELINING":
			h.pipelining = true
		case word == "CHUNKING":
			h.chunking = true
		case word == "STARTTLS":
			h.starttls = true
		case word == "AUTH":
			h.auth = append(h.auth, strings.Fields(rest)...)
		case strings.HasPrefix(word, "AUTH="): // obsolete spelling
			h.auth = append(h.auth, word[5:])
			h.auth = append(h.auth, strings.Fields(rest)...)
		}
	}
}

// start upgrades the connection to TLS (RFC 3207). It discards all data received in plain text, including buffered
// bytes, because an attacker on the path may have sent them.
func (h *handshake) start() *RelayError {
	if !h.starttls {
		return h.fail(FaultTLS, "STARTTLS", errors.New("the server doesn't support STARTTLS"))
	}
	if err := h.wire.ask(h.session.timeouts.Greeting, "STARTTLS"); err != nil {
		return h.fail(FaultConnect, "STARTTLS", err)
	}
	if h.wire.reply.code != 220 {
		return h.fail(FaultTLS, "STARTTLS", nil)
	}
	h.wire.r, h.wire.w = 0, 0
	if fault := h.encrypt(); fault != nil {
		return fault
	}
	return h.ehlo()
}

// encrypt does the TLS handshake.
func (h *handshake) encrypt() *RelayError {
	cfg := &tls.Config{}
	if base := h.session.client.TLSConfig; base != nil {
		cfg = base.Clone()
	}
	cfg.MinVersion = max(cfg.MinVersion, tls.VersionTLS12)
	if cfg.ServerName == "" {
		cfg.ServerName = h.host
	}
	ctx, cancel := context.WithTimeout(h.session.ctx, h.session.timeouts.Dial)
	defer cancel()
	_ = h.wire.nc.SetDeadline(time.Time{}) // the context limits the time
	h.wire.readBy, h.wire.writeBy = time.Time{}, time.Time{}
	t := tls.Client(h.wire.nc, cfg)
	if err := t.HandshakeContext(ctx); err != nil {
		return h.fail(FaultTLS, "STARTTLS", err)
	}
	h.wire.nc = t
	h.secure = true
	return nil
}
