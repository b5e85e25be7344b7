package handlers

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store/campaigns"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
)

// mailing sends the campaign to subscribers with the given outcomes. It returns the job.
func (e *campaignEnv) mailing(outcomes ...core.Outcome) core.SendJob {
	e.Helper()
	draft, _, err := (drafts.Drafts{
		Store: e.store, Sealer: e.handler.sealer,
		Origin: "https://news.example.org",
	}).Ready(e.Context(),
		&e.campaign, e.campaign.Version, e.seed.Time())
	e.must(err)
	j := e.seed.Start(e.seed.SendDraft(&draft))
	e.outcomes(j, outcomes...)
	return j
}

func (e *campaignEnv) outcomes(j core.SendJob, outcomes ...core.Outcome) {
	e.Helper()
	for i := range outcomes {
		o := &outcomes[i]
		o.JobNo, o.TenantID, o.Seq, o.Tried = j.No, j.TenantID, int64(i+1), o.State != core.RecipientSkipped
	}
	e.must(e.store.FinishRecipients(e.Context(), outcomes, e.seed.Time()))
}

// part requests a part of a page, as the script does.
func (e *campaignEnv) part(path, target string) string {
	e.Helper()
	body, err := io.ReadAll(e.partOf(path, target).Body)
	e.must(err)
	return string(body)
}

// partOf returns the response with a part of a page.
func (e *campaignEnv) partOf(path, target string) *http.Response {
	e.Helper()
	return e.ask("GET", e.at(path), nil, "Hx-Request", "true", "Hx-Target", target)
}

