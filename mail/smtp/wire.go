package smtp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"newsletterd/mail/internal/octets"
)

// Limits for replies from the server.
const (
	maxReplyLine  = 4096 // RFC 5321 section 4.5.3.1.5 permits 512, but some servers send more
	maxReplyLines = 128
	maxReplyText  = 500
	flushAt       = 64 << 10
)

var (
	errReply   = errors.New("the reply is not SMTP")
	errTooMuch = errors.New("the reply is too long")
)

// reply is the server's latest reply. text is valid until the next reply is read.
type reply struct {
	code     int
	enhanced string
	text     []byte
}

// wire is a connection with its buffers. Commands collect in out until flush writes them. Replies are read into in.
type wire struct {
	nc      net.Conn
	raw     net.Conn // socket below TLS
	in      []byte   // unread bytes are in[r:w]
	r, w    int
	out     []byte
	dot     int   // end of the final dot in out; 0: none
	flushed int64 // total bytes written
	reply   reply
	lines   [][]byte // lines of the latest reply, if keep is set
	keep    bool
	secrets [][]byte // text to remove from replies, which appear in logs, the database and pages
	known   string   // latest enhanced code, so that repeated codes cost no allocation

	readBy, writeBy time.Time // current deadlines of the socket

	limit atomic.Int64 // Unix nanoseconds of the final deadline; 0: none
	ready atomic.Bool  // the handshake is done: canceling the context now means drain, not stop
	stop  func() bool  // ends watch

	pipelining bool // PIPELINING is announced and not disabled
	chunking   bool // CHUNKING is also announced, and not disabled
	needsReset bool // an unfinished transaction is open
	chunked    bool // a chunk was accepted
	closing    bool // the latest reply was 421: the server closes the connection
	idled      bool // the connection was idle since its last reply
	burst      int  // number of messages to write before reading their replies
	mails      int
	openedAt   time.Time
}

func newWire(nc net.Conn) *wire {
	return &wire{nc: nc, raw: nc, burst: 1, in: make([]byte, maxReplyLine*2), out: make([]byte, 0, 16<<10)}
}

// watch closes the connection once ctx is done: immediately during the handshake, otherwise after drain.
func (c *wire) watch(ctx context.Context, drain time.Duration) {
	raw := c.nc // the socket, which stays the same when TLS is added
	c.stop = context.AfterFunc(ctx, func() {
		at := time.Now()
		if c.ready.Load() {
			at = at.Add(drain)
		}
		c.limit.Store(at.UnixNano())
		_ = raw.SetDeadline(at)
	})
}

// deadline sets a socket deadline to d from now, but not after the limit. has is the current deadline. If the current
// deadline is too early by less than a sixteenth of d, it stays unchanged, because setting one costs a tenth of a
// write.
func (c *wire) deadline(set func(time.Time) error, has *time.Time, d time.Duration) {
	at := time.Now().Add(d)
	limit := c.limit.Load()
	if left := at.Sub(*has); limit == 0 && left >= 0 && left < d/16 {
		return
	}
	*has = at
	_ = set(at)
	if limit = c.limit.Load(); limit != 0 && limit < at.UnixNano() {
		_ = set(time.Unix(0, limit)) // read after set, so that the limit applies in either order
	}
}

// command adds a line to the output buffer.
func (c *wire) command(parts ...string) {
	for _, p := range parts {
		c.out = append(c.out, p...)
	}
	c.out = append(c.out, '\r', '\n')
}

// flush writes the output buffer to the connection. dotSent reports whether that included a final dot.
func (c *wire) flush(timeout time.Duration) (dotSent bool, err error) {
	c.deadline(c.nc.SetWriteDeadline, &c.writeBy, timeout)
	n, err := c.nc.Write(c.out)
	c.flushed += int64(n)
	dotSent = c.dot > 0 && n >= c.dot
	c.out, c.dot = c.out[:0], 0
	return dotSent, err
}

// written returns the number of bytes sent so far, including those in the output buffer.
func (c *wire) written() int64 { return c.flushed + int64(len(c.out)) }

// unread reports whether the input buffer has unread data.
func (c *wire) unread() bool { return c.r < c.w }

