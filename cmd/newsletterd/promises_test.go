package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"newsletterd/core/coretest"
)

// TestPromiseTable prints what the tests before it have reported: the end of `make torture`.
func TestPromiseTable(t *testing.T) {
	name := os.Getenv(coretest.LedgerEnv)
	if name == "" {
		t.Skip("make torture")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	what := map[int][]string{} // in the order of their first reports
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
	for _, number := range slices.Sorted(maps.Keys(coretest.Promises)) {
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

// TestTortureRunsWhatReports: `make torture` runs each test that reports into the table.
func TestTortureRunsWhatReports(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(makefile), "TORTURE     := ")
	pattern, _, _ := strings.Cut(rest, "\n")
	chosen := regexp.MustCompile(strings.ReplaceAll(pattern, "$$", "$"))
	found := 0
	for _, file := range sourceFiles(t) {
		if !strings.HasSuffix(file.path, "_test.go") {
			continue
		}
		for _, f := range strings.Split(string(file.text), "\nfunc ")[1:] {
			test, _, _ := strings.Cut(f, "(")
			if !strings.HasPrefix(test, "Test") || !strings.Contains(f, "coretest.Held(") &&
				!strings.Contains(f, "coretest.Promise(") {
				continue
			}
			found++
			if !chosen.MatchString(test) {
				t.Errorf("%s: %s reports, and TORTURE in the Makefile does not choose it", file.path, test)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d tests that report", found)
	}
}