// While a send is running, its report shows the progress, the reasons for failures, and why it waits. Users who may
// send can pause, resume, cancel and retry it.
func TestConsoleReportRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		for k := range 6 {
			e.seed.Active(e.list.ID, storetest.Reader(k))
		}
		_, err := e.store.SetFields(t.Context(), e.list.ID, "grace@reader.example",
			map[string]any{"last_name": "Hopper"},
			e.seed.Time())
		e.must(err)
		e.seed.Deliver()
		due := e.seed.Time().Add(5 * time.Minute)
		j := e.mailing(core.Outcome{State: core.RecipientSent}, core.Outcome{State: core.RecipientSent},
			core.Outcome{State: core.RecipientFailed, Reason: "550 5.1.1 no such user"},
			core.Outcome{
				State: core.RecipientDeferred, Reason: "452 4.2.2 full", DueAt: due,
				GivesUpAt: due.Add(time.Hour),
			})
		time.Sleep(time.Minute)
		e.shows(e.path(""), http.StatusOK, "Sending now", "3 of 8", "The mailbox doesn't exist.",
			"ask for their new address",
			"The mailbox is full.", ">Delivered</dt>", "next attempt today, 01:05", "done around 01:02",
			"Pause", "Cancel sending", `data-poll="2"`,
			"-Cancel sending?", "Opens and clicks weren't tracked.", "-Clicks</dt>",
			e.at(e.path("/people?status=deferred"))+`">1 retrying`,
			e.at(e.path("/people?status=failed"))+`">1 not delivered`,
			e.at(e.path("/people?status=deferred"))+`">1 email being retried`,
			e.at(e.path("/people?status=deferred&amp;code=4.2.2"))+`"`)
		e.shows(e.path("/people?status=deferred"), http.StatusOK,
			`<p class="small">The mailbox is full. newsletterd retries automatically.</p>`,
			`<span class="sub">The mailbox is full. ·`, "-automatically. ·",
			"next attempt today, 01:05 · 1 attempt so far", "Server response:", "<code>452 4.2.2 full</code>", "-5.1.1")
		part := e.part(e.path(""), "report")
		if !strings.Contains(part, `<div id="report"`) || strings.Contains(part, "<html") ||
			strings.Contains(part, `id="later"`) ||
			!strings.Contains(part, "3 of 8") || !strings.Contains(part, `id="head" hx-swap-oob="outerMorph"`) {
			t.Errorf("the part: %s", part)
		}
		for was, want := range map[string]string{"running": "", "pending": "true"} {
			if got := e.partOf(e.path("?was="+was), "report").Header.Get("Hx-Refresh"); got != want {
				t.Errorf("from %s: %q", was, got)
			}
		}
		do := func(what string, status int) string {
			return e.sends(e.path("/mailing"), status, url.Values{"do": {what}})
		}
		if to := do("pause", http.StatusSeeOther); to != e.path("?done=paused") {
			t.Errorf("leads to %s", to)
		}
		e.shows(e.path(""), http.StatusOK, "Paused by a team member.", "Resume", "-done around", "Paused")
		do("pause", http.StatusConflict)
		do("burn", http.StatusBadRequest)
		do("resume", http.StatusSeeOther)
		e.shows(e.path(""), http.StatusOK, "-Paused by a team member.")
		e.shows(e.path("?sure=stop"), http.StatusOK, "Cancel sending?", "2 people already have this email")
		do("stop", http.StatusSeeOther)
		_, _, err = e.store.SettleJob(t.Context(), j.No, 0, e.seed.Time())
		e.must(err)
		e.shows(e.path(""), http.StatusOK, "Canceled today", "Already sent to: 2.",
			"Sending was canceled before this email was sent", `data-poll="30"`,
			"550 5.1.1 no such user", "Resend to addresses not reached", "-bounced later",
			"-Bounces by domain")
		if part := e.part(e.path("?was=cancelled"), "report"); !strings.Contains(part,
			`<div id="later" hx-swap-oob="outerMorph">`) {
			t.Errorf("what has changed since: %s", part)
		}
		do("retry", http.StatusSeeOther)
		if jobs := e.jobs(); len(jobs) != 2 || jobs[0].RetryOf != j.ID {
			t.Errorf("%+v", jobs)
		}
		e.shows(e.path("/people?job="+j.ID), http.StatusOK, "grace@reader.example", "Not delivered",
			"The mailbox doesn't exist.")
		e.shows(e.path("/people?status=failed&job="+j.ID), http.StatusOK, "Not delivered", "5.1.1")
		e.shows(e.path("/people?status=failed&code=5.1.1&job="+j.ID), http.StatusOK,
			`<span class="badge">The mailbox doesn't exist</span>`, "Bounced after sending")
		for _, text := range []string{"grace@reader.example", "GRACE", "grace@reader.ex", "hopp"} {
			e.shows(e.path("/people?q="+text+"&job="+j.ID), http.StatusOK, "grace@reader.example", "-joan@",
				"-No recipients match",
				`</a><span class="sub">Hopper</span>`, "in sending order")
		}
		e.shows(e.path("/people?q=race&job="+j.ID), http.StatusOK, "No recipients match your search.", "-not a valid")
		e.shows(e.path("/people?code=x&job="+j.ID), http.StatusBadRequest, "Enter an SMTP error code")
	})
}

// If only one recipient is left, whose mail server is tried again, perhaps for two days, every page shows the send as
// good as sent.
func TestConsoleReportOfAFullMailbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.seed.Deliver()
		due := e.seed.Time().Add(5 * time.Minute)
		full := core.Outcome{State: core.RecipientDeferred, Reason: "452 4.2.2 full", DueAt: due}
		full.GivesUpAt = due.Add(time.Hour)
		e.mailing(core.Outcome{State: core.RecipientSent}, full)
		e.shows(e.path(""), http.StatusOK, `<span class="badge good">Sent, 1 retrying</span>`,
			"Sent to 1 of 2 recipients, today", "Retrying some deliveries",
			">1 email being retried</a> · next attempt today, 01:05 · retries until today, 02:05",
			"automatically. Next attempt: today, 01:05",
			"The mailbox is full.",
			"Stop retrying…", `data-poll="30"`, "-Cancel sending", "->Pause", "-Sending now", "-done around")
		e.shows(e.path("?sure=stop"), http.StatusOK, "1 recipient doesn't have this email", "Keep retrying")
		e.shows("/campaigns", http.StatusOK, `<span class="badge good">Sent, 1 retrying</span>`, "->Sending</span>")
		e.shows("", http.StatusOK, "-Results of your campaigns appear here.", "1 email being retried", "-<progress")
		e.sends(e.path("/mailing"), http.StatusSeeOther, url.Values{"do": {"pause"}})
		e.shows(e.path(""), http.StatusOK, "Paused", "-Retrying some deliveries")
		e.shows("", http.StatusOK, "Results of your campaigns appear here.")
	})
}

