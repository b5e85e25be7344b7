// Package web is the HTTP framework for endpoints and pages. It finds the route for a request, checks the caller, reads
// the request into a struct, calls a typed function and writes its result. It contains no endpoints of its own.
//
// # Parts
//
//	handler.go           Options, New: configuration and construction of the frame
//	router.go            Route, Table: routing; the life of a request
//	call.go              Call: one request as an operation sees it
//	ask.go               Question: a request from one route to another in the same process
//	endpoint.go bind.go  the adapters that turn a typed function into an Endpoint
//	plan.go params.go    struct tags → inputs; query, form, path, headers
//	strictjson.go decode.go   structs from strict JSON (core.JSONScanner)
//	access.go            Access: who may call
//	limit.go             sizes of bodies, their memory, time limits, requests per remote address
//	errors.go            the only mapping from errors to responses, in all dialects
//	location.go          ASCII: URLs in headers and request lines
//	respond.go           how responses are written; streamed lists; responses without a size limit
//	session.go           sessions and cookies of browsers, forms from other sites
//	page.go              headers of pages; content negotiation: language, HTML or JSON
//	cors.go              access for scripts of other origins
//	metrics.go refusals.go   metrics and the log line of a request; limits for refused ones
//	statuses.go          the statuses of a route, derived from the table
//	templates.go file.go page templates; static files, compressed
//	openapi.go openapi_*.go   the OpenAPI documents, generated from the table
//	openapi_refusals.go   error responses in them that schemas can't express
//
// The endpoints of several areas share these files:
//
//	tenant.go roles.go   tenants a caller may see and change; access rules by role
//	crud.go rows.go      the five rows of a kind of record; shared refusals and examples
//	checks.go secrets.go shared inputs
//	turn.go limit_origin.go   serialized requests; rate limits for anonymous requests
//	uploads.go multipart.go   concurrency and memory of uploads; reading their bodies
//	ranges.go export.go  range requests, and file names of downloads; exports as CSV
//
// # The life of a request
//
//	ServeHTTP        request id, headers of every response
//	  Find           route: literal paths first, then the tree        404 405
//	  Access         token, scopes, signature, proof                  401 403
//	  path, Find     parameters, the object of the path               404
//	  NeedsRoom      disk space for anonymous writes                  503
//	  body           signature, media type, size, memory              401 415 413 503
//	  decode         form of the input, CheckInput                    400 (422 in dialect Send)
//	  PerAddress     rate limit of the remote address                 429
//	  function       one operation                                    403 404 409 …
//	  response       JSON, page, redirect, stream
//	finish           panics become 500; memory is released; metrics; one log line
//
// All errors become responses in one place, in the route's dialect.
//
// # Inputs
//
// A field is read if it has one of the tags json, form, query, path and header. A struct may mix them, for example for
// a JSON body and path parameters. The tag is: contains required (present and not null; in forms and queries also not
// empty), value (may be absent, but not null) or uuid (a UUID, converted to lower case). In tags other than json, these
// words may also follow the name. Path parameters are UUIDs unless their tag contains text; an invalid one is 404. The
// tag enum:"a|b" lists the allowed values. Otherwise, a null counts as absent, and unknown names are ignored.
//
// Fields can be of type string, bool, int, int64, float64, core.Email (parsed, with the host in lower case) or
// core.Instant. Structs, slices, pointers (nil: absent) and types with UnmarshalJSON are supported, too. A
// json.RawMessage, for JSON only, keeps its text unchanged. If a pointer to the struct has a method CheckInput() error,
// it runs last and returns core.Invalidf("field", "field must …").
//
// Other tags add to the documents what the type doesn't express. Package core enforces the rules. All except about are
// only for inputs:
//
//	is:"needed"        required; a check of the whole value enforces it
//	min:"1" max:"200"  limits of a text's length, a list's length, or a number
//	oneof:"a|b"        the allowed values
//	like:"name"        forms of API.Forms: patterns and enumerations
//	each:"line max=60" forms and limits of the elements of a list
//	about:"Size in pixels"     the description; by default that of all fields of this name
//
// # Adapters
//
//	JSON(func(*Call, In) (Out, error))     a JSON object, by default at most 64 KiB (MaxBody)
//	Form(func(*Call, In) (Out, error))     urlencoded, at most 16 KiB
//	Values(func(*Call, map[string]string) (Out, error))   a form with fields of any name
//	Query(func(*Call, In) (Out, error))    no body; query, path, headers
//	Path(func(*Call, string) (Out, error)) the UUID in :id is the only input
//	Get(func(*Call) (Out, error))          no input; any method
//	Raw(func(*Call, []byte) (Out, error))  the raw body, of any media type
//	List(func(*Call, In, core.Page) ([]Out, error), key func(Out) string)
//	                                       an array: streamed whole, or limit and cursor
//	Search(func(*Call, In, core.Page) ([]Out, string, error))   like List; fn returns the start of the next page
//	Stream(func(*Call, In) (Out, error))   reads its body itself (an upload); In comes from query, path, headers
//	Serve(func(*Call) error)               writes its response itself (a download)
//	Write(func(*Call, In) error)           like Serve; In comes from query, path, headers (an export)
//	SearchJSON, WriteJSON                  Search and Write with a JSON body
//
// Methods of Endpoint configure each of them: Created, Accepted, MaxBody, BodyOptional, Changes, Find, Missing,
// PerAddress, NeedsRoom, CORS, Or and Quiet. Fails and Describes… are for the OpenAPI documents. Methods of Route add
// to these documents what the types don't express: Named, Example, Refuses, Requires and Limits.
//
// # Outputs
//
// None responds with 204, HTML with a page, Redirect with a Location, and Text with another media type. Any other value
// is encoded as JSON. Responses have Cache-Control: no-store by default.
//
// For an expected failure, a function returns a *core.Error, which may be wrapped. Any other error is a 500 whose text
// appears only in the log.
package web
