package main

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
)

// TestFiguresOfPictures uploads photos in the format of phones, and lets many readers load one at the same time.
func TestFiguresOfPictures(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench")
	}
	f := figurestest.New(t)
	f.Build()
	f.Serve()
	f.Operator("newsletter:send")
	tenant := f.Field("id", "admin", "tenant", "create", "--name", "Pictures")
	for _, side := range []struct{ w, h int }{{1600, 1200}, {4000, 3000}, {7300, 5470}} {
		photo := photograph(t, side.w, side.h)
		began := time.Now()
		r := f.Send("POST", "/api/media?name=photo.jpg&tenant_id="+tenant, photo, "Content-Type", "image/jpeg").Wants(201)
		took := time.Since(began)
		var m core.MediaView
		r.JSON(&m)
		_, peak := daemontest.Usage(f.PID())
		f.Line(fmt.Sprintf("upload of %d × %d", side.w, side.h), "%v, %d kB, mailed as %d kB; peak RSS %d MB",
			took.Round(time.Millisecond), len(photo)/1000, m.Bytes/1000, peak>>20)
		if side.w == 4000 {
			loadPicture(f, m.URL, m.Bytes)
			loadPicture(f, m.Full.URL, m.Full.Bytes)
		}
	}
	f.Stop()
}

// photograph returns a JPEG of soft shapes with noise.
func photograph(t *testing.T, w, h int) []byte {
	m := image.NewYCbCr(image.Rect(0, 0, w, h), image.YCbCrSubsampleRatio420)
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range m.Y {
		m.Y[i] = uint8(i/w*200/h + i%w*40/w + int(noise.Uint32()%12))
	}
	for i := range m.Cb {
		m.Cb[i], m.Cr[i] = uint8(100+i*50/len(m.Cb)), uint8(150-i*50/len(m.Cb))
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 75}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// loadPicture lets 16 readers load an image repeatedly.
func loadPicture(f *figurestest.Figures, url string, size int64) {
	span := figurestest.AtMost(f, 5*time.Second, time.Second/4)
	var n atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range 16 {
		all.Go(func() {
			for time.Since(began) < span {
				req, err := http.NewRequestWithContext(f.Context(), http.MethodGet, url, nil)
				var res *http.Response
				if err == nil {
					res, err = f.HTTP.Do(req)
				}
				if err != nil {
					f.Error(err)
					return
				}
				got, err := io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if err != nil || got != size {
					f.Errorf("%d bytes of %d: %v", got, size, err)
					return
				}
				n.Add(1)
			}
		})
	}
	all.Wait()
	took := time.Since(began).Seconds()
	f.Line(fmt.Sprintf("picture of %d kB", size/1000), "%.0f requests/s, %.0f MB/s, 16 readers", float64(n.Load())/took,
		float64(n.Load()*size)/1e6/took)
}
