package web

import (
	"net/http"
	"reflect"
	"strconv"
	"time"

	"newsletterd/core"
)

// JSON returns an endpoint whose body is one JSON object, read strictly into In. Fields of In may also come from the
// path, the query or a header (tags path, query, header).
func JSON[In, Out any](fn func(*Call, In) (Out, error)) Endpoint {
	return typed(jsonBody, maxJSON, fn)
}

// Form returns an endpoint whose body is application/x-www-form-urlencoded (tag form).
func Form[In, Out any](fn func(*Call, In) (Out, error)) Endpoint {
	return typed(formBody, MaxForm, fn)
}

// Values returns an endpoint whose body is a form with any field names.
func Values[Out any](fn func(*Call, map[string]string) (Out, error)) Endpoint {
	p := newPlan(reflect.TypeFor[struct{}](), formBody)
	return answering(formBody, p, MaxForm, reflect.TypeFor[Out](), func(c *Call) (any, error) {
		if err := c.readBody(); err != nil {
			return nil, err
		}
		form, err := formValues(string(c.body))
		if err == nil {
			err = c.limitRate()
		}
		if err != nil {
			return nil, err
		}
		return fn(c, form)
	})
}

// Query returns an endpoint without a body. In is read from the query, the path and headers.
func Query[In, Out any](fn func(*Call, In) (Out, error)) Endpoint {
	return typed(noBody, 0, fn)
}

// Path returns an endpoint whose only input is the :id in its path, a UUID.
func Path[Out any](fn func(*Call, string) (Out, error)) Endpoint {
	return Get(func(c *Call) (Out, error) { return fn(c, c.ID()) })
}

// Get returns an endpoint whose only input is the Call. It serves any method and reads no body.
func Get[Out any](fn func(*Call) (Out, error)) Endpoint {
	return answering(noBody, nil, 0, reflect.TypeFor[Out](), func(c *Call) (any, error) {
		if err := c.limitRate(); err != nil {
			return nil, err
		}
		return fn(c)
	})
}

// Raw returns an endpoint that receives its body as bytes, of any media type. The bytes are valid until fn returns.
func Raw[Out any](fn func(*Call, []byte) (Out, error)) Endpoint {
	return answering(rawBody, nil, maxJSON, reflect.TypeFor[Out](), func(c *Call) (any, error) {
		if err := c.readBody(); err != nil {
			return nil, err
		}
		if err := c.limitRate(); err != nil {
			return nil, err
		}
		return fn(c, c.body)
	})
}

func typed[In, Out any](kind bodyKind, size int64, fn func(*Call, In) (Out, error)) Endpoint {
	run := func(c *Call, in any) (any, error) { return fn(c, *in.(*In)) }
	return taking(newPlan(reflect.TypeFor[In](), kind), size, reflect.TypeFor[Out](), run)
}

// taking returns an endpoint that uses the plan p to read its input. fn receives a pointer to the input. taking isn't
// generic, because the compiler would duplicate its code for each type.
func taking(p *plan, size int64, out reflect.Type, fn func(c *Call, in any) (any, error)) Endpoint {
	return answering(p.kind, p, size, out, func(c *Call) (any, error) {
		in := reflect.New(p.typ)
		if err := c.bind(p, in.Elem()); err != nil {
			return nil, err
		}
		if err := c.limitRate(); err != nil {
			return nil, err
		}
		return fn(c, in.Interface())
	})
}

func answering(kind bodyKind, p *plan, size int64, out reflect.Type, fn func(*Call) (any, error)) Endpoint {
	e := Endpoint{&endpoint{body: kind, in: p, out: out, maxBody: size, status: http.StatusOK}}
	switch e.out {
	case reflect.TypeFor[None]():
		e.status = http.StatusNoContent
	case reflect.TypeFor[Redirect]():
		e.status = http.StatusFound
	}
	e.call = func(c *Call) error {
		out, err := fn(c)
		if err != nil {
			return err
		}
		return c.reply(out)
	}
	return e
}

