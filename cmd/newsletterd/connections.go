package main

import (
	queue "container/list"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
)

// ownFiles is how many files the daemon keeps for what is no connection of a client: the database, relays, receivers of webhooks.
const ownFiles = 512

// connections bounds how many clients are connected at once, so that a crowd costs neither memory without end nor the files that
// the database and the relay need. Beyond the bound the one that has waited longest for a next request is closed (as RFC 9112
// section 9.3 allows at any time); where all are at work, new ones wait in the queue of the kernel.
type connections struct {
	most int

	mu      sync.Mutex
	changed *sync.Cond // some connection ended or waits, or a listener was closed
	open    int
	idle    queue.List // of net.Conn, the one that waits longest first
	place   map[net.Conn]*queue.Element
	closed  map[net.Conn]bool // by us, and no longer counted in open
}

func newConnections(most int) *connections {
	c := &connections{most: most, place: map[net.Conn]*queue.Element{}, closed: map[net.Conn]bool{}}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// mostConnections is what is configured, or what the limit of open files leaves.
func mostConnections(configured int, log *slog.Logger) int {
	files := maxFiles()
	if left := max(files-ownFiles, files/2); left < configured {
		log.Warn("the limit of open files (ulimit -n, LimitNOFILE) allows fewer connections than max_connections",
			slog.Int("files", files), slog.Int("connections", left), slog.Int("max_connections", configured))
		return left
	}
	return configured
}

// maxFiles is how many files this process may have open; the Go runtime has raised the soft limit to the hard one.
func maxFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(uint64(limit.Cur), 1<<30))
}

// state follows a connection through its life; it is http.Server.ConnState, which is called before the next Accept.
func (c *connections) state(conn net.Conn, now http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.place[conn]; at != nil {
		c.idle.Remove(at)
		delete(c.place, conn)
	}
	switch now {
	case http.StateNew:
		c.open++
	case http.StateIdle:
		if !c.closed[conn] {
			c.place[conn] = c.idle.PushBack(conn)
			c.changed.Broadcast()
		}
	case http.StateClosed, http.StateHijacked:
		if !c.closed[conn] {
			c.open--
			c.changed.Broadcast()
		}
		delete(c.closed, conn)
	}
}

// room returns when one more connection may come in, or done says that none will.
func (c *connections) room(done *bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open >= c.most && !*done {
		oldest := c.idle.Front()
		if oldest == nil {
			c.changed.Wait()
			continue
		}
		conn := oldest.Value.(net.Conn)
		c.idle.Remove(oldest)
		delete(c.place, conn)
		c.closed[conn] = true
		c.open--
		if under, ok := conn.(interface{ NetConn() net.Conn }); ok {
			conn = under.NetConn() // a goodbye by TLS might have to wait for the client
		}
		_ = conn.Close()
	}
}

func (c *connections) count() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(c.open)
}

func (c *connections) register(reg *prometheus.Registry) {
	reg.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "newsletterd_http_connections", Help: "Connections of clients that are open.",
		}, c.count),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "newsletterd_http_connections_limit", Help: "How many there may be at once.",
		}, func() float64 { return float64(c.most) }),
	)
}

// boundedListener takes a connection when there is room for it. Its server's ConnState must be connections.state.
type boundedListener struct {
	net.Listener
	*connections
	done bool // guarded by connections.mu
}

func (c *connections) listener(l net.Listener) net.Listener {
	return &boundedListener{Listener: l, connections: c}
}

func (l *boundedListener) Accept() (net.Conn, error) {
	l.room(&l.done)
	return l.Listener.Accept()
}

func (l *boundedListener) Close() error {
	l.mu.Lock()
	l.done = true
	l.changed.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}
