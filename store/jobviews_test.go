package store_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/storetest"
)

// TestJobViewsPages: jobs come newest first, page by page, those of one tenant, of several and of all.
func TestJobViewsPages(t *testing.T) {
	h := newSendHouse(t)
	var want []string
	for i := range 7 {
		j, err := h.job(func(r *store.JobRequest) { r.Name, r.Subject = fmt.Sprintf("No. %d", i), fmt.Sprintf("Subject %d", i) })
		h.must(err)
		want = append([]string{j.ID}, want...)
	}
	for name, f := range map[string]store.JobFilter{
		"all": {All: true}, "one tenant": {Tenants: []string{h.tenant.ID}}, "two tenants": {Tenants: []string{core.NewID(), h.tenant.ID}},
		"pending": {All: true, Status: core.JobPending},
	} {
		var got []string
		page := core.Page{Limit: 3}
		for {
			vs, err := h.JobViews(t.Context(), f, page)
			h.must(err)
			for _, v := range vs {
				got = append(got, v.ID)
				page.After = strconv.FormatInt(v.No, 10)
			}
			if len(vs) < page.Limit {
				break
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	v, err := h.JobView(t.Context(), want[0])
	if err != nil || v.Name != "No. 6" || v.Subject != "Subject 6" || v.Status != core.JobPending {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := h.JobViews(t.Context(), store.JobFilter{All: true}, core.Page{After: core.NewID(), Limit: 1}); err == nil {
		t.Error("a cursor that is no number is taken")
	}
	if vs, err := h.JobViews(t.Context(), store.JobFilter{}, core.Page{Limit: 3}); err != nil || len(vs) != 0 {
		t.Errorf("no tenant: %d jobs, %v", len(vs), err)
	}
}

// TestJobViewsReadNoBodies: the list of jobs takes the heads of campaigns alone from the disk.
func TestJobViewsReadNoBodies(t *testing.T) {
	const jobs, size = 20, 300_000
	h := newSendHouse(t)
	for range jobs {
		_, err := h.job(func(r *store.JobRequest) { r.BodyText = strings.Repeat("x", size) })
		h.must(err)
	}
	path := h.Path()
	h.must(h.Close())
	s := storetest.OpenAt(t, path)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := readByThread(t)
	vs, err := s.JobViews(t.Context(), store.JobFilter{All: true}, core.Page{Limit: 100})
	if err != nil || len(vs) != jobs {
		t.Fatalf("%d jobs, %v", len(vs), err)
	}
	if n := readByThread(t) - before; n > size {
		t.Errorf("%d bytes were read for %d jobs", n, jobs)
	}
}

// readByThread is how much this thread has read, in bytes.
func readByThread(t *testing.T) int {
	b, err := os.ReadFile("/proc/thread-self/io")
	if err != nil {
		t.Skip(err)
	}
	var n int
	if _, err := fmt.Sscanf(string(b), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}