// A send that was undone has reached no one, so only the other send's recipients count. Bounces are counted separately
// from emails that were not delivered.
func TestConsoleReportOfWhatWasTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		draft, _, err := (drafts.Drafts{
			Store: e.store, Sealer: e.handler.sealer,
			Origin: "https://news.example.org",
		}).Ready(t.Context(),
			&e.campaign, e.campaign.Version, e.seed.Time())
		e.must(err)
		e.seed.SendDraft(&draft)
		e.sends(e.path("/undo"), http.StatusSeeOther, url.Values{})
		e.campaign, err = e.store.Campaign(t.Context(), e.campaign.ID)
		e.must(err)
		j := e.mailing(core.Outcome{State: core.RecipientSent}, core.Outcome{
			State:  core.RecipientFailed,
			Reason: core.ReasonRender,
		})
		e.must(e.store.ApplyReports(t.Context(), []core.ProviderReport{{
			Provider: "pm", Key: core.ProviderKey("1"), JobNo: j.No, Seq: 1, Event: core.ProviderEvent{
				Type: core.ProviderHardBounced, MessageID: "m", TenantID: e.tenant.ID, OccurredAt: e.seed.Time(),
			},
		}}, e.seed.Time()))
		e.shows(e.path(""), http.StatusOK,
			e.at(e.path("/people?status=bounced"))+`">1 bounced later<`,
			`Delivered</dt><dd class="figure"><a href="`+e.at(e.path("/people?status=sent"))+`">0<`)
		e.shows(e.path("/people"), http.StatusOK, "grace@reader.example", `-id="job"`)
		e.shows(e.path("/people?status=bounced"), http.StatusOK, "Bounced</span>")
	})
}

// Users who may export people can download the outcome of each email as a file.
func TestConsoleReportAsAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleTenantAdmin)
		j := e.mailing(core.Outcome{State: core.RecipientSent},
			core.Outcome{State: core.RecipientFailed, Reason: "550 5.1.1 no"})
		e.shows(e.path("/people"), http.StatusOK, "/people-export?job="+j.ID)
		e.shows(e.path(""), http.StatusOK, `href="`+e.at(e.path("/people-export"))+`"`, "Export recipients")
		e.shows(e.path("/people-export?file=1&status=failed&job="+j.ID), http.StatusOK, "\ufeffemail,list_id,status",
			",failed,550 5.1.1 no", ",Weekly", "-<html", "-,sent,")
		part := e.ask("GET", e.at(e.path("/people-export?file=1&status=failed&job="+j.ID)), nil)
		if name := part.Header.Get("Content-Disposition"); !strings.Contains(name, `"May - not delivered.csv"`) {
			t.Errorf("the file with a part is called %s", name)
		}
		e.shows(e.path("/people-export?file=1"), http.StatusOK, ",sent,", ",failed,")
		res := e.ask("GET", e.at(e.path("/people-export?file=1")), nil)
		if name := res.Header.Get("Content-Disposition"); name != `attachment; filename="May.csv"` {
			t.Errorf("the file is called %s", name)
		}
		e.shows(e.path("/people-export"), http.StatusOK, "Your file is ready",
			`href="`+e.at(e.path("/people"))+`">Back<`,
			`people-export?file=1">`, "-,sent,")
		time.Sleep(core.ProofAge + time.Minute)
		e.shows(e.path("/people-export"), http.StatusOK, "password", `href="`+e.at(e.path(""))+`">Cancel<`, "-,sent,")
	})
}