// ask sends one command and reads its reply.
func (c *wire) ask(timeout time.Duration, parts ...string) error {
	c.command(parts...)
	if _, err := c.flush(timeout); err != nil {
		return err
	}
	return c.read(timeout)
}

// read reads one reply into c.reply. After an error the connection is unusable.
func (c *wire) read(timeout time.Duration) error {
	c.reply = reply{text: c.reply.text[:0]}
	c.lines = nil
	for n := 0; n < maxReplyLines; n++ {
		line, err := c.line(timeout)
		if err != nil {
			return err
		}
		code, more, text, ok := parseReplyLine(line)
		if !ok || n > 0 && code != c.reply.code {
			return errReply
		}
		c.reply.code = code
		c.addText(n, text)
		if !more {
			c.closing = code == 421
			return nil
		}
	}
	return errTooMuch
}

// addText adds the text of line n to the current reply.
func (c *wire) addText(n int, text []byte) {
	if c.keep {
		c.lines = append(c.lines, bytes.Clone(text))
	}
	enhanced, rest := cutEnhanced(text)
	if n == 0 && len(enhanced) > 0 {
		if string(enhanced) != c.known {
			c.known = string(enhanced)
		}
		c.reply.enhanced = c.known
	}
	for _, secret := range c.secrets {
		if bytes.Contains(rest, secret) {
			rest = bytes.ReplaceAll(rest, secret, []byte("***"))
		}
	}
	if room := maxReplyText - len(c.reply.text); room > 1 {
		if n > 0 {
			c.reply.text = append(c.reply.text, ' ')
			room--
		}
		c.reply.text = append(c.reply.text, rest[:min(len(rest), room)]...)
	}
}

// line returns the next line without its line break. It is valid until the next call.
func (c *wire) line(timeout time.Duration) ([]byte, error) {
	for from := c.r; ; {
		if i := bytes.IndexByte(c.in[from:c.w], '\n'); i >= 0 {
			line := c.in[c.r : from+i]
			if c.r = from + i + 1; len(line) > maxReplyLine {
				return nil, errTooMuch
			}
			return bytes.TrimSuffix(line, []byte("\r")), nil
		}
		if c.w-c.r >= maxReplyLine {
			return nil, errTooMuch
		}
		if c.r > 0 {
			c.w = copy(c.in, c.in[c.r:c.w])
			c.r = 0
		}
		from = c.w
		c.deadline(c.nc.SetReadDeadline, &c.readBy, timeout)
		n, err := c.nc.Read(c.in[c.w:])
		c.w += n
		if n == 0 && err == nil {
			err = io.ErrNoProgress
		}
		if n == 0 {
			return nil, err
		}
	}
}

// parseReplyLine parses a line of a reply (RFC 5321 section 4.2): three digits, then a dash if more lines follow, or
// else a space or nothing.
func parseReplyLine(line []byte) (code int, more bool, text []byte, ok bool) {
	if len(line) < 3 || line[0] < '2' || line[0] > '5' || !octets.Digit(line[1]) || !octets.Digit(line[2]) {
		return 0, false, nil, false
	}
	code = int(line[0]-'0')*100 + int(line[1]-'0')*10 + int(line[2]-'0')
	if len(line) == 3 {
		return code, false, nil, true
	}
	if line[3] != ' ' && line[3] != '-' {
		return 0, false, nil, false
	}
	return code, line[3] == '-', line[4:], true
}

// cutEnhanced cuts an enhanced status code (RFC 3463 section 2, RFC 2034) from the start of a reply's text.
func cutEnhanced(text []byte) (enhanced, rest []byte) {
	if len(text) < 5 || text[0] != '2' && text[0] != '4' && text[0] != '5' || text[1] != '.' {
		return nil, text
	}
	i := 2
	for part := 0; part < 2; part++ {
		from := i
		for i < len(text) && i-from < 3 && octets.Digit(text[i]) {
			i++
		}
		if i == from {
			return nil, text
		}
		if part == 0 {
			if i >= len(text) || text[i] != '.' {
				return nil, text
			}
			i++
		}
	}
	if i < len(text) && text[i] != ' ' {
		return nil, text
	}
	return text[:i], bytes.TrimLeft(text[i:], " ")
}

