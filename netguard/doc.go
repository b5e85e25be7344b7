// Package netguard makes connections to addresses that others choose, and permits only public ones. Examples are
// webhook endpoints, tenants' relays, and certificates that sign the events of email providers. It knows nothing
// about the data that is sent.
//
// A Guard is a dialer (DialContext), an HTTP client that uses it (Client), and a function that fetches small files
// (Fetcher). Check detects addresses that will be refused, without a DNS lookup, for forms and commands that accept
// an address.
//
// Invariants:
//
//   - The check applies to the IP address that the socket connects to, never to the name, which may resolve
//     differently next time.
//   - Addresses that IANA's special-purpose registries do not list as globally reachable are refused. The only
//     exception is the server administrator's Allow, which lists host and port as dialed.
//   - A response is limited in time, and its header in bytes.
package netguard
