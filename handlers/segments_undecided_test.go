package handlers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/db/dbtest"
)

// undecidedEnv has a list of 60 people who received a campaign with a link, a tag, a segment and another list.
type undecidedEnv struct {
	*countedEnv
	sent  string // id of the sent campaign
	inner string // id of the segment
}

func newUndecidedEnv(t *testing.T) *undecidedEnv {
	e := &undecidedEnv{countedEnv: newCountedEnv(t)}
	e.step("user adi tenant_admin=acme")
	e.step("list other tenant=acme")
	e.call(201, "POST", "/api/tags", "adi", object{"name": "VIP"})
	e.inner = e.call(201, "POST", "/api/segments", "adi", object{"name": "Inner", "rule": domains(1)})["id"].(string)
	e.sent = e.draft(object{"tracking": "persons"})
	j := e.start(e.send(201, e.sent)["send_job_id"].(string))
	e.sql("UPDATE recipient SET state = 2")
	e.sql("UPDATE send_job SET status = 'completed', started_at = started_at - 60000 WHERE no = ?", j.No)
	e.sql("INSERT INTO link (job_no, no, url) VALUES (?, 1, 'https://acme.example/')", j.No)
	return e
}

func (e *undecidedEnv) sql(query string, args ...any) { dbtest.SQL(e.store.DB, query, args...) }

// draft creates a campaign to the list and returns its id.
func (e *undecidedEnv) draft(fields object) string {
	e.t.Helper()
	fields["list_ids"], fields["subject"] = []string{e.list}, "News"
	fields["content"] = object{"kind": "text", "source": "Hello"}
	return e.call(201, "POST", "/api/campaigns", "adi", fields)["id"].(string)
}

func (e *undecidedEnv) send(status int, id string) object {
	e.t.Helper()
	return e.call(status, "POST", "/api/campaigns/"+id+"/send", "adi", object{"version": 1})
}

// start starts a job and creates its recipients, as far as possible.
func (e *undecidedEnv) start(id string) core.SendJob {
	e.t.Helper()
	now := core.At(time.Now()).Add(time.Second)
	_, err := e.store.StartDueJobs(e.t.Context(), now)
	e.must(err)
	j, err := e.store.SendJob(e.t.Context(), id)
	e.must(err)
	for more := true; more; {
		more, err = e.store.ExpandJob(e.t.Context(), j.No, now)
		e.must(err)
	}
	j, err = e.store.SendJob(e.t.Context(), id)
	e.must(err)
	return j
}

// undecided holds the cases in which a condition can't be evaluated: the condition, and the statements that cause the
// case and end it. $LIST, $SENT and $SEGMENT are replaced by ids.
var undecided = map[string][3]string{
	"a deleted list": {
		`{"on_list": "$LIST"}`,
		"UPDATE list SET deleted_at = 1 WHERE id = '$LIST'", "UPDATE list SET deleted_at = 0 WHERE id = '$LIST'",
	},
	"a deleted campaign": {
		`{"received": "$SENT"}`,
		"UPDATE campaign SET id = '-' || id WHERE id = '$SENT'", "UPDATE campaign SET id = '$SENT' WHERE id = '-$SENT'",
	},
	"recipients that are no longer kept": {
		`{"received": "$SENT"}`, "UPDATE recipient SET job_no = -job_no", "UPDATE recipient SET job_no = -job_no",
	},
	"opens that are no longer kept": {
		`{"opened": {"within_days": 3}}`,
		"UPDATE recipient SET job_no = -job_no", "UPDATE recipient SET job_no = -job_no",
	},
	"a tenant without tracking": {
		`{"opened": {"last": 3}}`, "UPDATE tenant SET no_tracking = 1", "UPDATE tenant SET no_tracking = 0",
	},
	"a tenant with totals only": {
		`{"clicked": {"last": 3}}`, "UPDATE tenant SET totals_only = 1", "UPDATE tenant SET totals_only = 0",
	},
	"a link at a tenant with totals only": {
		`{"clicked_link": {"campaign": "$SENT", "link": 1}}`,
		"UPDATE tenant SET totals_only = 1", "UPDATE tenant SET totals_only = 0",
	},
	"a campaign with totals only": {
		`{"clicked_link": {"campaign": "$SENT", "link": 1}}`,
		"UPDATE send_job SET tracked = 7 WHERE campaign_id = '$SENT'",
		"UPDATE send_job SET tracked = 3 WHERE campaign_id = '$SENT'",
	},
	"a campaign without tracking": {
		`{"clicked_link": {"campaign": "$SENT", "link": 1}}`,
		"UPDATE send_job SET tracked = 0 WHERE campaign_id = '$SENT'",
		"UPDATE send_job SET tracked = 3 WHERE campaign_id = '$SENT'",
	},
	"clicks that are deleted": {
		`{"clicked_link": {"campaign": "$SENT", "link": 1}}`,
		"UPDATE send_job SET tracked = 19 WHERE campaign_id = '$SENT'",
		"UPDATE send_job SET tracked = 3 WHERE campaign_id = '$SENT'",
	},
	"a link that is unknown": {
		`{"clicked_link": {"campaign": "$SENT", "link": 1}}`,
		"UPDATE link SET no = 2", "UPDATE link SET no = 1",
	},
	"a deleted tag": {
		`{"tag": "VIP"}`,
		"UPDATE tag SET tenant_id = '-' || tenant_id", "UPDATE tag SET tenant_id = substr(tenant_id, 2)",
	},
	"a deleted segment": {
		`{"segment": "$SEGMENT"}`,
		"UPDATE segment SET id = '-' || id WHERE id = '$SEGMENT'",
		"UPDATE segment SET id = '$SEGMENT' WHERE id = '-$SEGMENT'",
	},
}

