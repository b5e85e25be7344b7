package handlers

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// campaignEnv is a peopleEnv with a campaign, viewed by a browser in Berlin.
type campaignEnv struct {
	*peopleEnv
	campaign core.Campaign
}

func newCampaignEnv(t *testing.T, role string) *campaignEnv {
	t.Helper()
	e := &campaignEnv{peopleEnv: newPeopleEnv(t, role)}
	e.campaign = e.seed.NewCampaign(e.list)
	e.cookies["newsletterd-zone"] = "Europe%2FBerlin"
	return e
}

// path returns the path of the campaign, or a path below it.
func (e *campaignEnv) path(below string) string { return "/campaigns/" + e.campaign.ID + below }

var hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// form returns the hidden fields of the form on a page that posts to a path, with additional values.
func (e *campaignEnv) form(page, to string, more ...string) url.Values {
	e.Helper()
	_, rest, found := strings.Cut(page, `action="`+e.at(to)+`"`)
	if !found {
		e.Fatalf("no form leads to %s: %s", to, textOf(page))
	}
	form := url.Values{}
	for _, f := range hiddenInput.FindAllStringSubmatch(rest[:strings.Index(rest, "</form>")], -1) {
		form.Set(f[1], html.UnescapeString(f[2]))
	}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return form
}

// sendForm returns the form that sends the campaign, from the page for a query.
func (e *campaignEnv) sendForm(query string, texts ...string) url.Values {
	e.Helper()
	page := e.shows(e.path("/send"+query), http.StatusOK, texts...)
	if i := strings.Index(page, `method="post"`); i > 0 {
		page = page[i:]
	}
	return e.form(page, e.path("/send"), "sure", "1")
}

func (e *campaignEnv) state() core.CampaignState {
	e.Helper()
	c, err := e.store.Campaign(e.Context(), e.campaign.ID)
	e.must(err)
	return c.State
}

func (e *campaignEnv) jobs() []core.JobView {
	e.Helper()
	jobs, err := e.store.JobViews(e.Context(), campaigns.JobFilter{All: true}, core.Page{Limit: 10})
	e.must(err)
	return jobs
}

// A campaign is reviewed and sent, only once even if the form is submitted several times. All pages show that the send
// can be undone, and it is undone.
func TestConsoleSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		other := e.seed.NewList(func(in *core.ListInput) { in.TenantID = new(e.tenant.ID) })
		e.seed.Active(other.ID, "joan@reader.example")
		e.seed.Deliver()
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) { f.ListIDs = append(f.ListIDs, other.ID) })
		form := e.sendForm("", "News of May", "Weekly, ", "= 2", "Send now to 2 recipients", "Berlin",
			`src="`+e.at(e.path("/preview"))+`"`)
		unseen := url.Values{}
		for name, values := range form {
			unseen[name] = values
		}
		unseen.Del("sure")
		unseen.Set("warned", "1")
		e.sends(e.path("/send"), http.StatusBadRequest, unseen,
			"Check the box to send anyway, or fix the problems first",
			`name="sure" value="1" aria-required="true" aria-invalid="true" aria-describedby="sure-wrong" autofocus`)
		for range 2 {
			if to := e.sends(e.path("/send"), http.StatusSeeOther, form); to != e.path("") {
				t.Errorf("leads to %s", to)
			}
		}
		jobs := e.jobs()
		if len(jobs) != 1 || jobs[0].StartsAt != e.seed.Time().Add(time.Minute) || e.state() != core.CampaignScheduled {
			t.Fatalf("%+v", jobs)
		}
		time.Sleep(19 * time.Second)
		e.shows("/people", http.StatusOK, "starts in 41 seconds.", "Undo send")
		e.shows(e.path(""), http.StatusOK, "Starts in 41 seconds", "Undo send", `data-poll="2"`, "-starts in")
		if to := e.sends(e.path("/undo"), http.StatusSeeOther, url.Values{}); to != e.path("?done=undone") {
			t.Errorf("the undo leads to %s", to)
		}
		if state := e.state(); state != core.CampaignDraft {
			t.Errorf("after the undo: %s", state)
		}
		e.shows("/people", http.StatusOK, "-starts in")
		if to := e.sends(e.path("/send"), http.StatusSeeOther, form); to != e.path("/send?done=undone") ||
			len(e.jobs()) != 1 {
			t.Errorf("the form of what was taken back leads to %s", to)
		}
		e.sends(e.path("/undo"), http.StatusSeeOther, url.Values{})
	})
}

