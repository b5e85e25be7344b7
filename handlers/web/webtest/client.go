package webtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Client sends requests to one origin. If a request gets no response, the test fails.
type Client struct {
	testing.TB
	URL   string       // origin to which paths are appended
	Token string       // bearer token; empty: none
	HTTP  *http.Client // nil: http.DefaultClient
}

// Reply is a response with its whole body.
type Reply struct {
	*http.Response
	Text string // the body

	tb testing.TB
}

// Staying returns an HTTP client that doesn't follow redirects.
func Staying() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Must ends the test if err is not nil.
func (c *Client) Must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// As returns a client with another token.
func (c *Client) As(token string) *Client {
	other := *c
	other.Token = token
	return &other
}

// Get sends a GET request to a path and returns the response.
func (c *Client) Get(path string) Reply {
	c.Helper()
	return c.Send(http.MethodGet, path, nil)
}

// Send sends a request and returns the response. Try describes body; headers are alternating names and values.
func (c *Client) Send(method, path string, body any, headers ...string) Reply {
	c.Helper()
	r, err := c.Try(method, path, body, headers...)
	c.Must(err)
	return r
}

// Try is like Send, but returns an error if there is no response. url.Values are sent as a form. A string, bytes or a
// reader are sent unchanged, as JSON unless the headers set another type. A nil body is empty, and everything else is
// encoded as JSON.
func (c *Client) Try(method, path string, body any, headers ...string) (Reply, error) {
	c.Helper()
	var in io.Reader = http.NoBody
	media := "application/json"
	switch b := body.(type) {
	case nil:
		media = ""
	case url.Values:
		in, media = strings.NewReader(b.Encode()), "application/x-www-form-urlencoded"
	case string:
		in = strings.NewReader(b)
	case []byte:
		in = bytes.NewReader(b)
	case io.Reader:
		in = b
	default:
		text, err := json.Marshal(b)
		c.Must(err)
		in = bytes.NewReader(text)
	}
	if !strings.Contains(path, "://") {
		path = c.URL + path
	}
	req, err := http.NewRequestWithContext(c.Context(), method, path, in)
	c.Must(err)
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		return Reply{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return Reply{res, string(text), c.TB}, err
}

// Wants ends the test if the response has another status.
func (r Reply) Wants(status int) Reply {
	r.tb.Helper()
	if r.StatusCode != status {
		r.tb.Fatalf("%s %s: %s %s, want %d", r.Request.Method, r.Request.URL, r.Status, r.Text, status)
	}
	return r
}

// OK ends the test if the response is not a success.
func (r Reply) OK() Reply {
	r.tb.Helper()
	if r.StatusCode >= 300 {
		r.tb.Fatalf("%s %s: %s %s", r.Request.Method, r.Request.URL, r.Status, r.Text)
	}
	return r
}

// JSON decodes the body into the value that out points to.
func (r Reply) JSON(out any) {
	r.tb.Helper()
	if err := json.Unmarshal([]byte(r.Text), out); err != nil {
		r.tb.Fatalf("%s %s: %s %v: %s", r.Request.Method, r.Request.URL, r.Status, err, r.Text)
	}
}

// Field returns one field of the JSON object in the body as text, or an empty string if the body is empty.
func (r Reply) Field(name string) string {
	r.tb.Helper()
	if r.Text == "" {
		return ""
	}
	var object map[string]any
	r.JSON(&object)
	return fmt.Sprint(object[name])
}
