package core

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// earlyRule returns a random rule on two fields and four facts that are known late.
func earlyRule(rng *rand.Rand, levels int) string {
	if levels == 0 || rng.IntN(4) == 0 {
		return []string{
			`{"field":"a","is":["1"]}`, `{"field":"b","is":["1"]}`, `{"tag":"t"}`,
			`{"source":["s"]}`, `{"opened":{"last":1}}`, `{"clicked":{"last":1}}`,
		}[rng.IntN(6)]
	}
	if rng.IntN(3) == 0 {
		return `{"not":` + earlyRule(rng, levels-1) + `}`
	}
	parts := make([]string, 1+rng.IntN(3))
	for i := range parts {
		parts[i] = earlyRule(rng, levels-1)
	}
	return fmt.Sprintf(`{%q:[%s]}`, []string{"all", "any"}[rng.IntN(2)], strings.Join(parts, ","))
}

// What is decided early is the same whatever the rest of the profile is.
func TestEarlyDecisions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	some := [2]int{}
	for range 4000 {
		text := earlyRule(rng, 3)
		rule, err := ParseRule("rule", []byte(text))
		if err != nil {
			t.Fatal(text, err)
		}
		if rng.IntN(3) == 0 {
			rule = Combined(rule, []*Rule{rule})
			if rng.IntN(2) == 0 {
				rule = &Rule{Except: rule}
			}
		}
		m := rule.Compile(instantOf(t, "2026-11-30T12:00:00Z"), nil)
		for fields := range 4 {
			p := Profile{Preferences: Preferences(fmt.Sprintf(`{"a":%d,"b":%d}`, fields&1, fields>>1))}
			match, decided := m.Early(&p)
			some[map[bool]int{true: 1}[decided]]++
			for late := range 2 * 2 * 5 {
				p.Tagged, p.Source, p.Mailings = []bool{late&1 == 1}, []string{"", "s"}[late>>1&1], nil
				if kind := late >> 2; kind > 0 {
					marks := []Marks{0, MarkOpened | MarkReadByPerson, MarkOpened | MarkReadUnclear, MarkClicked}[kind-1]
					p.Mailings = []Mailing{{Opens: true, Clicks: true, Marks: marks}}
				}
				if decided && m.Match(&p) != match {
					t.Fatalf("%s: %v was decided early for %+v", rule.JSON(), match, p)
				}
			}
		}
	}
	if some[0] < 1000 || some[1] < 1000 {
		t.Errorf("%d of %d were decided", some[1], some[0]+some[1])
	}
}
