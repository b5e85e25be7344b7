package store_test

import (
	"errors"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// A template that is in use can be deleted only on explicit request. Other templates, draft campaigns, and jobs that
// have not frozen the template use it. Jobs that have frozen it don't. A template with the name of the built-in default
// can always be deleted.
func TestUsesOfATemplate(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	later := func(r *campaigns.JobRequest) {
		r.Template, r.ScheduledAt = []byte(`{"mailer_template_name":"spring"}`), sendNow.Add(time.Hour)
	}
	waits, err := s.TryJob(l.ID, later) // no template has the name yet
	s.Must(err)
	spring := s.NewTemplate(core.TemplateInput{Name: new("spring"), BodyText: new("Hello. {{content}}")})
	_, err = s.TryJob(l.ID, later) // freezes the template
	s.Must(err)
	within := s.NewTemplate(core.TemplateInput{Name: new("within"), Layout: new("spring"), BodyText: new("x")})
	draft := s.NewCampaign(l, func(f *core.CampaignFields) {
		f.Content = core.CampaignContent{Kind: core.ContentText, Source: "x", Layout: "spring"}
	})
	uses, err := s.TemplateUses(t.Context(), spring.ID, 10)
	s.Must(err)
	if len(uses) != 3 || uses[0].ID != within.ID || uses[1].ID != draft.ID || uses[2].ID != waits.ID ||
		uses[2].CampaignID != waits.CampaignID || uses[2].Name == "" {
		t.Errorf("%+v", uses)
	}
	refuses := func(what string) {
		t.Helper()
		err := s.DeleteTemplate(t.Context(), spring.ID, false, "test", sendNow)
		if !errors.Is(err, &core.Error{Code: "template_in_use"}) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refuses("all")
	s.Must(s.DeleteTemplate(t.Context(), within.ID, false, "test", sendNow))
	refuses("a campaign and a job")
	_, err = s.CancelSendJob(t.Context(), waits.ID, sendNow)
	s.Must(err)
	refuses("a campaign")
	s.Must(s.DeleteTemplate(t.Context(), spring.ID, true, "test", sendNow))

	ours := s.NewTemplate(core.TemplateInput{Name: new(core.DefaultTemplate), BodyText: new("Ours. {{content}}")})
	s.NewTemplate(core.TemplateInput{Name: new("within"), Layout: new(core.DefaultTemplate), BodyText: new("x")})
	s.Must(s.DeleteTemplate(t.Context(), ours.ID, false, "test", sendNow))
}
