package daemontest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// Conn is a cheap HTTP client. It writes prepared requests to a connection, and reads each response up to its declared
// length.
type Conn struct {
	net.Conn

	in *bufio.Reader
}

// Dial connects to the daemon.
func (p *Process) Dial() *Conn {
	p.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	p.Must(err)
	return &Conn{conn, bufio.NewReaderSize(conn, 16<<10)}
}

// Do sends a request and reads the response.
func (c *Conn) Do(request []byte) (status int, body []byte, err error) {
	if _, err = c.Write(request); err != nil {
		return 0, nil, err
	}
	length := 0
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		switch {
		case first && len(line) > 12:
			status, err = strconv.Atoi(string(line[9:12]))
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			length, err = strconv.Atoi(string(bytes.TrimSpace(line[16:])))
		case len(line) <= 2:
			body = make([]byte, length)
			_, err = io.ReadFull(c.in, body)
			return status, body, err
		}
		if err != nil {
			return 0, nil, err
		}
	}
}

// Request returns an encoded request. It leaves out an empty token or form.
func Request(method, path, token, form string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\n", method, path)
	if token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", token)
	}
	if form != "" {
		fmt.Fprintf(&b, "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n", len(form))
	}
	return append(append(b.Bytes(), "\r\n"...), form...)
}
