package objects

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	maxTries    = 4
	maxAnswer   = 8 << 20          // maximum bytes of a response: a page of a listing has 1,000 keys
	maxFault    = 64 << 10         // maximum bytes of an error response
	baseTimeout = 10 * time.Second // for a request without a body
	slowest     = 256 << 10        // minimum bytes per second for a body
	idleTimeout = 30 * time.Second // maximum time between two reads of an object
)

// errLate is the cause of requests that took too long and were given up.
var errLate = errors.New("no response in time")

// request is a request to the storage.
type request struct {
	op      string // operation, for errors
	method  string
	key     string
	whole   bool              // about the bucket itself, without a key
	params  map[string]string // query parameters
	header  map[string]string
	body    []byte
	cond    Condition
	timeout time.Duration // 0: depends on the length of the body
	stream  bool          // the caller reads the response
}

// answer is the storage's response to a request. It holds the response text or, for a stream, the open body.
type answer struct {
	status int
	header http.Header
	text   []byte
	body   io.ReadCloser
}

// do sends a request to the storage, and retries it if that is safe and can help.
func (b *s3) do(ctx context.Context, r *request) (*answer, error) {
	if !r.whole { // without a key the request would affect the bucket
		if err := checkKey(r.key); err != nil {
			return nil, err
		}
	}
	for try := 0; ; try++ {
		a, fault := b.ask(ctx, r)
		if fault == nil {
			return a, nil
		}
		if !fault.again || try == maxTries-1 || b.wait(ctx, backoff(try)) != nil {
			return nil, fault
		}
	}
}

// ask sends a request once.
func (b *s3) ask(parent context.Context, r *request) (*answer, *failure) {
	ctx, cancel := context.WithCancelCause(parent)
	timeout := r.timeout
	if timeout == 0 {
		timeout = b.timeout + time.Duration(len(r.body))*time.Second/slowest
	}
	body := &answerBody{ctx: ctx, cancel: cancel, late: time.AfterFunc(timeout, func() { cancel(errLate) })}
	sent := &payload{data: r.body}
	defer sent.detach()
	keys, err := b.keys.get(ctx, b.now())
	if err != nil { // the request was not sent
		body.Close()
		return nil, &failure{op: r.op, key: r.key, cause: err, again: parent.Err() == nil}
	}
	req, err := b.build(ctx, r, keys, sent)
	if err != nil {
		body.Close()
		return nil, &failure{op: r.op, key: r.key, cause: err}
	}
	resp, err := b.client.Do(req)
	if err != nil {
		err = body.why(err)
		body.Close()
		return nil, b.noAnswer(parent, r, err)
	}
	body.from = resp.Body
	a := &answer{status: resp.StatusCode, header: resp.Header, body: body}
	switch {
	case a.status/100 != 2 && !(r.stream && a.status == http.StatusRequestedRangeNotSatisfiable):
		a.text, _ = io.ReadAll(io.LimitReader(body, maxFault)) // if this fails, the status is enough
		body.Close()
		return nil, b.refusal(r, a)
	case r.stream:
		body.idle = b.idle
		return a, nil
	}
	a.text, err = io.ReadAll(io.LimitReader(body, maxAnswer+1))
	body.Close()
	switch {
	case r.method == http.MethodPut: // the status and headers are enough
	case err != nil:
		return nil, b.noAnswer(parent, r, err)
	case len(a.text) > maxAnswer:
		return nil, &failure{op: r.op, key: r.key, cause: errors.New("the response is too long")}
	}
	return a, nil
}

