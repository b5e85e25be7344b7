package main

import (
	"os"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
	"newsletterd/store/storetest"
)

// TestFiguresOfManyJobs shows how the cost of an email depends on the number of jobs, tenants and recipients. It sends
// the same number of emails as one job, as many jobs of one tenant, and as one job each of many tenants. It also sends
// one job to a tenth and to ten times as many people. They alternate for NEWSLETTERD_FIGURES_ROUNDS rounds.
// NEWSLETTERD_FIGURES_JOBS=50 only measures 50 jobs of one tenant and of 50 tenants.
// NEWSLETTERD_FIGURES_PROGRAMS=/tmp/before,/tmp/after compares two builds, which alternate.
func TestFiguresOfManyJobs(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench")
	}
	f := figurestest.New(t)
	kinds := []*figurestest.Jobs{
		{Many: 1, Tenants: 1, People: f.N},
		{Many: 50, Tenants: 1, People: f.N},
		{Many: 10, Tenants: 10, People: f.N},
		{Many: 100, Tenants: 100, People: f.N},
		{Many: 1000, Tenants: 1000, People: f.N},
		{Many: 1, Tenants: 1, People: f.N / 10},
		{Many: 1, Tenants: 1, People: f.N * 10},
	}
	if n := figurestest.Number("NEWSLETTERD_FIGURES_JOBS", 0); n > 0 {
		kinds = []*figurestest.Jobs{
			kinds[0],
			{Many: n, Tenants: 1, People: f.N},
			{Many: n, Tenants: n, People: f.N},
		}
	}
	programs := strings.Split(os.Getenv("NEWSLETTERD_FIGURES_PROGRAMS"), ",")
	if programs[0] == "" {
		f.Build()
		programs[0] = f.Built
	}
	f.Prepare(func(s *storetest.Seeder) {
		for _, k := range kinds {
			f.MakeLists(s, k)
		}
	})
	f.Operator(core.ScopeSend)
	f.CompareJobs(max(figurestest.Number("NEWSLETTERD_FIGURES_ROUNDS", 1), 1), kinds, programs...)
}
