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

// The paths of the receiver, as declared: they are what is signed.
const (
	eventPath = "/webhooks/subscriptions"
	syncPath  = "/webhooks/lists/full-sync"
)

const (
	postTimeout = 15 * time.Second
	maxReason   = 200      // bytes of an answer that are kept
	maxAnswer   = 64 << 10 // bytes of an answer that are read
)

// Poster signs and posts to the receiver of events. It follows no redirect and keeps connections open.
type Poster struct {
	store  *store.Store
	base   string
	client *http.Client
	signs  *core.WebhookSender // nil: the daemon's own client
}

// SignAs lets posts be signed by a client that the receiver has made, with its key, instead of the daemon's own.
func (p *Poster) SignAs(clientID string, key []byte) {
	p.signs = &core.WebhookSender{WebhookClient: core.WebhookClient{ID: clientID}, Keys: [][]byte{key}}
}

// NewPoster returns a poster to a base URL, such as http://127.0.0.1:8080. transport nil: one of its own.
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

// verdict is what the receiver's answer means for what was posted.
type verdict struct {
	done, dead bool
	down       bool          // the receiver as a whole does not answer: the event is not at fault
	after      time.Duration // what Retry-After asks for
	gone       bool          // it wants to hear nothing more
	status     int           // of the answer; 0: none came
	reason     string        // of a failure
}

// post makes one attempt.
func (p *Poster) post(ctx context.Context, path string, body []byte) verdict {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	req, err := p.request(ctx, path, body)
	if err != nil { // nothing can be posted at all
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
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // to its end, or the connection is not used again
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

// sign puts the four headers on a request, signed with each key: during a rotation the receiver may know either.
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

// judge reads an answer: 2xx and 409 (we were heard before) end an event, 410 and 422 make it a dead letter, anything
// else is tried again.
func judge(res *http.Response, text []byte) verdict {
	switch code := res.StatusCode; {
	case code/100 == 2 || code == http.StatusConflict:
		return verdict{done: true, status: code}
	case code == http.StatusGone || code == http.StatusUnprocessableEntity:
		return verdict{dead: true, gone: code == http.StatusGone, status: code, reason: answerReason(code, text)}
	default:
		// 401 is about our signature, whatever the event: a wrong secret or clock, which holds for all of them.
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

// retryAfter reads the header (RFC 9110 section 10.2.3), either form; what is absent or malformed is 0,
// and a day is the most.
func retryAfter(text string) time.Duration {
	d := time.Duration(0)
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
		d = time.Duration(min(max(n, 0), 86400)) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		d = time.Until(at)
	}
	return min(max(d, 0), 24*time.Hour)
}

// postError returns what broke, without the URL that net/http puts in front, and without the name server that was
// asked: tenants read it.
func postError(err error) string {
	if fault, ok := errors.AsType[*net.DNSError](err); ok {
		return fault.Name + ": " + fault.Err
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		err = e
	}
	return err.Error()
}
