package handlers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"newsletterd/core"
	"newsletterd/store/files"
)

// breaks starts an upload with a key, and cuts the connection after some bytes.
func (e *env) breaks(as, key string, offset int, body []byte, whole int) {
	e.t.Helper()
	r := io.MultiReader(bytes.NewReader(body), iotest.ErrReader(errors.New("the line broke")))
	req, err := http.NewRequestWithContext(e.t.Context(), "POST", e.url+"/api/models?name=big", r)
	e.must(err)
	req.ContentLength = int64(whole)
	req.Header.Set("Authorization", "Bearer "+e.value(as))
	req.Header.Set("Upload-Key", key)
	req.Header.Set("Upload-Offset", fmt.Sprint(offset))
	if res, err := http.DefaultClient.Do(req); err == nil {
		res.Body.Close()
		e.t.Errorf("a broken upload is answered by %s", res.Status)
	}
}

// uploaded is the response about an upload.
type uploaded struct {
	Offset   int64  `json:"offset"`
	UnderWay bool   `json:"under_way"`
	ModelID  string `json:"model_id"`
}

// uploaded requests the offset of an upload, after the daemon has noticed the cut connection.
func (e *env) uploaded(as, key string) (s uploaded) {
	e.t.Helper()
	for {
		res, b := e.ask("GET", "/api/models/upload?key="+key, as, nil)
		if res.StatusCode != http.StatusOK {
			e.t.Fatalf("%s %s", res.Status, b)
		}
		s = uploaded{}
		if e.must(json.Unmarshal(b, &s)); !s.UnderWay {
			return s
		}
	}
}

// waits polls until the given number of bytes is stored of an incomplete upload.
func (e *env) waits(as, key string, want int64) {
	e.t.Helper()
	var s uploaded
	for range 5000 { // the daemon may not have read the headers of the request yet
		if s = e.uploaded(as, key); s.Offset == want {
			return
		}
	}
	e.t.Fatalf("%s: %+v, not %d", key, s, want)
}

func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 31 % 251)
	}
	return b
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// An upload whose connection is cut twice continues where it stopped, and creates one model, whose file is the
// sender's.
func TestUploadsGoOn(t *testing.T) {
	e := newEnv(t, modelLimits(core.ModelLimits{Bytes: 8 << 20, BytesPerOwner: 16 << 20}))
	e.step("person ann")
	e.step("person bob")
	const mib = files.ChunkSize
	file := noise(4*mib + 12345)
	if s := e.uploaded("ann", "k-1"); s != (uploaded{}) {
		t.Errorf("before: %+v", s)
	}
	e.breaks("ann", "k-1", 0, file[:mib+100], len(file))
	e.waits("ann", "k-1", mib)
	if s := e.uploaded("bob", "k-1"); s != (uploaded{}) {
		t.Errorf("another user sees %+v", s)
	}
	for _, wrong := range []int{0, mib - 1, 2 * mib} {
		res, b := e.ask("POST", "/api/models?name=big", "ann", strings.NewReader("x"), "Upload-Key", "k-1",
			"Upload-Offset", fmt.Sprint(wrong))
		if res.StatusCode != http.StatusConflict || !strings.Contains(string(b), "upload_offset") {
			t.Errorf("from %d: %s %s", wrong, res.Status, b)
		}
	}
	e.breaks("ann", "k-1", mib, file[mib:3*mib+5], len(file)-mib)
	e.waits("ann", "k-1", 3*mib)
	if n := e.used("ann.id"); n != 3*mib {
		t.Errorf("%d bytes are counted", n)
	}
	// The rest arrives as a form, as browsers send it.
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "big.stl")
	e.must(err)
	_, err = part.Write(file[3*mib:])
	e.must(err)
	e.must(w.Close())
	var made core.Model
	res, b := e.ask("POST", "/api/models", "ann", &form, "Upload-Key", "k-1", "Upload-Offset", fmt.Sprint(3*mib),
		"Content-Type", w.FormDataContentType())
	e.must(json.Unmarshal(b, &made))
	if res.StatusCode != http.StatusCreated || made.SHA256 != sumOf(file) || made.Size != int64(len(file)) ||
		made.Name != "big.stl" {
		t.Fatalf("%s %s", res.Status, b)
	}
	if _, got := e.ask("GET", "/api/models/"+made.ID+"/download", "ann", nil); !bytes.Equal(got, file) {
		t.Errorf("%d bytes come back, and are not those that were sent", len(got))
	}
	// The response was lost.
	if s := e.uploaded("ann", "k-1"); s.ModelID != made.ID || s.Offset != made.Size {
		t.Errorf("after: %+v", s)
	}
	var again core.Model
	res, b = e.ask("POST", "/api/models?name=big", "ann", bytes.NewReader(file), "Upload-Key", "k-1")
	e.must(json.Unmarshal(b, &again))
	if res.StatusCode != http.StatusCreated || again.ID != made.ID {
		t.Errorf("again: %s %s", res.Status, b)
	}
	if n := e.used("ann.id"); n != int64(len(file)) {
		t.Errorf("%d bytes are counted", n)
	}
	e.noUploadLeft("ann.id")
}

// Incomplete uploads are limited: four per user, within the bytes that the owner can use.
func TestUploadsThatWaitAreBounded(t *testing.T) {
	e := newEnv(t, modelLimits(core.ModelLimits{Bytes: 8 << 20, BytesPerOwner: 6 << 20}))
	e.step("person ann")
	const mib, uploadsWaiting = files.ChunkSize, 4
	file := noise(2 * mib)
	for i := range uploadsWaiting + 2 {
		key := fmt.Sprintf("k%d", i)
		e.breaks("ann", key, 0, file[:mib+1], len(file))
		e.waits("ann", key, mib)
	}
	for i := range uploadsWaiting + 2 {
		want := int64(mib)
		if i < 2 {
			want = 0
		}
		if s := e.uploaded("ann", fmt.Sprintf("k%d", i)); s.Offset != want {
			t.Errorf("k%d: %+v", i, s)
		}
	}
	n := e.used("ann.id")
	for end := time.Now().Add(time.Minute); n != uploadsWaiting*mib && time.Now().Before(end); {
		n = e.used("ann.id") // the removal that makes room is still running
	}
	if n != uploadsWaiting*mib {
		t.Errorf("%d bytes are counted", n)
	}
	// A refused upload stores nothing, because it exceeds what the owner can use.
	res, b := e.ask("POST", "/api/models?name=x", "ann", bytes.NewReader(noise(4*mib)), "Upload-Key", "k5",
		"Upload-Offset", fmt.Sprint(mib))
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%s %s", res.Status, b)
	}
	if s := e.uploaded("ann", "k5"); s.Offset != 0 {
		t.Errorf("after a refusal: %+v", s)
	}
	for _, key := range []string{"", "a/b", strings.Repeat("a", 65)} {
		if res, b := e.ask("GET", "/api/models/upload?key="+key, "ann", nil); res.StatusCode != http.StatusBadRequest {
			t.Errorf("the key %q: %s %s", key, res.Status, b)
		}
	}
}