// Nothing is resent to removed addresses, and the page says who has to act.
func TestConsoleReportOfLostAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.mailing(core.Outcome{State: core.RecipientSent},
			core.Outcome{State: core.RecipientFailed, Reason: "550 5.1.1 no"})
		e.shows(e.path(""), http.StatusOK, "Sent to 1 of 2 recipients", "-1 not delivered</a></span></div>",
			"The mailbox doesn't exist.",
			"No more emails are sent to this address. If you know the person, ask for their new address",
			"-Resend to addresses not reached")
		e.campaign = e.seed.NewCampaign(e.list)
		e.mailing(core.Outcome{State: core.RecipientFailed, Reason: "550 5.7.1 no"},
			core.Outcome{State: core.RecipientFailed, Reason: "550 5.1.1 no"})
		e.shows(e.path(""), http.StatusOK,
			"Ask the recipient to contact their email provider and have your emails allowed",
			"Resend to addresses not reached")
	})
}

// A reason that several recipients share speaks of their addresses.
func TestConsoleReportOfSeveralLostAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		gone := core.Outcome{State: core.RecipientFailed, Reason: "550 5.1.1 no"}
		e.seed.Active(e.list.ID, "x@other.example")
		e.seed.Deliver()
		e.mailing(gone, gone, gone)
		e.shows(e.path(""), http.StatusOK, "No more emails are sent to these addresses.",
			"-No more emails are sent to this address.", "-Resend to addresses not reached",
			"Bounces by domain", "3 bounces", "other.example", `data-label="Mailbox doesn't exist">1<`, "-Mailbox full")
	})
}

// The page of a person says in plain words why an email was not delivered. The reply of the mail server is under
// Details.
func TestConsolePersonsRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		j := e.mailing(core.Outcome{State: core.RecipientFailed, Reason: "550 5.1.1 User unknown"},
			core.Outcome{State: core.RecipientSkipped, Reason: core.ReasonNoProof})
		readers, err := e.store.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 2})
		e.must(err)
		at := func(i int) string { return "/people/" + e.found(core.Email(readers[i].Email)).ID }
		e.shows(at(0), http.StatusOK, "Not delivered</span>",
			">The mailbox doesn't exist. No more emails are sent to this address.",
			"Details</summary><code>550 5.1.1 User unknown</code></details>", `-class="sub">550`)
		e.shows(at(1), http.StatusOK, "Skipped</span>", ">Never confirmed the subscription.", "-<code>",
			"-"+core.ReasonNoProof)
	})
}

// If the server has paused a send to prevent harm, only an operator can resume it, and the page says so.
func TestConsoleReportHarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		j := e.mailing(core.Outcome{State: core.RecipientSent})
		e.must(e.store.PauseSendJob(t.Context(), j.No, "too many complaints: 3 of 100", e.seed.Time()))
		e.shows(e.path(""), http.StatusOK, "Too many spam complaints (3 of 100)",
			"Only the server administrator can resume sending",
			"-Resume<")
	})
}

