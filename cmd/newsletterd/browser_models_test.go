package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/core"
)

const videoPage = `<!doctype html><h1>loading</h1><video src="/media" controls preload="metadata"></video><script>
const v = document.querySelector("video"), h = document.querySelector("h1");
v.addEventListener("loadedmetadata", () => { h.textContent = "length " + Math.round(v.duration); v.currentTime = 290; });
v.addEventListener("seeked", () => { h.textContent = "seeked " + Math.round(v.currentTime); });
v.addEventListener("error", () => { h.textContent = "failed: " + v.error.message; });
</script>`

// A video tag jumps to the end of a long file: the browser asks for ranges, through a page that adds the token, as an
// app in front of the daemon would.
func TestBrowserReadsRangesOfAVideo(t *testing.T) {
	b := browsertest.New(t)
	d := start(t, nil)
	u := d.addUser("ann@example.org")
	// A sound of 300 seconds, silent: 44,100 times 4 bytes a second.
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
	up := d.store.NewUpload(u.ID, modelLimits(d.cfg))
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
