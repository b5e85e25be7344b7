package handlers

import (
	"newsletterd/core"
	"newsletterd/store/storetest"
)

func init() {
	// campaign NAME list=LIST [subject=…] [by=…] : creates a draft
	steps["campaign"] = func(e *env, name string, args map[string]string) {
		s := storetest.Seeder{TB: e.t, Store: e.store}
		l, err := e.store.List(e.t.Context(), e.value(args["list"]))
		e.must(err)
		c := s.NewCampaign(l, func(f *core.CampaignFields) { f.Subject = argOr(args, "subject", f.Subject) })
		e.name(name, c.ID)
	}
}
