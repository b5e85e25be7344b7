// Package tenants serves tenants and their settings: lists, templates, themes, mail servers, domains, webhooks, and the
// queues of events and emails. Records of tenants in which the caller has no role are reported as missing.
//
//	room.go                           Room: dependencies of the endpoints
//	tenants.go lists.go restore.go    tenants and newsletter lists, including deleted ones that can be restored
//	templates.go themes.go            templates and themes of campaigns
//	relays.go                         how emails are sent, and test emails
//	senderdomains.go domainrecords.go dkimkeys.go   sender domains and all their DNS records; DKIM keys
//	webhookclients.go endpoints.go    sources of incoming signed webhooks, and receivers of outgoing ones
//	providers.go                      mail providers, which report on emails
//	outbox.go                         queued events and emails
package tenants
