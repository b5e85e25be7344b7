package core

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

const jobNow = Instant(1_800_000_000_000)

// newJob returns a valid job, modified by change if that is not nil.
func newJob(change func(*NewJob)) NewJob {
	n := NewJob{ListID: "11111111-1111-4111-8111-111111111111", Subject: "Hello", BodyText: "x"}
	if change != nil {
		change(&n)
	}
	return n
}

func TestNewJobValidate(t *testing.T) {
	template := func(s string) func(*NewJob) {
		return func(n *NewJob) { n.Template = json.RawMessage(s) }
	}
	hour := Instant(time.Hour / time.Millisecond)
	tests := []struct {
		name   string
		change func(*NewJob)
		field  string // empty: valid
	}{
		{"as it stands", nil, ""},
		{"no list", func(n *NewJob) { n.ListID = "" }, "list_id"},
		{"no subject", func(n *NewJob) { n.Subject = "" }, "subject"},
		{"white subject", func(n *NewJob) { n.Subject = " \t\u00a0" }, "subject"},
		{"subject of 998", func(n *NewJob) { n.Subject = strings.Repeat("ä", 998) }, ""},
		{"subject of 999", func(n *NewJob) { n.Subject = strings.Repeat("a", 999) }, "subject"},
		{"subject with a line end", func(n *NewJob) { n.Subject = "a\r\nBcc: x@y.example" }, "subject"},
		{"subject with NUL", func(n *NewJob) { n.Subject = "a\x00" }, "subject"},
		{"subject with C1", func(n *NewJob) { n.Subject = "a\u0085" }, "subject"},
		{"name with a control", func(n *NewJob) { n.Name = "a\x1b" }, "name"},
		{"no content", func(n *NewJob) { n.BodyText = "" }, "body_html"},
		{"HTML only", func(n *NewJob) { n.BodyText, n.BodyHTML = "", "<p>x</p>" }, ""},
		{"template only", func(n *NewJob) { n.BodyText = ""; n.Template = json.RawMessage("{}") }, ""},
		{"body of 1 MiB", func(n *NewJob) { n.BodyText = strings.Repeat("a", MaxBody) }, ""},

		{"template with other keys", template(`{"x":[1],"mailer_template_name":null}`), ""},
		{"template name", template(`{"mailer_template_name":"spring"}`), ""},
		{"template name that is empty", template(`{"mailer_template_name":""}`), "template.mailer_template_name"},
		{"template name of a number", template(`{"mailer_template_name":1}`), "template.mailer_template_name"},
		{"template name with a slash", template(`{"mailer_template_name":"a/b"}`), "template.mailer_template_name"},
		{
			"template name too long", template(`{"mailer_template_name":"` + strings.Repeat("a", 101) + `"}`),
			"template.mailer_template_name",
		},
		{"unsubscribe_url", template(`{"unsubscribe_url":"https://x.example/u?t={{unsubscribe_token}}"}`), ""},
		{
			"unsubscribe_url with blanks", template(`{"unsubscribe_url":"https://x.example/{{ unsubscribe_token }}"}`),
			"",
		},
		{"unsubscribe_url that is empty", template(`{"unsubscribe_url":""}`), "template.unsubscribe_url"},
		{
			"unsubscribe_url without token", template(`{"unsubscribe_url":"https://x.example/u"}`),
			"template.unsubscribe_url",
		},
		{
			"unsubscribe_url relative", template(`{"unsubscribe_url":"/u/{{unsubscribe_token}}"}`),
			"template.unsubscribe_url",
		},
		{
			"unsubscribe_url of a script", template(`{"unsubscribe_url":"javascript://x/{{unsubscribe_token}}"}`),
			"template.unsubscribe_url",
		},
		{"unsubscribe_url of an object", template(`{"unsubscribe_url":{}}`), "template.unsubscribe_url"},

		{"window", func(n *NewJob) { n.WindowStart, n.WindowEnd = jobNow, jobNow+hour }, ""},
		{"window begun", func(n *NewJob) { n.WindowStart, n.WindowEnd = jobNow-hour, jobNow+hour }, ""},
		{
			"window without length", func(n *NewJob) { n.WindowStart, n.WindowEnd = jobNow+hour, jobNow+hour },
			"window_end",
		},
		{
			"window the wrong way round", func(n *NewJob) { n.WindowStart, n.WindowEnd = jobNow+2*hour, jobNow+hour },
			"window_end",
		},
		{"window over", func(n *NewJob) { n.WindowEnd = jobNow }, "window_end"},
		{"only a start", func(n *NewJob) { n.WindowStart = jobNow - hour }, ""},
		{"scheduled in the past", func(n *NewJob) { n.ScheduledAt = jobNow - hour }, ""},
		{"scheduled inside", func(n *NewJob) {
			n.WindowStart, n.ScheduledAt, n.WindowEnd = jobNow, jobNow+1,
				jobNow+hour
		}, ""},
		{"scheduled at the start", func(n *NewJob) { n.WindowStart, n.ScheduledAt = jobNow+hour, jobNow+hour }, ""},
		{
			"scheduled before the start", func(n *NewJob) { n.WindowStart, n.ScheduledAt = jobNow+hour, jobNow },
			"scheduled_at",
		},
		{"scheduled in the past before the start", func(n *NewJob) {
			n.WindowStart, n.ScheduledAt = jobNow-hour,
				jobNow-2*hour
		}, "scheduled_at"},
		{
			"scheduled at the end", func(n *NewJob) { n.WindowEnd, n.ScheduledAt = jobNow+hour, jobNow+hour },
			"scheduled_at",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newJob(tt.change)
			err := n.Validate(jobNow)
			var e *Error
			switch {
			case tt.field == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.field != "" && !errors.As(err, &e):
				t.Errorf("accepted")
			case tt.field != "" && (e.Field != tt.field || e.Kind != Invalid && !(e.Kind == TooLarge &&
				strings.HasSuffix(tt.name, "too long"))):
				t.Errorf("on %s: %v", e.Field, err)
			}
		})
	}
}