// bind fills in from the path, the query, headers and the body, in this order, and then calls CheckInput.
func (c *Call) bind(p *plan, in reflect.Value) error {
	if err := c.bindParams(p, in); err != nil {
		return err
	}
	switch p.kind {
	case jsonBody:
		if c.route.Do.bodyless && c.Request.ContentLength == 0 {
			break
		}
		if err := c.readBody(); err != nil {
			return err
		}
		if err := decodeJSON(c.body, p.object, in); err != nil {
			return err
		}
	case formBody:
		if err := c.readBody(); err != nil {
			return err
		}
		if err := bindValues(string(c.body), p.form, in, true); err != nil {
			return err
		}
	}
	if v, ok := in.Addr().Interface().(interface{ CheckInput() error }); ok {
		return v.CheckInput()
	}
	return nil
}

// Stream returns an endpoint that reads its body itself. There is no time limit as long as data keeps arriving. In is
// read from the query and the path.
func Stream[In, Out any](fn func(*Call, In) (Out, error)) Endpoint {
	p := newPlan(reflect.TypeFor[In](), noBody)
	e := answering(rawBody, p, 0, reflect.TypeFor[Out](), func(c *Call) (any, error) {
		var in In
		if err := c.bind(p, reflect.ValueOf(&in).Elem()); err != nil {
			return nil, err
		}
		out, err := fn(c, in)
		// Start the time limit for the response.
		control := c.Control()
		_ = control.SetReadDeadline(time.Time{})
		_ = control.SetWriteDeadline(time.Now().Add(ProgressTimeout))
		return out, err
	})
	e.streams = true
	return e
}

// Serve returns an endpoint that writes its response itself, such as a file. There is no time limit as long as the
// client keeps reading.
func Serve(fn func(*Call) error) Endpoint {
	e := Endpoint{&endpoint{out: reflect.TypeFor[Text](), status: http.StatusOK, streams: true, bare: []int{
		http.StatusPartialContent, http.StatusNotModified, http.StatusPreconditionFailed,
		http.StatusRequestedRangeNotSatisfiable,
	}}}
	e.call = fn
	return e
}

// Write returns an endpoint that writes its response itself while producing it, such as an export. There is no time
// limit as long as the client keeps reading. In is read from the query and the path.
func Write[In any](fn func(*Call, In) error) Endpoint { return writing(noBody, 0, fn) }

// WriteJSON is like Write, for an endpoint with a JSON body.
func WriteJSON[In any](fn func(*Call, In) error) Endpoint { return writing(jsonBody, maxJSON, fn) }

func writing[In any](kind bodyKind, size int64, fn func(*Call, In) error) Endpoint {
	p := newPlan(reflect.TypeFor[In](), kind)
	e := Endpoint{&endpoint{
		in: p, out: reflect.TypeFor[Text](), body: kind, maxBody: size, status: http.StatusOK, streams: true,
	}}
	e.call = func(c *Call) error {
		var in In
		if err := c.bind(p, reflect.ValueOf(&in).Elem()); err != nil {
			return err
		}
		return fn(c, in)
	}
	return e
}

// listQuery holds the query parameters that this package handles for all lists.
type listQuery struct {
	Limit  string `query:"limit"`
	Cursor string `query:"cursor"`
}

var listPlan = newPlan(reflect.TypeFor[listQuery](), noBody)

const (
	listPage = 500  // rows per read when the whole list is streamed
	listMax  = 1000 // maximum of the limit parameter
)

