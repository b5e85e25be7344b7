package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/bits"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"golang.org/x/sync/semaphore"

	"newsletterd/core"
)

// Server returns an HTTP server for h with limits on slow and idle connections.
func Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      bodyTimeout + handlerTimeout + bodyTimeout/2,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader - 4*KiB, // net/http adds 4 KiB of slack

		DisableGeneralOptionsHandler: true, // gives OPTIONS * a request id and a log line, like other requests
	}
}

var mediaTypes = map[bodyKind]string{jsonBody: "application/json", formBody: "application/x-www-form-urlencoded"}

// checkMedia returns an error if the body doesn't have the route's media type.
func (c *Call) checkMedia() error {
	want := mediaTypes[c.route.Do.body]
	given := c.Request.Header.Get("Content-Type")
	if want == "" || given == want || (given == "" && c.Request.ContentLength == 0) { // a missing body is 400, not 415
		return nil
	}
	wrong := (&core.Error{Kind: core.MediaType, Code: "unsupported_media_type"}).Sayf("The body must be %s.", want)
	media, params, err := mime.ParseMediaType(given)
	if err != nil || media != want {
		return wrong
	}
	if cs, ok := params["charset"]; ok && !strings.EqualFold(cs, "utf-8") {
		return wrong
	}
	return nil
}

var bodies = sync.Pool{New: func() any { b := make([]byte, 0, 4*KiB); return &b }}

// readBody reads the whole body into c.body, up to the route's maximum size. Bodies above 64 KiB count against a budget
// that all requests share. The budget is charged as bytes arrive, so a slow caller uses only as much of it as it has
// sent. Signatures over the raw bytes are checked before the media type.
func (c *Call) readBody() error {
	limit := c.route.Do.maxBody
	if c.limit > 0 {
		limit = c.limit
	}
	if !c.route.Who.signed {
		if err := c.checkMedia(); err != nil {
			return err
		}
	}
	if c.Request.ContentLength > limit {
		return tooLarge(limit)
	}
	pooled := bodies.Get().(*[]byte)
	b := (*pooled)[:0]
	for {
		if len(b) == cap(b) {
			grown, err := c.growBody(b, limit)
			if err != nil {
				return err
			}
			b = grown
		}
		n, err := c.Request.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if int64(len(b)) > limit {
			return tooLarge(limit)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return BodyError(err)
		}
	}
	*pooled = b
	c.body = b
	c.pooled = pooled
	for _, check := range c.checks {
		if err := check(b); err != nil {
			return err
		}
	}
	if c.route.Who.signed {
		return c.checkMedia()
	}
	return nil
}

func (c *Call) growBody(b []byte, limit int64) ([]byte, error) {
	size := max(int64(cap(b))*2, 4*KiB)
	if int64(cap(b)) < freeBody {
		size = min(max(size, c.Request.ContentLength+1), freeBody)
	}
	size = min(size, limit+1)
	if size > freeBody {
		ctx, cancel := context.WithTimeout(c, BodyBudgetWait)
		defer cancel()
		if err := c.hold(ctx, size); err != nil {
			return nil, ErrBusy.With(fmt.Errorf("wait for memory for the body: %w", err))
		}
		if size >= heavyBody && c.heavy == nil && c.frame.options.SmallHeap != nil {
			c.heavy = c.frame.options.SmallHeap()
		}
	}
	grown := append(newBody(size), b...)
	if cap(b) > freeBody { // no other code uses the old buffer, and the new one has its content
		largeBodies[bits.Len(uint(cap(b)))].Put(&b)
	}
	return grown, nil
}

// hold charges the budget until it covers size bytes of the body. If the sender is not authenticated before the body is
// read, hold first charges a separate share of the budget. Anonymous requests thus leave room for known callers.
func (c *Call) hold(ctx context.Context, size int64) error {
	if c.held == 0 && !c.Caller.Known() {
		c.share = c.frame.budget.strangers
		if c.route.Who.signed {
			c.share = c.frame.budget.signed
		}
	}
	more := size - c.held
	if c.share != nil {
		if err := c.share.Acquire(ctx, more); err != nil {
			return err
		}
	}
	if err := c.frame.budget.all.Acquire(ctx, more); err != nil {
		if c.share != nil {
			c.share.Release(more)
		}
		return err
	}
	c.held = size
	return nil
}

// largeBodies holds buffers for reuse after a body has outgrown them, indexed by the bit length of their size. Reuse
// reduces garbage when bodies arrive concurrently.
var largeBodies [32]sync.Pool

func newBody(size int64) []byte {
	if size > freeBody {
		if b, ok := largeBodies[bits.Len(uint(size))].Get().(*[]byte); ok && int64(cap(*b)) >= size {
			return (*b)[:0]
		}
	}
	return make([]byte, 0, size)
}

// release returns the body's buffer to the pool and its memory to the budget.
func (c *Call) release() {
	if c.held > 0 {
		c.frame.budget.all.Release(c.held)
		if c.share != nil {
			c.share.Release(c.held)
		}
	}
	if c.pooled != nil && cap(*c.pooled) <= freeBody {
		bodies.Put(c.pooled)
	}
	if c.heavy != nil {
		c.heavy()
	}
	c.held, c.share, c.pooled, c.body, c.heavy = 0, nil, nil, nil, nil
}

