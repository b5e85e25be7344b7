package handlers

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail/markup"
	"newsletterd/store/campaigns"
)

// edit returns the current form of the editor with other texts.
func (e *campaignEnv) edit(page string, more ...string) url.Values {
	e.Helper()
	form := e.form(page, e.path(""))
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return form
}

// The editor shows what an inbox will show: the preview text or, without one, the first words of the text, and no
// subject if there is none. Its script gets the colors of the email.
func TestConsoleEditorShowsTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Name, f.Subject, f.Content.Kind, f.Content.Source = "Roses", "", core.ContentMarkdown,
				"# Roses & more\n\nHello there.\n"
		})
		page := e.shows(e.path(""), http.StatusOK, "No subject",
			`<p class="inbox-text">Roses &amp; more Hello there.</p>`,
			`data-looks="{&#34;light&#34;:{&#34;page&#34;`, "Recipients and sender", "· ")
		e.sends(e.path(""), http.StatusSeeOther, e.edit(page, "subject", "Red roses", "preheader", "They are red"))
		e.shows(e.path(""), http.StatusOK, `<p class="inbox-subject">Red roses</p>`,
			`<p class="inbox-text">They are red</p>`,
			`-<p class="inbox-subject">No subject`)
		e.shows(e.path("/preview?view=pictures"), http.StatusOK, "Hello there.")
		page = e.shows(e.path(""), http.StatusOK)
		e.sends(e.path(""), http.StatusSeeOther, e.edit(page, "subject", "Hi {{first_name}}"))
		e.shows(e.path(""), http.StatusOK, `<p class="inbox-subject">Hi {{first_name}}</p>`,
			"Unknown field: {{ first_name }}",
			"Write {{ preferences.first_name | default: &#34;…&#34; }}", "-unknown name",
			`data-insert="{{ preferences.first_name | default: &#34;friend&#34; }}"`)
		page = e.shows(e.path(""), http.StatusOK)
		e.sends(e.path(""), http.StatusSeeOther, e.edit(page, "subject", "Hi *|FNAME|*"))
		e.shows(e.path(""), http.StatusOK, "Replace *|FNAME|* with {{ preferences.first_name | default: &#34;…&#34; }}",
			"-is a merge tag")
	})
}

// If another person has saved in the meantime, nothing is overwritten. The page shows both texts, and saves the second
// one only on request.
func TestConsoleEditorConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Content.Kind, f.Content.Source = core.ContentMarkdown, "Roses\n"
		})
		page := e.shows(e.path(""), http.StatusOK)
		mine := e.edit(page, "subject", "News", "source", "Roses\n\nmine\n")
		e.sends(e.path(""), http.StatusSeeOther, e.edit(page, "subject", "News", "source", "Roses\n\ntheirs\n"))
		e.sends(e.path(""), http.StatusPreconditionFailed, mine,
			"Someone else edited this campaign while you were writing. Your text below isn't saved yet. Their text is "+
				"kept under Versions",
			"<del>theirs</del>",
			"<ins>mine</ins>", "Roses\n\nmine\n</textarea>")
		source := func() string {
			c, err := e.store.Campaign(e.Context(), e.campaign.ID)
			e.must(err)
			_, f, err := e.store.CampaignVersion(e.Context(), &c, 0)
			e.must(err)
			return f.Content.Source
		}
		if got := source(); got != "Roses\n\ntheirs\n" {
			t.Errorf("written over: %q", got)
		}
		mine.Set("over", "1")
		e.sends(e.path(""), http.StatusSeeOther, mine)
		mine.Del("over")
		e.sends(e.path(""), http.StatusSeeOther, mine) // the same content again
		if got := source(); got != "Roses\n\nmine\n" {
			t.Errorf("not saved: %q", got)
		}
		e.shows(e.path("/versions?version=1"), http.StatusOK, "Version 1")
		page = e.shows(e.path("?tab=settings"), http.StatusOK)
		mine = e.edit(page, "list."+e.list.ID, "1", "name", "Mine")
		e.sends(e.path(""), http.StatusSeeOther, e.edit(page, "list."+e.list.ID, "1", "name", "Theirs"))
		e.sends(e.path(""), http.StatusPreconditionFailed, mine, "They differ in recipients or sender",
			"-class=\"diff\"")
	})
}

