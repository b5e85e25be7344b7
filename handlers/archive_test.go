package handlers

import (
	"cmp"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/storetest"
)

func init() {
	// sent-campaign NAME list=LIST subject=… preheader=… source=HTML at=DAY archive=true|false : a campaign that was
	// sent at noon to a reader of the list, ann@example.org. {NAME} is its id; {NAME.job} its job.
	steps["sent-campaign"] = func(e *env, name string, args map[string]string) {
		day, err := time.Parse(time.DateOnly, cmp.Or(args["at"], "2026-05-04"))
		e.must(err)
		seed := storetest.Seed(e.t, e.store).At(core.At(day.Add(12 * time.Hour)))
		l, err := e.store.List(e.t.Context(), e.value(args["list"]))
		e.must(err)
		seed.Tell(l, core.StatusActive, "ann@example.org")
		c := seed.NewCampaign(l, func(f *core.CampaignFields) {
			f.Name, f.Subject, f.Preheader = "", argOr(args, "subject", name), args["preheader"]
			f.Content.Kind, f.Content.Source = core.ContentHTML, argOr(args, "source", "<p>Hello</p>")
		})
		if shown := args["archive"]; shown != "" {
			_, err := e.store.EditCampaign(e.t.Context(), store.CampaignEdit{
				ID: c.ID, Actor: "test", Now: seed.Now, Archive: new(shown == "true"),
			}, func(*core.CampaignFields) error { return nil })
			e.must(err)
		}
		d := Drafts{Store: e.store, Sealer: e.handler.sealer, Origin: "http://news.test"}
		draft, _, err := d.Complete(e.t.Context(), &c, 0, seed.Now)
		e.must(err)
		j, err := e.store.SendCampaign(e.t.Context(), store.CampaignSending{
			CampaignEdit: store.CampaignEdit{ID: c.ID, Actor: "test", Now: seed.Now}, Version: c.Version, Fields: &draft.Fields,
			Copy: &draft.Content.Copy, Head: draft.Head,
		}, store.JobRequest{}, 0)
		e.must(err)
		e.name(name, c.ID)
		e.name(name+".job", seed.Finish(j).ID)
	}
}
