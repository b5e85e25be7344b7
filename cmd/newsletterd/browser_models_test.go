package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
)

const videoPage = `<!doctype html><h1>loading</h1><video src="/media" controls preload="metadata"></video><script>
const v = document.querySelector("video"), h = document.querySelector("h1");
v.addEventListener("loadedmetadata", () => { h.textContent = "length " + Math.round(v.duration); v.currentTime = 290; });
v.addEventListener("seeked", () => { h.textContent = "seeked " + Math.round(v.currentTime); });
v.addEventListener("error", () => { h.textContent = "failed: " + v.error.message; });
</script>`

// TestBrowserReadsRangesOfAVideo checks that a video tag can jump to the end of a long file. The browser requests
// ranges through a page that adds the token, like an app in front of the daemon.
func TestBrowserReadsRangesOfAVideo(t *testing.T) {
	b := browsertest.New(t)
	d := start(t, nil)
	u := d.addUser("ann@example.org")
	// The sound is 300 seconds of silence: 44,100 times 4 bytes a second.
	const size = 300 * 44100 * 4
	var file bytes.Buffer
	file.WriteString("RIFF")
	for _, v := range []any{
		uint32(size + 36), []byte("WAVEfmt "), uint32(16), uint16(1), uint16(2), uint32(44100),
		uint32(44100 * 4), uint16(4), uint16(16), []byte("data"), uint32(size), make([]byte, size),
	} {
		_ = binary.Write(&file, binary.LittleEndian, v)
	}
	m, err := core.NewModel(u.ID, core.ModelInput{Name: "silence.wav", ContentType: "audio/wav"}, now())
	if err != nil {
		t.Fatal(err)
	}
	up := d.store.NewUpload(u.ID, parts.ModelLimits(d.cfg))
	defer up.Close(context.Background())
	if err := up.ReadFrom(t.Context(), &file, nil, now); err != nil {
		t.Fatal(err)
	}
	if m, err = up.Commit(t.Context(), m, "test"); err != nil {
		t.Fatal(err)
	}
	tokens, _, err := d.auth.AdminToken(t.Context(), u, core.ScopeModelsRead, time.Hour, now())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	api, _ := url.Parse(d.cfg.Origin())
	proxy := httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(api)
			r.Out.URL.Path = "/api/models/" + m.ID + "/download"
			r.Out.Header.Set("Authorization", "Bearer "+tokens.AccessToken)
		},
		ModifyResponse: func(res *http.Response) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%s → %d %s", res.Request.Header.Get("Range"), res.StatusCode,
				res.Header.Get("Content-Range")))
			return nil
		},
	}
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/media" {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, videoPage)
	}))
	defer app.Close()
	b.Open(app.URL, browsertest.Heading("seeked 290"))
	mu.Lock()
	defer mu.Unlock()
	t.Log(strings.Join(seen, "\n"))
	jumped := false
	for _, s := range seen {
		jumped = jumped || strings.Contains(s, "→ 206 bytes 5")
	}
	if !jumped {
		t.Errorf("no range near the end was read:\n%s", strings.Join(seen, "\n"))
	}
}

// whole is the size of a connection that does not break.
const whole = 1 << 60

// breakingLine forwards a browser's connection to a daemon. It breaks after some bytes from the browser, and then
// closes all connections.
type breakingLine struct {
	address, to string
	left        atomic.Int64
}

func newBreakingLine(t *testing.T) *breakingLine {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &breakingLine{address: "http://" + listener.Addr().String()}
	l.left.Store(whole)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go l.connect(c)
		}
	}()
	return l
}

func (l *breakingLine) connect(browser net.Conn) {
	defer browser.Close()
	daemon, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer daemon.Close()
	go func() {
		_, _ = io.Copy(browser, daemon)
		browser.Close()
	}()
	b := make([]byte, 16<<10)
	for l.left.Load() > 0 {
		n, err := browser.Read(b)
		if err != nil || l.left.Add(-int64(n)) <= 0 {
			return
		}
		if _, err := daemon.Write(b[:n]); err != nil {
			return
		}
	}
}

