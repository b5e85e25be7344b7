package handlers

import (
	"net/netip"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
)

func init() {
	setups = append(setups, func(_ *env, o *Options) { o.ImportBytes = 2000 })
	steps["busy-imports"] = func(e *env, name string, _ map[string]string) {
		for range web.UploadsPerUser {
			_, err := e.handler.uploads.Begin("user:"+e.callers["token-of-"+name].UserID, netip.Addr{})
			e.must(err)
		}
	}
	// import NAME list=LIST [id=ID] [status=uploading|waiting|completed|asking]: an uploaded file with a line that is
	// faulty, or one with a column that may say who unsubscribed
	steps["import"] = func(e *env, name string, args map[string]string) {
		s := storetest.Seed(e.t, e.store)
		if args["status"] == core.ImportUploading {
			id := core.NewID()
			_, err := e.store.NewImportUpload(e.t.Context(), core.ImportJob{
				ID: id, ListID: e.value(args["list"]), Name: "people.csv", CreatedBy: "test", CreatedAt: s.Time(),
			}, 1)
			e.must(err)
			e.name(name, id)
			return
		}
		file := "E-Mail;First name\nann@reader.example;Ann\nno address;X\n"
		if args["status"] == "asking" {
			file = "E-Mail;Zustand\nann@reader.example;aktiv\nbob@reader.example;abgemeldet\n"
		}
		j := s.NewImportJob(e.value(args["list"]), file, func(j *core.ImportJob) { j.ID = argOr(args, "id", j.ID) })
		e.name(name, j.ID)
		if args["status"] == "" || args["status"] == "asking" {
			return
		}
		ctx, now := e.t.Context(), j.CreatedAt
		_, err := e.store.RunImport(ctx, j.ID, core.ImportInput{SubscriberStatus: "active"}, "command", now)
		e.must(err)
		if args["status"] != core.ImportCompleted {
			return
		}
		j, err = e.store.StartImport(ctx, j.ID, now)
		e.must(err)
		im, err := e.store.ImportOf(ctx, &j)
		e.must(err)
		defer im.Close()
		e.must(im.Put(imports.ImportRow{Email: "ann@reader.example"}))
		e.must(im.Write(ctx, s.Time, nil))
		im.Counts.Failed = 1
		w, err := e.store.NewFaultWriter(ctx, j.ID)
		e.must(err)
		_, err = strings.NewReader("line,error,E-Mail,First name\n3,no e-mail address,no address,X\n").WriteTo(w)
		e.must(err)
		e.must(w.Flush())
		e.must(e.store.FinishImport(ctx, &j, im.Counts, "", now))
	}
}

// The worker may end an import, and remove its file, after a request has read that it waits: the answer is the import
// as it is then.
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
