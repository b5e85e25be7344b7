// Package tenants keeps tenants and what belongs to each of them.
//
//	store.go                                   New
//	tenants.go tenanthost.go tenantlists.go    tenants, their hosts, and pages of records by tenant
//	lists.go listwithtenant.go slugs.go fedlists.go addresses.go   lists, who feeds them, and an address on each
//	counts.go                                  how many subscribers a list has, day by day
//	templates.go themes.go                     what campaigns look like
//	relays.go mailserver.go paces.go           how emails leave
//	restore.go                                 what a deleted tenant gives up and gets back
//	domains.go senderdomains.go dkim.go acme.go issuer.go   domains, their records and keys
//	mails.go mailqueue.go                      transactional emails
//	outbox.go seen.go webhook_clients.go       events to and from the send service
//	endpoints.go endpointqueue.go              webhook endpoints, and what waits for each
//	gathered.go                                what operations change of counts and queues, written once
//	keepers.go                                 who keeps clients and endpoints, and whose act is what is done through one
//	auditnames.go                              what the records of the audit trail are called
//	erased.go                                  erased addresses, known by their hash
package tenants
