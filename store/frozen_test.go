package store_test

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// springJob creates a job that sends the template spring.
func springJob(n *storetest.Seeder, at core.Instant) core.SendJob {
	n.Helper()
	return n.NewJob(n.ListID, func(r *campaigns.JobRequest) {
		r.ScheduledAt, r.Template = at, []byte(`{"mailer_template_name": "spring"}`)
	})
}

// frozen returns the text that a job sends.
func frozen(n *storetest.Seeder, j core.SendJob) string {
	n.Helper()
	c, err := n.Content(n.Context(), &j)
	n.Must(err)
	return c.Template.BodyText
}

// A large template that many jobs send is stored only once.
func TestAFrozenBodyIsStoredOnce(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.NewTemplate(core.TemplateInput{Name: new("spring"), BodyText: new(strings.Repeat("long ", 100_000))})
	for range 20 {
		springJob(n, now0+1000)
	}
	if c := n.Count("SELECT count(*) FROM frozen_body"); c != 1 {
		t.Errorf("%d bodies", c)
	}
	if c := n.Count("SELECT count(*) FROM frozen_content WHERE resolved = 1"); c != 20 {
		t.Errorf("%d frozen contents", c)
	}
}

// If a template didn't exist when its job was created, the job uses the template that exists at its start, and freezes
// it then.
func TestAMissingTemplateIsFrozenAtTheStart(t *testing.T) {
	n := storetest.SeedList(t, now0)
	j, never := springJob(n, now0+1000), springJob(n, now0+500)
	if _, err := n.Content(t.Context(), &j); core.KindOf(err) != core.NotFound {
		t.Error(err)
	}
	_, err := n.StartDueJobs(t.Context(), now0+600)
	n.Must(err)
	if never, err = n.SendJob(t.Context(), never.ID); err != nil || never.FailureReason != core.ReasonTemplate {
		t.Errorf("%+v %v", never, err)
	}
	spring := n.NewTemplate(core.TemplateInput{Name: new("spring"), BodyText: new("first")})
	change := func(body string) {
		_, err := n.UpdateTemplate(t.Context(), spring.ID, "test", func(t *core.Template) error {
			return t.Change(core.TemplateInput{BodyText: &body}, now0)
		})
		n.Must(err)
	}
	change("second")
	if got := frozen(n, j); got != "second" {
		t.Errorf("before the start %q", got)
	}
	_, err = n.StartDueJobs(t.Context(), now0+1000)
	n.Must(err)
	change("third")
	if got := frozen(n, j); got != "second" {
		t.Errorf("after the start %q", got)
	}
}

// A job from an older version has no frozen template. Until it starts, changes of its template affect it.
func TestAJobOfAnOlderVersionIsFrozenAtTheStart(t *testing.T) {
	n := storetest.SeedList(t, now0)
	spring := n.NewTemplate(core.TemplateInput{Name: new("spring"), BodyText: new("first")})
	j := springJob(n, now0+1000)
	n.SQL("DELETE FROM frozen_content")
	for _, step := range []struct {
		body, want string
		start      bool
	}{{"second", "second", false}, {"third", "third", true}, {"fourth", "third", false}} {
		_, err := n.UpdateTemplate(t.Context(), spring.ID, "test", func(t *core.Template) error {
			return t.Change(core.TemplateInput{BodyText: &step.body}, now0)
		})
		n.Must(err)
		if step.start {
			_, err := n.StartDueJobs(t.Context(), now0+1000)
			n.Must(err)
		}
		if got := frozen(n, j); got != step.want {
			t.Errorf("%q, want %q", got, step.want)
		}
	}
}
