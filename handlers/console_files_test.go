package handlers

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"testing"

	"newsletterd/handlers/console/assets"
)

// Scripts and styles are sent compressed to browsers that accept that, and are the same for everyone.
func TestConsoleFilesAreCompressed(t *testing.T) {
	e := newEnv(t)
	for path, most := range map[string]int{
		"/console/editor.js": 160_000, "/console/htmx.js": 16_000, "/console/LICENSES.txt": 16_000,
		"/console/style.css": 13_700, "/console/style.css?color=aa0000": 13_700,
		"/console/inter-latin.woff2": 50_000, "/console/inter-latin-ext.woff2": 90_000,
	} {
		get := func(encoding string) (*http.Response, []byte) {
			req, err := http.NewRequestWithContext(t.Context(), "GET", e.url+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Accept-Encoding", encoding)
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != 200 || res.Header.Get("Vary") != "Accept-Encoding" {
				t.Fatal(path, res.StatusCode, res.Header, err)
			}
			return res, body
		}
		plain, whole := get("identity")
		if plain.Header.Get("Content-Encoding") != "" {
			t.Error(path, plain.Header)
		}
		res, packed := get("br, gzip")
		if file, err := fs.ReadFile(assets.Files, path[len("/console/"):]+".gz"); err == nil && !bytes.Equal(file, packed) {
			t.Error(path, "is another file")
		}
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil || res.Header.Get("Content-Encoding") != "gzip" || len(packed) > most {
			t.Fatal(path, len(packed), res.Header, err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, whole) {
			t.Error(path, "is not the same compressed", err)
		}
		if a, b := plain.Header.Get("Content-Type"), res.Header.Get("Content-Type"); a != b || a == "" {
			t.Error(path, a, b)
		}
	}
}
