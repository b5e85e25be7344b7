package handlers

import (
	"newsletterd/core"
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
	h.subscriberRoutes(&t)
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
	h.deviceRoutes(&t)
	h.agentRoutes(&t)
	h.modelRoutes(&t)
	h.shareRoutes(&t)
	h.operationRoutes(&t)
	h.console().Routes(&t)
	return t
}

// maxWrite is the most, in bytes, that one request of the endpoints marked by NeedsRoom writes, files of models
// aside: each page that it changes stands in the -wal.
const maxWrite = 64 * web.KiB

// rights are what the operations on a kind of record ask the caller's roles for.
type rights struct{ read, create, change, remove core.Action }

// resource is the five operations on one kind of admin record.
type resource struct {
	find                               func(*web.Call) error
	missing                            *core.Error
	list, create, show, update, remove web.Endpoint
	may                                rights
}

// resourceRows are the rows of a resource, for what they say beyond it.
type resourceRows struct{ list, create, show, update, remove *web.Route }

// crud adds the five rows of a resource. name is a record's in the names of the operations. Its records are found
// before a body is read, so that a foreign record is 404 whatever the body is.
func crud(t *web.Table, path, name, one, many string, r resource) resourceRows {
	item := path + "/:id"
	row := func(method, path string, may core.Action, do web.Endpoint, summary string) *web.Route {
		return t.Add(method, path, admin(may), web.Member, do, summary)
	}
	found := func(do web.Endpoint) web.Endpoint { return do.Find(r.find).Missing(r.missing) }
	return resourceRows{
		list:   row("GET", path, r.may.read, r.list, "List "+many).Named("list" + name + "s"),
		create: row("POST", path, r.may.create, r.create.Created(), "Create "+one).Named("create" + name),
		show:   row("GET", item, r.may.read, found(r.show), "Show "+one).Named("get" + name),
		update: row("PUT", item, r.may.change, found(r.update), "Update "+one+"; fields you leave out stay unchanged").
			Named("update" + name),
		remove: row("DELETE", item, r.may.remove, found(r.remove), "Delete "+one).Named("delete" + name),
	}
}
