package handlers

import (
	"net/netip"
	"strings"

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
	// import NAME list=LIST [id=ID] [status=uploading|waiting|completed|asking]: an uploaded file with a faulty line,
	// or with a column that may say who unsubscribed
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
