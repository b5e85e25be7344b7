package handlers

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/db/dbtest"
)

func init() {
	steps["segment"] = func(e *env, name string, args map[string]string) {
		g, err := core.NewSegment(e.value(args["tenant"]), core.SegmentInput{
			Name: &name, Rule: `{"domain": "acme.example"}`,
		}, "test", core.At(time.Now()))
		e.must(err)
		e.must(e.store.AddSegment(e.t.Context(), g))
		e.name(name, g.ID)
	}
}

// countedEnv has a tenant with a list of 60 people, and callers with each role.
type countedEnv struct {
	*env
	list string
}

func newCountedEnv(t *testing.T) *countedEnv {
	e := &countedEnv{env: newEnv(t)}
	for _, step := range []string{
		"tenant acme domains=acme.example", "list weekly tenant=acme", "user vic viewer=acme", "user ed editor=acme",
		"user pia publisher=acme",
	} {
		e.step(step)
	}
	for i := range 60 {
		e.step(fmt.Sprintf("subscriber s%d list=weekly email=reader%d@d%d.example", i, i, i))
	}
	e.list = e.value("weekly")
	return e
}

// call sends a request with a body of JSON and returns the object in the response.
func (e *countedEnv) call(want int, method, path, as string, body any) (out map[string]any) {
	e.t.Helper()
	text, err := json.Marshal(body)
	e.must(err)
	res, b := e.ask(method, path, as, strings.NewReader(string(text)), "Content-Type", "application/json",
		"If-Match", "*")
	if res.StatusCode != want {
		e.t.Fatalf("%s %s %s as %s: %d %s", method, path, text, as, res.StatusCode, b)
	}
	_ = json.Unmarshal(b, &out)
	return out
}

type object = map[string]any

