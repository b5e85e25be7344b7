// Package coretest gathers what the tests of all packages have tried of what the program promises.
package coretest

import (
	"fmt"
	"os"
	"testing"
)

// LedgerEnv names the file that Promise writes to; empty: it only logs.
const LedgerEnv = "NEWSLETTERD_PROMISES"

// Promise reports that a promise (a number of Promises) was put to the test: how often, and how often it did not hold.
// A failure fails the test. `make torture` makes a table of all reports.
func Promise(t testing.TB, number, tried, failed int, what string) {
	t.Helper()
	if Promises[number] == "" {
		t.Fatalf("there is no promise %d", number)
	}
	t.Logf("promise %d: %s: tried %d, failed %d", number, what, tried, failed)
	if failed > 0 {
		t.Errorf("promise %d (%s) did not hold: %s: %d of %d", number, Promises[number], what, failed, tried)
	}
	name := os.Getenv(LedgerEnv)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%d\t%d\t%d\t%s\n", number, tried, failed, what); err != nil {
		t.Fatal(err)
	}
}

// Promises are those that `make torture` measures.
var Promises = map[int]string{
	1:  "an acknowledged write survives kill -9",
	2:  "and power loss: synced before it is acknowledged",
	3:  "nobody gets a job twice, but for max_unrecorded a crash",
	4:  "nobody is left out of a job",
	6:  "a webhook is accepted once",
	7:  "events arrive, in order, over restarts and a receiver that is down",
	10: "a huge or endless body does not exhaust memory",
	11: "slow clients cost nobody else anything",
	12: "a full disk is a 503, and heals by itself",
	13: "a locked, read-only or replaced file is a 503",
	14: "a session store that fails is a 503",
	15: "SIGTERM under load loses and resets nothing",
	16: "a clock that jumps sends nothing twice or too early",
	17: "a crash inside a migration leaves the old schema or the new one",
	18: "codes, tokens and links work once, also in parallel",
	22: "guessing passwords is bounded, and so is its memory",
	25: "no answer is a 5xx but 503",
	28: "a backup under load is whole and holds what was acknowledged",
	29: "the counts of a list are those of a scan",
	31: "only what was approved goes out, and nothing after an undo or a cancel",
}

// Held is for the beginning of a test, deferred: it reports how often the promise was put to the test, and that it
// failed once if the test has failed. The test counts in tried as it goes.
func Held(t testing.TB, number int, tried *int, what string) {
	t.Helper()
	failed := 0
	if t.Failed() {
		failed = 1
	}
	Promise(t, number, *tried, failed, what)
}
