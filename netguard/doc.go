// Package netguard connects to addresses that others choose, and to public ones only: the endpoints of webhooks, the
// relays of tenants, the certificates that sign the events of mail providers. It knows nothing of what is sent.
//
// A Guard is a dialer (DialContext), an HTTP client made of it (Client), and a function that gets small files
// (Fetcher). Check finds what will be refused without a lookup, for forms and commands that take an address.
//
// Invariants:
//
//   - The IP address that the socket connects to is judged, never the name: it may resolve differently next time.
//   - What IANA's special-purpose registries do not list as globally reachable is refused. The operator's Allow is
//     the only exception, host and port as they are dialed.
//   - A response is bounded in time, and its header in bytes.
package netguard