// domains returns a rule for the people with these numbers.
func domains(numbers ...int) object {
	all := make([]string, len(numbers))
	for i, n := range numbers {
		all[i] = fmt.Sprintf("d%d.example", n)
	}
	return object{"domain": all}
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// Users who may not see people get only ranges, for any rule and in any way.
func TestCountsOfSegmentsAreCoarse(t *testing.T) {
	e := newCountedEnv(t)
	segment := func(rule object) string {
		return e.call(201, "POST", "/api/segments", "ed", object{"name": core.NewID(), "rule": rule})["id"].(string)
	}
	count := func(as string, question object) object {
		t.Helper()
		question["list_ids"], question["exact"] = []string{e.list}, true
		return e.call(200, "POST", "/api/segment-count", as, question)
	}
	forty, one := segment(domains(upTo(40)...)), segment(domains(7))
	if got := count("pia", object{"segment_id": forty}); got["exact"] != 40.0 || got["of"] != 60.0 {
		t.Errorf("a publisher: %v", got)
	}
	for _, as := range []string{"vic", "ed"} {
		got := count(as, object{"segment_id": forty})
		low, high := got["low"].(float64), got["high"].(float64)
		if got["exact"] != nil || low > 40 || high < 40 || high-low < 9 || got["about"] == nil {
			t.Errorf("%s: %v", as, got)
		}
		again := count(as, object{"segment_id": forty})
		delete(got, "as_of")
		delete(again, "as_of")
		if !maps.Equal(got, again) {
			t.Errorf("%s: %v, then %v", as, got, again)
		}
		got = count(as, object{"segment_id": one})
		if got["low"] != 0.0 || got["high"] != 19.0 || got["about"] != nil {
			t.Errorf("%s, of one person: %v", as, got)
		}
	}
	got := count("ed", object{"rule": domains(7, 8)})
	if got["exact"] != nil || got["low"] != 0.0 || got["high"] != 19.0 {
		t.Errorf("an unsaved rule: %v", got)
	}

	// A campaign doesn't reveal more.
	made := e.call(201, "POST", "/api/campaigns", "ed",
		object{"list_ids": []string{e.list}, "subject": "News", "segment_id": one})["id"].(string)
	to := e.call(200, "GET", "/api/campaigns/"+made+"/audience", "ed", nil)
	if to["recipients"] != 19.0 || to["recipients"].(float64)+to["outside"].(float64) != 60 ||
		to["coarse"] != true {
		t.Errorf("the audience for an editor: %v", to)
	}
	to = e.call(200, "GET", "/api/campaigns/"+made+"/audience", "pia", nil)
	if to["recipients"] != 1.0 || to["outside"] != 59.0 || to["coarse"] != nil {
		t.Errorf("the audience for a publisher: %v", to)
	}
}

// An editor wants to know whether a person has an address at a domain. The response is never different for one person
// and for no one. For groups with and without the person, only groups at the border of a range differ.
func TestCoarseCountsHideAnAddress(t *testing.T) {
	e := newCountedEnv(t)
	count := func(rule object) string {
		got := e.call(200, "POST", "/api/segment-count", "ed", object{"list_ids": []string{e.list}, "rule": rule})
		return fmt.Sprint(got["low"], got["high"], got["about"])
	}
	if one, none := count(domains(7)), count(domains(1000)); one != none {
		t.Errorf("one person: %s, no one: %s", one, none)
	}
	differ := 0
	for n := 20; n < 59; n++ {
		if count(domains(upTo(n)...)) != count(domains(upTo(n+1)...)) {
			differ++
		}
	}
	if differ > 4 {
		t.Errorf("%d of 39 pairs differ", differ)
	}
}

// Fields that only an import has added are offered to users who write rules.
func TestFieldsOfImportsAreOffered(t *testing.T) {
	e := newCountedEnv(t)
	dbtest.SQL(e.store.DB, "UPDATE subscriber SET preferences = ? WHERE email LIKE 'reader1@%'", `{"city":"Bonn","_tracking":true}`)
	for as, want := range map[string]string{
		"ed":  `[{"name":"city","label":"city","type":"text","set_by":"subscriber","options":[],"lists":[]}]`,
		"vic": "[]",
	} {
		_, b := e.ask("GET", "/api/segment-fields", as, nil)
		if got := strings.TrimSpace(string(b)); got != want {
			t.Errorf("%s: %s", as, got)
		}
	}
}

// An editor requests the same people with many rules: other domains that no one has, other lists, and campaigns. All
// responses are the same, so their average reveals nothing.
func TestTheSamePeopleHaveOneCoarseCount(t *testing.T) {
	e := newCountedEnv(t)
	e.step("list empty tenant=acme")
	group := domains(upTo(40)...)
	counts, audiences := map[string]int{}, map[float64]int{}
	for n := range 30 {
		rule := object{"any": []object{group, domains(1000 + n)}}
		lists := []string{e.list, e.value("empty")}[:1+n%2]
		got := e.call(200, "POST", "/api/segment-count", "ed", object{"list_ids": lists, "rule": rule})
		counts[fmt.Sprint(got["low"], got["high"], got["about"])]++
		g := e.call(201, "POST", "/api/segments", "ed", object{"name": core.NewID(), "rule": rule})["id"]
		made := e.call(201, "POST", "/api/campaigns", "ed",
			object{"list_ids": lists, "subject": "News", "segment_id": g})["id"].(string)
		to := e.call(200, "GET", "/api/campaigns/"+made+"/audience", "ed", nil)
		audiences[to["recipients"].(float64)]++
	}
	if len(counts) != 1 || len(audiences) != 1 {
		t.Errorf("counts %v, audiences %v", counts, audiences)
	}
	got := e.call(200, "POST", "/api/segment-count", "ed", object{"list_ids": []string{e.list}, "rule": group})
	if seen := fmt.Sprint(got["low"], got["high"], got["about"]); counts[seen] != 30 {
		t.Errorf("without other domains: %s, else %v", seen, counts)
	}
}

// The audience of a campaign can be seen whatever its segment refers to. After the campaign is approved, changing or
// deleting the segment doesn't affect the audience.
func TestTheAudienceOfAnApprovedCampaign(t *testing.T) {
	e := newCountedEnv(t)
	id := e.call(201, "POST", "/api/segments", "pia", object{"name": "0", "rule": domains(upTo(30)...)})["id"].(string)
	first := id
	for n := 1; n < 4; n++ {
		g := e.call(201, "POST", "/api/segments", "pia", object{"name": fmt.Sprint(n), "rule": object{"segment": id}})
		id = g["id"].(string)
	}
	made := e.call(201, "POST", "/api/campaigns", "pia", object{
		"list_ids": []string{e.list}, "subject": "News", "content": object{"kind": "text", "source": "Hello"},
		"segment_id": id,
	})["id"].(string)
	readers := func(as string) float64 {
		t.Helper()
		return e.call(200, "GET", "/api/campaigns/"+made+"/audience", as, nil)["recipients"].(float64)
	}
	before := readers("ed")
	if before < 20 || readers("pia") != 30 {
		t.Errorf("the draft: %v, exactly %v", before, readers("pia"))
	}
	res, _ := e.ask("GET", "/api/campaigns/"+made, "pia", nil)
	res, b := e.ask("POST", "/api/campaigns/"+made+"/send", "pia",
		strings.NewReader(`{"version": 1, "scheduled_at": "2099-01-31T08:00:00Z"}`), "Content-Type", "application/json",
		"If-Match", res.Header.Get("Etag"))
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("send: %d %s", res.StatusCode, b)
	}
	e.call(200, "PUT", "/api/segments/"+first, "pia", object{"rule": domains(1)})
	if got := readers("ed"); got != before || readers("pia") != 30 {
		t.Errorf("after a change: %v, want %v, exactly %v", got, before, readers("pia"))
	}
	e.must(e.store.Update(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec("DELETE FROM segment")
		return err
	}))
	if got := readers("ed"); got != before || readers("pia") != 30 {
		t.Errorf("without the segment: %v, want %v, exactly %v", got, before, readers("pia"))
	}
}

