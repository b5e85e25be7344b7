package audience_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// figuresOf returns a crowd for measurements. Without NEWSLETTERD_FIGURES it skips the test.
// NEWSLETTERD_FIGURES_SEGMENTS is the number of people. NEWSLETTERD_FIGURES_DATABASE names a file to keep.
func figuresOf(t *testing.T) *crowd {
	if os.Getenv("NEWSLETTERD_FIGURES") == "" {
		t.Skip("make bench")
	}
	n, err := strconv.Atoi(os.Getenv("NEWSLETTERD_FIGURES_SEGMENTS"))
	if err != nil {
		n = 40_000 // a list of up to 20,000 is never estimated
	}
	path := cmp.Or(os.Getenv("NEWSLETTERD_FIGURES_DATABASE"), filepath.Join(t.TempDir(), "crowd.db"))
	return newCrowd(&world{storetest.Seed(t, storetest.OpenAt(t, path)).At(start)}, n)
}

func figuresNumber(name string, otherwise int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return otherwise
	}
	return n
}

func line(name, format string, args ...any) {
	fmt.Printf("%-44s %s\n", name, fmt.Sprintf(format, args...))
}

// cost returns the time and the CPU time of the process that fn takes.
func cost(fn func()) (wall, cpu time.Duration) {
	began, before := time.Now(), coretest.CPU()
	fn()
	return time.Since(began), coretest.CPU() - before
}

// spread prints the median, the 95th percentile and the maximum of times.
func spread(name string, all []time.Duration) {
	slices.Sort(all)
	line(name, "median %v, 95%% %v, slowest %v", figureDuration(all[len(all)/2]), figureDuration(all[len(all)*95/100]),
		figureDuration(all[len(all)-1]))
}

// TestFiguresOfSegments counts random rules on a long list with 50 campaigns. Numbers determine the people, so that the
// test knows how many match. On a busy machine, compare the CPU times.
func TestFiguresOfSegments(t *testing.T) {
	c := figuresOf(t)
	line("segments", "%d people, %d campaigns", c.n, figureJobs)
	c.figuresOfPages()
	c.figuresOfKinds(t)
	c.figuresOfEstimates(t)
}

// figuresOfPages stores the recipients in pages, unless NEWSLETTERD_FIGURES_PAGES is 0 or the database has them.
func (c *crowd) figuresOfPages() {
	if os.Getenv("NEWSLETTERD_FIGURES_PAGES") == "0" {
		return
	}
	var slowest time.Duration
	pages := 0
	_, cpu := cost(func() {
		for {
			no, err := campaigns.UnpagedJob(c.Context(), c.DB)
			if errors.Is(err, core.ErrNotFound) {
				return
			}
			c.Must(err)
			began := time.Now()
			_, err = campaigns.AddPage(c.Context(), c.DB, no)
			c.Must(err)
			slowest = max(slowest, time.Since(began))
			pages++
		}
	})
	if pages > 0 {
		line("pages of recipients", "%d, %v CPU each, slowest %v", pages, figureDuration(cpu/time.Duration(pages)),
			figureDuration(slowest))
	}
}

// figuresOfKinds counts exactly by one condition of each kind, in rounds.
func (c *crowd) figuresOfKinds(t *testing.T) {
	leaves := c.figureLeaves(rand.New(rand.NewPCG(1, 1)))
	walls, cpus := map[string][]time.Duration{}, map[string][]time.Duration{}
	only := os.Getenv("NEWSLETTERD_FIGURES_CONDITION")
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // measure the peak of memory from here on
	before := memoryPeak()
	for range figuresNumber("NEWSLETTERD_FIGURES_ROUNDS", 1) {
		for _, kind := range figureKinds {
			if only != "" && only != kind {
				continue
			}
			q := c.question(leaves[kind].text, c.list)
			q.Exact = true
			var n core.SegmentCount
			var err error
			wall, cpu := cost(func() { n, err = c.CountSegment(t.Context(), q) })
			c.Must(err)
			if want := c.matching(leaves[kind])[0]; *n.Exact != want {
				t.Errorf("%s counts %d, want %d", leaves[kind].text, *n.Exact, want)
			}
			walls[kind], cpus[kind] = append(walls[kind], wall), append(cpus[kind], cpu)
		}
	}
	for _, kind := range figureKinds {
		if slices.Sort(walls[kind]); walls[kind] != nil {
			slices.Sort(cpus[kind])
			line("exact count: "+kind, "%v CPU, %v, %s", figureDuration(cpus[kind][len(cpus[kind])/2]),
				figureDuration(walls[kind][len(walls[kind])/2]), leaves[kind].text[:min(60, len(leaves[kind].text))])
		}
	}
	line("peak memory", "%d MB more than before", (memoryPeak()-before)>>10)
}

