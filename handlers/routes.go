package handlers

import (
	"newsletterd/handlers/devices"
	"newsletterd/handlers/segments"
	"newsletterd/handlers/web"
)

// table is every endpoint of the program, one row each:
//
//	method, path, who may call, form of errors, typed function, summary
//
// and after it, of operations of the API, their name, an example of the body, and what is refused beyond the schemas.
// The same rows feed the router, the OpenAPI documents, `newsletterd routes`, the metrics labels and the tests. Each
// area has its rows in its own file, above the functions that they call.
func (h *Handler) table() []*web.Route {
	var t web.Table
	h.identityRoutes(&t)
	h.providerRoutes(&t)
	h.pageRoutes(&t)
	h.newsletterRoutes(&t)
	h.newsletterPageRoutes(&t)
	h.archiveRoutes(&t)
	h.tenantRoutes(&t)
	h.listRecordRoutes(&t)
	h.restoreRoutes(&t)
	h.clientRoutes(&t)
	h.clientSecretRoutes(&t)
	h.invitationRoutes(&t)
	h.teamRoutes(&t)
	rules := &segments.Room{Store: h.options.Store}
	h.subscriberRoutes(&t, rules)
	h.suppressionRoutes(&t)
	h.listRoutes(&t)
	h.syncRoutes(&t)
	h.importRoutes(&t)
	h.templateRoutes(&t)
	h.userRoutes(&t)
	h.webhookClientRoutes(&t)
	h.endpointRoutes(&t)
	h.senderDomainRoutes(&t)
	h.dkimRoutes(&t)
	h.relayRoutes(&t)
	h.mailServerRoutes(&t)
	h.themeRoutes(&t)
	h.mailProviderRoutes(&t)
	h.systemRoutes(&t)
	h.outboxRoutes(&t)
	h.campaignRoutes(&t)
	h.campaignCheckRoutes(&t)
	h.campaignSendRoutes(&t)
	h.campaignLinkRoutes(&t)
	h.correctionRoutes(&t)
	h.versionRoutes(&t)
	h.sendJobRoutes(&t)
	h.webhookRoutes(&t)
	h.trackedRoutes(&t)
	h.providerEventRoutes(&t)
	h.mediaRoutes(&t)
	(&devices.Room{Store: h.options.Store, Limits: h.options.ModelLimits, Uploads: h.uploads}).Routes(&t)
	rules.Routes(&t)
	h.operationRoutes(&t)
	h.console().Routes(&t)
	return t
}