func tooLarge(limit int64) error {
	return (&core.Error{Kind: core.TooLarge, Code: "payload_too_large"}).
		Sayf("The body must have at most %d bytes.", limit)
}

// BodyError converts an error from reading a body to an Invalid error. It distinguishes a timeout from a truncated or
// malformed body.
func BodyError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return core.Invalidf("", "The body did not arrive in time. Try again.").With(err)
	}
	return core.Invalidf("", "The body could not be read. Try again.").With(err)
}

// budget is the memory for bodies above freeBody, in bytes.
type budget struct {
	all *semaphore.Weighted
	// share of signed webhooks, whose signature can be checked only after the body is read
	signed    *semaphore.Weighted
	strangers *semaphore.Weighted // share of all other requests without an access token
}

func newBudget() *budget {
	return &budget{
		semaphore.NewWeighted(bodyBudget), semaphore.NewWeighted(signedShare),
		semaphore.NewWeighted(strangersShare),
	}
}

// Limiter limits the requests from each remote address with the GCRA algorithm, in bounded memory. If it is full, it
// removes the address whose last request is the oldest.
type Limiter struct{ gcra *throttled.GCRARateLimiterCtx }

// limiterKeys is the maximum number of addresses that one limiter remembers.
const limiterKeys = 65536

// NewLimiter returns a limiter that allows n requests per key in the period per.
func NewLimiter(n int, per time.Duration) (*Limiter, error) {
	store, err := memstore.NewCtx(limiterKeys)
	if err != nil {
		return nil, err
	}
	quota := throttled.RateQuota{MaxRate: throttled.PerDuration(n, per), MaxBurst: n - 1}
	gcra, err := throttled.NewGCRARateLimiterCtx(store, quota)
	if err != nil {
		return nil, fmt.Errorf("limiter of %d per %v: %w", n, per, err)
	}
	return &Limiter{gcra}, nil
}

// limitRate counts this request against the route's rate limit, if the route has one.
func (c *Call) limitRate() error {
	l := c.route.Do.limiter
	key := AddressKey(c.Remote)
	if l == nil || !key.IsValid() {
		return nil
	}
	return c.CountBy(l, key.String())
}

// CountBy counts this request against the limit for key. If there are too many, it returns ErrRateLimited.
func (c *Call) CountBy(l *Limiter, key string) error {
	limited, result, err := l.gcra.RateLimitCtx(c, key, 1)
	if err != nil {
		return err
	}
	if limited {
		e := *ErrRateLimited
		e.RetryAfter = int(result.RetryAfter/time.Second) + 1
		return &e
	}
	return nil
}

// AddressKey returns the key for counting an address's requests and connections: an IPv4 address itself, or the first
// address in the /64 of an IPv6 address. For a loopback address, which only proxies and tests use, it returns the zero
// netip.Addr.
func AddressKey(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if !a.IsValid() || a.IsLoopback() {
		return netip.Addr{}
	}
	if a.Is6() {
		p, _ := a.WithZone("").Prefix(64)
		return p.Addr()
	}
	return a
}

// remote returns the peer's address. If the peer is a trusted proxy, it returns the last hop in X-Forwarded-For that
// isn't one. It reads the header from the right, since entries to the left of an untrusted one may be forged.
func (h *Handler) remote(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	peer, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	peer = peer.Unmap()
	forwarded := r.Header.Values("X-Forwarded-For")
	if len(forwarded) > 0 && peer.IsLoopback() && !h.trusted(peer) {
		h.unlisted.Do(func() {
			h.log.Warn(`a proxy on this machine forwards requests but is not trusted: all its clients count as one `+
				`IP address, so limits per address don't work; set [server] trusted_proxies = ["127.0.0.1", "::1"]`,
				slog.String("peer", peer.String()))
		})
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for i := len(hops) - 1; i >= 0 && h.trusted(peer); i-- {
		text := strings.Trim(hops[i], " \t")
		if text == "" { // RFC 9110 section 5.6.1.2: lists may have empty elements
			continue
		}
		hop, ok := hopAddress(text)
		if !ok {
			h.unreadable.Do(func() {
				h.log.Warn("X-Forwarded-For contains an invalid address; its clients count as the proxy in front of it",
					slog.String("hop", text[:min(len(text), 100)]), slog.String("peer", peer.String()))
			})
			break
		}
		peer = hop
	}
	return peer
}

// hopAddress parses a hop in X-Forwarded-For: an address, optionally with a port. An IPv6 address may be in brackets,
// and the hop may be quoted (RFC 7239 section 6).
func hopAddress(s string) (a netip.Addr, ok bool) {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	a, err := netip.ParseAddr(s)
	if err == nil {
		return a.Unmap(), true
	}
	if inner, bracketed := strings.CutPrefix(s, "["); bracketed && strings.HasSuffix(inner, "]") {
		a, err = netip.ParseAddr(inner[:len(inner)-1])
		return a.Unmap(), err == nil && a.Is6()
	}
	with, err := netip.ParseAddrPort(s)
	return with.Addr().Unmap(), err == nil
}

func (h *Handler) trusted(a netip.Addr) bool {
	for _, p := range h.options.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
