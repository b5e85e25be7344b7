package main

import (
	queue "container/list"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/handlers/web"
)

// ownFiles is the number of open files that the daemon reserves for everything except client connections, such as the
// database, relays and webhook endpoints.
const ownFiles = 512

// connections limits how many clients are connected at the same time, so that they can't exhaust memory, or the open
// files that the database and the relays need. At the limit, it closes the connection that has been idle longest, which
// RFC 9112 section 9.3 allows at any time. If all connections are busy, new ones wait in the kernel's queue. The limit
// per address is lower, so that one client can't make all others wait. Connections above that limit are closed before
// anything is read.
type connections struct {
	most    int
	each    int              // per address; 0: no limit
	proxies []netip.Prefix   // their connections belong to many clients
	told    func(netip.Addr) // called with each address that is refused

	mu      sync.Mutex
	changed *sync.Cond // a connection ended or became idle, or a listener was closed
	open    int
	idle    queue.List // of net.Conn, longest idle first
	place   map[net.Conn]*queue.Element
	closed  map[net.Conn]bool // closed by us, and no longer counted in open
	of      map[netip.Addr]int
	refused int
	toldAt  time.Time
}

func newConnections(most int) *connections {
	c := &connections{
		most: most, told: func(netip.Addr) {},
		place: map[net.Conn]*queue.Element{}, closed: map[net.Conn]bool{}, of: map[netip.Addr]int{},
	}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// configuredConnections returns connections with the configured limits. If the process can't open enough files, both
// limits are lowered in proportion.
func configuredConnections(cfg config.Server, log *slog.Logger) *connections {
	c := newConnections(mostConnections(cfg.MaxConnections, log))
	c.proxies = proxies(cfg.TrustedProxies)
	if each := cfg.MaxConnectionsPerAddress; each > 0 {
		c.each = max(1, each*c.most/cfg.MaxConnections)
	}
	c.told = func(a netip.Addr) {
		log.Warn("connections refused: too many from one address (if it is a proxy, add it to trusted_proxies)",
			slog.String("address", a.String()), slog.Int("max_connections_per_address", c.each))
	}
	return c
}

// mostConnections returns the configured maximum number of connections, or a lower one if the process can't open enough
// files.
func mostConnections(configured int, log *slog.Logger) int {
	files := maxFiles()
	if left := max(files-ownFiles, files/2); left < configured {
		log.Warn("the limit of open files (ulimit -n, LimitNOFILE) is too low for max_connections",
			slog.Int("files", files), slog.Int("connections", left), slog.Int("max_connections", configured))
		return left
	}
	return configured
}

// maxFiles returns how many files this process can open. The Go runtime has raised the soft limit to the hard one.
func maxFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(uint64(limit.Cur), 1<<30))
}

// state tracks a connection's state. It is the http.Server.ConnState hook, which is called before the next Accept.
func (c *connections) state(conn net.Conn, now http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.place[conn]; at != nil {
		c.idle.Remove(at)
		delete(c.place, conn)
	}
	switch now {
	case http.StateNew:
		c.count(conn, 1)
	case http.StateIdle:
		if !c.closed[conn] {
			c.place[conn] = c.idle.PushBack(conn)
			c.changed.Broadcast()
		}
	case http.StateClosed, http.StateHijacked:
		if !c.closed[conn] {
			c.count(conn, -1)
			c.changed.Broadcast()
		}
		delete(c.closed, conn)
	}
}

// count adds n, which is 1 or -1, to the number of open connections, both in total and for the address of conn.
func (c *connections) count(conn net.Conn, n int) {
	c.open += n
	key := c.key(conn)
	if !key.IsValid() {
		return
	}
	if c.of[key] += n; c.of[key] <= 0 {
		delete(c.of, key)
	}
}

// key returns the address that a connection is counted under. If no per-address limit applies to it, the address is
// invalid.
func (c *connections) key(conn net.Conn) netip.Addr {
	peer, ok := conn.RemoteAddr().(*net.TCPAddr)
	if c.each == 0 || !ok {
		return netip.Addr{}
	}
	a := peer.AddrPort().Addr().Unmap()
	for _, p := range c.proxies {
		if p.Contains(a.WithZone("")) {
			return netip.Addr{}
		}
	}
	return web.AddressKey(a)
}

// toldEvery is how often the log names addresses that have too many connections.
const toldEvery = time.Minute

// admits reports whether a new connection is within the limit for its address.
func (c *connections) admits(conn net.Conn) bool {
	key := c.key(conn)
	if !key.IsValid() {
		return true
	}
	c.mu.Lock()
	full, tell := c.of[key] >= c.each, false
	if full {
		c.refused++
		if tell = time.Since(c.toldAt) >= toldEvery; tell {
			c.toldAt = time.Now()
		}
	}
	c.mu.Unlock()
	if tell {
		c.told(key)
	}
	return !full
}

// room waits until there is room for one more connection, or until *done is true.
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
		c.count(conn, -1)
		if under, ok := conn.(interface{ NetConn() net.Conn }); ok {
			conn = under.NetConn() // a TLS close could block on the client
		}
		_ = conn.Close()
	}
}

func (c *connections) inUse() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(c.open)
}

func (c *connections) register(reg *prometheus.Registry) {
	reg.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "newsletterd_http_connections", Help: "Open client connections.",
		}, c.inUse),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "newsletterd_http_connections_limit", Help: "Maximum number of open client connections.",
		}, func() float64 { return float64(c.most) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "newsletterd_http_connections_refused_total",
			Help: "Connections refused because their address had too many open.",
		}, func() float64 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return float64(c.refused)
		}),
	)
}

// boundedListener is a listener that accepts connections only while there is room. The server's ConnState hook must be
// connections.state.
type boundedListener struct {
	net.Listener
	*connections
	done bool // guarded by connections.mu
}

func (c *connections) listener(l net.Listener) net.Listener {
	return &boundedListener{Listener: l, connections: c}
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		l.room(&l.done)
		conn, err := l.Listener.Accept()
		if err != nil || l.admits(conn) {
			return conn, err
		}
		if abrupt, ok := conn.(interface{ SetLinger(sec int) error }); ok {
			_ = abrupt.SetLinger(0) // close with a reset, which leaves no state in the kernel
		}
		_ = conn.Close()
	}
}

func (l *boundedListener) Close() error {
	l.mu.Lock()
	l.done = true
	l.changed.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}
