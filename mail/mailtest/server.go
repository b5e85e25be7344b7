package mailtest

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Event is a client action, passed to the script before the server replies.
type Event struct {
	// Verb is CONNECT, EHLO, HELO, STARTTLS, AUTH, MAIL, RCPT, DATA, CONTENT (first line of content received), DOT,
	// RSET, NOOP or QUIT.
	Verb string
	// Arg is the rest of the line or, for CONTENT and DOT, the recipient.
	Arg string
	// Conn is the number of the connection, and N the event's number among all events with this verb, on any
	// connection. Both start at 1.
	Conn, N int
}

// Action is the server's reaction to an event. The zero Action means normal behavior.
type Action struct {
	// Reply replaces the usual reply; "-" sends none. It has no final line break, but may have several lines ("\n").
	Reply string
	// Wait is the delay before the reply.
	Wait time.Duration
	// Close closes the connection: before the reply if Reply is "-" or "", otherwise after it.
	Close bool
}

// Script configures the behavior of a Server.
type Script struct {
	// On is called for each event; nil: normal behavior. It may be called from several goroutines.
	On func(Event) Action
	// Connections is the maximum number of open connections; 0: unlimited. Further ones get 421 and are closed. A
	// connection counts until the server closes it, whatever the client does.
	Connections int
	// Linger is how long the server takes to close a finished connection.
	Linger time.Duration
	// NoPipelining removes PIPELINING from the extensions.
	NoPipelining bool
	// Chunking adds CHUNKING to the extensions (RFC 3030). A chunk counts as a DOT event. If a chunk is refused, its
	// transaction stays open until RSET.
	Chunking bool
	// TLS, if not nil, is offered through STARTTLS, or used from the start if Implicit is set.
	TLS      *tls.Config
	Implicit bool
	// Users maps names to passwords; if not nil, MAIL requires AUTH with one of Mechanisms.
	Users      map[string]string
	Mechanisms []string
	// Impostor simulates a server that doesn't know the password: its SCRAM signature is wrong.
	Impostor bool
	// Pieces sends each reply byte by byte.
	Pieces bool
	// Inject is sent in plain text together with the reply to STARTTLS, as an attacker would.
	Inject string
}

// Message is a message that a Server accepted.
type Message struct {
	From, To string
	Data     []byte // as sent, without dot stuffing
	Conn     int
}

// Server follows a Script. It keeps the accepted messages and every received line.
type Server struct {
	script  Script
	ln      net.Listener
	mu      sync.Mutex
	seen    map[string]int
	taken   []Message
	lines   []string
	conns   map[net.Conn]bool
	count   int
	refused int
	wg      sync.WaitGroup
}

// NewServer listens on a port of 127.0.0.1.
func NewServer(script Script) (*Server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("mailtest: %w", err)
	}
	s := &Server{script: script, ln: ln, seen: map[string]int{}, conns: map[net.Conn]bool{}}
	s.wg.Add(1)
	go s.accept()
	return s, nil
}

// Addr returns host:port.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// Messages returns the accepted messages in order.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.taken)
}

// Lines returns the commands of all connections in order of arrival.
func (s *Server) Lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// Seen returns the number of events with a verb.
func (s *Server) Seen(verb string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[verb]
}

// Refused returns the number of connections rejected because of Connections.
func (s *Server) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// Close stops the server and closes all connections.
func (s *Server) Close() error {
	err := s.ln.Close()
	s.mu.Lock()
	for nc := range s.conns {
		_ = nc.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return err
}

func (s *Server) accept() {
	defer s.wg.Done()
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if limit := s.script.Connections; limit > 0 && len(s.conns) >= limit {
			s.refused++
			s.mu.Unlock()
			_, _ = nc.Write([]byte("421 4.7.0 too many connections\r\n"))
			_ = nc.Close()
			continue
		}
		s.conns[nc] = true
		s.count++
		c := &session{server: s, nc: nc, number: s.count}
		s.mu.Unlock()
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			c.serve()
			time.Sleep(s.script.Linger)
			s.mu.Lock()
			delete(s.conns, nc)
			s.mu.Unlock()
			_ = nc.Close()
		}()
	}
}

