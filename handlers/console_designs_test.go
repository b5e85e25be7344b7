package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
)

// A campaign starts empty, from a design in the language of the page, or from the content of another campaign. A design
// has no link to another site, and no error except texts that its author still has to write.
func TestConsoleStartsCampaignsFromDesigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		begun := func(start string) core.CampaignFields {
			t.Helper()
			form := url.Values{"subject": {"Roses"}, "list": {e.list.ID}, "start": {start}}
			id := strings.TrimPrefix(e.sends("/new-campaign", http.StatusSeeOther, form), "/campaigns/")
			of, err := e.store.Campaign(t.Context(), id)
			e.must(err)
			_, f, err := e.store.CampaignVersion(t.Context(), &of, 0)
			e.must(err)
			return f
		}
		for _, lang := range []string{"en", "de"} {
			e.lang = lang
			for _, name := range []string{"letter", "story", "digest", "columns", "event", "offer"} {
				e.shows("/new-campaign", http.StatusOK, `value="`+name+`"`)
				source := begun(name).Content.Source
				if !strings.HasPrefix(source, "# ") || strings.Contains(source, "http") {
					t.Errorf("%s %s: %s", lang, name, source)
				}
				if german := strings.Contains(source, " Sie ") || strings.Contains(source,
					"dazu"); german != (lang == "de") {
					t.Errorf("%s %s: %s", lang, name, source)
				}
			}
		}
		for _, none := range []string{"", "none", "../en/letter", "campaign:" + core.NewID(), "campaign:../x"} {
			if source := begun(none).Content.Source; source != "" {
				t.Errorf("%q begins with %s", none, source)
			}
		}
		_, was, err := e.store.CampaignVersion(t.Context(), &e.campaign, 0)
		e.must(err)
		if f := begun("campaign:" + e.campaign.ID); f.Content.Source != was.Content.Source || was.Content.Source == "" {
			t.Errorf("%+v, not %+v", f.Content, was.Content)
		}
	})
}

// A new campaign gets the theme of the newest campaign, or the newest own theme if that was created later. A campaign
// that starts from a past one keeps its theme.
func TestConsoleStartsCampaignsInTheLastTheme(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		starts := func(want string, from ...string) {
			t.Helper()
			form := url.Values{"subject": {"Roses"}, "list": {e.list.ID}, "start": from}
			id := strings.TrimPrefix(e.sends("/new-campaign", http.StatusSeeOther, form), "/campaigns/")
			of, err := e.store.Campaign(t.Context(), id)
			e.must(err)
			_, f, err := e.store.CampaignVersion(t.Context(), &of, 0)
			e.must(err)
			if f.Theme != want {
				t.Errorf("the theme %q, not %q", f.Theme, want)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		starts("")
		to := e.sends("/looks/themes", http.StatusSeeOther, url.Values{"name": {"City Letter"}, "base": {"journal"}})
		path, _, _ := strings.Cut(to, "?")
		own := strings.TrimPrefix(path, "/looks/themes/")
		time.Sleep(time.Second)
		starts(own)
		starts(own)
		starts("", "campaign:"+e.campaign.ID)
		form := url.Values{"subject": {"Last"}, "list": {e.list.ID}}
		at := e.sends("/new-campaign", http.StatusSeeOther, form)
		form = e.form(e.shows(at, http.StatusOK), at)
		form.Set("theme", "studio")
		e.sends(at, http.StatusSeeOther, form)
		starts("studio")
	})
}