// memoryPeak returns the peak of this process's memory, in kB.
func memoryPeak() int {
	b, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	rest, _, _ = strings.Cut(rest, "kB")
	n, _ := strconv.Atoi(strings.TrimSpace(rest))
	return n
}

// matching returns the number of people who match each of the given rules, by definition.
func (c *crowd) matching(rules ...figureRule) []int64 {
	n := make([]atomic.Int64, len(rules))
	var wait sync.WaitGroup
	const workers = 8
	for w := range workers {
		wait.Go(func() {
			for no := w; no < c.n; no += workers {
				p := figurePersonOf(no)
				for i := range rules {
					if rules[i].is(&p) == 2 {
						n[i].Add(1)
					}
				}
			}
		})
	}
	wait.Wait()
	all := make([]int64, len(rules))
	for i := range n {
		all[i] = n[i].Load()
	}
	return all
}

// figuresOfEstimates estimates random rules of up to five conditions.
func (c *crowd) figuresOfEstimates(t *testing.T) {
	rules := c.figureRules(rand.New(rand.NewPCG(2, 2)), figuresNumber("NEWSLETTERD_FIGURES_RULES", 100))
	var walls, cpus, otherWalls, otherCPUs []time.Duration
	var counts []core.SegmentCount
	for _, rule := range rules {
		q := c.question(rule.text, c.list)
		var n core.SegmentCount
		var err error
		wall, cpu := cost(func() { n, err = c.CountSegment(t.Context(), q) })
		c.Must(err)
		counts = append(counts, n)
		if strings.Contains(rule.text, "on_list") {
			otherWalls, otherCPUs = append(otherWalls, wall), append(otherCPUs, cpu)
		} else {
			walls, cpus = append(walls, wall), append(cpus, cpu)
		}
	}
	if c.n <= 20_000 {
		return
	}
	spread("estimate", walls)
	spread("estimate, CPU", cpus)
	if otherWalls != nil {
		spread("estimate with another list", otherWalls)
		spread("estimate with another list, CPU", otherCPUs)
	}
	c.judgeEstimates(t, rules, counts)
}

// judgeEstimates compares estimates with the numbers of people who match.
func (c *crowd) judgeEstimates(t *testing.T, rules []figureRule, counts []core.SegmentCount) {
	var within, wide int
	var least, most, widest, widestOfFew float64 = 1, 0, 0, 0
	for i, n := range c.matching(rules...) {
		got, share := counts[i], float64(n)/float64(c.n)
		least, most = min(least, share), max(most, share)
		if *got.Low <= n && n <= *got.High {
			within++
		}
		half := float64(*got.High-*got.Low) / 2
		if share >= 0.25 {
			widest = max(widest, half/float64(n))
		} else {
			widestOfFew = max(widestOfFew, half/float64(c.n))
		}
		if share >= 0.25 && half > 0.03*float64(n) || share < 0.25 && half > 0.007*float64(c.n) {
			wide++
		}
	}
	line("rules that match", "%.4f%% to %.2f%%", least*100, most*100)
	line("estimates that contain the exact number", "%d of %d", within, len(rules))
	line("widest range", "±%.2f%% of the number from a quarter on, ±%.2f%% of the list below; %d too wide", widest*100,
		widestOfFew*100, wide)
	if share := float64(within) / float64(len(rules)); share < 0.95 && !math.IsNaN(share) {
		t.Errorf("%.3f of the estimates contain the exact number", share)
	}
}