// TestUploadThatDropsInABrowser checks that an upload resumes automatically where its connection dropped. After a
// reload it resumes if the same file is chosen again. The daemon has each file once, byte for byte.
func TestUploadThatDropsInABrowser(t *testing.T) {
	line := newBreakingLine(t)
	line.to = daemontest.FreeAddr(t)
	w := newWriterOf(t, func(c *config.Config) { c.Server.Listen, c.Server.PublicURL = line.to, line.address })
	w.Do(chromedp.EmulateViewport(390, 844))
	const size = 6<<20 + 4321
	file := make([]byte, size)
	for i := range file {
		file[i] = byte(i * 31 % 251)
	}
	// choose selects a file in the form and sends it.
	choose := func(name string) {
		w.Eval(fmt.Sprintf(`(() => {
			const bytes = new Uint8Array(%d);
			for (let i = 0; i < bytes.length; i++) bytes[i] = i * 31 %% 251;
			const data = new DataTransfer();
			data.items.add(new File([bytes], %q, {lastModified: 1700000000000}));
			document.querySelector("details.add").open = true;
			document.querySelector("#f-file").files = data.files;
			const real = XMLHttpRequest.prototype.setRequestHeader;
			XMLHttpRequest.prototype.setRequestHeader = function (name, value) {
				if (name === "Upload-Offset") sessionStorage.offsets = (sessionStorage.offsets ?? "") + value + " ";
				return real.call(this, name, value);
			};
			document.querySelector("form[data-goes-on]").requestSubmit(document.querySelector("form[data-goes-on] .primary"));
		})()`, size, name))
	}
	const said = `document.querySelector("form[data-goes-on] [data-fault]").textContent`
	// drops waits until the connection has broken and the page shows it.
	drops := func() {
		w.Wait(`/^Connection lost\. Retrying in [0-9]+\ss\.$/.test(` + said + `)`)
	}
	// arrives checks the newest model, and the offsets that the browser sent.
	arrives := func(name string, n int) {
		line.left.Store(whole)
		w.Do(chromedp.WaitVisible(`//h1[contains(., "` + name + `")]`))
		offsets := w.Eval(`sessionStorage.offsets`)
		if ok := regexp.MustCompile(`^0 [1-9][0-9]{5,} $`).MatchString(offsets); !ok {
			t.Errorf("%s was sent from %s", name, offsets)
		}
		w.Eval(`sessionStorage.clear()`)
		ms, err := w.d.store.Models(w.Context(), w.user.ID, 0, 10)
		w.d.Must(err)
		if len(ms) != n || ms[n-1].Name != name || ms[n-1].SHA256 != fmt.Sprintf("%x", sha256.Sum256(file)) {
			t.Errorf("the daemon has %+v", ms)
		}
		if left := w.Eval(`localStorage.upload`); left != "undefined" {
			t.Errorf("kept on the device: %s", left)
		}
	}
	page := w.d.cfg.Origin() + "/own/models"
	w.Open(page, chromedp.WaitReady("form[data-goes-on]"))
	line.left.Store(size / 2)
	choose("bracket.stl")
	drops()
	w.Look("upload-dropped")
	arrives("bracket.stl", 1)

	// The page is reloaded before the upload has resumed.
	w.Open(page, chromedp.WaitReady("form[data-goes-on]"))
	line.left.Store(size / 2)
	choose("shelf.stl")
	drops()
	line.left.Store(whole)
	w.Open(page, chromedp.WaitReady("form[data-goes-on]"))
	choose("shelf.stl")
	arrives("shelf.stl", 2)

	// If the response is lost, the page finds the model that was created.
	w.Open(page, chromedp.WaitReady("form[data-goes-on]"))
	w.Eval(`(() => {
		const real = XMLHttpRequest.prototype.send;
		XMLHttpRequest.prototype.send = function (data) {
			XMLHttpRequest.prototype.send = real;
			const ended = this.onloadend;
			this.onloadend = () => ended.call(this, Object.defineProperty(this, "status", {value: 0}));
			real.call(this, data);
		};
	})()`)
	choose("cube.stl")
	w.Do(chromedp.WaitVisible(`//h1[contains(., "cube.stl")]`))
	if ms, err := w.d.store.Models(w.Context(), w.user.ID, 0, 10); err != nil || len(ms) != 3 {
		t.Errorf("%+v, %v", ms, err)
	}
}
