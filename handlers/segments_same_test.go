package handlers

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/storetest/ruletest"
)

// sameEnv has a crowd, and its administrator "adi".
type sameEnv struct {
	*countedEnv
	crowd  *ruletest.Crowd
	oracle *ruletest.Oracle
}

func newSameEnv(t *testing.T, seed uint64, people int) *sameEnv {
	c := ruletest.New(t, seed, people, core.At(time.Now()), seed%2 == 0)
	e := &sameEnv{&countedEnv{env: newEnvOn(t, c.Store), list: c.Lists[0].ID}, c, c.NewOracle()}
	e.step("user adi tenant_admin=" + c.TenantID)
	return e
}

// TestSameEverywhere checks that the count of a rule, its pages of people, its export and the recipients of a campaign
// contain the same people, and that an evaluation in SQL finds these people, too.
func TestSameEverywhere(t *testing.T) {
	rules, people := 8, 200
	if os.Getenv("NEWSLETTERD_TORTURE") != "" {
		rules, people = 200, 1000
	}
	seed, some := uint64(11), 0
	if n, err := strconv.Atoi(os.Getenv("NEWSLETTERD_TORTURE_SEED")); err == nil {
		seed = uint64(n)
	}
	began := time.Now()
	for ; rules > 0; rules -= 100 {
		e := newSameEnv(t, seed, people)
		for k := range min(rules, 100) {
			if n := e.same(k, e.crowd.RandomRule()); n > 0 && n < people {
				some++
			}
		}
		seed++
	}
	t.Logf("%d rules match some; last seed %d; %v", some, seed-1, time.Since(began).Round(time.Second))
	if some < 5 {
		t.Error("too few rules match some people")
	}
}

// same compares all responses about a rule. It returns the number of people.
func (e *sameEnv) same(k int, rule string) int {
	e.t.Helper()
	text := json.RawMessage(rule)
	lists := []string{e.crowd.Lists[k%2].ID, e.crowd.Lists[1-k%2].ID}
	want, both := e.oracle.Matching(rule, lists[0]), e.oracle.Matching(rule, lists...)
	compare := func(what string, got, want []string) {
		e.t.Helper()
		if slices.Sort(got); !slices.Equal(got, want) {
			e.t.Errorf("%s: %s has %d people, want %d", rule, what, len(got), len(want))
		}
	}
	for n, want := range [][]string{want, both} {
		got := e.call(200, "POST", "/api/segment-count", "adi", object{
			"tenant_id": e.crowd.TenantID, "list_ids": lists[:n+1], "rule": text, "exact": true,
		})
		if got["exact"] != float64(len(want)) {
			e.t.Errorf("%s counts %v on %d lists, want %d", rule, got["exact"], n+1, len(want))
		}
	}
	on := object{"list_id": lists[0], "rule": text}
	compare("the search", e.pages("POST", "/api/admin/subscribers/search?limit=77", on), want)
	compare("the export", e.export(on), want)
	id := e.call(201, "POST", "/api/segments", "adi", object{
		"tenant_id": e.crowd.TenantID, "name": core.NewID(), "rule": text,
	})["id"].(string)
	on = object{"list_id": lists[0], "segment_id": id}
	compare("the People page of the segment", e.pages("POST", "/api/admin/subscribers/search?limit=100", on), want)
	compare("the export of the segment", e.export(on), want)
	compare("the page of the segment",
		e.pages("GET", "/api/segments/"+id+"/people?limit=50&list_id="+lists[0], nil), want)
	if k%2 == 0 {
		compare("the job", e.send(id, lists[:1], len(want)), want)
	} else {
		compare("the job to both lists", e.send(id, lists, len(both)), both)
	}
	e.call(204, "DELETE", "/api/segments/"+id, "adi", nil)
	return len(want)
}

var nextPage = regexp.MustCompile(`<([^>]*)>; rel="next"`)

// pages returns the addresses on all pages of a list of people.
func (e *sameEnv) pages(method, path string, body object) (all []string) {
	e.t.Helper()
	for path != "" {
		text, err := json.Marshal(body)
		e.must(err)
		res, b := e.ask(method, path, "adi", strings.NewReader(string(text)), "Content-Type", "application/json")
		if res.StatusCode != 200 {
			e.t.Fatalf("%s %s %s: %d %s", method, path, text, res.StatusCode, b)
		}
		var rows []struct{ Email core.Email }
		e.must(json.Unmarshal(b, &rows))
		for _, r := range rows {
			all = append(all, r.Email.Key())
		}
		path = ""
		if next := nextPage.FindStringSubmatch(res.Header.Get("Link")); next != nil {
			_, path, _ = strings.Cut(next[1], "://")
			path = path[max(0, strings.Index(path, "/")):]
			if strings.HasPrefix(next[1], "/") {
				path = next[1]
			}
		}
	}
	return all
}

// export returns the addresses in the file with the people who match.
func (e *sameEnv) export(body object) (all []string) {
	e.t.Helper()
	text, err := json.Marshal(body)
	e.must(err)
	res, b := e.ask("POST", "/api/admin/subscribers/export", "adi", strings.NewReader(string(text)), "Content-Type",
		"application/json")
	if res.StatusCode != 200 {
		e.t.Fatalf("export %s: %d %s", text, res.StatusCode, b)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(b), "\ufeff"))).ReadAll()
	e.must(err)
	at := slices.Index(rows[0], "email")
	for _, row := range rows[1:] {
		all = append(all, core.Email(row[at]).Key())
	}
	return all
}

// send sends a campaign to a segment and returns its recipients. expected is the number of recipients that the API
// reports before.
func (e *sameEnv) send(segment string, lists []string, expected int) []string {
	e.t.Helper()
	made := e.call(201, "POST", "/api/campaigns", "adi", object{
		"list_ids": lists, "subject": "News", "content": object{"kind": "text", "source": "Hello"}, "tracking": "off",
		"segment_id": segment,
	})["id"].(string)
	audience := e.call(200, "GET", "/api/campaigns/"+made+"/audience", "adi", nil)
	if audience["recipients"] != float64(expected) {
		e.t.Errorf("the audience is %v, want %d", audience, expected)
	}
	res, _ := e.ask("GET", "/api/campaigns/"+made, "adi", nil)
	res, b := e.ask("POST", "/api/campaigns/"+made+"/send", "adi", strings.NewReader(`{"version": 1}`), "Content-Type",
		"application/json", "If-Match", res.Header.Get("Etag"))
	var sent struct {
		SendJobID string `json:"send_job_id"`
	}
	e.must(json.Unmarshal(b, &sent))
	if expected == 0 && sent.SendJobID == "" {
		return nil
	}
	if sent.SendJobID == "" {
		e.t.Fatalf("send: %d %s", res.StatusCode, b)
	}
	now := core.At(time.Now()).Add(time.Second)
	_, err := e.store.StartDueJobs(e.t.Context(), now)
	e.must(err)
	j, err := e.store.SendJob(e.t.Context(), sent.SendJobID)
	e.must(err)
	for more := true; more; {
		more, err = e.store.ExpandJob(e.t.Context(), j.No, now)
		e.must(err)
	}
	return e.pages("GET", fmt.Sprintf("/api/send-jobs/%s/recipients?limit=1000", j.ID), nil)
}
