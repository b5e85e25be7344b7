package audience_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// figureRule is a rule and its definition as a function of the numbers that people are made from: 0 is no, 1 is
// undecided and 2 is yes.
type figureRule struct {
	text string
	is   func(p *figurePerson) int
}

func figureIs(holds bool) int {
	if holds {
		return 2
	}
	return 0
}

// figureLeaves returns a random condition of each kind, by the name of the kind.
func (c *crowd) figureLeaves(rng *rand.Rand) map[string]figureRule {
	plain := func(text string, holds func(p *figurePerson) bool) figureRule {
		return figureRule{text, func(p *figurePerson) int { return figureIs(holds(p)) }}
	}
	days, job := 1+rng.IntN(998), rng.IntN(figureJobs)
	towns, limit := 1+rng.IntN(60), int(math.Exp(rng.Float64()*9.2))
	var cities []string
	for i := range towns {
		cities = append(cities, fmt.Sprintf(`"town%d"`, i))
	}
	orders, tag := rng.IntN(80), rng.IntN(3)
	all := map[string]figureRule{
		"field is": plain(`{"field":"city","is":[`+strings.Join(cities, ",")+`]}`,
			func(p *figurePerson) bool { return p.city < towns }),
		"field less": plain(fmt.Sprintf(`{"field":"rank","less":%d}`, limit),
			func(p *figurePerson) bool { return p.rank < limit }),
		"field more": plain(fmt.Sprintf(`{"field":"orders","more":%d}`, orders),
			func(p *figurePerson) bool { return p.orders > orders }),
		"field contains": plain(`{"field":"plan","contains":"r"}`, func(p *figurePerson) bool { return p.plan < 3 }),
		"field before": plain(fmt.Sprintf(`{"field":"birthday","before":%q}`, figureDay(7000+20*days)),
			func(p *figurePerson) bool { return p.born > 7000+20*days }),
		"field on_day": plain(`{"field":"birthday","on_day":"03-02"}`, func(p *figurePerson) bool {
			return figureTime(p.born).Time().Format("01-02") == "03-02"
		}),
		"joined": plain(fmt.Sprintf(`{"joined":{"before_days":%d}}`, days),
			func(p *figurePerson) bool { return p.joined > days }),
		"consented": plain(fmt.Sprintf(`{"consented":{"before_days":%d}}`, days),
			func(p *figurePerson) bool { return p.consented > days }),
		"source": plain(`{"source":["Trade Fair"]}`, func(p *figurePerson) bool { return p.source == 2 }),
		"domain": plain(`{"domain":["web.de"]}`, func(p *figurePerson) bool { return p.domain == 2 }),
		"tag": plain(fmt.Sprintf(`{"tag":%q}`, []string{"VIP", "rare", "half"}[tag]),
			func(p *figurePerson) bool { return []bool{p.vip, p.rare, p.half}[tag] }),
		"received": plain(fmt.Sprintf(`{"received":%q}`, c.campaigns[job]),
			func(p *figurePerson) bool { return figureMark(p.no, job) >= 300 }),
		"on_list": plain(fmt.Sprintf(`{"on_list":%q}`, c.other.ID), func(p *figurePerson) bool { return p.onOther }),
		"clicked_link": {
			fmt.Sprintf(`{"clicked_link":{"campaign":%q,"link":1}}`, c.campaigns[figureLink]),
			func(p *figurePerson) int {
				m := figureMark(p.no, figureLink)
				if m < 300 {
					return 1
				}
				return figureIs(m < 800)
			},
		},
	}
	last, within := 1+rng.IntN(10), 7+rng.IntN(120)
	since := figureTime(within) - 9*60*60*1000
	engaged := func(clicked, byTime bool, last int) func(p *figurePerson) int {
		return func(p *figurePerson) int {
			received, most := 0, 0
			for job := figureJobs - 1; job >= 0; job-- {
				at := figureJobAt(job)
				if at < figureTime(p.joined) || byTime && at < since || !byTime && received == last {
					break
				}
				m := figureMark(p.no, job)
				if m < 300 {
					continue
				}
				received++
				switch {
				case m < 800 || m < 2800 && !clicked:
					return 2
				case m < 3800 && m >= 2800 && !clicked:
					most = 1
				}
			}
			if received == 0 {
				return 1
			}
			return most
		}
	}
	for i, head := range []string{"opened", "clicked"} {
		all[head+" last"] = figureRule{fmt.Sprintf(`{%q:{"last":%d}}`, head, last), engaged(i == 1, false, last)}
		all[head+" last 5"] = figureRule{fmt.Sprintf(`{%q:{"last":5}}`, head), engaged(i == 1, false, 5)}
		all[head+" within_days"] = figureRule{
			fmt.Sprintf(`{%q:{"within_days":%d}}`, head, within), engaged(i == 1, true, 0),
		}
	}
	return all
}