// build creates the signed request.
func (b *s3) build(ctx context.Context, r *request, keys credentials, sent *payload) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, b.scheme+"://"+b.host, nil)
	if err != nil {
		return nil, err
	}
	path := b.path
	if !r.whole {
		path += b.prefix + r.key
	} else if b.path != "/" {
		path = strings.TrimSuffix(b.path, "/")
	}
	req.URL.Path, req.URL.RawPath = path, escape(path, true)
	req.URL.RawQuery = canonicalQuery(r.params)
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if r.cond.Absent {
		req.Header.Set("If-None-Match", "*")
	}
	if r.cond.Match != "" {
		req.Header.Set("If-Match", quote(r.cond.Match))
	}
	if len(r.body) > 0 {
		// Without TLS the signature covers a hash of the body. Removing several objects requires an MD5 in any case.
		if b.scheme == "https" || r.method == http.MethodPost {
			sum := md5.Sum(r.body)
			req.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
		}
		req.ContentLength = int64(len(r.body))
		req.Body = sent.open()
		req.GetBody = func() (io.ReadCloser, error) { return sent.open(), nil }
	}
	hashed := unsignedPayload
	if b.scheme != "https" {
		sum := sha256.Sum256(r.body)
		hashed = hex.EncodeToString(sum[:])
	}
	b.signer.sign(req, keys, hashed, b.now())
	return req, nil
}

// failure describes why a request failed.
type failure struct {
	op, key string
	status  int    // 0: no response
	code    string // error code of the storage
	text    string // message of the storage, or a better one
	kind    error  // ErrPrecondition, ErrAmbiguous, fs.ErrNotExist, fs.ErrPermission, or nil
	cause   error
	again   bool // a retry is safe and can help
}

// Error implements error.
func (f *failure) Error() string {
	var b strings.Builder
	b.WriteString(f.op)
	if f.key != "" {
		b.WriteString(" " + f.key)
	}
	if f.status != 0 {
		fmt.Fprintf(&b, ": the storage answers %d", f.status)
		if f.code != "" {
			b.WriteString(" " + f.code)
		}
	}
	for _, err := range []error{f.cause, f.kind} {
		if err != nil && err != fs.ErrNotExist && err != fs.ErrPermission {
			b.WriteString(": " + err.Error())
		}
	}
	if f.text != "" {
		b.WriteString(": " + f.text)
	}
	return b.String()
}

// Unwrap returns the kind and the cause.
func (f *failure) Unwrap() []error { return []error{f.kind, f.cause} }

// noAnswer returns the failure of a request that got no response.
func (b *s3) noAnswer(ctx context.Context, r *request, err error) *failure {
	if in := new(url.Error); errors.As(err, &in) {
		err = in.Err // without the URL, because the operation and the key are enough
	}
	if text := b.mask(err.Error()); text != err.Error() {
		err = errors.New(text)
	}
	f := &failure{op: r.op, key: r.key, cause: err}
	if cert := new(tls.CertificateVerificationError); errors.As(err, &cert) {
		return f
	}
	f.again = ctx.Err() == nil
	f.doubt(r.cond)
	return f
}

// doubt marks a failure of a conditional request as ambiguous, because the request may have succeeded and a retry is
// not safe.
func (f *failure) doubt(cond Condition) {
	if cond != (Condition{}) {
		f.again, f.kind = false, ErrAmbiguous
	}
}

// refusal returns the failure for a response that is not a success.
func (b *s3) refusal(r *request, a *answer) *failure {
	var said struct {
		Code, Message, Region string
	}
	_ = xml.Unmarshal(a.text, &said) // a proxy may have responded instead of the storage: the status is enough
	f := &failure{op: r.op, key: r.key, status: a.status, code: b.clean(said.Code), text: b.clean(said.Message)}
	if region := a.header.Get("X-Amz-Bucket-Region"); region != "" {
		said.Region = region
	}
	if !regionName.MatchString(said.Region) {
		said.Region = ""
	}
	switch {
	case a.status == http.StatusPreconditionFailed:
		f.kind, f.text = ErrPrecondition, ""
	case a.status == http.StatusConflict:
		// Another write to the key is in progress. This one had no effect, and a retry will soon show whether the
		// condition holds.
		f.doubt(r.cond)
		f.again = true
	case a.status == http.StatusNotFound && f.code == "NoSuchBucket":
		f.text = "there is no bucket " + b.bucket
	case a.status == http.StatusNotFound && r.cond.Match != "":
		f.kind, f.text = ErrPrecondition, ""
	case a.status == http.StatusNotFound:
		f.kind, f.text = fs.ErrNotExist, ""
	case a.status == http.StatusTooManyRequests, a.status == http.StatusRequestTimeout, a.status >= 500 &&
		a.status != http.StatusNotImplemented, f.code == "RequestTimeout":
		f.again = true
		f.doubt(r.cond)
	case said.Region != "" && said.Region != b.signer.region:
		f.text = "the bucket is in the region " + b.clean(said.Region) + ". Set region=" + b.clean(said.Region) +
			" in its address"
	case f.code == "ExpiredToken":
		f.again = b.keys.forget()
		f.text = "the keys to the storage have expired"
	case a.status/100 == 3:
		f.text = "it redirects elsewhere, which newsletterd doesn't follow. Correct the address of the endpoint"
	case a.status == http.StatusForbidden, a.status == http.StatusUnauthorized:
		f.kind = fs.ErrPermission
		if skew := b.skew(a.header); skew != "" {
			f.text = skew
		}
	}
	return f
}

