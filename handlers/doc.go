// Package handlers is the HTTP edge: it decodes a request, asks one operation and writes the answer.
// It has no rule (those are in core), no SQL (store) and no protocol (auth).
//
// # Parts
//
// The frame is handlers/web: how a request is read, checked and answered. This package is what is served in it.
//
//	routes.go            THE TABLE: every endpoint, in rows
//	handler.go           Options, New: what the HTTP edge is made of
//	access.go            rules of our own: admin, subscription, profile, mail providers
//	admin.go             tenants, newsletter lists, OAuth clients
//	account.go oauth.go provider.go   users; tokens and keys; discovery, userinfo, revocation, introspection
//	newsletter.go limit_subscribe.go  /api/newsletter, and how often one may subscribe
//	sendjobs.go          send jobs, their stats and recipients; sendjobs_try.go: preview and test mail
//	sendjobs_history.go  tracked links, and what was ever sent to an address
//	tracked.go           pixel, tracked links, and a mail in the browser
//	webhooks.go          signed events and full-sync batches from member services
//	mailproviders.go     events of mail providers
//	devices.go agents.go models.go   devices, agents, models and their shares, each for its owner
//	upload.go download.go   files of models
//	health.go            the health check
//	openapi.go openapi_*.go   what the OpenAPI documents say beyond the table, and the page to read them
//
// and the pages:
//
//	page.go style.go pages/   the layout, the stylesheet with the tenant's colour
//	words.go words_user.go pages/words/   what pages say, one file a language; in whose style they are
//	explain.go           messages of errors in the language of the page
//	authorize.go login.go register_page.go   the authorization endpoint; login, consent, logout, sign-up
//	password.go accountpage.go   the pages that mails about an account lead to; a user's own page
//	newsletter_pages.go preferences_page.go   the pages that a subscription's mails lead to; a subscriber's own page
//	subscribe_page.go form.go   the form of a list, here and for other sites
//	browser.go           pages in place of JSON for browsers; the root, and hosts of tenants
//
// # Invariants
//
//   - A handler has no rule (those are in core), no SQL (store) and no protocol (auth): it calls one operation.
//   - A GET of a page changes nothing, since scanners follow the links of mails: a button does.
//   - Pages need no script. A page leads to no address that a request names.
//   - No answer tells who has an account or is subscribed.
//
// # Adding an endpoint
//
//  1. In the file of its area, a struct for the input and a function func(*web.Call, In) (Out, error):
//
//     type subscribeRequest struct {
//     ListID string          `json:"list_id" is:"required"`
//     Email  core.Email      `json:"email" is:"required"`
//     Prefs  json.RawMessage `json:"preferences"`
//     Source *string         `json:"source"`
//     }
//
//     func (a newsletter) subscribe(c *web.Call, in subscribeRequest) (subscription, error)
//
//  2. In routes.go, a line: method, path, access, dialect, adapter(function), summary.
//
//  3. A scenario for each status in testdata/api/<area>/<name>.txt (scenario_test.go has the form); then
//     go test ./handlers -update, and read the difference. Steps of an area's own ("! word …") and its wiring
//     are added to steps and setups by an init function in a test file of the area.
//
// # Decisions
//
// 2026-11-21  The signed webhook's caller is a core.Caller with ClientID and ClientTenant, so that one type
// tells who asks, everywhere. Rejected: a second field on Call.
//
// 2026-11-21  Call is a context.Context. Rejected: a context argument beside it, which every function would
// hand on unread.
//
// 2026-11-21  An own JSON reader, since encoding/json takes duplicate keys, other cases of a key, invalid
// UTF-8 and trailing text. It is fuzzed against encoding/json. Rejected: a check pass in front of encoding/json,
// at twice the time.
//
// 2026-11-21  The body budget is drawn on as bytes arrive, not by Content-Length: a slow caller holds no more
// than it has sent.
//
// 2026-11-21  Path parameters are looked up in the path as sent: /api/%61dmin is another address than /api/admin.
//
// 2026-11-21  Devices and models. What a model's owner alone may do is judged before the body is read: 404 without
// access, 403 with it. An unpaired device is in no list and can't be changed, but can be shown, registered and
// unregistered, as the specification has it. There is one representative device per owner; a second is 409. A share
// by an unknown user_id is 404 (a login tells as much), by an unknown address it is made. The owner's own address
// is refused, so that no answer carries it. Search finds words of the name, the last one by its beginning.
//
// 2026-11-21  A mail provider is found before its body is read (404), proved over the raw body (401) and only then told that
// it is switched off (403). The body's limit is its kind's: those that send many events in one have 1 MiB.
//
// 2026-11-21  The pixel answers every token alike. A tracked link leads where the database says; a link with a placeholder in it
// is not tracked, since its target would be one that a subscriber may choose. HEAD counts nothing. A mail in the browser runs in
// a sandbox without an origin: nothing that its author wrote can act as this site.
//
// 2026-11-21  Uploads have a memory of their own (32 MiB, 4 uploads a user), so that slow ones hold up no send job;
// 64 KiB must arrive in 30 s. Rejected: the body budget, which a few slow uploads would empty.
//
// 2026-11-21  Sessions are loaded by the functions of pages alone (visited), not round every request: the API has
// no cookies, and strangers who look at a page get none. Whoever is signed in writes a row every five minutes at the most.
//
// 2026-11-21  A tenant's colour comes with the stylesheet (/style.css?color=…), since the pages' policy allows no style
// but that; it is mixed until text can be read on it. A tenant's logo may be at another host: that origin, and no other, is
// added to img-src.
//
// 2026-11-21  The page of the response mode form_post has the one script of all pages, allowed by its hash; without it there
// is a button. Rejected: no script at all, for every relying party that asks for form_post expects the browser to go on by itself.
//
// 2026-11-21  A stranger's page may embed and post what it likes: only the authorization and logout endpoints take a form
// of another site, read no cookie then, and send the browser to themselves by GET.
//
// 2026-11-21  The form of a list may come from any site: it reads no cookie, and whoever sends it learns nothing; the address
// proves itself by the mail. Fields that the list has not declared become preferences too, as texts, 20 at the most, so
// that a tenant's own form works before anybody has declared anything. A field that people don't see (_website) keeps
// machines out: what fills it in gets the usual answer. Rejected: a captcha, which needs a script and somebody else's site.
//
// 2026-11-21  What a list declares of fields binds its forms, not the API: the preferences of a subscribe request are a free-form
// object, as the specification has it. Rejected: one check for both, by which a list's new field would refuse every program
// that subscribes for it.
//
// 2026-11-21  The link of a newsletter opens its own subscription on /preferences: details, and the way out. Newsletters are
// passed on, so other lists, the data and its end need a link of 24 hours that goes to the mailbox on demand. Rejected: all
// of it by the link of any newsletter, as other programs have it.
//
// 2026-11-21  A page leads elsewhere only to a URL that its list has registered, never to one that the request names. The
// policy of the page with the form names that origin, since browsers hold the redirect behind a form against form-action.
//
// 2026-11-21  The words of subscribers' pages are one file a language, read into a struct: a missing word stops a test, an
// unknown one the start. Rejected: the browser's Accept-Language, since the mails behind a page have one language.
//
// 2026-11-21  Mails about an account have the language of the tenant on whose behalf they go out, else the one of ours that the
// request's Accept-Language likes best, else English. Rejected: a language of the user, which nobody has been asked for. Their
// pages are in English.
//
// 2026-11-21  Where another member service keeps the lists (send.member_url), its pages are the readers': forms and the page of
// preferences lead there, and nothing subscribes here. Leaving works here all the same, at once, for the link in a mail must not
// depend on another machine; the member service is told.
//
// 2026-11-22  The page behind "leave all" takes all of it back by one button, as the page behind leaving one list does. Rejected:
// the mail with the way back, which is for tokens that anybody may ask for; this needs the link of a mail.
//
// 2026-11-22  What net/http can't read it answers itself, in plain text. Rejected: connections that rewrite these answers, which
// would have to stand outside of TLS, where net/http looks for its own type of connection, and to know its texts.
package handlers
