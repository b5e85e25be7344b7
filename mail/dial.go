package mail

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"time"
)

// connect dials, greets, secures and logs in.
func (l *lane) connect() (*wire, *RouteError) {
	s := l.smtp
	host, _, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return nil, &RouteError{Fault: FaultConnect, Stage: "dial", Err: err}
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.timeouts.Dial)
	defer cancel()
	dial := s.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	nc, err := dial(ctx, "tcp", s.Addr)
	if err != nil {
		return nil, &RouteError{Fault: FaultConnect, Stage: "dial", Err: err}
	}
	h := &hello{lane: l, host: host, mode: s.TLS, local: loopback(nc.RemoteAddr())}
	if h.mode == TLSAuto {
		if h.mode = TLSStart; h.local {
			h.mode = TLSNone
		}
	}
	if fault := h.run(newWire(nc)); fault != nil {
		h.c.close()
		return nil, fault
	}
	h.c.openedAt = time.Now()
	h.c.deep = h.pipelining && !s.NoPipelining
	h.c.ready.Store(true)
	return h.c, nil
}

func loopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// hello is the beginning of a connection.
type hello struct {
	lane       *lane
	c          *wire
	host       string
	mode       TLSMode
	local      bool
	secure     bool
	pipelining bool
	starttls   bool
	auth       []string
}

func (h *hello) fail(f Fault, stage string, err error) *RouteError {
	if err != nil {
		return &RouteError{Fault: f, Stage: stage, Err: err}
	}
	r := &h.c.reply
	if authDemand(r.code, r.enhanced) {
		f = FaultAuth
	}
	return &RouteError{Fault: f, Stage: stage, Code: r.code, Enhanced: r.enhanced, Text: r.string()}
}

func (h *hello) run(c *wire) *RouteError {
	h.c = c
	c.watch(h.lane.ctx, orDefault(h.lane.smtp.DrainTimeout, 30*time.Second))
	if h.mode == TLSImplicit {
		if fault := h.encrypt(); fault != nil {
			return fault
		}
	}
	if err := c.read(h.lane.timeouts.Greeting); err != nil {
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
	if h.lane.smtp.Username == "" {
		return nil
	}
	return h.login()
}

// ehlo asks for the extensions; a server that doesn't know EHLO is greeted with HELO and has none.
func (h *hello) ehlo() *RouteError {
	name := h.lane.smtp.LocalName
	if name == "" {
		name = "localhost"
	}
	h.pipelining, h.starttls, h.auth = false, false, nil
	h.c.keep = true
	err := h.c.ask(h.lane.timeouts.Greeting, "EHLO ", name)
	h.c.keep = false
	if err != nil {
		return h.fail(FaultConnect, "EHLO", err)
	}
	switch code := h.c.reply.code; {
	case code == 250:
		h.extensions(h.c.lines)
		return nil
	case code != 500 && code != 502 && code != 504 && code != 550:
		return h.fail(FaultRefused, "EHLO", nil)
	}
	if err := h.c.ask(h.lane.timeouts.Greeting, "HELO ", name); err != nil {
		return h.fail(FaultConnect, "EHLO", err)
	}
	if h.c.reply.code != 250 {
		return h.fail(FaultRefused, "EHLO", nil)
	}
	return nil
}

func (h *hello) extensions(lines [][]byte) {
	for _, line := range lines[min(1, len(lines)):] {
		word, rest, _ := strings.Cut(strings.ToUpper(string(bytes.TrimSpace(line))), " ")
		switch {
		case word == "PIPELINING":
			h.pipelining = true
		case word == "STARTTLS":
			h.starttls = true
		case word == "AUTH":
			h.auth = append(h.auth, strings.Fields(rest)...)
		case strings.HasPrefix(word, "AUTH="): // an old spelling
			h.auth = append(h.auth, word[5:])
			h.auth = append(h.auth, strings.Fields(rest)...)
		}
	}
}

// start turns the connection to TLS (RFC 3207). What the server said in plain text before is forgotten, and what
// lies in the buffer was not said by whom we talk to now.
func (h *hello) start() *RouteError {
	if !h.starttls {
		return h.fail(FaultTLS, "STARTTLS", errors.New("the server offers no STARTTLS"))
	}
	if err := h.c.ask(h.lane.timeouts.Greeting, "STARTTLS"); err != nil {
		return h.fail(FaultConnect, "STARTTLS", err)
	}
	if h.c.reply.code != 220 {
		return h.fail(FaultTLS, "STARTTLS", nil)
	}
	h.c.r, h.c.w = 0, 0
	if fault := h.encrypt(); fault != nil {
		return fault
	}
	return h.ehlo()
}

func (h *hello) encrypt() *RouteError {
	cfg := &tls.Config{}
	if base := h.lane.smtp.TLSConfig; base != nil {
		cfg = base.Clone()
	}
	cfg.MinVersion = max(cfg.MinVersion, tls.VersionTLS12)
	if cfg.ServerName == "" {
		cfg.ServerName = h.host
	}
	ctx, cancel := context.WithTimeout(h.lane.ctx, h.lane.timeouts.Dial)
	defer cancel()
	_ = h.c.nc.SetDeadline(time.Time{}) // the context keeps the time
	h.c.readBy, h.c.writeBy = time.Time{}, time.Time{}
	t := tls.Client(h.c.nc, cfg)
	if err := t.HandshakeContext(ctx); err != nil {
		return h.fail(FaultTLS, "STARTTLS", err)
	}
	h.c.nc = t
	h.secure = true
	return nil
}