// A report shows clicks first, compares with the usual rates, and shows the targets of links, which can be fixed.
func TestConsoleReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		for range 3 {
			e.mailing(core.Outcome{State: core.RecipientSent}, core.Outcome{State: core.RecipientSent})
			e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
				f.Tracking, f.Content.Source = core.TrackingPersons, "[Roses](https://acme.example/roses)\n"
			})
		}
		j := e.mailing(core.Outcome{State: core.RecipientSent}, core.Outcome{State: core.RecipientSent})
		time.Sleep(time.Hour)
		e.login()
		_, err := e.store.KeepLinks(t.Context(), j.No, []string{"https://acme.example/roses"})
		e.must(err)
		_, err = e.store.AddEngagements(t.Context(), []core.Engagement{
			{JobNo: j.No, Seq: 1, LinkNo: 0, At: e.seed.Time(), Last: e.seed.Time(), Times: 1},
			{JobNo: j.No, Seq: 1, LinkNo: 1, At: e.seed.Time(), Last: e.seed.Time(), Times: 1},
		})
		e.must(err)
		e.shows(e.path(""), http.StatusOK, "Sent to 2 recipients, today", "50.0%", "1 person",
			"Median of your last 3: 0.0%", "https://acme.example/roses", "-data-poll",
			"To everyone who didn't open this campaign")
		e.shows(e.path(""), http.StatusOK, "Opens and clicks by hour", `class="bar"`, `class="bar second"`,
			"Click map",
			"-After that, by day")
		readers, err := e.store.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 2})
		e.must(err)
		e.shows(e.path(""), http.StatusOK, `/people?status=clicked">`, `/people?status=opened">`, `-status=complained"`)
		e.shows(e.path("/people?status=clicked"), http.StatusOK, readers[0].Email, "-"+readers[1].Email)
		e.shows(e.path("/people?status=opened"), http.StatusOK, readers[0].Email, "-"+readers[1].Email)
		e.shows(e.path("/people?status=bounced"), http.StatusOK, "No recipients match your search.")
		_, err = e.store.AddEngagements(t.Context(), []core.Engagement{
			{
				JobNo: j.No, Seq: 2, LinkNo: 1, At: e.seed.Time(), Last: e.seed.Time(), Times: 1,
				Program: core.ProgramScanner,
			},
		})
		e.must(err)
		e.shows(e.path(""), http.StatusOK, "1 person</span> · ",
			e.at(e.path("/people?status=machine_clicked"))+`">+1 by a link scanner`,
			"Link scanners are security programs", "Automated clicks come from link scanners",
			">1 automated<", `/people?status=machine_clicked">`)
		e.shows(e.path("/people?status=clicked"), http.StatusOK, readers[0].Email, "-"+readers[1].Email)
		e.shows(e.path("/people?status=machine_clicked"), http.StatusOK, readers[1].Email, "-"+readers[0].Email,
			"Automated click</span>", `href="`+e.at("/people/"+e.found(core.Email(readers[1].Email)).ID)+`"`)
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{PostalAddress: new("Newtown 7")}) // sent emails don't change
		e.shows(e.path(""), http.StatusOK, "/preview?view=clicks&amp;job="+j.ID+`"`)
		e.shows(e.path("/preview?view=clicks&job="+j.ID), http.StatusOK, "Roses</a><span style=", ">1 · 100.0%</span>",
			"-Newtown 7")
		e.shows(e.path("/preview"), http.StatusOK, "Roses</a>", "-100.0%")
		time.Sleep(50 * time.Hour)
		_, err = e.store.AddEngagements(t.Context(), []core.Engagement{
			{JobNo: j.No, Seq: 2, LinkNo: 0, At: e.seed.Time(), Last: e.seed.Time(), Times: 1},
		})
		e.must(err)
		e.login()
		e.shows(e.path(""), http.StatusOK, "After that, by day")
		form := url.Values{"link": {"1"}, "target": {"not an address"}}
		e.sends(e.path("/links"), http.StatusBadRequest, form, "Enter a full URL without placeholders",
			"not an address")
		form.Set("target", "https://acme.example/better")
		e.sends(e.path("/links"), http.StatusSeeOther, form)
		e.shows(e.path(""), http.StatusOK, "https://acme.example/better", "Originally https://acme.example/roses",
			"Plain-text versions keep the original link")
		e.sends(e.path("/correction"), http.StatusBadRequest, url.Values{"subject": {""}, "source": {"Better."}},
			"Better.")
		e.sends(e.path("/correction"), http.StatusSeeOther, url.Values{"subject": {"News"}, "source": {"Better."}})
		e.shows(e.path("/correction"), http.StatusOK, "Better.", "Last edited today", "Restore original")
		e.sends(e.path("/correction"), http.StatusSeeOther, url.Values{"do": {"as-sent"}})
		e.shows(e.path("/correction"), http.StatusOK, "-Better.", "-Last edited today")
		to := e.sends(e.path("/again"), http.StatusSeeOther, url.Values{"who": {core.FollowUnopened}})
		id := strings.TrimSuffix(strings.TrimPrefix(to, "/campaigns/"), "?done=campaign-created")
		c, err := e.store.Campaign(t.Context(), id)
		e.must(err)
		_, f, err := e.store.CampaignVersion(t.Context(), &c, 0)
		if err != nil || f.Audience == nil || f.Audience.Of != e.campaign.ID || f.Audience.Who != core.FollowUnopened {
			t.Errorf("%+v, %v", f, err)
		}
		before := e.count()
		e.sends(e.path("/again"), http.StatusBadRequest, url.Values{"who": {"whoever"}})
		if e.count() != before {
			t.Error("a draft is left of what was refused")
		}
	})
}