// The page of a scheduled campaign changes its time, and the campaign stays scheduled.
func TestConsoleMovesAMailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		now := e.seed.Time()
		draft, _, err := (drafts.Drafts{
			Store: e.store, Sealer: e.handler.sealer,
			Origin: "https://news.example.org",
		}).Ready(e.Context(),
			&e.campaign, e.campaign.Version, now)
		e.must(err)
		sent, later := e.seed.SendDraft(&draft), now.Add(48*time.Hour)
		_, err = e.store.MoveSendJob(e.Context(), sent.ID, "test", core.JobTimes{ScheduledAt: &later}, now)
		e.must(err)
		zone, err := time.LoadLocation("Europe/Berlin")
		e.must(err)
		at := func(d time.Duration) string { return now.Add(d).Time().In(zone).Format("2006-01-02T15:04") }
		e.shows(e.path(""), http.StatusOK, "Change time", `value="`+at(48*time.Hour)+`"`)
		e.shows("/campaigns", http.StatusOK, "Starts ", "-Edited")
		move := url.Values{"do": {"move"}, "at": {at(72 * time.Hour)}}
		if to := e.sends(e.path("/mailing"), http.StatusSeeOther, move); to != e.path("?done=moved") {
			t.Errorf("leads to %s", to)
		}
		if jobs := e.jobs(); jobs[0].ScheduledAt.Time().In(zone).Format("2006-01-02T15:04") != at(72*time.Hour) ||
			jobs[0].StartsAt != jobs[0].ScheduledAt || e.state() != core.CampaignScheduled {
			t.Errorf("%+v", jobs[0])
		}
		move.Set("at", at(-time.Hour))
		e.sends(e.path("/mailing"), http.StatusBadRequest, move)
	})
}

// A scheduled campaign can be sent now. Like any campaign that is sent now, it starts in 60 seconds and can be undone
// until then, also if someone enters the current time.
func TestConsoleSendsAScheduledCampaignNow(t *testing.T) {
	for _, form := range []url.Values{{"do": {"now"}, "at": {"2100-01-08T08:00"}}, {"do": {"move"}}} {
		synctest.Test(t, func(t *testing.T) {
			e := newCampaignEnv(t, core.RolePublisher)
			draft, _, err := (drafts.Drafts{
				Store: e.store, Sealer: e.handler.sealer, Origin: "https://news.example.org",
			}).Ready(e.Context(), &e.campaign, e.campaign.Version, e.seed.Time())
			e.must(err)
			sent, later := e.seed.SendDraft(&draft), e.seed.Time().Add(48*time.Hour)
			_, err = e.store.MoveSendJob(e.Context(), sent.ID, "test", core.JobTimes{ScheduledAt: &later},
				e.seed.Time())
			e.must(err)
			e.shows(e.path(""), http.StatusOK, "Send now", "You can undo this for 60 seconds")
			if form.Get("at") == "" {
				zone, err := time.LoadLocation("Europe/Berlin")
				e.must(err)
				form.Set("at", e.seed.Time().Time().In(zone).Format("2006-01-02T15:04"))
			}
			e.sends(e.path("/mailing"), http.StatusSeeOther, form)
			if in := e.jobs()[0].StartsAt.Sub(e.seed.Time()); in < 59*time.Second || in > time.Minute {
				t.Errorf("%v: it starts in %s", form, in)
			}
			e.shows(e.path(""), http.StatusOK, "Undo send", "-Send now")
			e.sends(e.path("/undo"), http.StatusSeeOther, url.Values{})
			if s := e.state(); s != core.CampaignDraft {
				t.Errorf("undone: %s", s)
			}
		})
	}
}

// If the author has already handled a warning, the page shows it before sending, but doesn't ask about it.
func TestConsoleSendingAsksForWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		shows := func(source string, texts ...string) {
			t.Helper()
			e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
				f.Content.Kind, f.Content.Source = core.ContentMarkdown, source
			})
			e.shows(e.path("/send"), http.StatusOK, texts...)
		}
		shows(`Of {{ preferences.city | default: "home" }}`, "1 warning. The campaign can still be sent",
			"They see “home” instead (fallback)",
			"Send anyway. I've read the warning.")
		shows(`Of {{ preferences.city }}`, "2 warnings. The campaign can still be sent", "has no fallback",
			"I've read the 2 warnings")
	})
}