// A segment is saved, counted, explained and sent to: its people get the email, and no others.
func TestSendToASegment(t *testing.T) {
	e := newCountedEnv(t)
	first := e.call(201, "POST", "/api/segments", "pia",
		object{"name": "First", "rule": domains(upTo(30)...)})["id"].(string)
	odd := e.call(201, "POST", "/api/segments", "pia",
		object{"name": "Without 3 and 4", "rule": object{"all": []object{{"segment": first}, {"not": domains(3,
			4)}}}})["id"].(string)
	except := e.call(201, "POST", "/api/segments", "pia", object{"name": "Five", "rule": domains(5)})["id"].(string)

	res, b := e.ask("GET", "/api/segments/"+odd+"/people?limit=10&list_id="+e.list, "pia", nil)
	var people []struct{ ID, Email string }
	e.must(json.Unmarshal(b, &people))
	if len(people) == 0 || len(people) > 10 || !strings.Contains(res.Header.Get("Link"), "next") {
		t.Fatalf("people: %s, %v", b, res.Header)
	}
	why := e.call(200, "GET", "/api/segments/"+odd+"/people/"+people[0].ID+"/why?list_id="+e.list, "pia", nil)
	conditions := why["conditions"].([]any)
	if why["match"] != true || len(conditions) != 2 || conditions[1].(object)["match"] != false {
		t.Errorf("why: %v", why)
	}

	made := e.call(201, "POST", "/api/campaigns", "pia", object{
		"list_ids": []string{e.list}, "subject": "News", "content": object{"kind": "text", "source": "Hello"},
		"segment_id": odd, "exclude_segment_ids": []string{except},
	})["id"].(string)
	res, _ = e.ask("GET", "/api/campaigns/"+made, "pia", nil)
	res, b = e.ask("POST", "/api/campaigns/"+made+"/send", "pia", strings.NewReader(`{"version": 1}`), "Content-Type",
		"application/json", "If-Match", res.Header.Get("Etag"))
	var sent struct {
		SendJobID string `json:"send_job_id"`
		Audience  core.Audience
	}
	e.must(json.Unmarshal(b, &sent))
	if res.StatusCode != http.StatusCreated || sent.Audience.Recipients != 27 || sent.Audience.Outside != 33 {
		t.Fatalf("send: %d %s", res.StatusCode, b)
	}
	now := core.At(time.Now()).Add(time.Second)
	_, err := e.store.StartDueJobs(t.Context(), now)
	e.must(err)
	j, err := e.store.SendJob(t.Context(), sent.SendJobID)
	e.must(err)
	for more := true; more; {
		more, err = e.store.ExpandJob(t.Context(), j.No, now)
		e.must(err)
	}
	_, b = e.ask("GET", "/api/send-jobs/"+j.ID+"/recipients", "pia", nil)
	people = nil
	e.must(json.Unmarshal(b, &people))
	var got, want []string
	for _, p := range people {
		got = append(got, p.Email)
	}
	for i := range 30 {
		if i != 3 && i != 4 && i != 5 {
			want = append(want, fmt.Sprintf("reader%d@d%d.example", i, i))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("recipients %v, want %v", got, want)
	}
}