func (e *campaignEnv) count() int {
	e.Helper()
	all, err := e.store.Campaigns(e.Context(), campaigns.CampaignFilter{All: true}, core.Page{Limit: 100})
	e.must(err)
	return len(all)
}

// Users who may only see statistics get them without addresses and without buttons.
func TestConsoleReportOfViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleViewer)
		e.shows(e.path(""), http.StatusNotFound)
		e.shows("/campaigns", http.StatusOK, "May", "-"+e.path(""))
		e.mailing(core.Outcome{State: core.RecipientSent},
			core.Outcome{State: core.RecipientFailed, Reason: "550 5.1.1 <joan@reader.example> no such user"})
		e.shows(e.path(""), http.StatusOK, "The mailbox doesn't exist.", "-joan@", "-<button", "-"+e.path("/people"),
			"-Pause")
		for _, below := range []string{"/send", "/people", "/correction"} {
			e.shows(e.path(below), http.StatusForbidden)
		}
		for _, below := range []string{"/send", "/undo", "/mailing", "/links", "/again", "/ask", "/correction"} {
			e.sends(e.path(below), http.StatusForbidden, url.Values{"do": {"stop"}})
		}
	})
}

// A report names the lists and segments that the campaign went to, and the list of campaigns never shows a send in
// progress as sent. Only the whole is 100%.
func TestConsoleReportSaysWhereItWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		g, none := e.add("Readers", `{"domain":["reader.example"]}`), e.add("None", `{"domain":["other.example"]}`)
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.SegmentID, f.ExcludeSegmentIDs = g.ID, []string{none.ID}
		})
		e.mailing(core.Outcome{State: core.RecipientSent})
		e.shows(e.path(""), http.StatusOK, "List: Weekly · Segment: Readers · Excluded segments: None",
			">Sending</span>")
		e.shows("/campaigns", http.StatusOK, ">Sending</span>", "Started today", "-Sent today")
	})
}

// The report leads to the people who unsubscribed from its list, with their names.
func TestConsoleReportNamesWhoUnsubscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		j := e.mailing(core.Outcome{State: core.RecipientSent}, core.Outcome{State: core.RecipientSent})
		to := "/people?list=" + e.list.ID + "&sort=-status_at&status=unsubscribed"
		link := `href="` + html.EscapeString(e.at(to)) + `"`
		e.shows(e.path(""), http.StatusOK, "-"+link)
		_, err := e.store.SetPreferences(t.Context(), e.list.ID, "joan@reader.example", `{"first_name":"Joan"}`,
			e.seed.Time())
		e.must(err)
		_, err = e.store.Unsubscribe(t.Context(), members.UnsubscribeRequest{
			ListID: e.list.ID, SubscriptionID: e.found("joan@reader.example").ID, JobNo: j.No,
		}, e.seed.Time())
		e.must(err)
		e.shows(e.path(""), http.StatusOK, link)
		e.shows(to, http.StatusOK, ">Joan<", "joan@reader.example", "-grace@reader.example")
	})
}