// If there are only a few recipients, sending to the first recipients first is not offered, and the default from the
// settings stays.
func TestConsoleOffersAFewReadersFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleTenantAdmin)
		const offer, kept = "Send to 500 recipients first", `<input type="hidden" name="first_few" value="1">`
		e.shows(e.path("/send"), http.StatusOK, "-"+offer, "-"+kept)
		_, err := e.store.UpdateTenant(t.Context(), e.tenant.ID, "", func(t *core.Tenant) error {
			t.FirstFew = true
			return nil
		})
		e.must(err)
		e.shows(e.path("/send"), http.StatusOK, "-"+offer, kept)
	})
}

// The page offers times, and the button says what happens at the chosen time. The page doesn't ask about the choice
// again.
func TestConsoleOffersTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleTenantAdmin)
		const best = "when your subscribers open the most emails"
		form := e.sendForm("", "Send now to 2 recipients", `value="now" id="when-0" checked`,
			">Tomorrow, 08:00<", `value="2100-01-02T07:00:00Z"`, "Schedule for Sat 2 Jan, 08:00",
			">Tue 5 Jan, 10:00<", `value="2100-01-05T09:00:00Z"`, "Schedule for Tue 5 Jan, 10:00", "Another time",
			"-"+best, "-Use this time")
		tuesday := core.At(time.Date(2100, 1, 5, 9, 0, 0, 0, time.UTC))
		e.sends(e.path("/send"), http.StatusSeeOther, e.with(form, "when", "2100-01-05T09:00:00Z"))
		if jobs := e.jobs(); len(jobs) != 1 || jobs[0].ScheduledAt != tuesday {
			t.Fatalf("%+v", jobs)
		}
		e.shows(e.path(""), http.StatusOK, "Scheduled for Tue 5 Jan 2100, 10:00", "Change time",
			`src="`+e.at(e.path("/preview"))+`?job=`+e.jobs()[0].ID+`"`)
		e.campaign = e.seed.NewCampaign(e.list)
		e.sends(e.path("/send"), http.StatusSeeOther, e.with(e.sendForm(""), "when", "now"))
		e.shows("/settings/audit", http.StatusOK, "</a> scheduled <a", "</a> sent <a")
		e.campaign = e.seed.NewCampaign(e.list)
		form = e.sendForm("")
		time.Sleep(5 * 24 * time.Hour)
		e.login()
		e.sends(e.path("/send"), http.StatusBadRequest, e.with(form, "when", "2100-01-05T09:00:00Z"),
			"Choose a time in the future", `id="when-other" checked`, `value="2100-01-05"`)
		e.sends(e.path("/send"), http.StatusBadRequest, e.with(form, "when", "soon"), "Choose a time in the future")
	})
}

// After enough campaigns, the page offers the hour in which subscribers open most, at its next occurrence.
func TestConsoleOffersTheBestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		for k := range 40 {
			e.seed.Active(e.list.ID, storetest.Reader(k))
		}
		e.seed.Deliver()
		const why = "when your subscribers open the most emails"
		for n := range 5 {
			e.shows(e.path("/send"), http.StatusOK, "-"+why)
			e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) { f.Tracking = core.TrackingPersons })
			outcomes := make([]core.Outcome, 42)
			for i := range outcomes {
				outcomes[i].State = core.RecipientSent
			}
			j := e.mailing(outcomes...)
			opened := make([]core.Engagement, 0, 42)
			for i := range 42 {
				at := j.StartedAt.Add(26 * time.Hour) // Saturday, 02:00 UTC
				if i < 10 || n == 1 {
					at = at.Add(3 * time.Hour)
				}
				opened = append(opened, core.Engagement{JobNo: j.No, Seq: int64(i + 1), At: at, Last: at, Times: 1})
			}
			_, err := e.store.AddEngagements(t.Context(), opened)
			e.must(err)
			e.campaign = e.seed.NewCampaign(e.list)
		}
		page := e.shows(e.path("/send"), http.StatusOK, "Tomorrow, 03:00", "Sat 2 Jan · "+why,
			`value="2100-01-02T02:00:00Z"`, "Schedule for Sat 2 Jan, 03:00")
		if n := strings.Count(page, `name="when"`); n != 5 {
			t.Errorf("%d times", n)
		}
	})
}

