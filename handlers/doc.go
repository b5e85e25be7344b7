// Package handlers is the HTTP edge: it decodes a request, asks one operation and writes the answer.
// It has no rule (those are in core), no SQL (store) and no protocol (auth).
//
// # Rooms
//
//	routes.go            THE TABLE: every endpoint, one line
//	handler.go           Options, New: what the edge is made of
//	router.go            which route a request means; the life of a request
//	call.go              Call: one request as an operation sees it
//	endpoint.go bind.go  the adapters that make a typed function an Endpoint
//	plan.go params.go    struct tags → inputs; query, form, path, headers
//	statuses.go          what a route can answer, by its line in the table
//	strictjson.go decode.go   structs from strict JSON (core.JSONScanner)
//	upload.go download.go   files: bodies and answers without a size limit in memory
//	access.go            who may call: public, optional, bearer, user, admin, signed, provider
//	limit.go             sizes, the body budget, time limits, requests per remote address
//	errors.go            the only mapping from an error to an answer, in five dialects
//	respond.go           how answers are written; streamed lists
//	metrics.go           Prometheus registry, the log line of a request; refusals.go: how many of those refused are logged
//	admin.go             tenants, newsletter lists, OAuth clients
//	sendjobs.go          send jobs, their stats and recipients; sendjobs_try.go: preview and test mail
//	sendjobs_history.go  tracked links, and what was ever sent to an address
//	tracked.go           pixel, tracked links, and a mail in the browser
//	webhooks.go          signed events and full-sync batches from member services
//	mailproviders.go     events of mail providers
//	devices.go agents.go models.go   devices, agents, models and their shares, each for its owner
//	health.go            the health check
//	openapi*.go schema.go   the OpenAPI documents and the page to read, made from the table
//	authorize.go login.go   the authorization endpoint, and the pages for login, consent and logout
//	password.go          the pages that mails about an account lead to
//	account.go accountpage.go   register, verify, forgot, reset, logout; a user's own page
//	provider.go          discovery, userinfo, revocation, introspection; oauth.go: tokens and keys
//	session.go           scs sessions of browsers, cookies, forms from other sites
//	page.go style.go pages/   the layout, the headers of every page, the stylesheet with the tenant's colour
//	cors.go              which routes scripts of other origins may use
//	newsletter.go        /api/newsletter; newsletter_pages.go: the pages that its mails lead to
//	subscribe_page.go form.go preferences_page.go   the form of a list, here and for other sites; a subscriber's own page
//	words.go words_user.go pages/words/   what pages say, one file a language; whose pages they are
//	explain.go           messages of errors in the language of the page
//	browser.go           pages in place of JSON for browsers; the root, and hosts of tenants; register_page.go: sign-up
//
// # The life of a request
//
// ServeHTTP gives it an id and the headers that every answer has, finds the route (literal paths first,
// then the tree), and runs the checks in this order: access rule (401, 403), path parameters and Find
// (404 of the path's object), media type and size (415, 413), form of the input (400 or 422), requests
// per address (429), then the function, which says 403, 404 and 409 of what the input names. An error
// at any point ends in Call.fail, which writes it in the form of the route's area. A panic is a 500 of the
// same form and never ends the process. At the end the request is counted and logged, once.
//
// # Adding an endpoint
//
//  1. In the file of its area, a struct for the input and a function func(*Call, In) (Out, error):
//
//     type subscribeRequest struct {
//     ListID string          `json:"list_id" is:"required"`
//     Email  core.Email      `json:"email" is:"required"`
//     Prefs  json.RawMessage `json:"preferences"`
//     Source *string         `json:"source"`
//     }
//
//     func (a newsletter) subscribe(c *Call, in subscribeRequest) (subscription, error)
//
//  2. In routes.go, a line: method, path, access, dialect, adapter(function), summary.
//
//  3. A scenario for each status in testdata/api/<area>/<name>.txt (scenario_test.go tells the form); then
//     go test ./handlers -update, and read the difference. Steps of an area's own ("! word …") and its wiring
//     are added to steps and setups by an init function in a test file of the area.
//
// Inputs. A field is read when it has one of the tags json, form, query, path, header (more than one in
// a struct is fine: JSON body beside path or query). The tag is: says required (given, and not null; in
// forms and queries also not empty) and uuid (a UUID, brought to lower case); in tags other than json these words may
// also stand behind the name (the checks of json tags allow none). Path parameters are UUIDs
// unless their tag says text; a bad one is 404. The tag enum:"a|b" lists the words allowed. Types: string,
// bool, int, int64, float64, core.Email (parsed, folded host), core.Instant, json.RawMessage (JSON only, kept
// as it stands), structs, slices, pointers (nil: absent), types with UnmarshalJSON. null is absent. Unknown
// names are ignored. A method validate() error on the pointer of the struct runs last; return
// core.Invalidf("field", "field must …").
//
// Adapters.
//
//	JSON(func(*Call, In) (Out, error))     a JSON object, 64 KiB at most unless MaxBody says else
//	Form(func(*Call, In) (Out, error))     urlencoded, 16 KiB
//	Query(func(*Call, In) (Out, error))    no body; query, path, headers
//	Path(func(*Call, string) (Out, error)) no input but the UUID in :id
//	Get(func(*Call) (Out, error))          no input; any method
//	Raw(func(*Call, []byte) (Out, error))  the raw body, whatever it is
//	List(func(*Call, In, core.Page) ([]Out, error), key func(Out) string)   an array: streamed whole, or limit and cursor
//	Stream(func(*Call, In) (Out, error))   reads its body itself (an upload); In comes from query, path, headers
//	Serve(func(*Call) error)               writes its answer itself (a download)
//
// and on each: Created (201), Accepted (202), MaxBody(n), Changes (a GET that changes something: HEAD is 405),
// Find(func(*Call) error) (404 before the body is read), Missing(err) (for a path id that is no UUID),
// PerAddress(n, per), Fails(kinds…) (for the OpenAPI document).
//
// Outputs. None answers 204, HTML a page, Redirect a Location, Text another media type; anything else is
// JSON. Answers carry Cache-Control: no-store unless the operation sets another.
//
// Errors. Return a *core.Error, wrapped or not; anything else is a 500 whose text stays in the log.
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
