// Package coretest has test helpers for all packages, and records tests of the program's promises.
package coretest

import (
	"fmt"
	"os"
	"testing"
)

// LedgerEnv is the environment variable with the file path that Promise writes to. If it is empty, Promise only logs.
const LedgerEnv = "NEWSLETTERD_PROMISES"

// Promise records how often a promise was tested and how often it failed. number is its key in Promises. A failure
// fails the test. `make torture` creates a table of all records.
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

// Promises lists the promises that `make torture` measures.
var Promises = map[int]string{
	1:  "an acknowledged write survives kill -9",
	2:  "an acknowledged write survives power loss: it is synced first",
	3:  "no one gets a campaign twice, except at most max_unrecorded people for each crash",
	4:  "no one is left out of a campaign",
	6:  "a webhook is accepted once",
	7:  "events arrive in order, across restarts and while a receiver is down",
	10: "a huge or endless body doesn't exhaust memory",
	11: "slow clients don't slow down others",
	12: "a full disk answers 503 and recovers without help",
	13: "a locked, read-only or replaced file answers 503",
	14: "a failing session store answers 503",
	15: "SIGTERM under load loses and resets nothing",
	16: "a jumping clock sends nothing twice or too early",
	17: "a crash during a migration leaves the old schema or the new one",
	18: "codes, tokens and links work once, even in parallel",
	22: "password guessing and its memory are bounded",
	25: "503 is the only 5xx answer",
	28: "a backup under load is complete and has what was acknowledged",
	29: "list counts equal a full scan",
	31: "only what was approved is sent, and nothing after an undo or a cancel",
}

// Held records a test of a promise; defer it at the start of the test. It records *tried attempts, and one failure if
// the test has failed. The test updates *tried while it runs.
func Held(t testing.TB, number int, tried *int, what string) {
	t.Helper()
	failed := 0
	if t.Failed() {
		failed = 1
	}
	Promise(t, number, *tried, failed, what)
}
