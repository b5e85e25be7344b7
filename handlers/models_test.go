package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/handlers/web/webtest"
	"newsletterd/store/files"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// ask sends one request as a person, and returns the response with its body.
func (e *env) ask(method, path, as string, body io.Reader, headers ...string) (*http.Response, []byte) {
	e.t.Helper()
	req, err := http.NewRequestWithContext(e.t.Context(), method, e.url+path, body)
	e.must(err)
	req.Header.Set("Authorization", "Bearer "+e.value(as))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	e.must(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	e.must(err)
	return res, b
}

var requestID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)

// TestNoAccessIsMissing compares the response for a model that the caller may not view with the response for one that
// does not exist. Status, headers and body are the same to the byte, except for request id and date.
func TestNoAccessIsMissing(t *testing.T) {
	e := newEnv(t)
	e.step("person ann")
	e.step("person sam")
	for _, v := range []string{"private", "tenant"} {
		e.step("model " + v + " owner=ann visibility=" + v)
	}
	e.step("device lamp owner=ann")
	e.step("agent hub owner=ann")
	e.step("share share model=private email=x@friend.example")
	missing := core.NewID()
	for _, r := range e.handler.Routes() {
		if r.Dialect != web.Device || !strings.Contains(r.Path, ":id") {
			continue
		}
		hidden := []string{e.value("private"), e.value("tenant")}
		if !strings.Contains(r.Path, "/models/") {
			hidden = []string{e.value("lamp"), e.value("hub")}
		}
		for _, body := range []string{"{}", `{"visibility": "public", "name": "x"}`, "{"} {
			answer := func(id string) string {
				path := strings.Replace(strings.Replace(r.Path, ":id", id, 1), ":share_id", e.value("share"), 1)
				res, b := e.ask(r.Method, path, "sam", strings.NewReader(body), "Content-Type", "application/json",
					"Range",
					"bytes=0-1")
				res.Header.Del("Date")
				return requestID.ReplaceAllString(fmt.Sprint(res.Status, res.Header, string(b)), "*")
			}
			want := answer(missing)
			if !strings.HasPrefix(want, "404") {
				t.Errorf("%s %s: %s", r.Method, r.Path, want)
			}
			for _, id := range hidden {
				if got := answer(id); got != want {
					t.Errorf("%s %s\n%s\nis told from\n%s", r.Method, r.Path, got, want)
				}
			}
		}
	}
}

// TestOwnersAddressesStayHidden looks for the addresses of all people in these tests, who are …@owner.example, in every
// response of the scenarios. Other tests compare these with the responses of the handlers.
func TestOwnersAddressesStayHidden(t *testing.T) {
	files, err := filepath.Glob("../testdata/api/devices/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	replies := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks, _ := parseScenario(string(text))
		for _, x := range blocks {
			if x.title == "" {
				continue
			}
			replies++
			if strings.Contains(strings.ToLower(x.reply), "owner.example") {
				t.Errorf("%s: %s tells an owner's address:\n%s", file, x.title, x.reply)
			}
		}
	}
	if replies < 150 {
		t.Errorf("only %d answers were looked at", replies)
	}
}

func TestTwentyRegister(t *testing.T) {
	e := newEnv(t)
	e.step("person ann")
	e.step("device lamp owner=ann")
	var registered, refused atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			res, b := e.ask("POST", "/api/devices/"+e.value("lamp")+"/register", "ann", nil)
			switch {
			case res.StatusCode == 200:
				registered.Add(1)
			case res.StatusCode == 409 && strings.Contains(string(b), `"code":"ALREADY_REGISTERED"`):
				refused.Add(1)
			default:
				t.Errorf("%d %s", res.StatusCode, b)
			}
		})
	}
	wg.Wait()
	if registered.Load() != 1 || refused.Load() != 19 {
		t.Errorf("%d times 200, %d times 409", registered.Load(), refused.Load())
	}
}

// form writes a multipart body from pairs: the name and text of a field, or the name file (with a file name) and its
// content.
func form(t *testing.T, pairs ...string) (body io.Reader, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		head := textproto.MIMEHeader{}
		name, file, isFile := strings.Cut(pairs[i], "=")
		if isFile {
			head.Set("Content-Type", "model/stl")
			head.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q; filename=%q`, name, file))
		} else {
			head.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q`, name))
		}
		p, err := w.CreatePart(head)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(p, pairs[i+1])
	}
	_ = w.Close()
	return &b, w.FormDataContentType()
}

