package mailtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Record is one message accepted by a Sink.
type Record struct {
	From      string `json:"from"`
	Rcpt      string `json:"rcpt"`
	MessageID string `json:"message_id"`
	// At is the time when the message's end was read.
	At time.Time `json:"at"`
	// Data is the message as sent, still dot-stuffed if it was sent with DATA. It is set only with SinkOptions.Copies.
	Data []byte `json:"data,omitempty"`
	// Marks are the message's distinct words that start with SinkOptions.Mark.
	Marks []string `json:"marks,omitempty"`
}

// SinkOptions configures what a Sink does in addition to counting.
type SinkOptions struct {
	Records bool          // keep a Record of each message
	Watch   string        // keep a Record of each message to addresses with this suffix; empty: none
	Copies  bool          // keep the bytes of each message
	Mark    string        // keep the words with this prefix; empty: none
	Delay   time.Duration // delay of each batch of replies, to simulate a distant relay
	Data    bool          // don't announce CHUNKING, so that clients use DATA
}

// Sink is a minimal SMTP server for benchmarks. It announces PIPELINING and CHUNKING, accepts everything and checks no
// syntax. It counts a message after reading its end, even if the client doesn't get the reply.
type Sink struct {
	opts  SinkOptions
	ln    net.Listener
	count atomic.Int64
	bytes atomic.Int64
	last  atomic.Int64 // arrival of the last message, in Unix nanoseconds
	mu    sync.Mutex
	conns map[*sinkConn]bool
	past  []Record // records of closed connections
	wg    sync.WaitGroup
}

// NewSink listens on addr, such as "127.0.0.1:0".
func NewSink(addr string, opts SinkOptions) (*Sink, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	s := &Sink{opts: opts, ln: ln, conns: map[*sinkConn]bool{}}
	s.wg.Add(1)
	go s.accept()
	return s, nil
}

// Addr returns host:port.
func (s *Sink) Addr() string { return s.ln.Addr().String() }

// Count returns the number of accepted messages.
func (s *Sink) Count() int64 { return s.count.Load() }

// Bytes returns the total size of the accepted messages.
func (s *Sink) Bytes() int64 { return s.bytes.Load() }

// Records returns the kept records, in no particular order.
func (s *Sink) Records() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := append([]Record(nil), s.past...)
	for c := range s.conns {
		c.mu.Lock()
		out = append(out, c.records...)
		c.mu.Unlock()
	}
	return out
}

// Close stops listening and closes all connections.
func (s *Sink) Close() error {
	err := s.ln.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.nc.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return err
}

// Control serves a parent process. It writes the address as the first line. It replies to "stats" lines with {"count",
// "bytes", "last"} (last: Unix nanoseconds of the last message) and to "records" lines with an array of Record. It
// returns when in ends.
func (s *Sink) Control(in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, s.Addr()); err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var err error
		switch lines.Text() {
		case "stats":
			err = enc.Encode(map[string]int64{"count": s.Count(), "bytes": s.Bytes(), "last": s.last.Load()})
		case "records":
			err = enc.Encode(append([]Record{}, s.Records()...))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Sink) accept() {
	defer s.wg.Done()
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			return
		}
		c := &sinkConn{sink: s, nc: nc, in: make([]byte, 64<<10)}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.wg.Add(1)
		go c.serve()
	}
}

type sinkConn struct {
	sink       *Sink
	nc         net.Conn
	in         []byte
	r, w       int
	out        []byte
	from, rcpt []byte
	mu         sync.Mutex
	records    []Record
}

func (c *sinkConn) serve() {
	defer func() {
		_ = c.nc.Close()
		s := c.sink
		s.mu.Lock()
		s.past = append(s.past, c.records...)
		delete(s.conns, c)
		s.mu.Unlock()
		s.wg.Done()
	}()
	c.out = append(c.out, "220 sink.localhost ESMTP\r\n"...)
	for {
		line, ok := c.line()
		if !ok || !c.command(line) {
			return
		}
	}
}

// fill reads more data, after sending all pending replies. It reports whether the connection is still open.
func (c *sinkConn) fill() bool {
	if len(c.out) > 0 {
		if c.sink.opts.Delay > 0 {
			time.Sleep(c.sink.opts.Delay)
		}
		if _, err := c.nc.Write(c.out); err != nil {
			return false
		}
		c.out = c.out[:0]
	}
	if c.r > 0 && (c.r == c.w || c.w == len(c.in)) {
		c.w = copy(c.in, c.in[c.r:c.w])
		c.r = 0
	}
	if c.w == len(c.in) {
		c.in = append(c.in, make([]byte, len(c.in))...)
	}
	n, err := c.nc.Read(c.in[c.w:])
	c.w += n
	return n > 0 || err == nil
}