// Findings link to where they can be fixed. All findings about the sender domain are one line.
func TestConsoleFindingsLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleTenantAdmin)
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Preheader, f.Content.Kind, f.Content.Source = "{{ preferences.city }}", core.ContentMarkdown,
				"Hello ![](https://acme.example/x.png)\n"
		})
		for _, below := range []string{"", "/send"} {
			page := e.shows(e.path(below), http.StatusOK, "An image has no alt text",
				`<a href="`+e.at(e.path("#f-preheader"))+`">Edit preview text</a>`,
				`<a href="`+e.at(e.path("#text"))+`">Edit text</a>`, "Your postal address is missing",
				`<a href="`+e.at("/settings")+`">Settings</a>`, "-/api/admin")
			if n := strings.Count(page, `>Sender domains</a>`); n > 1 {
				t.Errorf("%s: %d lines on the sender's domain", below, n)
			}
		}
	})
}

// The name of a copy says that it is a copy. The list shows the time at which a campaign was sent, not the time of its
// last change.
func TestConsoleCopiesAndTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.seed.Active(e.list.ID, "joan@reader.example")
		e.seed.Deliver()
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) { f.Name = "Roses" })
		time.Sleep(time.Hour)
		e.mailing(core.Outcome{State: core.RecipientSent})
		e.shows("/campaigns", http.StatusOK, "Roses", "Started today, 02:00")
		e.shows(e.path(""), http.StatusOK, `name="who" value="">`, "Duplicate", "links can't be fixed",
			"-/correction\"")
		copied := e.sends(e.path("/again"), http.StatusSeeOther, url.Values{"who": {""}})
		copied, _, _ = strings.Cut(copied, "?")
		e.shows(copied, http.StatusOK, "Roses (copy)")
		copied = e.sends(copied+"/act", http.StatusSeeOther, url.Values{"act": {"duplicate"}})
		copied, _, _ = strings.Cut(copied, "?")
		e.shows(copied, http.StatusOK, "Roses (copy) (copy)")
		e.sends(e.path("/again"), http.StatusBadRequest, url.Values{"who": {"all"}})
	})
}

// While a send waits for its start, the overview says so. In the checklist, the sender domain is checked off only after
// it is verified.
func TestConsoleOverviewWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleTenantAdmin)
		e.seed.Active(e.list.ID, "joan@reader.example")
		e.seed.Deliver()
		_, err := e.store.UpdateTenant(e.Context(), e.tenant.ID, "", func(t *core.Tenant) error {
			t.Domains, t.MailFrom = core.Strings{"acme.example"}, "news@acme.example"
			return nil
		})
		e.must(err)
		page := e.shows("", http.StatusOK, "-<progress", "-starts in", "Add DNS records for your domain",
			`>Set up the sender</a><span class="hidden-visually"> (done)`)
		if strings.Contains(page, `Add DNS records for your domain</a><span class="hidden-visually"> (done)`) {
			t.Error("a domain that is not proved is ticked")
		}
		e.sends(e.path("/send"), http.StatusSeeOther, e.sendForm(""))
		e.shows("", http.StatusOK, "Next campaign starts in 60 seconds.", "starts in")
	})
}

// The content that pages show for a sent campaign can be corrected next to a preview, if anyone can see it there. The
// page says where it is visible.
func TestConsoleCorrectsInTheEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.list = e.seed.NewList(func(in *core.ListInput) { in.TenantID, in.Archive = new(e.tenant.ID), new(true) })
		e.seed.Active(e.list.ID, "joan@reader.example")
		e.seed.Deliver()
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Content.Kind, f.Content.Source = core.ContentMarkdown, "Bulbs at 9 euros\n"
		})
		e.mailing(core.Outcome{State: core.RecipientSent})
		e.shows(e.path(""), http.StatusOK, "Edit web version")
		e.shows(e.path("/correction"), http.StatusOK, "The archive shows your changes and their date",
			"/a/"+e.list.ID+"/", "data-editor",
			"data-looks", "-No one can see your changes")
		e.shows(e.path("/correction-preview"), http.StatusOK, "Bulbs at 9 euros")
		form := url.Values{"subject": {"News"}, "source": {"Bulbs at 7 euros\r\n"}}
		e.sends(e.path("/correction-preview"), http.StatusOK, form, "Bulbs at 7 euros")
		e.shows(e.path("/correction-preview"), http.StatusOK, "Bulbs at 9 euros")
		e.sends(e.path("/correction"), http.StatusSeeOther, form)
		e.shows(e.path("/correction-preview"), http.StatusOK, "Bulbs at 7 euros")
		e.sends(e.path("/correction-preview"), http.StatusOK, url.Values{"subject": {"News"}, "source": {"{{ prices"}},
			"no closing")
	})
}