// List returns an endpoint whose response is a JSON array. fn reads one page: at most page.Limit rows whose key comes
// after page.After. key returns the value that fn orders by. Without limit in the query, the whole list is streamed in
// pages of 500 rows, each a separate read. With limit, the response is one page and a Link to the next.
func List[In, Out any](fn func(*Call, In, core.Page) ([]Out, error), key func(Out) string) Endpoint {
	read := func(c *Call, in any, page core.Page) (any, string, error) {
		// Ask for one more row to find out whether there is a next page.
		rows, err := fn(c, *in.(*In), core.Page{After: page.After, Limit: page.Limit + 1})
		if err != nil || len(rows) <= page.Limit {
			return rows, "", err
		}
		return rows[:page.Limit], key(rows[page.Limit-1]), nil
	}
	return listing(noBody, 0, reflect.TypeFor[In](), reflect.TypeFor[[]Out](), read)
}

// Search is like List, for a function that skips some of the records it reads. The function itself returns the start of
// the next page, or an empty string on the last page. A page can have fewer rows than the limit, or none, even if more
// pages follow.
func Search[In, Out any](fn func(*Call, In, core.Page) (rows []Out, next string, err error)) Endpoint {
	return searching(noBody, 0, fn)
}

// SearchJSON is like Search, for an endpoint with a JSON body. Its cursors are valid only for the same body.
func SearchJSON[In, Out any](fn func(*Call, In, core.Page) (rows []Out, next string, err error)) Endpoint {
	return searching(jsonBody, maxJSON, fn)
}

func searching[In, Out any](kind bodyKind, size int64, fn func(*Call, In, core.Page) ([]Out, string, error)) Endpoint {
	read := func(c *Call, in any, page core.Page) (any, string, error) { return fn(c, *in.(*In), page) }
	return listing(kind, size, reflect.TypeFor[In](), reflect.TypeFor[[]Out](), read)
}

// pageReader reads one page of a list. in is a pointer to the bound input, and rows is a slice.
type pageReader func(c *Call, in any, page core.Page) (rows any, next string, err error)

// listing returns an endpoint for a pageReader. It isn't generic, because the compiler would duplicate its code for
// each type.
func listing(kind bodyKind, size int64, in, out reflect.Type, read pageReader) Endpoint {
	p := newPlan(in, kind)
	e := Endpoint{&endpoint{
		in: p, out: out, body: kind, maxBody: size, status: http.StatusOK, list: true, streams: true,
	}}
	e.call = func(c *Call) error {
		in := reflect.New(p.typ)
		if err := c.bind(p, in.Elem()); err != nil {
			return err
		}
		page, whole, err := c.page()
		if err != nil {
			return err
		}
		if whole {
			return streamPages(c, func() (rows any, last bool, err error) {
				rows, page.After, err = read(c, in.Interface(), page)
				return rows, page.After == "", err
			})
		}
		rows, next, err := read(c, in.Interface(), page)
		if err != nil {
			return err
		}
		if next != "" {
			c.nextLink(c.SealCursor(next))
		}
		if reflect.ValueOf(rows).IsNil() {
			rows = []any{}
		}
		return c.reply(rows)
	}
	return e
}

// page reads the limit and cursor parameters. Without a limit, whole is true: the caller wants the whole list.
func (c *Call) page() (p core.Page, whole bool, err error) {
	var q listQuery
	if err = c.bindParams(listPlan, reflect.ValueOf(&q).Elem()); err != nil {
		return p, false, err
	}
	p.Limit = listPage
	whole = q.Limit == ""
	if !whole {
		n, err := strconv.Atoi(q.Limit)
		if err != nil || n < 1 || n > listMax {
			return p, false, core.Invalidf("limit", "limit must be from 1 to %d.", listMax)
		}
		p.Limit = n
	}
	if q.Cursor != "" {
		p.After, err = c.OpenCursor(q.Cursor)
	}
	return p, whole, err
}

// cursorBinding returns what a cursor is bound to: the caller, the path and the filter, which may be in the body.
func (c *Call) cursorBinding() string {
	q := c.Request.URL.Query()
	q.Del("cursor")
	q.Del("limit")
	return c.Caller.UserID + "\n" + c.Caller.ClientID + "\n" + c.Request.URL.EscapedPath() + "\n" + q.Encode() +
		string(c.body)
}
