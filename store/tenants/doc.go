// Package tenants stores tenants and the records that belong to each of them.
//
//	store.go                                   New
//	tenants.go tenanthost.go tenantlists.go    tenants, their hosts, and pages of records per tenant
//	lists.go listwithtenant.go slugs.go fedlists.go addresses.go   lists, the clients that feed them, and address ids
//	counts.go                                  subscriber counts of a list for each day
//	templates.go themes.go                     templates and themes of campaigns
//	tags.go givetags.go                        tags, and the people who have them
//	relays.go mailserver.go paces.go           how emails are sent
//	restore.go                                 domains and endpoints of deleted and restored tenants
//	domains.go senderdomains.go dkim.go acme.go issuer.go   domains, their records and keys
//	mailqueue.go mailretry.go                  queued and failed transactional emails, and their retries
//	outbox.go seen.go webhook_clients.go       events to and from the send service
//	endpoints.go endpointqueue.go              webhook endpoints and their waiting events
//	providers.go                               mail providers
//	gathered.go                                changes to counts and queues, written once per operation or transaction
//	keepers.go                                 keepers of clients and endpoints, and responsibility for their actions
//	auditnames.go                              names of the records in the audit log
//	erased.go                                  erased addresses, stored as hashes
package tenants
