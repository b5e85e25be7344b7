package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
)

// TestFiguresOfEvents measures how waiting events of an endpoint affect an import of 10,000 rows, a confirmation and a
// dry run, by their number. Then it measures imports and subscriptions next to a dead endpoint.
func TestFiguresOfEvents(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("NEWSLETTERD_FIGURES=50000 go test ./cmd/newsletterd -run TestFiguresOfEvents -v")
	}
	f := figurestest.New(t)
	f.Build()
	rows := figurestest.AtMost(f, 10_000, 1_000)
	var first [3]time.Duration
	for _, waiting := range []int{1_000, 10_000, figurestest.AtMost(f, 100_000, 20_000)} {
		var took [3]time.Duration // best of three runs
		for round := range 3 {
			waitingEvents(f, waiting)
			f.Prepare(func(s *storetest.Seeder) {
				for i, d := range withEvents(s, rows) {
					if round == 0 || d < took[i] {
						took[i] = d
					}
				}
			})
		}
		f.Line(fmt.Sprintf("%d events wait", waiting), "import of %d %v, confirmation %v, dry run of %d %v", rows,
			took[0].Round(time.Millisecond), took[1].Round(time.Microsecond), rows, took[2].Round(time.Millisecond))
		if waiting == 1_000 {
			first = took
		}
		for i := range took {
			if took[i] > 3*first[i]+10*time.Millisecond {
				t.Errorf("%v where 1,000 wait, %v where %d do", first[i], took[i], waiting)
			}
		}
	}
}

// waitingEvents makes n events wait for an endpoint of the tenant that withEvents uses. SQLite has no statistics about
// their table, as in an installation where events have accumulated since its start.
func waitingEvents(f *figurestest.Figures, n int) {
	f.Prepare(func(s *storetest.Seeder) {
		tenants, err := s.Tenants(s.Context(), nil, true, core.Page{Limit: 1})
		if s.Must(err); len(tenants) > 0 {
			s.TenantID = tenants[0].ID
		} else {
			s.NewEndpoint(core.EndpointInput{URL: new("https://hook.example")})
		}
		endpoints, err := s.Endpoints(s.Context(), nil, true, core.Page{Limit: 1})
		s.Must(err)
		f.SQL("DELETE FROM outbox")
		f.SQL(`WITH RECURSIVE s (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM s WHERE n < ?1) INSERT INTO
			outbox (event_id,
			event_type, tenant_id, list_id, subscription_id, body, occurred_at, due_at, endpoint_id) SELECT 'e' || n,
			'subscription.active', ?2, 'l', 's' || n, hex(zeroblob(200)), ?3, ?3 + n, ?4 FROM s`, n,
			endpoints[0].TenantID,
			int64(s.Time().Add(time.Hour)), endpoints[0].ID)
		f.SQL("ANALYZE sqlite_schema") // creates the table of statistics
	})
	f.SQL("DELETE FROM sqlite_stat1")
}

// withEvents returns how long an import, a confirmation and a dry run take.
func withEvents(s *storetest.Seeder, rows int) (took [3]time.Duration) {
	tenants, err := s.Tenants(s.Context(), nil, true, core.Page{Limit: 1})
	s.Must(err)
	s.TenantID = tenants[0].ID
	l := s.NewList()
	for i, dry := range []bool{false, true} {
		began := time.Now()
		im, err := s.NewImport(s.Context(), l.ID, core.SubscriptionActive, "file.csv")
		s.Must(err)
		im.DryRun = dry
		for n := range rows {
			s.Must(im.Put(imports.ImportRow{Email: core.Email(fmt.Sprintf("%v%d@example.org", dry, n))}))
		}
		s.Must(im.Write(s.Context(), s.Time, nil))
		took[2*i] = time.Since(began)
		im.Close()
	}
	const confirmations = 20
	for n := range confirmations {
		token := s.Pending(l.ID, core.Email(fmt.Sprintf("confirms%d@example.org", n)))
		began := time.Now()
		s.Must(s.Confirm(s.Context(), token, core.Origin{}, s.Time()))
		took[1] += time.Since(began) / confirmations
	}
	return took
}

