package members

import (
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
	"newsletterd/store/subscribercsv"
)

// TestImportThatEndsMeanwhile makes the worker end an import and remove its file after a request has read that the
// import waits. The response must be the ended import.
func TestImportThatEndsMeanwhile(t *testing.T) {
	s := storetest.SeedList(t, 1_790_000_000_000)
	a := importsAPI{store: s.Store}
	c := &web.Call{Context: t.Context(), Now: s.Now}
	read := s.NewImportJob(s.ListID, "email\nann@reader.example\n")
	read, err := s.RunImport(t.Context(), read.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "test",
		s.Now)
	s.Must(err)
	run, err := s.StartImport(t.Context(), read.ID, s.Now)
	s.Must(err)
	im, err := s.ImportOf(t.Context(), &run)
	s.Must(err)
	defer im.Close()
	s.Must(im.Put(imports.ImportRow{Email: "ann@reader.example"}))
	s.Must(im.Write(t.Context(), s.Time, nil))
	s.Must(s.FinishImport(t.Context(), &run, im.Counts, "", s.Now))
	for more := true; more; {
		more, err = s.SweepImports(t.Context(), s.Now)
		s.Must(err)
	}
	r, err := a.record(c, &read)
	if err != nil || r.Status != core.ImportCompleted || r.Rows != 1 || len(r.Columns) != 0 {
		t.Errorf("%s, %d rows, %v", r.Status, r.Rows, err)
	}
	if _, ended, err := a.previewUnlessEnded(c, &read, nil, false); err != nil || ended == nil {
		t.Errorf("before the run: %v, %v", ended, err)
	}
	s.Must(s.DeleteImport(t.Context(), read.ID, "test", s.Now))
	if _, err := a.record(c, &read); core.KindOf(err) != core.NotFound {
		t.Errorf("deleted: %v", err)
	}
}

// TestTagsNeedTheirRight checks that importing tags requires the permission to tag people.
func TestTagsNeedTheirRight(t *testing.T) {
	j := core.ImportJob{TenantID: core.NewID()}
	c := &web.Call{Caller: core.Caller{
		UserID: core.NewID(), Scopes: core.AllScopes, Roles: []core.Role{{Role: core.RoleViewer, TenantID: j.TenantID}},
	}}
	if err := mayTag(c, &j, []subscribercsv.Column{{Name: "email", Use: subscribercsv.UseEmail}}); err != nil {
		t.Error(err)
	}
	columns := []subscribercsv.Column{{Name: "Labels", Use: subscribercsv.UseTags}}
	if err := mayTag(c, &j, columns); core.KindOf(err) != core.Forbidden {
		t.Error(err)
	}
	c.Caller.Roles[0].Role = core.RolePublisher
	if err := mayTag(c, &j, columns); err != nil {
		t.Error(err)
	}
}
