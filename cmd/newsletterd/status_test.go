package main

import (
	"strings"
	"testing"
	"time"

	"newsletterd/store/people"
)

// TestStatusCountsJobsThatItDoesNotList checks that status lists a limited number of jobs and counts the others.
func TestStatusCountsJobsThatItDoesNotList(t *testing.T) {
	var r statusReport
	r.JobCounts = []people.StatusCount{
		{Status: "completed", Count: 7},
		{Status: "pending", Count: 1200},
		{Status: "running", Count: 1},
	}
	r.Jobs = []people.JobState{{Name: "First", Status: "running"}, {Name: "Second", Status: "pending"}}
	text := func() string {
		var b strings.Builder
		if err := printStatus(&b, r, time.Now()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := text(); !strings.Contains(got, "\n  … and 1,199 more ") {
		t.Error(got)
	}
	r.JobCounts = r.JobCounts[2:]
	if got := text(); strings.Contains(got, "more") {
		t.Error(got)
	}
}
