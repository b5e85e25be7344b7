package main

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/figurestest"
)

// TestFiguresOfALargeReplica prints how long a daemon with a database of NEWSLETTERD_FIGURES_MIB (1,024) takes to start
// and stop, without a replica and with one in a folder. It also prints how many bytes each start sends there.
func TestFiguresOfALargeReplica(t *testing.T) {
	f := figurestest.Models(t, 1000)
	size := int64(figurestest.Number("NEWSLETTERD_FIGURES_MIB", figurestest.AtMost(f, 1024, 32))) << 20
	f.Send("POST", "/api/models?name=big", io.LimitReader(rand.NewChaCha8([32]byte{7}), size),
		"Content-Type", "model/stl").OK()
	folder := t.TempDir()
	sent := func() (n int64) {
		f.Must(filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			n += info.Size()
			return err
		}))
		return n
	}
	write := func() { // returns when it is in the replica
		f.Every(10*time.Millisecond, func() bool {
			r, err := f.Try("POST", "/api/devices", map[string]string{"name": "Lamp"})
			return err == nil && r.StatusCode == http.StatusCreated
		})
	}
	stop := func() time.Duration {
		began := time.Now()
		f.Stop()
		f.LeftNothing()
		return time.Since(began).Round(time.Millisecond)
	}
	restarts := func(name string) {
		var took, ended []time.Duration
		before := sent()
		for range 5 {
			ended = append(ended, stop())
			took = append(took, f.Serve().Round(time.Millisecond))
			write()
		}
		slices.Sort(took)
		slices.Sort(ended)
		f.Line(name, "%d MiB: healthy after %v (%v to %v), stopped in %v, %.1f MB sent by five starts", size>>20, took[2],
			took[0], took[4], ended[2], float64(sent()-before)/1e6)
	}
	restarts("restart alone")
	f.Stop()

	f.Env = append(f.Env, "NEWSLETTERD_REPLICA_URL=file://"+folder)
	began := time.Now()
	healthy := f.Serve()
	write()
	f.Line("first start with a replica", "healthy after %v, first answer to a write after %v, %.0f MB sent",
		healthy.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), float64(sent())/1e6)
	restarts("restart with a replica")
	before := sent()
	f.Kill()
	healthy = f.Serve()
	write()
	f.Line("start after kill -9 with a replica", "healthy after %v, %.1f MB sent", healthy.Round(time.Millisecond),
		float64(sent()-before)/1e6)
	stop()
	f.LoseDisk()
	healthy = f.Serve()
	f.Line("start on an empty disk", "healthy after %v, everything restored", healthy.Round(time.Millisecond))
	f.Run("check")
	stop()
}
