package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/sourcetest"
	"newsletterd/core/coretest"
)

// TestPromiseTable prints the reports of all earlier tests, at the end of `make torture`.
func TestPromiseTable(t *testing.T) {
	name := os.Getenv(coretest.LedgerEnv)
	if name == "" {
		t.Skip("make torture")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	what := map[int][]string{} // in the order of first reports
	tried, failed := map[string]int{}, map[int]int{}
	for line := range strings.Lines(string(text)) {
		part := strings.SplitN(strings.TrimSpace(line), "\t", 4)
		if len(part) != 4 {
			t.Fatalf("%q", line)
		}
		number, _ := strconv.Atoi(part[0])
		n, _ := strconv.Atoi(part[1])
		bad, _ := strconv.Atoi(part[2])
		key := part[0] + part[3]
		if tried[key] == 0 {
			what[number] = append(what[number], part[3])
		}
		tried[key] += n
		failed[number] += bad
	}
	fmt.Printf("| | promise | tried | failed |\n|---|---|---|---|\n")
	only := os.Getenv("NEWSLETTERD_PROMISE") // from make torture PROMISE=N
	for _, number := range slices.Sorted(maps.Keys(coretest.Promises)) {
		if only != "" && only != strconv.Itoa(number) {
			continue
		}
		if what[number] == nil {
			t.Errorf("promise %d was not tried", number)
			continue
		}
		for i, w := range what[number] {
			what[number][i] = fmt.Sprint(tried[fmt.Sprint(number)+w], " ", w)
		}
		fmt.Printf("| %d | %s | %s | %d |\n", number, coretest.Promises[number], strings.Join(what[number], "; "),
			failed[number])
		if failed[number] > 0 {
			t.Errorf("promise %d: failed %d", number, failed[number])
		}
	}
}

// TestTortureRunsWhatReports checks that `make torture` runs each test that reports on a promise, and that the tests it
// names exist.
func TestTortureRunsWhatReports(t *testing.T) {
	script, err := os.ReadFile("../../.ci/torture.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(script), "\nlong=\"")
	names, _, ok := strings.Cut(rest, "\"")
	_, rest, ok2 := strings.Cut(string(script), "for pkg in store ")
	if !ok || !ok2 {
		t.Fatal(".ci/torture.sh has no list of tests or packages")
	}
	folders, _, _ := strings.Cut("store "+rest, ";")
	call := regexp.MustCompile(`coretest\.(Held|Promise)\(`)
	found := regexp.MustCompile(`coretest\.(Held|Promise)\(t, [0-9]+,`)
	tests, reports := map[string]bool{}, 0
	for _, file := range sourcetest.Files(t) {
		dir, base := path.Split(file.Path)
		if !file.Test() || base == "promises_test.go" {
			continue
		}
		for _, f := range strings.Split(string(file.Text), "\nfunc ")[1:] {
			name, _, _ := strings.Cut(f, "(")
			tests[dir+name] = true
			for _, line := range strings.Split(f, "\n") {
				if !call.MatchString(line) {
					continue
				}
				reports++
				if !strings.HasPrefix(name, "Test") || !found.MatchString(line) ||
					!slices.Contains(strings.Fields(folders), strings.TrimSuffix(dir, "/")) {
					t.Errorf("%s: %s reports in a way that `make torture` does not find: %s", file.Path, name, line)
				}
			}
		}
	}
	if reports < 20 {
		t.Errorf("%d reports", reports)
	}
	for _, name := range strings.Fields(names) {
		if !tests[name] {
			t.Errorf(".ci/torture.sh names the test %s, which does not exist", name)
		}
	}
}