// TestFiguresOfDeadEndpoints imports NEWSLETTERD_FIGURES rows without an endpoint, next to one that refuses
// connections, and next to one that never responds. Then people subscribe during a series of such imports. The three
// alternate for NEWSLETTERD_FIGURES_ROUNDS rounds; ratios are of the medians.
func TestFiguresOfDeadEndpoints(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("NEWSLETTERD_FIGURES=50000 go test ./cmd/newsletterd -run TestFiguresOfDeadEndpoints -v")
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never responds
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	kinds := []*nextToEndpoint{
		{name: "no endpoint"},
		{name: "an endpoint that refuses", addr: daemontest.FreeAddr(t)},
		{name: "an endpoint that is silent", addr: silent.Addr().String()},
	}
	for range max(1, figurestest.Number("NEWSLETTERD_FIGURES_ROUNDS", 1)) {
		for _, k := range kinds {
			k.measure(t)
		}
	}
	none := kinds[0]
	for _, k := range kinds {
		t.Logf("%-28s import %.0f ms (%.2f), %.0f ms of CPU (%.2f); meanwhile %.0f subscriptions/s (%.2f)", k.name,
			median(k.took), median(k.took)/median(none.took), median(k.cpu), median(k.cpu)/median(none.cpu), median(k.rate),
			median(k.rate)/median(none.rate))
	}
}

// nextToEndpoint holds the results of imports and subscriptions next to an endpoint, with a value per round.
type nextToEndpoint struct {
	name, addr      string
	took, cpu, rate []float64 // milliseconds per import; CPU milliseconds of the daemon; subscriptions a second
}

func (k *nextToEndpoint) measure(t *testing.T) {
	f := figurestest.New(t)
	f.Env = append(f.Env, "NEWSLETTERD_WEBHOOKS_ALLOW="+k.addr)
	f.Build()
	f.Serve()
	f.Stop()
	f.Records()
	f.TokenOf("op@acme.example", core.ScopeAdmin+" "+core.ScopeListRead)
	if k.addr != "" {
		f.Run("admin", "webhook-endpoint", "create", "--tenant", f.Tenant, "--url", "http://"+k.addr+"/")
	}
	file, err := os.ReadFile(f.CSV("reader", f.N))
	f.Must(err)
	f.Serve()
	f.HTTP.Timeout = 0
	took, cost := importInto(f, string(file)) // best of five
	for range 4 {
		if again, cpu := importInto(f, string(file)); again < took {
			took, cost = again, cpu
		}
	}
	quit, ended := make(chan struct{}), make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-quit:
				ended <- n
				return
			default:
				importInto(f, string(file))
			}
		}
	}()
	rate, _ := f.Subscribe(16)
	if again, _ := f.Subscribe(16); again > rate {
		rate = again
	}
	close(quit)
	f.Line(k.name, "import of %d %v (%v of CPU); meanwhile %.0f subscriptions/s next to %d imports", f.N,
		took.Round(time.Millisecond), cost.Round(time.Millisecond), rate, <-ended)
	f.Stop()
	k.took = append(k.took, float64(took.Milliseconds()))
	k.cpu = append(k.cpu, float64(cost.Milliseconds()))
	k.rate = append(k.rate, rate)
}

// importInto imports a file into a new list. It returns the duration and the daemon's CPU time.
func importInto(f *figurestest.Figures, file string) (took, cpu time.Duration) {
	var l core.List
	f.Send("POST", "/api/admin/newsletter-lists", map[string]any{
		"tenant_id": f.Tenant,
		"name":      core.NewID(),
	}).OK().JSON(&l)
	var j core.ImportJob
	f.Send("POST", "/api/admin/imports?list_id="+l.ID, strings.NewReader(file), "Content-Type",
		"text/csv").OK().JSON(&j)
	began, from := time.Now(), daemontest.CPU(f.PID())
	f.Send("POST", "/api/admin/imports/"+j.ID+"/run", nil).OK()
	f.Every(10*time.Millisecond, func() bool {
		f.Must(json.Unmarshal([]byte(f.Get("/api/admin/imports/"+j.ID).OK().Text), &j))
		return j.Ended()
	})
	took, cpu = time.Since(began), daemontest.CPU(f.PID())-from
	if j.Added != int64(f.N) {
		f.Errorf("%+v", j)
	}
	return took, cpu
}

func median(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