func TestMultipartUploads(t *testing.T) {
	e := newEnv(t)
	e.step("person ann")
	for _, tt := range []struct {
		name   string
		parts  []string
		status int
		want   string // text in the response
	}{
		{"all fields", []string{
			"name", "Cube", "description", "two\r\nlines", "visibility", "public", "content_type",
			"text/plain", "file=c.stl", "solid",
		}, 201, `"name":"Cube","description":"two\nlines","visibility":"public","size":5,`},
		{"name and type of the file", []string{"file=c.stl", "solid"}, 201, `"content_type":"model/stl"`},
		{"fields behind the file", []string{"file=c.stl", "solid", "name", "Late"}, 201, `"name":"Late"`},
		{"other fields", []string{"other", "x", "file=c.stl", "solid"}, 201, `"name":"c.stl"`},
		{"a path as file name", []string{`file=../a/c.stl`, "solid"}, 201, `"name":"c.stl"`},
		{"an empty file", []string{"file=c.stl", ""}, 201, `"size":0`},
		{"no file", []string{"name", "Cube"}, 400, `"field":"file"`},
		{"two files", []string{"file=c.stl", "solid", "file=d.stl", "solid"}, 400, `"field":"file"`},
		{"no name at all", []string{"file=", "solid"}, 400, `"field":"name"`},
		{
			"a visibility that is none",
			[]string{"visibility", "all", "file=c.stl", "solid"},
			400,
			`"code":"invalid_visibility"`,
		},
		{
			"a field that is too long",
			[]string{"name", strings.Repeat("x", 16<<10+1), "file=c.stl", "solid"},
			400,
			`"field":"name"`,
		},
		{"a field that is no text", []string{"name", "\xff", "file=c.stl", "solid"}, 400, `"field":"name"`},
		{
			"a file that is too large",
			[]string{"file=c.stl", strings.Repeat("x", 2001)},
			413,
			`"code":"payload_too_large"`,
		},
		{"too many parts", strings.Split(strings.Repeat("a,b,", 21)+"file=c,d", ","), 400, "valid multipart/form-data"},
		{
			"a head without end",
			[]string{"file=" + strings.Repeat("x", 64<<10+100), "solid"},
			400,
			"valid multipart/form-data",
		},
	} {
		body, contentType := form(t, tt.parts...)
		res, b := e.ask("POST", "/api/models", "ann", body, "Content-Type", contentType)
		if res.StatusCode != tt.status || !strings.Contains(string(b), tt.want) {
			t.Errorf("%s: %d %s, want %d with %s", tt.name, res.StatusCode, b, tt.status, tt.want)
		}
		var m core.Model
		if json.Unmarshal(b, &m) == nil && m.ID != "" {
			if res, b := e.ask("DELETE", "/api/models/"+m.ID, "ann", nil); res.StatusCode != 204 {
				t.Errorf("delete: %d %s", res.StatusCode, b)
			}
		}
	}
	if n, err := e.store.Usage(t.Context(), e.value("ann.id")); err != nil || n != 0 {
		t.Errorf("%d bytes are counted, %v", n, err)
	}
}

// A body that ends too early is the caller's fault, wherever it ends, and leaves no data.
func TestMultipartUploadsThatEndEarly(t *testing.T) {
	e := newEnv(t)
	e.step("person ann")
	whole := "--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nCube\r\n" +
		"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"c\"\r\n\r\nsolid\r\n--x--"
	for n := range len(whole) {
		res, b := e.ask("POST", "/api/models", "ann", strings.NewReader(whole[:n]), "Content-Type",
			"multipart/form-data; boundary=x")
		if res.StatusCode != 400 {
			t.Errorf("%q: %d %s", whole[:n], res.StatusCode, b)
		}
	}
	if n, err := e.store.Usage(t.Context(), e.value("ann.id")); err != nil || n != 0 {
		t.Errorf("%d bytes are counted, %v", n, err)
	}
}

func TestDownloadsAreHarmless(t *testing.T) {
	e := newEnv(t)
	e.step("person ann")
	for name, want := range map[string]string{
		"Cube":                 `attachment; filename="Cube"`,
		"a/b\\c":               `attachment; filename="a_b_c"`,
		`say "hi"; x=1`:        `attachment; filename="say _hi_; x=1"; filename*=UTF-8''say%20%22hi%22%3B%20x%3D1`,
		"Würfel 100%":          `attachment; filename="W_rfel 100_"; filename*=UTF-8''W%C3%BCrfel%20100%25`,
		"\u202etxt.exe":        `attachment; filename="_txt.exe"; filename*=UTF-8''%E2%80%AEtxt.exe`,
		"<script>alert(1)</x>": `attachment; filename="<script>alert(1)<_x>"`,
	} {
		m := e.model(name, "ann", "private", "<script>alert(1)</script>")
		res, b := e.ask("GET", "/api/models/"+m.ID+"/download", "ann", nil)
		if res.StatusCode != 200 || string(b) != "<script>alert(1)</script>" {
			t.Errorf("%d %s", res.StatusCode, b)
		}
		for k, v := range map[string]string{
			"Content-Disposition": want, "X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-cache",
			"Content-Security-Policy": "sandbox; default-src 'none'", "Accept-Ranges": "bytes", "Content-Length": "25",
		} {
			if got := res.Header.Get(k); got != v {
				t.Errorf("%q: %s is %q, want %q", name, k, got, v)
			}
		}
	}
}