// TestBodiesTooLarge checks that a body that is too large is reported as TooLarge, even if there are other errors.
func TestBodiesTooLarge(t *testing.T) {
	big := strings.Repeat("a", MaxBody+1)
	in := TemplateInput{Name: new("a"), BodyText: &big}
	_, ofTemplate := NewTemplate("t", in, 1)
	for field, err := range map[string]error{
		"body_html": (&NewJob{BodyHTML: big}).Validate(jobNow), "body_text": (&NewJob{
			ListID:   NewID(),
			BodyText: big,
		}).Validate(jobNow),
		"body_text of a template": ofTemplate,
	} {
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != TooLarge || !strings.HasPrefix(field, e.Field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestNewJobDue(t *testing.T) {
	for _, tt := range []struct{ scheduled, start, due Instant }{
		{0, 0, jobNow}, {jobNow - 5, 0, jobNow}, {jobNow + 5, 0, jobNow + 5}, {0, jobNow + 7, jobNow + 7}, {
			jobNow + 9,
			jobNow + 7, jobNow + 9,
		},
	} {
		n := newJob(func(n *NewJob) { n.ScheduledAt, n.WindowStart = tt.scheduled, tt.start })
		if j, c := n.Job(jobNow); j.DueAt != tt.due || j.Status != JobPending || j.CampaignID != c.ID {
			t.Errorf("%+v: due %d", tt, j.DueAt-jobNow)
		}
	}
}

func TestTemplateName(t *testing.T) {
	for _, tt := range []struct{ template, body, want string }{
		{"", "x", ""},
		{"{}", "x", ""},
		{"{}", "", "default"},
		{`{"mailer_template_name":"spring"}`, "x", "spring"},
		{`{"mailer_template_name":"spring"}`, "", "spring"},
	} {
		c := CampaignCopy{Template: tt.template, BodyText: tt.body}
		if got := c.TemplateName(); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// TestJobStates tests each verb in each state.
func TestJobStates(t *testing.T) {
	start := func(j *SendJob) bool { return j.Start(jobNow) }
	cancel := func(j *SendJob) bool { return j.Cancel(jobNow) }
	fail := func(j *SendJob) bool { return j.Fail("why", jobNow) }
	finish := func(j *SendJob) bool { return j.Finish(jobNow) }
	tests := []struct {
		name string
		verb func(*SendJob) bool
		want map[JobStatus]JobStatus // absent: unchanged
	}{
		{"start", start, map[JobStatus]JobStatus{JobPending: JobRunning}},
		{"cancel", cancel, map[JobStatus]JobStatus{JobPending: JobCancelled, JobRunning: JobCancelled}},
		{"fail", fail, map[JobStatus]JobStatus{JobPending: JobFailed, JobRunning: JobFailed}},
		{"finish", finish, map[JobStatus]JobStatus{JobRunning: JobCompleted}},
	}
	for _, tt := range tests {
		for _, from := range []JobStatus{JobPending, JobRunning, JobCompleted, JobFailed, JobCancelled} {
			j := SendJob{
				Status: from, DueAt: jobNow, Expanded: true,
				Stats: Stats{Recipients: 3, Sent: 1, Failed: 1, Skipped: 1},
			}
			before := j
			changed := tt.verb(&j)
			want, moves := tt.want[from]
			if !moves {
				want = from
			}
			if changed != moves || j.Status != want || !moves && j != before {
				t.Errorf("%s of a %s job: %s, changed %v", tt.name, from, j.Status, changed)
			}
			if moves && j.Status.Final() != (j.FinishedAt == jobNow) {
				t.Errorf("%s of a %s job: finished at %d", tt.name, from, j.FinishedAt)
			}
		}
	}
}

func TestJobStartsWhenDueAndInItsWindow(t *testing.T) {
	for _, tt := range []struct {
		name     string
		due, end Instant
		want     JobStatus
	}{
		{"due", jobNow, 0, JobRunning},
		{"not yet", jobNow + 1, 0, JobPending},
		{"window open", jobNow, jobNow + 1, JobRunning},
		{"window over before it began", jobNow - 5, jobNow, JobFailed},
	} {
		j := SendJob{Status: JobPending, DueAt: tt.due, WindowEnd: tt.end}
		j.Start(jobNow)
		if j.Status != tt.want || (j.Status == JobFailed) != (j.FailureReason == ReasonWindow) {
			t.Errorf("%s: %s %q", tt.name, j.Status, j.FailureReason)
		}
	}
}

func TestMoveAJob(t *testing.T) {
	at := func(i Instant) *Instant { return &i }
	day := jobNow.Add(24 * time.Hour)
	for name, tt := range map[string]struct {
		job  SendJob // pending if its status is empty
		to   JobTimes
		want Instant // time when it is due; 0: refused
		code string
	}{
		"later":                     {SendJob{ScheduledAt: day, DueAt: day}, JobTimes{ScheduledAt: at(day + 5)}, day + 5, ""},
		"to now":                    {SendJob{ScheduledAt: day, DueAt: day}, JobTimes{ScheduledAt: at(0)}, jobNow, ""},
		"while it can be undone":    {SendJob{DueAt: jobNow + 60}, JobTimes{ScheduledAt: at(jobNow + 5)}, jobNow + 60, ""},
		"undone no more":            {SendJob{DueAt: jobNow - 1}, JobTimes{WindowStart: at(jobNow + 7)}, jobNow + 7, ""},
		"the window alone":          {SendJob{ScheduledAt: day, DueAt: day}, JobTimes{WindowEnd: at(day + 9)}, day, ""},
		"outside the window":        {SendJob{ScheduledAt: day, DueAt: day}, JobTimes{WindowEnd: at(day)}, 0, "scheduled_at"},
		"into the past":             {SendJob{ScheduledAt: day, DueAt: day}, JobTimes{ScheduledAt: at(1)}, 0, "scheduled_at"},
		"one that runs":             {SendJob{Status: JobRunning}, JobTimes{ScheduledAt: at(day)}, 0, "conflict"},
		"a window that is over now": {SendJob{DueAt: jobNow}, JobTimes{WindowEnd: at(jobNow - 1)}, 0, "window_end"},
	} {
		j := tt.job
		j.Status = cmp.Or(j.Status, JobPending)
		before := j
		err := j.Move(tt.to, jobNow)
		if tt.want != 0 {
			if err != nil || j.DueAt != tt.want {
				t.Errorf("%s: due %d, %v", name, j.DueAt-jobNow, err)
			}
			continue
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Code != tt.code && e.Field != tt.code || j != before {
			t.Errorf("%s: %v, %+v", name, err, j)
		}
	}
}

func TestJobFinishesOnlyWhenAllHaveAnOutcome(t *testing.T) {
	for _, j := range []SendJob{
		{Status: JobRunning, Expanded: false},
		{Status: JobRunning, Expanded: true, Stats: Stats{Recipients: 3, Sent: 2}},
	} {
		if j.Finish(jobNow) {
			t.Errorf("finished: %+v", j)
		}
	}
	empty := SendJob{Status: JobRunning, Expanded: true}
	if !empty.Finish(jobNow) {
		t.Error("a job without recipients must complete")
	}
}

func TestNextTry(t *testing.T) {
	var j SendJob
	waits := []time.Duration{
		5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
		12 * time.Hour, 12 * time.Hour,
	}
	for i, want := range waits {
		if at, ok := j.NextTry(i+1, jobNow); !ok || at.Sub(jobNow) != want {
			t.Errorf("after try %d: %v %v", i+1, at.Sub(jobNow), ok)
		}
	}
	if _, ok := j.NextTry(len(waits)+1, jobNow); ok {
		t.Error("tried for more than 48 h")
	}
	j.WindowEnd = jobNow.Add(15 * time.Minute)
	if _, ok := j.NextTry(1, jobNow); !ok {
		t.Error("the window is still open in 5 min")
	}
	if _, ok := j.NextTry(2, jobNow); ok {
		t.Error("the window is closed in 15 min")
	}
}

func FuzzFillUnsubscribeURL(f *testing.F) {
	f.Add("https://x.example/{{ unsubscribe_token }}?a={{b}}")
	f.Fuzz(func(t *testing.T, link string) {
		got, found := FillUnsubscribeURL(link, "TOKEN")
		if !found && got != link {
			t.Errorf("%q became %q without a placeholder", link, got)
		}
	})
}
