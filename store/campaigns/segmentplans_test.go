package campaigns

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
)

// The data about a subscriber that a rule needs is found by list and id, with any SQLite statistics.
func TestRulesLookSubscribersUpByID(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		for _, q := range []string{profilesOf.all, profilesOf.preferences, activeAmong, mailableAmong, judgedAmong} {
			plan, err := s.Explain(t.Context(), q)
			must(t, err)
			plan = withoutSubqueries(plan)
			all := strings.Join(plan, "\n")
			if len(plan) != 2 || !strings.HasPrefix(all, "SCAN j VIRTUAL TABLE") ||
				!strings.Contains(all, "SEARCH s USING PRIMARY KEY (list_id=? AND id=?)") {
				t.Errorf("%s\n%s", q, all)
			}
		}
		s.SkewStatistics()
	}
}

// withoutSubqueries returns a plan without the lines for the subquery of Lines.
func withoutSubqueries(plan []string) []string {
	return slices.DeleteFunc(plan, func(line string) bool {
		return strings.HasPrefix(line, "SCAN (subquery") || strings.HasPrefix(line, "CO-ROUTINE (subquery")
	})
}

// The next people of a list, or of a tag on it, are read in order, and those with given ids are looked up, with any
// SQLite statistics.
func TestProfilesAreReadInOrder(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	const inOrder = "SEARCH s USING PRIMARY KEY (list_id=? AND id>?"
	for range 2 {
		for q, want := range map[string]string{
			profilesAfter.all: inOrder + ")", profilesAfter.preferences: inOrder + ")",
			profilesBetween.all: inOrder + " AND id<?)", profilesBetween.preferences: inOrder + " AND id<?)",
			mailableNext.all: inOrder + " AND id<?)", mailableNext.preferences: inOrder + " AND id<?)",
			ledLines.all:         "SEARCH s USING PRIMARY KEY (list_id=? AND id=?)",
			ledLines.preferences: "SEARCH s USING PRIMARY KEY (list_id=? AND id=?)",
			tagOnList:            "SEARCH tagged USING COVERING INDEX tagged_tag (tag_no=? AND list_id=? AND id>?)",
		} {
			plan, err := s.Explain(t.Context(), q)
			must(t, err)
			all := strings.Join(plan, "\n")
			if !slices.Contains(plan, want) || strings.Contains(all, "B-TREE") || strings.Contains(all, "SCAN p") ||
				strings.Contains(all, "SCAN d") || strings.Contains(all, "AUTOMATIC") {
				t.Errorf("%s\n%s", q, all)
			}
		}
		s.SkewStatistics()
	}
}

// Consents are found by list and id.
func TestConsentsAreFoundByID(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		plan, err := s.Explain(t.Context(), consentsBetween)
		must(t, err)
		if all := strings.Join(withoutSubqueries(plan), "\n"); all !=
			"SEARCH c USING PRIMARY KEY (list_id=? AND subscription_id>? AND subscription_id<?)" {
			t.Error(all)
		}
		plan, err = s.Explain(t.Context(), consentsAmong)
		must(t, err)
		all := strings.Join(withoutSubqueries(plan), "\n")
		if !strings.HasPrefix(all, "SCAN j VIRTUAL TABLE") ||
			!strings.Contains(all, "SEARCH c USING PRIMARY KEY (list_id=? AND subscription_id=?)") {
			t.Error(all)
		}
		s.SkewStatistics()
	}
}

// Opens and clicks are read from ranges of recipients, and the jobs of a list through an index.
func TestMailingsAreReadByRanges(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		for _, q := range []string{
			measuredJobs, mailedBetween, mailedAmong, firstFrom, nextStep, clickedAmong, linkOfJob, languageOfList,
			tagsBetween, tagsAmong, heardAmong, clickedBetween, activeOf, sentOf, idOfRecipient, marksBetween, marksAmong,
		} {
			plan, err := s.Explain(t.Context(), q)
			must(t, err)
			for _, line := range withoutSubqueries(plan) {
				table, isScan := strings.CutPrefix(line, "SCAN ")
				if isScan && table != "m" && table != "half" && table != "CONSTANT ROW" &&
					!strings.HasPrefix(table, "g VIRTUAL TABLE") && !strings.HasPrefix(table, "j VIRTUAL TABLE") &&
					!strings.HasPrefix(table, "json_each VIRTUAL TABLE") {
					t.Errorf("%s\n%s", q, line)
				}
			}
			if all := strings.Join(plan, "\n"); strings.Contains(all, "AUTOMATIC") {
				t.Errorf("%s\n%s", q, all)
			}
		}
		s.SkewStatistics()
	}
}

