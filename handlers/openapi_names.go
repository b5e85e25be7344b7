package handlers

import "strings"

// operationNames are the operationIds of the documents that programs are generated from: what a developer would call the
// function. Pages are named by their method and path.
var operationNames = map[string]string{
	"GET /api/.well-known/jwks.json":                 "getKeySet",
	"GET /api/.well-known/openid-configuration":      "getDiscovery",
	"GET /api/admin/newsletter-lists":                "listNewsletterLists",
	"POST /api/admin/newsletter-lists":               "createNewsletterList",
	"GET /api/admin/newsletter-lists/:id":            "getNewsletterList",
	"PUT /api/admin/newsletter-lists/:id":            "updateNewsletterList",
	"DELETE /api/admin/newsletter-lists/:id":         "deleteNewsletterList",
	"POST /api/admin/newsletter-lists/:id/full-sync": "startFullSync",
	"GET /api/admin/oauth-clients":                   "listOAuthClients",
	"POST /api/admin/oauth-clients":                  "createOAuthClient",
	"GET /api/admin/oauth-clients/:id":               "getOAuthClient",
	"PUT /api/admin/oauth-clients/:id":               "updateOAuthClient",
	"DELETE /api/admin/oauth-clients/:id":            "deleteOAuthClient",
	"GET /api/admin/tenants":                         "listTenants",
	"POST /api/admin/tenants":                        "createTenant",
	"GET /api/admin/tenants/:id":                     "getTenant",
	"PUT /api/admin/tenants/:id":                     "updateTenant",
	"DELETE /api/admin/tenants/:id":                  "deleteTenant",
	"POST /api/subscriptions/disable":                "disableSubscriptions",
	"POST /api/api/subscriptions/disable":            "disableSubscriptionsByItsDeclaredPath",
	"GET /api/auth/email/verify":                     "verifyEmail",
	"POST /api/auth/login":                           "login",
	"POST /api/auth/logout":                          "logout",
	"POST /api/auth/password/forgot":                 "forgotPassword",
	"POST /api/auth/password/reset":                  "resetPassword",
	"POST /api/auth/refresh":                         "refreshToken",
	"POST /api/auth/register":                        "register",
	"GET /api/newsletter/confirm":                    "confirmSubscription",
	"GET /api/newsletter/preferences":                "getPreferences",
	"POST /api/newsletter/preferences":               "setPreferences",
	"POST /api/newsletter/subscribe":                 "subscribe",
	"GET /api/newsletter/subscriptions":              "listSubscriptions",
	"GET /api/newsletter/unsubscribe":                "showUnsubscribePage",
	"POST /api/newsletter/unsubscribe":               "unsubscribe",
	"POST /api/newsletter/unsubscribe-token":         "createUnsubscribeToken",
	"GET /api/oauth/authorize":                       "authorize",
	"POST /api/oauth/authorize":                      "authorizeByForm",
	"POST /api/oauth/introspect":                     "introspectToken",
	"GET /api/oauth/logout":                          "endSession",
	"POST /api/oauth/logout":                         "endSessionByForm",
	"POST /api/oauth/revoke":                         "revokeToken",
	"POST /api/oauth/token":                          "createToken",
	"GET /api/oauth/userinfo":                        "getUserInfo",
	"POST /api/oauth/userinfo":                       "getUserInfoByForm",
	"GET /api/openapi.json":                          "getMemberDocument",
	"GET /api/user/profile":                          "getUserProfile",
	"GET /api/send-jobs":                             "listJobs",
	"POST /api/send-jobs":                            "createJob",
	"GET /api/send-jobs/history":                     "listMailsToAddress",
	"GET /api/send-jobs/:id":                         "getJob",
	"POST /api/send-jobs/:id/cancel":                 "cancelJob",
	"GET /api/send-jobs/:id/links":                   "listJobLinks",
	"POST /api/send-jobs/:id/preview":                "previewJob",
	"GET /api/send-jobs/:id/recipients":              "listJobRecipients",
	"GET /api/send-jobs/:id/stats":                   "getJobStats",
	"POST /api/send-jobs/:id/test":                   "sendTestMail",
	"GET /healthz":                                   "getHealth",
	"POST /webhooks/lists/full-sync":                 "receiveFullSyncBatch",
	"POST /webhooks/subscriptions":                   "receiveSubscriptionEvent",
	"POST /webhooks/:provider":                       "receiveProviderEvents",
	"GET /api/agents":                                "listAgents",
	"POST /api/agents":                               "createAgent",
	"GET /api/agents/:id":                            "getAgent",
	"PATCH /api/agents/:id":                          "updateAgent",
	"DELETE /api/agents/:id":                         "deleteAgent",
	"GET /api/devices":                               "listDevices",
	"POST /api/devices":                              "pairDevice",
	"GET /api/devices/:id":                           "getDevice",
	"PATCH /api/devices/:id":                         "updateDevice",
	"DELETE /api/devices/:id":                        "unpairDevice",
	"POST /api/devices/:id/register":                 "registerDevice",
	"POST /api/devices/:id/unregister":               "unregisterDevice",
	"GET /api/models":                                "listModels",
	"POST /api/models":                               "uploadModel",
	"GET /api/models/library":                        "listLibrary",
	"DELETE /api/models/:id":                         "deleteModel",
	"GET /api/models/:id/download":                   "downloadModel",
	"GET /api/models/:id/profile":                    "getModelProfile",
	"GET /api/models/:id/shares":                     "listModelShares",
	"POST /api/models/:id/shares":                    "createModelShare",
	"GET /api/models/:id/shares/:share_id":           "getModelShare",
	"PUT /api/models/:id/shares/:share_id":           "updateModelShare",
	"DELETE /api/models/:id/shares/:share_id":        "deleteModelShare",
	"PATCH /api/models/:id/visibility":               "setModelVisibility",
}

// operationID returns the operationId of a route: of a page its method and the words of its path (getLogin).
func operationID(r *Route) string {
	if name := operationNames[r.Method+" "+r.Path]; name != "" {
		return name
	}
	id := strings.ToLower(r.Method)
	words := strings.FieldsFunc(strings.TrimPrefix(r.Path, "/api/"), func(c rune) bool { return strings.ContainsRune("/:-._", c) })
	for _, w := range words {
		id += strings.ToUpper(w[:1]) + w[1:]
	}
	return id
}