func (c *sinkConn) line() ([]byte, bool) {
	for seen := 0; ; {
		if i := bytes.IndexByte(c.in[c.r+seen:c.w], '\n'); i >= 0 {
			line := c.in[c.r : c.r+seen+i+1]
			c.r += seen + i + 1
			return line, true
		}
		seen = c.w - c.r
		if seen > 1<<16 || !c.fill() {
			return nil, false
		}
	}
}

func (c *sinkConn) command(line []byte) bool {
	if len(line) < 4 {
		c.out = append(c.out, "500 5.5.2 ?\r\n"...)
		return true
	}
	switch line[0] | 0x20 {
	case 'm':
		c.from = append(c.from[:0], angle(line)...)
	case 'r':
		if line[1]|0x20 == 'c' {
			c.rcpt = append(c.rcpt[:0], angle(line)...)
		}
	case 'd':
		c.out = append(c.out, "354 go on\r\n"...)
		return c.data()
	case 'b':
		return c.chunk(line)
	case 'e':
		c.out = append(c.out, "250-sink.localhost\r\n250-PIPELINING\r\n250-ENHANCEDSTATUSCODES\r\n"...)
		if !c.sink.opts.Data {
			c.out = append(c.out, "250-CHUNKING\r\n"...)
		}
		c.out = append(c.out, "250 8BITMIME\r\n"...)
		return true
	case 'q':
		_, _ = c.nc.Write(append(c.out, "221 2.0.0 bye\r\n"...))
		return false
	}
	c.out = append(c.out, "250 2.0.0 ok\r\n"...)
	return true
}

var finalDot = []byte("\r\n.\r\n")

// data reads up to the final dot, with the whole message in the buffer. It reports whether the connection is still
// open.
func (c *sinkConn) data() bool {
	for seen := 0; ; {
		from := max(0, seen-len(finalDot))
		if i := bytes.Index(c.in[c.r+from:c.w], finalDot); i >= 0 {
			end := c.r + from + i + 2
			c.accept(c.in[c.r:end])
			c.r = end + 3
			c.out = append(c.out, "250 2.0.0 ok taken\r\n"...)
			return true
		}
		seen = c.w - c.r
		if !c.fill() {
			return false
		}
	}
}

// chunk reads the content after "BDAT SIZE LAST", which is a whole message (RFC 3030 section 2). It reports whether the
// connection is still open.
func (c *sinkConn) chunk(line []byte) bool {
	words := bytes.Fields(line)
	if len(words) != 3 {
		return false
	}
	size, err := strconv.Atoi(string(words[1]))
	if err != nil || size < 0 {
		return false
	}
	for c.w-c.r < size {
		if !c.fill() {
			return false
		}
	}
	c.accept(c.in[c.r : c.r+size])
	c.r += size
	c.out = append(c.out, "250 2.0.0 ok taken\r\n"...)
	return true
}

func (c *sinkConn) accept(data []byte) {
	c.sink.count.Add(1)
	c.sink.bytes.Add(int64(len(data)))
	c.sink.last.Store(time.Now().UnixNano())
	watch := c.sink.opts.Watch
	if !c.sink.opts.Records && (watch == "" || !bytes.HasSuffix(c.rcpt, []byte(watch))) {
		return
	}
	r := Record{From: string(c.from), Rcpt: string(c.rcpt), MessageID: messageID(data), At: time.Now()}
	if c.sink.opts.Copies {
		r.Data = bytes.Clone(data)
	}
	if mark := []byte(c.sink.opts.Mark); len(mark) > 0 {
		for at := bytes.Index(data, mark); at >= 0; at = bytes.Index(data, mark) {
			data = data[at:]
			end := bytes.IndexAny(data, " <\r\n") // a message ends with a line
			if word := string(data[:end]); !slices.Contains(r.Marks, word) {
				r.Marks = append(r.Marks, word)
			}
			data = data[end:]
		}
	}
	c.mu.Lock()
	c.records = append(c.records, r)
	c.mu.Unlock()
}

// messageID returns the Message-ID with its brackets. It is on the field's first line or the next one.
func messageID(data []byte) string {
	const name = "\r\nmessage-id:"
	for i := 0; ; {
		n := bytes.Index(data[i:], []byte("\r\n"))
		if n < 0 || n == 0 && i > 0 {
			return "" // end of the header
		}
		i += n
		if len(data) > i+len(name) && bytes.EqualFold(data[i:i+len(name)], []byte(name)) {
			rest := data[i+len(name):]
			a := bytes.IndexByte(rest, '<')
			b := bytes.IndexByte(rest, '>')
			if a < 0 || b < a {
				return ""
			}
			return string(rest[a : b+1])
		}
		i += 2
	}
}

func angle(line []byte) []byte {
	a := bytes.IndexByte(line, '<')
	b := bytes.IndexByte(line, '>')
	if a < 0 || b < a {
		return nil
	}
	return line[a+1 : b]
}