// Jobs without pages are found by their index, and marks without reading the rows, with any SQLite statistics.
func TestMarksAndJobsWithoutPagesAreFoundByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		for q, want := range map[string]string{
			unpagedJob:   "SCAN send_job USING INDEX send_job_unpaged",
			marksBetween: "SEARCH r USING COVERING INDEX recipient_marked (job_no=? AND seq>? AND seq<?)",
			marksAmong:   "SEARCH r USING COVERING INDEX recipient_marked (job_no=? AND seq=? AND marks>?)",
		} {
			plan, err := s.Explain(t.Context(), q)
			must(t, err)
			if !slices.Contains(plan, want) {
				t.Errorf("%s\n%s", q, strings.Join(plan, "\n"))
			}
		}
		s.SkewStatistics()
	}
}

// A campaign's links on other lists are looked up twice, for who got it and who clicked, unless a count has read them.
func TestLookupsCountLinks(t *testing.T) {
	part := sentPart{jobPart: jobPart{ListID: "other"}, jobNo: 7}
	m := &RuleMatch{
		matcher:  &core.Matcher{Lists: []string{"third"}, Links: []core.RuleLink{{Link: 3}}},
		received: [][]sentPart{{part}}, links: [][]sentPart{{part}}, sent: map[onOther]idSet{},
	}
	if n := m.lookups("own"); n != 4 {
		t.Errorf("%d lookups, want 4", n)
	}
	if n := m.lookups("other"); n != 1 {
		t.Errorf("%d lookups on the list of the campaign, want 1", n)
	}
	m.sent[part.onOther(0)] = idSet{}
	if n := m.lookups("own"); n != 2 {
		t.Errorf("%d lookups without the recipients, want 2", n)
	}
	m.sent[part.onOther(3)] = idSet{}
	if n := m.lookups("own"); n != 1 {
		t.Errorf("%d lookups without recipients and clicks, want 1", n)
	}
}

// Imports find an earlier issue through its list and its date or slug, with any SQLite statistics.
func TestImportedIssuesAreFoundByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		for q, want := range map[string]string{
			sameDated:   "SEARCH i USING INDEX issue_sent (list_id=? AND sent_at=?)",
			sameUndated: "SEARCH i USING INDEX sqlite_autoindex_issue_1 (list_id=? AND slug>? AND slug<?)",
			issuesAt:    "SEARCH m USING COVERING INDEX imported_issue_old (tenant_id=? AND old_path=?)",
		} {
			plan, err := s.Explain(t.Context(), q)
			must(t, err)
			if len(plan) != 2 || plan[0] != want || !strings.HasSuffix(plan[1], " USING INTEGER PRIMARY KEY (rowid=?)") {
				t.Errorf("%s\n%s", q, strings.Join(plan, "\n"))
			}
		}
		plan, err := s.Explain(t.Context(), slugsAt)
		must(t, err)
		if len(plan) < 3 || !strings.HasPrefix(plan[0], "SCAN k") || plan[1] != "SEARCH m USING COVERING INDEX "+
			"imported_issue_old (tenant_id=? AND old_path=?)" ||
			!strings.HasPrefix(plan[2], "SEARCH i USING INTEGER PRIMARY") {
			t.Error(strings.Join(plan, "\n"))
		}
		if plan, err = s.Explain(t.Context(), issuesMark); err != nil || len(plan) != 1 ||
			!strings.HasPrefix(plan[0], "SEARCH issue USING COVERING INDEX issue_sent") {
			t.Error(err, plan)
		}
		s.SkewStatistics()
	}
}
