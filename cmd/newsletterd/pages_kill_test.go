package main

import (
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/store/storetest"
)

// TestKillWhilePagesAreWritten kills the daemon while it stores the recipients of an ended job in pages. In the end
// there are pages for all of them, each with the same ids as the rows. How many kills come in time depends on the
// machine, so only the test at full length counts them.
func TestKillWhilePagesAreWritten(t *testing.T) {
	daemontest.Parallel(t)
	kills, n := 3, 15_000
	if daemontest.AtLength() {
		kills, n = 20, 90_000
	}
	f := daemontest.New(t)
	f.Prepare(func(s *storetest.Seeder) {
		l := s.NewList()
		s.Readers(l, n)
		s.Finish(s.NewJob(l.ID))
	})
	s := f.Open()
	number := func(query string) (n int) {
		f.Must(s.Get(f.Context(), &n, query))
		return n
	}
	pages := func() int { return number("SELECT count(*) FROM recipient_page") }
	done := func() bool { return number("SELECT max(paged) FROM send_job") == 1 }
	during := 0
	for during < kills && !done() {
		before := pages()
		f.Start()
		f.Every(time.Millisecond/2, func() bool { return pages() > before })
		f.Kill()
		during++
	}
	f.Serve()
	f.Every(time.Millisecond, done)
	f.Stop()
	if daemontest.AtLength() && during < kills {
		t.Errorf("%d kills were in time", during)
	}
	const differ = `SELECT (SELECT count(*) FROM recipient) - sum(length(states)) + sum((SELECT count(*) FROM recipient AS r
		WHERE r.job_no = p.job_no AND r.seq >= p.first_seq AND r.seq < p.first_seq + length(states) AND
		(substr(ids, 16 * (r.seq - p.first_seq) + 1, 16) <> unhex(replace(r.subscriber_id, '-', '')) OR
		substr(states, r.seq - p.first_seq + 1, 1) <> iif(r.state = 2, x'02', x'00')))) FROM recipient_page AS p`
	if bad := number(differ); bad != 0 || number("SELECT count(*) FROM recipient") != n {
		t.Errorf("%d recipients differ between pages and rows", bad)
	}
	t.Logf("%d recipients in %d pages, %d kills", n, pages(), during)
}
