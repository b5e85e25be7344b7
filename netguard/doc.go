// Package netguard connects to addresses that tenants and third parties choose, and permits only public ones. It is
// used for webhook endpoints, tenants' relays, and the certificates that sign events from email providers.
//
// A Guard has a dialer (DialContext), an HTTP client that uses it (Client), and a function that fetches small files
// (Fetcher). For forms and commands that accept an address, Check finds addresses that would be refused without a DNS
// lookup.
//
// Invariants:
//
//   - The check applies to the IP address that the socket connects to, never to the name, which may resolve
//     differently next time.
//   - Addresses that IANA's special-purpose registries do not list as globally reachable are refused. The only
//     exception is the server administrator's Allow, which lists host and port as dialed.
//   - The time for a response, and the size of its header, are limited.
package netguard