// TestUploadsThatBreakOffLeaveNothing cuts the connection during an upload.
func TestUploadsThatBreakOffLeaveNothing(t *testing.T) {
	e := newEnv(t, modelLimits(core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 1 << 30}))
	e.step("person ann")
	conn, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
	e.must(err)
	fmt.Fprintf(conn,
		"POST /api/models?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n",
		e.value("ann"), 10<<20)
	_, err = conn.Write(make([]byte, 3<<20))
	e.must(err)
	for e.used("ann.id") == 0 { // the first chunk is stored
	}
	e.must(conn.Close())
	for e.used("ann.id") != 0 {
	}
	e.noUploadLeft("ann.id")
}

// TestStalledUploadsAreEnded sends a part of a file and then nothing, or almost nothing. After 30 s, the upload gets an
// error and leaves no data.
func TestStalledUploadsAreEnded(t *testing.T) {
	for name, tail := range map[string]func(net.Conn){
		"nothing more": func(net.Conn) {},
		"a byte every second": func(c net.Conn) {
			for {
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		},
	} {
		for _, first := range []int{0, 1000, 3 << 20} {
			synctest.Test(t, func(t *testing.T) {
				e := unservedEnv(t, storetest.Open(t), modelLimits(core.ModelLimits{
					Bytes:         1 << 30,
					BytesPerOwner: 1 << 30,
				}))
				e.step("person ann")
				c := webtest.Serve(t, web.Server(e.handler)).Dial()
				start, sent := time.Now(), make(chan struct{})
				go func() {
					defer close(sent)
					fmt.Fprintf(c,
						"POST /api/models?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+
							"%s\r\nContent-Length: %d\r\n\r\n",
						e.value("ann"), 10<<20)
					_, _ = c.Write(make([]byte, first))
					tail(c)
				}()
				b, _ := io.ReadAll(c)
				if took := time.Since(start); took < web.ProgressTimeout || took > web.ProgressTimeout+time.Second {
					t.Errorf("%s after %d bytes: ended after %v", name, first, took)
				}
				if !strings.HasPrefix(string(b), "HTTP/1.1 400 ") || !strings.Contains(string(b), "in time") {
					t.Errorf("%s after %d bytes: %s", name, first, b)
				}
				c.Close()
				<-sent
				if n := e.used("ann.id"); n != 0 {
					t.Errorf("%s after %d bytes: %d are still counted", name, first, n)
				}
				e.noUploadLeft("ann.id")
			})
		}
	}
}

// Uploads of unverified accounts don't use memory, because they are refused before the body. The uploads of one user
// leave memory for those of others.
func TestStalledUploadsLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := unservedEnv(t, storetest.Open(t), modelLimits(core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 1 << 30}))
		e.step("person ann")
		e.step("person bob")
		const strangers = 8
		stranger := func(i int) string { return fmt.Sprintf("stranger%d", i) }
		for i := range strangers { // before the first request, which reads the callers that a step adds
			e.step("person " + stranger(i) + " verified=false")
		}
		pipes := webtest.Serve(t, web.Server(e.handler))
		var stalled []net.Conn
		begin := func(token string) {
			c := pipes.Dial()
			stalled = append(stalled, c)
			go func() {
				fmt.Fprintf(c,
					"POST /api/models?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n",
					token,
					10<<20)
				_, _ = c.Write(make([]byte, 900<<10))
			}()
		}
		for i := range strangers {
			for range 4 {
				begin(e.value(stranger(i)))
			}
		}
		for range web.UploadsPerUser {
			begin(e.value("ann"))
		}
		synctest.Wait()
		const rest = web.UploadMemory - web.UploadsPerUser*files.ChunkSize
		if err := e.handler.uploads.Grow(t.Context())(rest); err != nil {
			t.Error("the memory of uploads is held by more than one user", err)
		}
		e.must(e.handler.uploads.Grow(t.Context())(-rest))
		for who, want := range map[string]string{"bob": "HTTP/1.1 201 ", "stranger0": "HTTP/1.1 403 "} {
			c := pipes.Dial()
			go fmt.Fprintf(c,
				"POST /api/models?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n"+
					"Content-Length: 5\r\n\r\nsolid", e.value(who))
			if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), want) {
				t.Errorf("%s: %s %v", who, b, err)
			}
		}
		for _, c := range stalled {
			c.Close()
		}
		time.Sleep(time.Minute) // on the bubble's clock, because net/http keeps closed connections open for a while
	})
}

