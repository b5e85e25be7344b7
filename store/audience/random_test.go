package audience_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/audience"
	"newsletterd/store/storetest/ruletest"
)

// setting returns a number from the environment: NEWSLETTERD_TORTURE_ and the name. At full length, the default is
// long.
func setting(name string, short, long int) int {
	if n, err := strconv.Atoi(os.Getenv("NEWSLETTERD_TORTURE_" + name)); err == nil {
		return n
	}
	if os.Getenv("NEWSLETTERD_TORTURE") != "" {
		return long
	}
	return short
}

// moments are the times of random rules: a day in summer time, the last days of February, and an ordinary day.
var moments = []core.Instant{
	start, core.At(time.Date(2026, 2, 28, 23, 30, 0, 0, time.UTC)),
	core.At(time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC)), core.At(time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)),
	core.At(time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC)),
}

// Random rules match the same people as ruletest finds in the tables.
func TestRandomRules(t *testing.T) {
	rules, people := setting("RULES", 100, 10_000), setting("PEOPLE", 1000, 1000)
	seed := uint64(setting("SEED", 1, 1))
	perCrowd := min(1000, (rules+1)/2)
	some, kinds, began := 0, map[string]int{}, time.Now()
	for first := 0; first < rules; first += perCrowd {
		c := ruletest.New(t, seed, people, moments[seed%uint64(len(moments))], seed%2 == 0)
		n, differ := checkRules(t, c, min(perCrowd, rules-first), kinds)
		t.Logf("seed %d: %d rules and %d people; %d differ; %v", seed, min(perCrowd, rules-first), people, differ,
			time.Since(began).Round(time.Second))
		some += n
		seed++
	}
	t.Logf("%d of %d rules match between 0.1%% and 99.9%%", some, rules)
	if some*10 < rules*6 {
		t.Error("too many rules match no one or everyone")
	}
	for _, kind := range ruletest.Leaves {
		if kinds[kind] == 0 {
			t.Errorf("no rule has %s", kind)
		}
	}
}

// Campaigns that identify only people who agreed count only for these people, even after the tenant has stopped asking
// for agreement.
func TestRulesAfterATenantStoppedAsking(t *testing.T) {
	c := ruletest.New(t, 4, 300, moments[4], true)
	c.StopAsking()
	kinds := map[string]int{}
	some, _ := checkRules(t, c, 60, kinds)
	if some < 10 || kinds["opened"] == 0 || kinds["clicked"] == 0 || kinds["clicked_link"] == 0 {
		t.Errorf("%d rules match some people: %v", some, kinds)
	}
}

// checkRules compares random rules, without pages of recipients and again with them. It returns how many of them match
// some people and not all, and how many differ.
func checkRules(t *testing.T, c *ruletest.Crowd, rules int, kinds map[string]int) (some, differ int) {
	o := c.NewOracle()
	one, both := []string{c.Lists[0].ID}, []string{c.Lists[1].ID, c.Lists[0].ID}
	all := o.Mailable(both...)
	var again []func()
	for k := range rules {
		text := c.RandomRule()
		if k < len(ruletest.Leaves) {
			text = c.RandomLeaf(ruletest.Leaves[k], 5)
		}
		for _, kind := range ruletest.Leaves {
			if strings.Contains(text, `"`+kind+`": `) {
				kinds[kind]++
			}
		}
		rule, err := core.ParseRule("rule", []byte(text))
		c.Must(err)
		q := audience.Question{TenantID: c.TenantID, Rule: rule, Now: c.Time(), Exact: true}
		want := o.Matching(text, both...)
		if len(want)*1000 > all && len(want)*1000 < all*999 {
			some++
		}
		q.ListIDs = one
		if k%2 == 0 {
			q.ListIDs = both[:1]
		}
		wanted := o.Matching(text, q.ListIDs...)
		asked := q
		compare := func() {
			if got := matching(c, asked); !slices.Equal(got, wanted) {
				differ++
				t.Errorf("%s: %d people, want %d: %s", text, len(got), len(wanted), difference(got, wanted))
			}
		}
		compare()
		again = append(again, compare)
		if k%10 > 0 {
			continue
		}
		q.ListIDs = both
		count := func() {
			n, err := c.CountSegment(c.Context(), q)
			c.Must(err)
			if *n.Exact != int64(len(want)) || n.Of < int64(all) {
				differ++
				t.Errorf("%s: %d of %d on both lists, want %d of %d", text, *n.Exact, n.Of, len(want), all)
			}
		}
		count()
		again = append(again, count)
		if differ > 20 {
			t.Fatal("too many")
		}
	}
	c.Pages()
	for _, compare := range again {
		if compare(); differ > 20 {
			t.Fatal("too many")
		}
	}
	return some, differ
}

// matching returns the addresses of the people who match, sorted.
func matching(c *ruletest.Crowd, q audience.Question) (all []string) {
	c.Helper()
	found, next, err := c.PeopleOf(c.Context(), q, core.Page{Limit: 100_000})
	c.Must(err)
	if next != "" {
		c.Error("there are more pages")
	}
	for i := range found {
		all = append(all, found[i].Email.Key())
	}
	slices.Sort(all)
	return all
}

// difference returns some of the people who are in only one of got and want.
func difference(got, want []string) string {
	var out []string
	for _, m := range got {
		if !slices.Contains(want, m) {
			out = append(out, "+"+m)
		}
	}
	for _, m := range want {
		if !slices.Contains(got, m) {
			out = append(out, "-"+m)
		}
	}
	return strings.Join(out[:min(5, len(out))], " ")
}
