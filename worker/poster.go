package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/store"
)

// The receiver's paths. Signatures cover them in exactly this form.
const (
	eventPath = "/webhooks/subscriptions"
	syncPath  = "/webhooks/lists/full-sync"
)

const (
	postTimeout = 15 * time.Second
	maxReason   = 200      // bytes of a response to store
	maxAnswer   = 64 << 10 // bytes of a response to read
)

// Poster signs and posts requests to an event receiver. It follows no redirects and keeps connections open.
type Poster struct {
	store  *store.Store
	base   string
	client *http.Client
	signs  *core.WebhookSender // nil: the daemon's own webhook client
}

// SignAs makes p sign requests as a webhook client that was created on the receiver, instead of with the daemon's own
// key.
func (p *Poster) SignAs(clientID string, key []byte) {
	p.signs = &core.WebhookSender{WebhookClient: core.WebhookClient{ID: clientID}, Keys: [][]byte{key}}
}

// NewPoster returns a poster for the receiver at a base URL, such as http://127.0.0.1:8080. If transport is nil, it
// creates one.
func NewPoster(s *store.Store, base string, transport http.RoundTripper) *Poster {
	if transport == nil {
		transport = &http.Transport{
			MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second,
			DisableCompression: true,
		}
	}
	return &Poster{store: s, base: strings.TrimSuffix(base, "/"), client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// verdict is what the receiver's response means for an event or batch.
type verdict struct {
	done, dead bool
	down       bool          // the receiver as a whole fails, not the event
	after      time.Duration // delay from Retry-After
	gone       bool          // the receiver wants no more events
	status     int           // HTTP status; 0: no response
	reason     string        // reason for a failure
}

// post makes one attempt to post body to a path of the receiver.
func (p *Poster) post(ctx context.Context, path string, body []byte) verdict {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	req, err := p.request(ctx, path, body)
	if err != nil { // nothing can be posted
		return verdict{down: true, reason: err.Error()}
	}
	if err := p.store.MayAct(); err != nil {
		return verdict{down: true, reason: err.Error()}
	}
	res, err := p.client.Do(req)
	if err != nil {
		return verdict{down: true, reason: postError(err)}
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // reads to the end, so that the connection is reused
	return judge(res, text)
}

func (p *Poster) request(ctx context.Context, path string, body []byte) (*http.Request, error) {
	sender := p.signs
	if sender == nil {
		var err error
		if sender, err = p.store.WebhookSender(ctx, core.LoopClientID); err != nil {
			return nil, fmt.Errorf("webhook client %s: %w", core.LoopClientID, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	sign(req, sender.Keys, path, sender.ID, time.Now().Unix(), body)
	return req, nil
}

// sign sets the four signature headers of a request. It adds a signature for each key, because the receiver may know
// only one of them during a rotation.
func sign(req *http.Request, keys [][]byte, path, clientID string, now int64, body []byte) {
	nonce := auth.NewNonce()
	signatures := make([]string, len(keys))
	for i, key := range keys {
		signatures[i] = auth.Sign(key, path, clientID, now, nonce, body)
	}
	req.Header[auth.HeaderSignature] = []string{strings.Join(signatures, ",")}
	req.Header[auth.HeaderTimestamp] = []string{strconv.FormatInt(now, 10)}
	req.Header[auth.HeaderNonce] = []string{nonce}
	req.Header[auth.HeaderClientID] = []string{clientID}
	req.Header["Content-Type"] = []string{"application/json"}
}

// judge interprets a response. After 2xx or 409 (already received), the event is done. After 410 or 422, it is a dead
// letter. After any other response, it is retried.
func judge(res *http.Response, text []byte) verdict {
	switch code := res.StatusCode; {
	case code/100 == 2 || code == http.StatusConflict:
		return verdict{done: true, status: code}
	case code == http.StatusGone || code == http.StatusUnprocessableEntity:
		return verdict{dead: true, gone: code == http.StatusGone, status: code, reason: answerReason(code, text)}
	default:
		// A 401 is about our signature, not the event: a wrong secret or clock affects all events.
		down := code == http.StatusUnauthorized || code == http.StatusTooManyRequests ||
			code == http.StatusBadGateway || code == http.StatusServiceUnavailable || code == http.StatusGatewayTimeout
		return verdict{
			down: down, status: code, after: retryAfter(res.Header.Get("Retry-After")),
			reason: answerReason(code, text),
		}
	}
}

func answerReason(code int, text []byte) string {
	s := strings.ToValidUTF8(string(text[:min(len(text), maxReason)]), "")
	return strings.TrimSpace("HTTP " + strconv.Itoa(code) + " " + strings.TrimSpace(s))
}

// retryAfter parses both forms of the Retry-After header (RFC 9110 section 10.2.3). It returns 0 if the header is
// missing or malformed, and at most one day.
func retryAfter(text string) time.Duration {
	d := time.Duration(0)
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
		d = time.Duration(min(max(n, 0), 86400)) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		d = time.Until(at)
	}
	return min(max(d, 0), 24*time.Hour)
}

// postError returns the message of an error from posting. It removes the URL that net/http prepends, and the name
// server's address, because tenants see the message.
func postError(err error) string {
	if fault, ok := errors.AsType[*net.DNSError](err); ok {
		return fault.Name + ": " + fault.Err
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		err = e
	}
	return err.Error()
}