// A slow upload can take as long as it needs.
func TestSlowUploadsArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := unservedEnv(t, storetest.Open(t), modelLimits(core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 1 << 30}))
		e.step("person ann")
		c := webtest.Serve(t, web.Server(e.handler)).Dial()
		defer c.Close()
		const steps, step = 12, 64 << 10 // the next step must arrive within web.ProgressTimeout
		go func() {
			fmt.Fprintf(c,
				"POST /api/models?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n"+
					"Content-Length: %d\r\n\r\n", e.value("ann"), steps*step)
			for range steps {
				_, _ = c.Write(make([]byte, step))
				time.Sleep(web.ProgressTimeout - time.Second)
			}
		}()
		if b, err := io.ReadAll(c); !strings.HasPrefix(string(b), "HTTP/1.1 201 ") {
			t.Errorf("%v %s", err, b)
		}
		time.Sleep(web.ProgressTimeout) // the last of the sender's pauses
	})
}

// used returns the number of bytes of a person's files, including those being uploaded.
func (e *env) used(person string) int64 {
	n, err := e.store.Usage(e.t.Context(), e.value(person))
	e.must(err)
	return n
}

// noUploadLeft checks that failed uploads leave no rows, slots or memory in use.
func (e *env) noUploadLeft(person string) {
	e.t.Helper()
	for more := true; more; {
		var err error
		more, err = e.store.Housekeeping(e.t.Context(), people.Retention{}, core.Instant(1))
		e.must(err)
	}
	if found, err := e.store.Check(e.t.Context()); err != nil || len(found) > 0 {
		e.t.Error(found, err)
	}
	var places []func()
	for len(places) < web.UploadsPerUser { // the slot can become free after the response
		done, err := e.handler.uploads.Begin(e.value(person), netip.Addr{})
		if err == nil {
			places = append(places, done)
		}
	}
	for _, done := range places {
		done()
	}
	if err := e.handler.uploads.Grow(e.t.Context())(web.UploadMemory); err != nil {
		e.t.Error("its memory is not given back", err)
		return
	}
	e.must(e.handler.uploads.Grow(e.t.Context())(-web.UploadMemory))
}

// TestRepliesHaveNoAddressField checks the types of responses about devices and models. Only shares have an address.
func TestRepliesHaveNoAddressField(t *testing.T) {
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range h.Routes() {
		if r.Dialect != web.Device || r.Info().Output == nil {
			continue
		}
		out := r.Info().Output
		if out.Kind() == reflect.Slice {
			out = out.Elem()
		}
		if out != reflect.TypeFor[core.Share]() && holdsEmail(out) {
			t.Errorf("%s %s answers with an address", r.Method, r.Path)
		}
	}
}

func holdsEmail(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return holdsEmail(t.Elem())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if f.Type == reflect.TypeFor[core.Email]() || (f.Type != t && holdsEmail(f.Type)) {
				return true
			}
		}
	}
	return t == reflect.TypeFor[core.Email]()
}

// All users at one origin address together can use only a part of the upload memory, however many accounts they have.
// Loopback doesn't count.
func TestUploadsOfOneAddress(t *testing.T) {
	e := newEnv(t)
	for _, person := range []string{"ann", "bob", "cee"} {
		e.step("person " + person)
	}
	var done []func()
	for i := range web.UploadsPerAddress {
		free, err := e.handler.uploads.Begin([]string{"ann", "bob"}[i%2],
			netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", i)))
		e.must(err)
		done = append(done, free)
	}
	upload := func(from string, want int) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", e.url+"/api/models?name=x",
			strings.NewReader("solid"))
		e.must(err)
		req.Header.Set("Authorization", "Bearer "+e.value("cee"))
		req.Header.Set("X-Forwarded-For", from)
		res, err := http.DefaultClient.Do(req)
		e.must(err)
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("from %s: %d, want %d", from, res.StatusCode, want)
		}
	}
	upload("2001:db8::ffff", http.StatusTooManyRequests)
	upload("2001:db8:0:1::1", http.StatusCreated)
	upload("127.0.0.1", http.StatusCreated)
	done[0]()
	upload("2001:db8::ffff", http.StatusCreated)
}
