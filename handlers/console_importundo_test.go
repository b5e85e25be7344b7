package handlers

import (
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/worker"
)

// A publisher has no button to take an import of another person back, nor the page that asks.
func TestConsoleImportOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		importer := worker.Imports(e.store, nil, slog.New(slog.DiscardHandler))
		done := func(by string) string {
			j := e.seed.NewImportJob(e.list.ID, "email\n"+core.NewID()+"@reader.example\n",
				func(j *core.ImportJob) { j.CreatedBy = by })
			_, err := e.store.RunImport(t.Context(), j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive},
				by, e.seed.Time())
			e.must(err)
			importer.Step(t.Context(), time.Now())
			return "/imports/" + j.ID
		}
		ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
		e.must(err)
		others, own := done("user:"+core.NewID()), done("user:"+ann.ID)
		e.shows(others, http.StatusOK, "This became of the lines", "-/undo")
		e.shows(others+"/undo", http.StatusForbidden)
		e.sends(others+"/undo", http.StatusForbidden, url.Values{})
		e.shows(own, http.StatusOK, own+`/undo"`)
		e.sends(own+"/undo", http.StatusSeeOther, url.Values{})
	})
}