// If a condition can't be evaluated, even in a group that doesn't need it or below a not, every question about the rule
// is a conflict. A campaign to the segment, or to everyone else, can't be sent. If it is about to start, it pauses
// without recipients, and resumes after the condition can be evaluated again.
func TestUndecidedSendsNothing(t *testing.T) {
	e := newUndecidedEnv(t)
	fill := strings.NewReplacer("$LIST", e.value("other"), "$SENT", e.sent, "$SEGMENT", e.inner)
	everyone := `{"not": {"domain": "none.example"}}`
	for name, c := range undecided {
		for form, rule := range map[string]string{
			"alone": "%s", "not": `{"not": %s}`, "any": `{"any": [` + everyone + `, {"not": %s}]}`,
			"all": `{"not": {"all": [{"domain": "none.example"}, %s]}}`, "excluded": "%s",
		} {
			t.Run(name+", "+form, func(t *testing.T) {
				e := &undecidedEnv{&countedEnv{new(*e.env), e.list}, e.sent, e.inner}
				e.t = t
				e.undecided(fmt.Sprintf(fill.Replace(rule), fill.Replace(c[0])), form == "excluded",
					name == "a deleted segment", fill.Replace(c[1]), fill.Replace(c[2]))
			})
		}
	}
}

// undecided tests everything with a rule. If copied is true, a job doesn't depend on what is missing.
func (e *undecidedEnv) undecided(rule string, excluded, copied bool, breaks, mends string) {
	id := e.call(201, "POST", "/api/segments", "adi",
		object{"name": core.NewID(), "rule": core.RuleText(rule)})["id"].(string)
	fields := func() object {
		if excluded {
			return object{"exclude_segment_ids": []string{id}}
		}
		return object{"segment_id": id}
	}
	job := e.send(201, e.draft(fields()))["send_job_id"].(string)
	later := e.draft(fields())
	e.sql(breaks)
	on := object{"list_id": e.list, "segment_id": id}
	for path, body := range map[string]object{
		"/api/segment-count":                {"list_ids": []string{e.list}, "segment_id": id, "exact": true},
		"/api/admin/subscribers/search":     on,
		"/api/admin/subscribers/export":     on,
		"/api/campaigns/" + later + "/send": {"version": 1},
		"/api/bulk-actions":                 {"list_id": e.list, "segment_id": id, "action": "unsubscribe"},
	} {
		got := e.call(409, "POST", path, "adi", body)
		at, inField := got["field"].(string)
		if !inField {
			at, _ = got["reason"].(string) // in the send service
		}
		if got["error"] != "segment_undecided" || !strings.HasPrefix(at, "rule") {
			e.t.Errorf("%s: %v", path, got)
		}
	}
	e.call(409, "GET", "/api/segments/"+id+"/people?list_id="+e.list, "adi", nil)
	e.call(409, "GET", "/api/campaigns/"+later+"/audience", "adi", nil)
	j := e.start(job)
	if !copied && (j.Recipients != 0 || j.Expanded || j.PausedAt == 0 ||
		!strings.HasPrefix(j.PauseReason, core.PauseSegment)) {
		e.t.Errorf("the job has %d recipients and is paused for %q", j.Recipients, j.PauseReason)
	}
	e.sql(mends)
	if !copied {
		_, err := e.store.ResumeSendJob(e.t.Context(), j.ID, "test", core.At(time.Now()))
		e.must(err)
		j = e.start(job)
	}
	if !j.Expanded || j.PausedAt != 0 {
		e.t.Errorf("mended, the job has %d recipients and is paused for %q", j.Recipients, j.PauseReason)
	}
}