// skew describes how far this machine's clock differs from the storage's. If it is close enough, skew returns an empty
// string. Storages refuse signatures that differ by more than 15 minutes.
func (b *s3) skew(h http.Header) string {
	theirs, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return ""
	}
	off := b.now().Sub(theirs).Round(time.Minute)
	switch {
	case off > 5*time.Minute:
		return fmt.Sprintf("the clock of this machine is %s ahead of the storage's. Correct it", off)
	case off < -5*time.Minute:
		return fmt.Sprintf("the clock of this machine is %s slow compared with the storage's. Correct it", -off)
	}
	return ""
}

// signatures matches request signatures in any string.
var signatures = regexp.MustCompile(`(?i)signature["' ]*[=:>]+["' ]*[0-9a-f%+/=]*|[0-9a-f]{64}`)

// mask removes the keys and signatures from s, because some storages echo the request in their response.
func (b *s3) mask(s string) string {
	for _, secret := range b.keys.secrets() {
		const masked = "(secret)"
		s = strings.NewReplacer(secret, masked, url.QueryEscape(secret), masked, url.PathEscape(secret), masked).Replace(s)
	}
	return signatures.ReplaceAllString(s, "(signature)")
}

// clean prepares text from the storage for an error message: short, printable and without secrets.
func (b *s3) clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\ufffd' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(b.mask(s), " "))
	return strings.TrimSpace(fmt.Sprintf("%.200s", s))
}

// answerBody is the body of a response with a time limit.
type answerBody struct {
	from   io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	late   *time.Timer
	idle   time.Duration // 0: one deadline for the whole response
}

// Read implements io.Reader.
func (b *answerBody) Read(p []byte) (int, error) {
	if b.idle > 0 {
		b.late.Reset(b.idle)
	}
	n, err := b.from.Read(p)
	if err != nil && err != io.EOF {
		err = b.why(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *answerBody) Close() error {
	b.late.Stop()
	defer b.cancel(nil)
	if b.from == nil {
		return nil
	}
	return b.from.Close()
}

// why returns errLate if err occurred because the request took too long. Otherwise it returns err.
func (b *answerBody) why(err error) error {
	if context.Cause(b.ctx) == errLate {
		return errLate
	}
	return err
}

// payload is the body of a request. A transport may still read the body after the request has failed, but must not see
// how the owner reuses the memory.
type payload struct {
	mu   sync.Mutex
	data []byte
	gone bool
}

func (p *payload) detach() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
}

func (p *payload) open() io.ReadCloser { return &payloadReader{of: p} }

type payloadReader struct {
	of *payload
	at int
}

// Read implements io.Reader.
func (r *payloadReader) Read(p []byte) (int, error) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	switch {
	case r.of.gone:
		return 0, io.ErrClosedPipe
	case r.at == len(r.of.data):
		return 0, io.EOF
	}
	n := copy(p, r.of.data[r.at:])
	r.at += n
	return n, nil
}

// Close implements io.Closer.
func (r *payloadReader) Close() error { return nil }

// backoff returns the wait after attempt try, which starts at 0: about 0.1 s, doubled each time, at most 5 s.
func backoff(try int) time.Duration {
	d := min(100*time.Millisecond<<min(try, 10), 5*time.Second)
	return d/2 + rand.N(d/2)
}

// pause waits for d. If ctx ends first, it returns the cause.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