// maxDrain is the maximum time that a server waits after its last reply for the client to close the connection.
const maxDrain = 5 * time.Second

// session is one connection.
type session struct {
	server *Server
	nc     net.Conn
	r      *bufio.Reader
	number int
	secure bool
	authed bool
	from   string
	to     string
	refuse bool // the recipient was refused, so the transaction has none
}

func (c *session) serve() {
	if c.server.script.Implicit {
		c.nc = tls.Server(c.nc, c.server.script.TLS)
		c.secure = true
	}
	c.r = bufio.NewReader(c.nc)
	if !c.answer("CONNECT", "", "220 test.localhost ESMTP") {
		return
	}
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		c.server.mu.Lock()
		c.server.lines = append(c.server.lines, line)
		c.server.mu.Unlock()
		if !c.command(line) {
			return
		}
	}
}

// event counts an event and returns the action that the script requests.
func (c *session) event(verb, arg string) Action {
	s := c.server
	s.mu.Lock()
	s.seen[verb]++
	e := Event{Verb: verb, Arg: arg, Conn: c.number, N: s.seen[verb]}
	s.mu.Unlock()
	if s.script.On == nil {
		return Action{}
	}
	return s.script.On(e)
}

// answer replies to an event as the script requests, and reports whether the connection is still open.
func (c *session) answer(verb, arg, usual string) bool {
	_, open := c.reply(c.event(verb, arg), usual)
	return open
}

func (c *session) reply(a Action, usual string) (code string, open bool) {
	time.Sleep(a.Wait)
	text := usual
	switch {
	case a.Reply == "-" || a.Reply == "" && a.Close:
		return "", !a.Close
	case a.Reply != "":
		text = a.Reply
	}
	if !c.write(text) {
		return "", false
	}
	if a.Close && c.server.script.Connections == 0 { // otherwise its slot is free immediately
		c.drain()
	}
	return text[:3], !a.Close
}

// drain closes the write side and reads until the client closes, or for maxDrain. Closing with unread data would reset
// the connection, and the client might lose unread replies.
func (c *session) drain() {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.nc.SetReadDeadline(time.Now().Add(maxDrain)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, c.nc)
}

func (c *session) write(text string) bool {
	lines := strings.Split(text, "\n")
	var b strings.Builder
	for i, line := range lines {
		if i < len(lines)-1 && len(line) > 3 {
			line = line[:3] + "-" + line[4:]
		}
		b.WriteString(line + "\r\n")
	}
	out := []byte(b.String())
	step := len(out)
	if c.server.script.Pieces {
		step = 1
	}
	for ; len(out) > 0; out = out[step:] {
		if _, err := c.nc.Write(out[:step]); err != nil {
			return false
		}
	}
	return true
}

func (c *session) command(line string) bool {
	verb, arg, _ := strings.Cut(line, " ")
	switch verb = strings.ToUpper(verb); verb {
	case "EHLO":
		return c.answer(verb, arg, c.extensions())
	case "STARTTLS":
		return c.startTLS()
	case "AUTH":
		a := c.event(verb, arg)
		if a != (Action{}) {
			_, open := c.reply(a, "535 5.7.8 no")
			return open
		}
		return c.auth(arg)
	case "MAIL":
		return c.mail(arg)
	case "RCPT":
		c.to = between(arg)
		code, open := c.reply(c.event(verb, c.to), "250 2.1.5 ok")
		c.refuse = code == "" || code[0] != '2'
		return open
	case "DATA":
		return c.data()
	case "BDAT":
		return c.chunk(arg)
	case "RSET":
		c.from, c.to = "", ""
		return c.answer(verb, arg, "250 2.0.0 ok")
	case "QUIT":
		c.answer(verb, arg, "221 2.0.0 bye")
		return false
	case "HELO", "NOOP":
		return c.answer(verb, arg, "250 2.0.0 ok")
	}
	return c.write("500 5.5.2 what?")
}

