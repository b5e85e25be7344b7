package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/handlers/console"
	"newsletterd/store/campaigns"
)

// linked sends a campaign, written by an actor, with a tracked link to roses.
func (e *campaignEnv) linked(by string) {
	e.Helper()
	e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
		f.Tracking, f.Content.Source = core.TrackingPersons, "[Roses](https://acme.example/roses)\n"
	})
	edited, err := e.store.EditCampaign(e.Context(), campaigns.CampaignEdit{
		ID: e.campaign.ID, Actor: by, Now: e.seed.Time(),
	}, func(f *core.CampaignFields) error { f.Preheader = "Of roses"; return nil })
	e.must(err)
	e.campaign = edited
	j := e.mailing(core.Outcome{State: core.RecipientSent}, core.Outcome{State: core.RecipientSent})
	_, err = e.store.KeepLinks(e.Context(), j.No, []string{"https://acme.example/roses"})
	e.must(err)
}

// mendingMails returns the addresses to which emails about links are queued.
func (e *campaignEnv) mendingMails() (all []string) {
	e.Helper()
	mails, err := e.store.DueMails(e.Context(), e.seed.Time(), 100)
	e.must(err)
	for _, m := range mails {
		if m.Kind == core.MailMending {
			all = append(all, string(m.Email))
		}
	}
	slices.Sort(all)
	return all
}

// If a second person must approve, the person who wrote the sent content can't fix its links. The page says so instead
// of showing the form. People who may fix the link can accept the proposal with one click.
func TestConsoleAsksForMending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
		e.must(err)
		e.linked(core.UserActor(ann.ID))
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{Approval: new(core.ApprovalSecondPerson)})
		const other = "A team member who can send and hasn't edited this campaign can apply it"
		e.shows(e.path(""), http.StatusOK, other, "Send suggestion",
			"No one else on your team can do this yet. Ask an administrator to invite a Publisher",
			`action="`+e.at(e.path("/links-ask")),
			`-action="`+e.at(e.path("/links"))+`"`, "-/correction\"")
		ask := url.Values{"link": {"1"}, "target": {"acme.example/\r\nrose\r\n"}}
		e.sends(e.path("/links-ask"), http.StatusBadRequest, url.Values{"link": {"1"}, "target": {"no address"}},
			">no address</textarea>", "Enter a full URL without placeholders")
		if to := e.sends(e.path("/links-ask"), http.StatusSeeOther, ask); !strings.HasSuffix(to, "?done=link-noted") {
			t.Errorf("with no one to ask it leads to %s", to)
		}
		role := core.Role{Role: core.RolePublisher, TenantID: e.tenant.ID}
		e.seed.NewUser("bob@user.example", "", func(u *core.User) { u.Name, u.Roles = "Bob", []core.Role{role} })
		if to := e.sends(e.path("/links-ask"), http.StatusSeeOther, ask); !strings.HasSuffix(to, "?done=link-asked") {
			t.Errorf("with one to ask it leads to %s", to)
		}
		if got := e.mendingMails(); !slices.Equal(got, []string{"bob@user.example"}) {
			t.Errorf("asked are %q", got)
		}
		e.shows(e.path(""), http.StatusOK, "You suggested this link:", "https://acme.example/rose\"", "Withdraw suggestion",
			"-Use this link", "-No one else on your team can do this yet")
		e.sends(e.path("/links"), http.StatusForbidden, ask,
			"You edited this campaign, so another team member has to fix the link")
	})
}

// A person who may fix a link finds the proposal with the new URL.
func TestConsoleMendsWhatWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		bob := e.seed.NewUser("bob@user.example", "")
		e.linked(core.UserActor(bob.ID))
		propose := func(target string) {
			t.Helper()
			_, asked, err := e.store.ProposeTarget(t.Context(), campaigns.CampaignEdit{
				ID: e.campaign.ID, Actor: core.UserActor(bob.ID), Now: e.seed.Time(),
			}, 1, target)
			if err != nil || asked != 1 {
				t.Fatalf("%d were asked: %v", asked, err)
			}
		}
		propose("https://acme.example/rose")
		address := reviewAddress(e.campaign.ID) + "&mend=1"
		res := e.ask("GET", address, nil)
		if to := res.Header.Get("Location"); !strings.HasSuffix(to, console.Path+"/"+e.tenant.ID+e.path("#links")) {
			t.Errorf("the mail leads to %s", to)
		}
		page := e.shows(e.path(""), http.StatusOK, "Your team suggests this link:", "Use this link", "Keep current link",
			"-A team member who can send")
		form := e.form(page, e.path("/links"))
		if form.Get("target") != "https://acme.example/rose" {
			t.Errorf("the button sends %v", form)
		}
		e.sends(e.path("/links"), http.StatusSeeOther, form)
		e.shows(e.path(""), http.StatusOK, "Originally https://acme.example/roses", "-Use this link")
		propose("https://acme.example/tulips")
		e.sends(e.path("/links-ask"), http.StatusSeeOther, url.Values{"link": {"1"}, "do": {"drop"}})
		e.sends(e.path("/links-ask"), http.StatusSeeOther, url.Values{"link": {"1"}, "do": {"drop"}})
		e.shows(e.path(""), http.StatusOK, "-Use this link", "-tulips")
		e.cookies = map[string]string{}
		if to := e.ask("GET", address, nil).Header.Get("Location"); !strings.Contains(to, "/login?") ||
			!strings.Contains(to, "mend%3D1") {
			t.Errorf("signed out the mail leads to %s", to)
		}
	})
}

// The page of a person shows the current target of a link that they clicked, as the report does.
func TestConsolePersonsMendedLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		bob := e.seed.NewUser("bob@user.example", "")
		e.linked(core.UserActor(bob.ID))
		j, err := e.store.SendJob(t.Context(), e.jobs()[0].ID)
		e.must(err)
		_, err = e.store.AddEngagements(t.Context(), []core.Engagement{
			{JobNo: j.No, Seq: 1, LinkNo: 1, At: e.seed.Time(), Last: e.seed.Time(), Times: 1},
		})
		e.must(err)
		readers, err := e.store.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 1})
		e.must(err)
		at := "/people/" + e.found(core.Email(readers[0].Email)).ID
		e.shows(at, http.StatusOK, "</svg> https://acme.example/roses", "-Originally")
		e.sends(e.path("/links"), http.StatusSeeOther, url.Values{"link": {"1"}, "target": {"https://acme.example/tulips"}})
		e.shows(at, http.StatusOK, "</svg> https://acme.example/tulips",
			"Originally https://acme.example/roses · changed today")
	})
}