// A time that never occurs is refused. If a time occurs twice, the page asks which one is meant.
func TestConsoleSendsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		form := e.with(e.sendForm(""), "when", "other")
		at := func(date, clock string) url.Values { return e.with(e.with(form, "date", date), "time", clock) }
		const other, asks = `id="when-other" checked`, `name="offset"`
		refused := func(in url.Values, texts ...string) {
			t.Helper()
			e.sends(e.path("/send"), http.StatusBadRequest, in, append(texts, other)...)
		}
		refused(at("2100-03-28", "02:30"), "02:30 doesn't exist that day in Berlin", "-"+asks)
		refused(at("2099-12-31", "23:30"), "Choose a time in the future", "-"+asks)
		few := e.with(e.with(at("x", "23:30"), "until", "2100-02-01T08:00"), "first_few", "1")
		refused(few, "Enter a date and time", `name="until" type="datetime-local" value="2100-02-01T08:00"`,
			`name="first_few" value="1"`)
		refused(at("", "02:30"), "Enter a date and time")
		refused(at("2100-10-31", "02:30"), "02:30 happens twice in Berlin", "&#43;02:00", "&#43;01:00", asks)
		twice := e.with(e.with(at("2100-10-31", "02:30"), "offset", "+01:00"), "when", "now") // the offset decides
		refused(e.with(twice, "until", "2100-01-01T00:30"), "Choose a time in the future.")
		e.sends(e.path("/send"), http.StatusSeeOther, e.with(twice, "until", "2100-10-31T12:00"))
		then := core.At(time.Date(2100, 10, 31, 1, 30, 0, 0, time.UTC))
		if jobs := e.jobs(); len(jobs) != 1 || jobs[0].ScheduledAt != then ||
			jobs[0].WindowEnd != then.Add(9*time.Hour+30*time.Minute) {
			t.Errorf("%+v", jobs)
		}
		e.shows("/people", http.StatusOK, "-Undo send")
		e.shows(e.path(""), http.StatusOK, "Scheduled for Sun 31 Oct 2100, 02:30 Berlin.", "Cancel schedule",
			"-Undo send", "-new approval")
		if to := e.redirected(e.path("/send")); to != e.path("") {
			t.Errorf("the last page leads to %s", to)
		}
		e.shows(e.sends(e.path("/undo"), http.StatusSeeOther, nil), http.StatusOK,
			"Schedule canceled. The campaign is a draft again.")
	})
}

// with returns a form with one value changed.
func (e *campaignEnv) with(form url.Values, name, value string) url.Values {
	out := url.Values{}
	for k, v := range form {
		out[k] = v
	}
	out.Set(name, value)
	return out
}

func (e *campaignEnv) redirected(path string) string {
	e.Helper()
	return strings.TrimPrefix(e.ask("GET", e.at(path), nil).Header.Get("Location"), "https://news.example.org"+e.at(""))
}

// If the content has changed since it was reviewed, or has an error, it is not sent.
func TestConsoleSendsWhatWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		form := e.sendForm("")
		edit := func(change func(f *core.CampaignFields) error) {
			_, err := e.store.EditCampaign(t.Context(), campaigns.CampaignEdit{
				ID: e.campaign.ID, Actor: core.UserActor(core.NewID()), Now: e.seed.Time(),
			}, change)
			e.must(err)
		}
		edit(func(f *core.CampaignFields) error { f.Content.Source += "more\n"; return nil })
		res := e.ask("POST", e.at(e.path("/send")), form)
		if res.StatusCode < 400 || len(e.jobs()) != 0 {
			t.Errorf("what was changed meanwhile: %d", res.StatusCode)
		}
		edit(func(f *core.CampaignFields) error { f.Subject = ""; return nil })
		e.shows(e.path("/send"), http.StatusOK, "Fix 1 error before you send", "-undo this for 60 seconds")
	})
}