// string returns the reply's text without control characters, for logs and the database.
func (r *reply) string() string {
	if len(r.text) == 0 {
		return ""
	}
	return octets.CleanLine(string(r.text))
}

// appendStuffed appends message lines with dot stuffing (RFC 5321 section 4.5.2). start means that data starts at the
// start of a line.
func appendStuffed(dst, data []byte, start bool) []byte {
	if start && len(data) > 0 && data[0] == '.' {
		dst = append(dst, '.')
	}
	for {
		i := bytes.Index(data, []byte("\n."))
		if i < 0 {
			return append(dst, data...)
		}
		dst = append(dst, data[:i+2]...)
		dst = append(dst, '.')
		data = data[i+2:]
	}
}

// content adds a message and its final dot to the output buffer. It writes full buffers, and leaves writing the last
// one to flush. dotless means that no line in data starts with a dot. tail follows data, and none of its lines starts
// with a dot. After an error, no dot was written.
func (c *wire) content(data, tail []byte, dotless bool, timeout time.Duration) error {
	add := appendStuffed
	if dotless {
		add = func(dst, data []byte, _ bool) []byte { return append(dst, data...) }
	}
	start, whole := true, bytes.HasSuffix(data, []byte("\r\n"))
	for len(data) > flushAt {
		c.out = add(c.out, data[:flushAt], start)
		start = data[flushAt-1] == '\n'
		data = data[flushAt:]
		if _, err := c.flush(timeout); err != nil {
			return err
		}
	}
	c.out = add(c.out, data, start)
	if !whole {
		c.out = append(c.out, "\r\n"...)
	}
	for len(tail) > 0 {
		n := min(len(tail), flushAt)
		c.out, tail = append(c.out, tail[:n]...), tail[n:]
		if len(tail) == 0 {
			break
		}
		if _, err := c.flush(timeout); err != nil {
			return err
		}
	}
	c.out = append(c.out, ".\r\n"...)
	c.dot = len(c.out)
	return nil
}

// chunk adds a message to the output buffer as the only chunk of its transaction (RFC 3030 section 2). It writes full
// buffers, and leaves writing the last one to flush.
func (c *wire) chunk(data, tail []byte, timeout time.Duration) error {
	size, end := len(data)+len(tail), ""
	if len(tail) == 0 && !bytes.HasSuffix(data, []byte("\r\n")) {
		size, end = size+2, "\r\n"
	}
	c.out = append(c.out, "BDAT "...)
	c.out = strconv.AppendInt(c.out, int64(size), 10)
	c.out = append(c.out, " LAST\r\n"...)
	for _, part := range [][]byte{data, tail} {
		for len(part) > 0 {
			n := min(len(part), flushAt)
			if len(c.out) > 0 && len(c.out)+n > flushAt {
				if _, err := c.flush(timeout); err != nil {
					return err
				}
			}
			c.out, part = append(c.out, part[:n]...), part[n:]
		}
	}
	c.out = append(c.out, end...)
	return nil
}

// close closes the connection immediately.
func (c *wire) close() {
	if c.stop != nil {
		c.stop()
	}
	_ = c.nc.Close()
}

// quit ends the connection with QUIT. It waits for the reply and, for up to closed, until the server closes the
// connection.
func (c *wire) quit(timeout, closed time.Duration) {
	if c.ask(timeout, "QUIT") != nil {
		c.close()
		return
	}
	if t, ok := c.nc.(*tls.Conn); ok {
		_ = t.CloseWrite() // close_notify: the server sees a clean end
	}
	c.end(closed)
}

// end stops sending, waits for up to closed until the server closes the connection, and closes it. A relay counts a
// connection until the relay has closed it, so opening a new one earlier could exceed the relay's limit.
func (c *wire) end(closed time.Duration) {
	defer c.close()
	half, ok := c.raw.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	c.readBy = time.Time{}
	c.deadline(c.raw.SetReadDeadline, &c.readBy, closed)
	for {
		if _, err := c.raw.Read(c.in); err != nil {
			return
		}
	}
}