// figureKinds holds the names of figureLeaves, cheapest first.
var figureKinds = []string{
	"field is", "field less", "field more", "field contains", "field before", "field on_day", "joined", "domain", "tag",
	"source", "consented", "received", "clicked_link", "opened last 5", "opened last", "opened within_days",
	"clicked last 5", "clicked last", "clicked within_days", "on_list",
}

// randomFigureRule returns a rule of one to five conditions.
func (c *crowd) randomFigureRule(rng *rand.Rand) figureRule {
	leaves := c.figureLeaves(rng)
	var texts []string
	var tests []func(*figurePerson) int
	for range 1 + rng.IntN(5) {
		leaf := leaves[figureKinds[rng.IntN(len(figureKinds))]]
		if rng.IntN(4) == 0 { // so that any share can be reached
			leaf = leaves["field less"]
		}
		if of := leaf.is; rng.IntN(3) == 0 {
			leaf = figureRule{`{"not":` + leaf.text + `}`, func(p *figurePerson) int { return 2 - of(p) }}
		}
		texts, tests = append(texts, leaf.text), append(tests, leaf.is)
	}
	if rng.IntN(3) == 0 {
		return figureRule{`{"any":[` + strings.Join(texts, ",") + `]}`, func(p *figurePerson) int {
			most := 0
			for _, is := range tests {
				if most = max(most, is(p)); most == 2 {
					break
				}
			}
			return most
		}}
	}
	return figureRule{`{"all":[` + strings.Join(texts, ",") + `]}`, func(p *figurePerson) int {
		least := 2
		for _, is := range tests {
			if least = min(least, is(p)); least == 0 {
				break
			}
		}
		return least
	}}
}

// figureShares holds limits for the share of people who match. The rules are spread evenly over the intervals between
// them.
var figureShares = []float64{0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99}

// figureRules returns n rules whose matches are spread evenly over figureShares.
func (c *crowd) figureRules(rng *rand.Rand, n int) (rules []figureRule) {
	sample := make([]figurePerson, 10_000)
	for i := range sample {
		sample[i] = figurePersonOf(i * c.n / len(sample))
	}
	for len(rules) < n {
		at := len(rules) % (len(figureShares) - 1)
		rule := c.randomFigureRule(rng)
		for tries := 0; tries < 1000; tries++ {
			if s := figureShare(sample, rule); s >= figureShares[at] && s < figureShares[at+1] {
				break
			}
			rule = c.randomFigureRule(rng)
		}
		rules = append(rules, rule)
	}
	return rules
}

func figureShare(sample []figurePerson, r figureRule) float64 {
	matching, few := 0, len(sample)/20
	for i := range sample {
		if r.is(&sample[i]) == 2 {
			matching++
		}
		if i == few && matching > few/20 { // the rule is not rare, so fewer people suffice to show the share
			return float64(matching) / float64(few)
		}
	}
	return float64(matching) / float64(len(sample))
}

// figureDuration rounds a time for printing.
func figureDuration(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
