package main

import (
	"testing"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/store/campaigns"
)

// TestReviewInABrowser requests an approval by email. The approver opens the campaign, requests changes with a note,
// and approves it the next time.
func TestReviewInABrowser(t *testing.T) {
	b := browsertest.New(t)
	d := start(t, nil)
	tenant := d.seed.NewTenant(func(in *core.TenantInput) { in.Approval = new(core.ApprovalSecondPerson) })
	list := d.seed.NewList()
	role := core.Role{Role: core.RolePublisher, TenantID: tenant.ID}
	ann := d.addUser("ann@example.org")
	d.Must(d.store.GrantRole(t.Context(), ann.ID, role, false, now()))
	bob := d.seed.NewUser("bob@example.org", "", func(u *core.User) { u.Name, u.Roles = "Bob", []core.Role{role} })
	c := d.seed.NewCampaign(list, func(f *core.CampaignFields) { f.Subject = "News of May" })
	edit := campaigns.CampaignEdit{ID: c.ID, Actor: core.UserActor(bob.ID), Now: now()}
	asked := func() {
		t.Helper()
		_, err := d.store.EditCampaign(t.Context(), edit, func(f *core.CampaignFields) error {
			f.Content.Source += " Soon."
			return nil
		})
		d.Must(err)
		_, err = d.store.AskReview(t.Context(), edit, 0, "Please look at the second line.")
		d.Must(err)
	}
	asked()
	page := d.mailed("/review?", "ann@example.org")
	b.Open(page)
	b.Do(browsertest.Heading("Sign in"), chromedp.SendKeys("#email", "ann@example.org"),
		chromedp.SendKeys("#password", daemontest.Password+"\r"), chromedp.WaitVisible(`button[value="approve"]`))
	b.Look("review")
	b.Fits("review")
	b.Click("details:not(#text) > summary")
	b.Do(chromedp.SendKeys("#note", "Another word, please."))
	b.Look("review-note")
	b.Submit(chromedp.Click(`button[value="reject"]`))
	b.Look("review-rejected")

	asked()
	b.Open(page, chromedp.WaitVisible(`button[value="approve"]`))
	b.Submit(chromedp.Click(`button[value="approve"]`))
	b.Look("review-approved")
	if c, err := d.store.Campaign(t.Context(), c.ID); err != nil || c.State != core.CampaignApproved {
		t.Errorf("%s, %v", c.State, err)
	}
}
