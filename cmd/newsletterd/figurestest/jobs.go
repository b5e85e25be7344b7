package figurestest

import (
	"fmt"
	"slices"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// Jobs describes equal jobs, spread evenly over some tenants. Each has its own list.
type Jobs struct {
	Many, Tenants, People int
	lists                 []string
}

func (j *Jobs) name() string {
	return fmt.Sprintf("%d mails, %d jobs, %d tenants", j.People, j.Many, j.Tenants)
}

// MakeLists creates the lists for the jobs.
func (f *Figures) MakeLists(s *storetest.Seeder, j *Jobs) {
	for i := range j.Many {
		if i < j.Tenants {
			s.TenantID = s.NewTenant(func(in *core.TenantInput) { in.Name = new(fmt.Sprint("Tenant ", i)) }).ID
		}
		l := s.NewList()
		j.lists = append(j.lists, l.ID)
		s.Readers(l, j.People/j.Many)
	}
}

// SendJobs sends the jobs with a program that it starts before they are due. It returns the daemon's CPU time per 1,000
// emails.
func (f *Figures) SendJobs(j *Jobs, program string) float64 {
	built := f.Built
	f.Built = program
	defer func() { f.Built = built }()
	var due time.Time
	f.Prepare(func(s *storetest.Seeder) {
		due = time.Now().Add(5*time.Second + time.Duration(j.Many)*5*time.Millisecond)
		for _, list := range j.lists {
			s.NewJob(list, func(r *campaigns.JobRequest) {
				r.BodyHTML, r.BodyText, r.ScheduledAt = Letter, "", core.At(due)
			})
		}
	})
	f.Serve()
	wait := time.Until(due)
	if wait <= 0 {
		f.Fatalf("the daemon started %v after the jobs were due", -wait)
	}
	<-time.After(wait)
	n, before := int64(j.People/j.Many*j.Many), f.Sink.Stats().Count
	cpu0, _ := daemontest.Usage(f.PID())
	posted := f.postJobs(j.lists[0], 10)
	f.Every(100*time.Millisecond, func() bool { return f.Sink.Stats().Count-before >= n })
	took := time.Unix(0, f.Sink.Stats().Last).Sub(due)
	f.Every(20*time.Millisecond, func() bool {
		return f.Number("SELECT count(*) FROM send_job WHERE status IN ('pending', 'running')") == 0
	})
	cpu, peak := daemontest.Usage(f.PID())
	if got := f.Sink.Stats().Count - before; got != n {
		f.Errorf("%d emails instead of %d", got, n)
	}
	f.Stop()
	cost := (cpu - cpu0).Seconds() * 1000 / float64(n)
	f.Line(j.name(), "%.0f mails/s, %.4f CPU s/1000, peak RSS %d MB; a job is created in %v",
		float64(n)/took.Seconds(), cost, peak>>20, posted)
	return cost
}

// postJobs creates n jobs for tomorrow and cancels them. It returns the median time to create one.
func (f *Figures) postJobs(list string, n int) time.Duration {
	var jobs []string
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		jobs = append(jobs, f.Mail(list, map[string]any{"scheduled_at": began.AddDate(0, 0, 1).Format(time.RFC3339)}))
		took[i] = time.Since(began)
	}
	f.Cancel(jobs...)
	slices.Sort(took)
	return took[n/2].Round(10 * time.Microsecond)
}

// CompareJobs sends all kinds of jobs with each program in turn, and prints their cost.
func (f *Figures) CompareJobs(rounds int, kinds []*Jobs, programs ...string) {
	costs := make([][][]float64, len(programs)) // by program, kind and round
	for round := range rounds {
		for k, kind := range kinds {
			for p := range programs {
				at := (p + round) % len(programs)
				if k == 0 && round == 0 {
					costs[at] = make([][]float64, len(kinds))
				}
				costs[at][k] = append(costs[at][k], f.SendJobs(kind, programs[at]))
			}
		}
	}
	for p, program := range programs {
		if len(programs) > 1 {
			f.Line("program", "%s", program)
		}
		for k, kind := range kinds {
			var toOne, toFirst []float64
			for round, cost := range costs[p][k] {
				toOne = append(toOne, cost/costs[p][0][round])
				toFirst = append(toFirst, cost/costs[0][k][round])
			}
			name := kind.name()
			slices.Sort(costs[p][k])
			f.Line(name, "%.4f CPU s/1000, the median of %d rounds", costs[p][k][rounds/2], rounds)
			f.median(toOne, name, "of the CPU time of one job")
			if p > 0 {
				f.median(toFirst, name, "of the CPU time of the first program")
			}
		}
	}
}