// An image that is only on the author's computer is found before sending, by its alt text or file name, in each kind of
// content.
func TestConsoleFindsPicturesOfAComputer(t *testing.T) {
	for kind, source := range map[string]string{
		core.ContentMarkdown: "Roses\n\n![Boot in snow](file:///C:/Temp/clip_image002.png)\n",
		core.ContentBlocks:   `{"version": 1, "blocks": [{"type": "image", "src": "file:", "alt": "Boot in snow"}]}`,
		core.ContentHTML:     `<p>Roses</p><img src="file:///C:/Temp/Boot in snow" alt="">`,
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newCampaignEnv(t, core.RolePublisher)
			e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
				f.Subject, f.Content.Kind, f.Content.Source = "News", kind, source
			})
			e.shows(e.path(""), http.StatusOK,
				"An image wasn't uploaded. Upload it or remove it.",
				"Boot in snow")
			if page := e.shows(e.path("/send"), http.StatusOK, "Fix 1 error before you send"); strings.Count(page,
				"An image wasn&#39;t uploaded. Upload it or remove it") != 1 {
				t.Errorf("%s: told twice", kind)
			}
		})
	}
}

// A new campaign has the tracking that the settings allow, unless its form turns some of it off. The last page shows
// what is tracked, and what can't be fixed after sending.
func TestConsoleMeasuresWhatTheSettingsAllow(t *testing.T) {
	for _, c := range []struct {
		in                   core.TenantInput
		tracking, shown, why string
		offers, offersNo     []string
	}{
		{
			core.TenantInput{},
			core.TrackingPersons, "Opens and clicks per subscriber", "Settings: per subscriber.",
			[]string{"totals", "off"},
			nil,
		},
		{
			core.TenantInput{TrackingConsent: new(true)},
			core.TrackingPersons, "Per subscriber with consent, otherwise totals only", "Settings: per subscriber with consent,",
			[]string{"totals", "off"},
			nil,
		},
		{
			core.TenantInput{TotalsOnly: new(true)},
			core.TrackingTotals, "Totals only", "Settings: totals only.",
			[]string{"off"},
			[]string{"persons"},
		},
		{
			core.TenantInput{NoTracking: new(true)},
			core.TrackingOff, "Off", "Settings: off.",
			nil,
			[]string{"persons", "totals"},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newCampaignEnv(t, core.RoleTenantAdmin)
			e.seed.ChangeTenant(e.tenant.ID, c.in)
			texts := []string{`<option value="` + c.tracking + `" selected>` + c.shown, c.why}
			for _, o := range c.offers {
				texts = append(texts, `<option value="`+o+`"`)
			}
			for _, o := range c.offersNo {
				texts = append(texts, `-<option value="`+o+`"`)
			}
			e.shows("/new-campaign", http.StatusOK, texts...)
			made := func(form url.Values) core.CampaignFields {
				t.Helper()
				id := strings.TrimPrefix(e.sends("/new-campaign", http.StatusSeeOther, form), "/campaigns/")
				of, err := e.store.Campaign(t.Context(), id)
				e.must(err)
				_, f, err := e.store.CampaignVersion(t.Context(), &of, 0)
				e.must(err)
				return f
			}
			form := url.Values{"name": {"June"}, "subject": {"Roses"}, "list": {e.list.ID}}
			if f := made(form); f.Tracking != c.tracking {
				t.Errorf("%s: a new one measures %s", c.shown, f.Tracking)
			}
			form.Set("tracking", core.TrackingOff)
			if f := made(form); f.Tracking != core.TrackingOff {
				t.Errorf("%s: a new one that is to measure nothing measures %s", c.shown, f.Tracking)
			}
			const straight = "you can't fix links after sending"
			texts = []string{"<dd>Off", straight, e.at(e.path("?tab=settings#f-tracking"))}
			if c.in.NoTracking != nil {
				texts[2] = e.at("/settings#f-measure")
			}
			e.shows(e.path("/send"), http.StatusOK, texts...) // a campaign created through the API has no tracking
			_, err := e.store.EditCampaign(t.Context(), campaigns.CampaignEdit{
				ID: e.campaign.ID, Actor: core.UserActor(core.NewID()), Now: e.seed.Time(),
			}, func(f *core.CampaignFields) error { f.Tracking = core.TrackingPersons; return nil })
			e.must(err)
			texts = []string{"<dd>" + c.shown, "-" + straight}
			if c.tracking == core.TrackingOff {
				texts[1] = straight
			}
			e.shows(e.path("/send"), http.StatusOK, texts...)
			if c.tracking != core.TrackingPersons {
				e.shows(e.path("?tab=settings"), http.StatusOK,
					`<option value="persons" selected>`+c.shown+" (limited by Settings)")
			}
		})
	}
}