func (c *session) extensions() string {
	s := &c.server.script
	lines := []string{"250 test.localhost", "250 ENHANCEDSTATUSCODES"}
	if !s.NoPipelining {
		lines = append(lines, "250 PIPELINING")
	}
	if s.Chunking {
		lines = append(lines, "250 CHUNKING")
	}
	if s.TLS != nil && !c.secure {
		lines = append(lines, "250 STARTTLS")
	}
	if s.Users != nil {
		lines = append(lines, "250 AUTH "+strings.Join(s.Mechanisms, " "))
	}
	return strings.Join(lines, "\n")
}

func (c *session) startTLS() bool {
	if in := c.server.script.Inject; in != "" {
		if _, err := c.nc.Write([]byte("220 2.0.0 go on\r\n" + in)); err != nil {
			return false
		}
	} else if code, open := c.reply(c.event("STARTTLS", ""), "220 2.0.0 go on"); !open || code != "220" {
		return open
	}
	t := tls.Server(c.nc, c.server.script.TLS)
	if t.Handshake() != nil {
		return false
	}
	c.nc, c.r, c.secure = t, bufio.NewReader(t), true
	return true
}

func (c *session) mail(arg string) bool {
	usual := "250 2.1.0 ok"
	switch s := &c.server.script; {
	case c.from != "":
		usual = "503 5.5.1 a transaction is open"
	case s.TLS != nil && !c.secure:
		usual = "530 5.7.0 STARTTLS first"
	case s.Users != nil && !c.authed:
		usual = "530 5.7.0 authenticate first"
	}
	code, open := c.reply(c.event("MAIL", between(arg)), usual)
	if code == "250" {
		c.from, c.to, c.refuse = "<"+between(arg)+">", "", true
	}
	return open
}

func (c *session) data() bool {
	usual := "354 go on"
	if c.refuse {
		usual = "503 5.5.1 no valid recipient"
	}
	code, open := c.reply(c.event("DATA", c.to), usual)
	if code != "354" || !open {
		return open
	}
	var body []byte
	for first := true; ; first = false {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return false
		}
		if first && line != ".\r\n" {
			if a := c.event("CONTENT", c.to); a.Close {
				return false
			}
		}
		if line == ".\r\n" {
			return c.dot(body)
		}
		body = append(body, strings.TrimPrefix(line, ".")...)
	}
}

// chunk reads the only chunk of a message, and reports whether the connection is still open.
func (c *session) chunk(arg string) bool {
	size, last, _ := strings.Cut(arg, " ")
	n, err := strconv.Atoi(size)
	if err != nil || last != "LAST" || !c.server.script.Chunking {
		return c.write("502 5.5.1 what?")
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c.r, body); err != nil {
		return false
	}
	from := c.from
	code, open := c.taken(body)
	if code == "" || code[0] != '2' {
		c.from = from
	}
	return open
}

func (c *session) dot(body []byte) bool {
	_, open := c.taken(body)
	return open
}

// taken replies to the end of a message.
func (c *session) taken(body []byte) (code string, open bool) {
	usual := "250 2.0.0 taken"
	refused := c.refuse || c.from == ""
	if refused {
		usual = "554 5.5.1 no valid recipient"
	}
	a := c.event("DOT", c.to)
	m := Message{From: strings.Trim(c.from, "<>"), To: c.to, Data: body, Conn: c.number}
	c.from = ""
	if !refused && (a.Reply == "" || a.Reply == "-" || a.Reply[0] == '2') {
		c.server.mu.Lock()
		c.server.taken = append(c.server.taken, m)
		c.server.mu.Unlock()
	}
	return c.reply(a, usual)
}

func between(arg string) string { return string(angle([]byte(arg))) }
