package store

import (
	"strings"
	"testing"

	"newsletterd/core"
)

// frozenJob makes a job by the template spring in n's list.
func (n newsletter) frozenJob(at core.Instant) core.SendJob {
	n.Helper()
	j, _, err := n.AddSendJob(n.Context(), JobRequest{
		NewJob: core.NewJob{
			ListID: n.list, Subject: "Hi", BodyText: "x", ScheduledAt: at,
			Template: []byte(`{"mailer_template_name": "spring"}`),
		},
		Caller: core.CommandCaller("u"),
	}, now0)
	must(n.T, err)
	return j
}

func (n newsletter) addSpring(body string) core.Template {
	n.Helper()
	name := "spring"
	t, err := core.NewTemplate(n.tenant, core.TemplateInput{Name: &name, BodyText: &body}, now0)
	must(n.T, err)
	must(n.T, n.AddTemplate(n.Context(), t, "test"))
	return t
}

func (n newsletter) templateOf(j core.SendJob) string {
	n.Helper()
	c, err := n.Content(n.Context(), &j)
	must(n.T, err)
	return c.Template.BodyText
}

// A large template that many jobs send is stored once.
func TestAFrozenBodyIsStoredOnce(t *testing.T) {
	n := testNewsletter(t)
	n.addSpring(strings.Repeat("long ", 100_000))
	for range 20 {
		n.frozenJob(now0 + 1000)
	}
	if c := n.count("SELECT count(*) FROM frozen_body"); c != 1 {
		t.Errorf("%d bodies", c)
	}
	if c := n.count("SELECT count(*) FROM frozen_content WHERE resolved = 1"); c != 20 {
		t.Errorf("%d frozen contents", c)
	}
}

// A template that did not exist when its job was made is the one that exists at the start, and frozen then.
func TestAMissingTemplateIsFrozenAtTheStart(t *testing.T) {
	n := testNewsletter(t)
	j, never := n.frozenJob(now0+1000), n.frozenJob(now0+500)
	if _, err := n.Content(t.Context(), &j); core.KindOf(err) != core.NotFound {
		t.Error(err)
	}
	_, err := n.StartDueJobs(t.Context(), now0+600)
	must(t, err)
	if never, err = n.SendJob(t.Context(), never.ID); err != nil || never.FailureReason != core.ReasonTemplate {
		t.Errorf("%+v %v", never, err)
	}
	spring := n.addSpring("first")
	change := func(body string) {
		_, err := n.UpdateTemplate(t.Context(), spring.ID, "test", func(t *core.Template) error {
			return t.Change(core.TemplateInput{BodyText: &body}, now0)
		})
		must(t, err)
	}
	change("second")
	if got := n.templateOf(j); got != "second" {
		t.Errorf("before the start %q", got)
	}
	_, err = n.StartDueJobs(t.Context(), now0+1000)
	must(t, err)
	change("third")
	if got := n.templateOf(j); got != "second" {
		t.Errorf("after the start %q", got)
	}
}

// A job of an older version has nothing frozen: it follows its template until it starts.
func TestAJobOfAnOlderVersionIsFrozenAtTheStart(t *testing.T) {
	n := testNewsletter(t)
	spring := n.addSpring("first")
	j := n.frozenJob(now0 + 1000)
	n.sql("DELETE FROM frozen_content")
	for _, step := range []struct {
		body, want string
		start      bool
	}{{"second", "second", false}, {"third", "third", true}, {"fourth", "third", false}} {
		_, err := n.UpdateTemplate(t.Context(), spring.ID, "test", func(t *core.Template) error {
			return t.Change(core.TemplateInput{BodyText: &step.body}, now0)
		})
		must(t, err)
		if step.start {
			_, err := n.StartDueJobs(t.Context(), now0+1000)
			must(t, err)
		}
		if got := n.templateOf(j); got != step.want {
			t.Errorf("%q, want %q", got, step.want)
		}
	}
}