// Editors request approval. If a second person must approve, publishers do, too.
func TestConsoleAsksForApproval(t *testing.T) {
	for _, role := range []string{core.RoleEditor, core.RolePublisher} {
		synctest.Test(t, func(t *testing.T) {
			e := newCampaignEnv(t, role)
			if role == core.RolePublisher {
				e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{Approval: new(core.ApprovalSecondPerson)})
			}
			page := e.shows(e.path("/send"), http.StatusOK, "Request approval", "-undo this for 60 seconds",
				`src="`+e.at(e.path("/preview"))+`"`)
			form := e.form(page, e.path("/ask"), "note", "The second picture.", "wanted", "2100-01-08T08:00")
			e.sends(e.path("/ask"), http.StatusBadRequest, e.with(form, "wanted", "soon"), "The second picture.")
			e.sends(e.path("/ask"), http.StatusSeeOther, form)
			c, err := e.store.Campaign(t.Context(), e.campaign.ID)
			e.must(err)
			want := core.At(time.Date(2100, 1, 8, 7, 0, 0, 0, time.UTC))
			if c.State != core.CampaignInReview || c.ReviewNote != "The second picture." || c.ReviewWantedAt != want {
				t.Errorf("%s: %+v", role, c)
			}
			again := e.form(e.shows(e.path("/send"), http.StatusOK, `value="2100-01-08T08:00"`,
				"The second picture.</textarea>"),
				e.path("/ask"), "note", "")
			if to := e.sends(e.path("/ask"), http.StatusSeeOther, again); strings.Contains(to, "done=") {
				t.Errorf("%s: with no one to ask it leads to %s", role, to)
			}
			texts := []string{
				"No one was notified.", "Waiting for approval.", "Fri 8 Jan 2100, 08:00 Berlin, in 7 days",
				"The second picture.", "Request again",
			}
			if role == core.RoleEditor {
				texts = append(texts, "-Approve or request changes",
					"No one else on your team can do this yet. Ask an administrator to invite a Publisher")
				e.sends(e.path("/send"), http.StatusForbidden, url.Values{"version": {"1"}, "key": {"k"}})
			} else {
				texts = append(texts, "Approve or request changes") // someone else wrote it
			}
			e.sends(e.path("/ask"), http.StatusSeeOther, e.with(e.form(e.shows(e.path("/send"), http.StatusOK),
				e.path("/ask")),
				"wanted", "2100-01-08T08:00"))
			e.shows(e.path("/send"), http.StatusOK, texts...)
			ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
			e.must(err)
			edit := campaigns.CampaignEdit{ID: e.campaign.ID, Actor: core.UserActor(ann.ID), Now: e.seed.Time()}
			_, err = e.store.EditCampaign(t.Context(), edit,
				func(f *core.CampaignFields) error { f.Preheader = "Roses"; return nil })
			e.must(err)
			_, err = e.store.AskReview(t.Context(), edit, 0, "The second picture.")
			e.must(err)
			_, err = e.handler.options.Auth.Invite(t.Context(), core.InvitationInput{
				Email: "chef@user.example", Role: core.RolePublisher, TenantID: e.tenant.ID,
			}, "en", "test", e.seed.Time())
			e.must(err)
			e.shows(e.path("/send"), http.StatusOK, "-chef@", "@user.example hasn't accepted the invitation",
				"-Ask an administrator to invite", "-Approve or request changes")
			boss := core.Role{Role: core.RolePublisher, TenantID: e.tenant.ID}
			e.seed.NewUser("boss@user.example", "", func(u *core.User) { u.Roles = []core.Role{boss} })
			if to := e.sends(e.path("/ask"), http.StatusSeeOther,
				e.form(e.shows(e.path("/send"), http.StatusOK, "-No one else on your team can do this"),
					e.path("/ask"))); !strings.HasSuffix(to, "?done=to-approve") {
				t.Errorf("%s: with one to ask it leads to %s", role, to)
			}
			e.shows(e.path("/send?done=to-approve"), http.StatusOK,
				"Approval requested. Everyone who can approve gets "+
					"an email.",
				"1 person was notified.", "The second picture.")
		})
	}
}

// Campaigns of other tenants, and campaigns that don't exist, have no such pages.
func TestConsoleSendsNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		other := e.seed.NewCampaign(e.seed.NewList(func(in *core.ListInput) {
			in.TenantID = new(e.seed.NewTenant().ID)
		}))
		for _, below := range []string{"", "/send", "/people", "/correction"} {
			for _, id := range []string{other.ID, core.NewID(), "x"} {
				e.shows(fmt.Sprint("/campaigns/", id, below), http.StatusNotFound)
			}
		}
		e.sends("/campaigns/"+other.ID+"/mailing", http.StatusNotFound, url.Values{"do": {"stop"}})
		e.sends("/campaigns/"+other.ID+"/undo", http.StatusNotFound, url.Values{})
	})
}