// Tests go to the test group unless the field next to the button has other addresses, and the page shows the number of
// recipients.
func TestConsoleTestsGoToTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		const archive = "Show in public archive after sending" // offered if a list has an archive
		e.shows(e.path("?tab=settings"), http.StatusOK, `-name="archive`, "-"+archive)
		e.seed.NewList(func(in *core.ListInput) { in.TenantID, in.Archive = new(e.tenant.ID), new(true) })
		e.shows(e.path("?tab=settings"), http.StatusOK, archive)
		const me, group = `value="ann@user.example"`, `value="bea@user.example, carl@user.example"`
		e.shows(e.path(""), http.StatusOK, me)
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{TestAddresses: &[]string{"bea@user.example", "carl@user.example"}})
		page := e.shows(e.path(""), http.StatusOK, group, "-"+me)
		form := e.edit(page, "then", "test", "test_to", "bea@user.example, carl@user.example")
		to := e.sends(e.path(""), http.StatusSeeOther, form)
		if to != e.path("?tested=2") {
			t.Errorf("the test leads to %s", to)
		}
		e.shows(to, http.StatusOK, "Test sent to 2 addresses")
		e.shows(e.path("?tested=x"), http.StatusOK, "-Test sent to")
	})
}

// If an autosaved change withdraws an approval, the page says so, and its heading shows a draft immediately.
func TestConsoleEditorSaysThatTheApprovalIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		d, err := e.store.Draft(t.Context(), &e.campaign, 0, markup.CampaignParts, e.seed.Time())
		e.must(err)
		_, err = e.store.ApproveCampaign(t.Context(), campaigns.CampaignSending{
			CampaignEdit: campaigns.CampaignEdit{ID: e.campaign.ID, Actor: "test", Now: e.seed.Time()},
			Version:      e.campaign.Version, Fields: &d.Fields, Copy: &d.Content.Copy,
		})
		e.must(err)
		page := e.shows(e.path(""), http.StatusOK, `<span class="badge good">Approved</span>`)
		const gone = "This campaign was edited after approval and has to be approved again"
		for _, save := range []struct {
			subject string
			texts   []string
		}{
			{e.campaign.Subject, []string{`<span class="badge good">Approved</span>`, "-" + gone}},
			{"More roses", []string{`<span class="badge ">Draft</span>`, gone}},
			{"Even more roses", []string{`<span class="badge ">Draft</span>`, "-" + gone}},
		} {
			form := e.edit(page, "subject", save.subject)
			c, err := e.store.Campaign(t.Context(), e.campaign.ID)
			e.must(err)
			form.Set("revision", fmt.Sprintf(`"%d"`, c.Revision))
			res := e.ask(http.MethodPost, e.at(e.path("")), form, "X-Autosave", "1")
			b, err := io.ReadAll(res.Body)
			e.must(err)
			e.holds(save.subject, res.StatusCode, string(b), http.StatusOK, save.texts)
		}
	})
}
