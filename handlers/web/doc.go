// Package web is the frame that endpoints and pages are served in: it finds the route of a request, checks who calls,
// reads the request into a struct, calls a typed function and writes what it returns. It knows no endpoint.
//
// # Parts
//
//	handler.go           Options, New: what the frame is made of
//	router.go            Route, Table: which route a request means; the life of a request
//	call.go              Call: one request as an operation sees it
//	ask.go               Question: a request that another route makes in the same process
//	endpoint.go bind.go  the adapters that make an Endpoint of a typed function
//	plan.go params.go    struct tags → inputs; query, form, path, headers
//	strictjson.go decode.go   structs from strict JSON (core.JSONScanner)
//	access.go            Access: who may call
//	limit.go             sizes of bodies, their memory, time limits, requests per remote address
//	errors.go            the only mapping from an error to an answer, in five dialects
//	location.go          ASCII: addresses in headers and request lines
//	respond.go           how answers are written; streamed lists; answers without a size limit
//	session.go           sessions and cookies of browsers, forms from other sites
//	page.go              headers of pages, and what a browser asks for: language, HTML or JSON
//	cors.go              which routes scripts of other origins may use
//	metrics.go refusals.go   metrics and the log line of a request; how many of those refused are logged
//	statuses.go          what a route can answer, by its line in the table
//	templates.go file.go the templates of pages; files of ours, compressed
//	openapi.go openapi_schema.go openapi_describe.go   the OpenAPI documents, made from the table
//	openapi_refusals.go   what they say of requests that are refused beyond their schemas
//
// and what the endpoints of several areas share:
//
//	tenant.go roles.go   whose records a caller may see and change, and which tokens are let in
//	crud.go rows.go      the five rows of a kind of record; refusals and examples that several rows have
//	checks.go secrets.go inputs that several areas have
//	turn.go limit_origin.go   requests that take turns, and how often strangers may ask for something
//	uploads.go multipart.go   places and memory of uploads; how their bodies are read
//	ranges.go            parts of files, and what they are called when they are saved
//
// # The life of a request
//
//	ServeHTTP        id, headers that every answer has
//	  Find           route: literal paths first, then the tree        404 405
//	  Access         token, scopes, signature, proof                  401 403
//	  path, Find     parameters, the object of the path               404
//	  NeedsRoom      room on the disk for what strangers write        503
//	  body           signature, media type, size, memory              401 415 413 503
//	  decode         form of the input, CheckInput                    400 (422 in dialect Send)
//	  PerAddress     requests of the remote address                   429
//	  function       one operation                                    403 404 409 …
//	  answer         JSON, page, redirect, stream
//	finish           panics are 500; memory is given back; metrics; one log line
//
// An error at any point ends in one place, which writes it in the dialect of the route.
//
// # Inputs
//
// A field is read when it has one of the tags json, form, query, path, header; a struct may have several (a JSON body
// and path parameters). The tag is: says required (given, and not null; in forms and queries also not empty) and uuid
// (a UUID, brought to lower case). In tags other than json these words may also follow the name. Path parameters are
// UUIDs unless their tag says text; a bad one is 404. The tag enum:"a|b" lists the words allowed. Types: string, bool,
// int, int64, float64, core.Email (parsed, folded host), core.Instant, json.RawMessage (JSON only, kept as it is),
// structs, slices, pointers (nil: absent), types with UnmarshalJSON. null is absent. Unknown names are ignored. A
// method CheckInput() error on the pointer of the struct runs last; it returns core.Invalidf("field", "field must …").
//
// Other tags say what the documents tell beyond the type; the rules are in core. They are of inputs alone:
//
//	is:"needed"        required, by a check of the whole value
//	min:"1" max:"200"  of the length of a text, the elements of a list, or a number
//	oneof:"a|b"        the words allowed
//	like:"name"        forms of API.Forms: patterns, and words that are known elsewhere
//	each:"line max=60" forms and bounds of the elements of a list
//	about:"Size in pixels"     what it is; without one, what all fields of its name are
//
// # Adapters
//
//	JSON(func(*Call, In) (Out, error))     a JSON object, 64 KiB at most unless MaxBody says else
//	Form(func(*Call, In) (Out, error))     urlencoded, 16 KiB
//	Values(func(*Call, map[string]string) (Out, error))   a form with fields of any name
//	Query(func(*Call, In) (Out, error))    no body; query, path, headers
//	Path(func(*Call, string) (Out, error)) no input but the UUID in :id
//	Get(func(*Call) (Out, error))          no input; any method
//	Raw(func(*Call, []byte) (Out, error))  the raw body, of any media type
//	List(func(*Call, In, core.Page) ([]Out, error), key func(Out) string)
//	                                       an array: streamed whole, or limit and cursor
//	Search(func(*Call, In, core.Page) ([]Out, string, error))   the same; fn names where the next page begins
//	Stream(func(*Call, In) (Out, error))   reads its body itself (an upload); In comes from query, path, headers
//	Serve(func(*Call) error)               writes its answer itself (a download)
//	Write(func(*Call, In) error)           the same; In comes from query, path, headers (an export)
//
// and methods of Endpoint on each: Created, Accepted, MaxBody, BodyOptional, Changes, Find, Missing, PerAddress,
// NeedsRoom, CORS, Or, Quiet, and Fails and Describes… for the OpenAPI documents. Methods of Route say for these
// documents what no type does: Named, Example, Refuses, Requires, Limits.
//
// # Outputs
//
// None answers 204, HTML a page, Redirect a Location, Text another media type; anything else is JSON. Answers carry
// Cache-Control: no-store unless the operation sets another.
//
// Errors. A function returns a *core.Error, wrapped or not; anything else is a 500 whose text stays in the log.
package web
