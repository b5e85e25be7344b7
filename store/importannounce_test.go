package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

const announced = 30 // number of announced changes per import in these tests

type announcing struct {
	*storetest.Seeder
	list           core.List
	all, left, far core.Endpoint
}

func seedAnnouncing(t *testing.T) announcing {
	s := storetest.Seed(t, storetest.OpenWith(t, db.Options{ImportEvents: announced})).At(now0)
	a := announcing{Seeder: s, list: s.NewList()}
	a.all = s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/all")})
	a.left = s.NewEndpoint(
		core.EndpointInput{URL: new("https://crm.test/left"), Events: &[]string{core.EventUnsubscribed}},
	)
	a.far = s.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/far"), ListID: new(s.NewList().ID)})
	return a
}

// expect checks the events that wait for an endpoint: n events of a type and, if counts is not empty, one summary event
// with these counts.
func (a announcing) expect(endpoint core.Endpoint, eventType string, n int, summary, counts string) core.SummaryEvent {
	a.Helper()
	waits := queued(a.Seeder, endpoint.ID)
	want := slices.Repeat([]string{eventType}, n)
	if counts != "" {
		want = append(want, summary)
	}
	if got := typesOf(waits); !slices.Equal(got, want) {
		a.Fatalf("%d wait for %s, not %d: %v", len(got), endpoint.URL, len(want), got)
	}
	if counts == "" {
		return core.SummaryEvent{}
	}
	last := waits[len(waits)-1]
	body := summaryOf(a.Seeder, &last)
	if fmt.Sprint(body.Counts) != counts || body.ListID != a.list.ID || body.TenantID != a.list.TenantID ||
		body.ID != last.EventID {
		a.Errorf("%s", last.Body)
	}
	return body
}

func addedCounts(n int) string {
	return fmt.Sprintf("map[added:%d bounced:0 complained:0 contradicted:0 failed:0 kept:0 not_permitted:0 pending:0 "+
		"suppressed:0 unchanged:0 unsubscribed:0 updated:0]", n)
}

func readers(from, n int) (rows []imports.ImportRow) {
	for i := range n {
		rows = append(rows, imports.ImportRow{Email: storetest.Reader(from + i)})
	}
	return rows
}

// Endpoints get an event for each of the first changes of an import, and one event for the others at its end.
func TestImportAnnouncesItsEnd(t *testing.T) {
	a := seedAnnouncing(t)
	a.Import(a.list.ID, core.SubscriptionActive, readers(0, announced)...)
	a.expect(a.all, core.EventActivated, announced, "", "")
	for _, e := range queued(a.Seeder, a.all.ID) {
		a.Must(a.FinishEvents(t.Context(), []tenants.EventResult{{Event: &e, Done: true}}, now0))
	}
	a.Import(a.list.ID, core.SubscriptionActive, readers(100, announced+1)...)
	a.expect(a.all, core.EventActivated, announced, core.EventImported, addedCounts(announced+1))
	a.expect(a.left, "", 0, "", "") // it subscribes to other events
	a.expect(a.far, "", 0, "", "")
}

// An import without a job announces its result even if its process is killed.
func TestImportOfACommandThatIsKilled(t *testing.T) {
	a := seedAnnouncing(t)
	im, err := a.NewImport(t.Context(), a.list.ID, core.SubscriptionActive, "file.csv")
	a.Must(err)
	defer im.Close()
	for i := range 3 {
		a.Must(im.Add(t.Context(), readers(i*20, 20), now0))
	}
	e := a.expect(a.all, core.EventActivated, announced, core.EventImported, addedCounts(60))
	due, err := a.DueEvents(t.Context(), a.all.ID, now0, 100)
	if err != nil || len(due) != announced || e.Status != core.ImportCancelled || e.ImportID == "" {
		t.Errorf("%d are due, %v: %+v", len(due), err, e)
	}
	if due, err = a.DueEvents(t.Context(), a.all.ID, now0.Add(time.Minute), 100); err != nil || len(due) != announced+1 {
		t.Errorf("later %d are due, %v", len(due), err)
	}
	a.Must(im.End(t.Context(), now0)) // in case the process is still running
	if e = a.expect(a.all, core.EventActivated, announced, core.EventImported,
		addedCounts(60)); e.Status != core.ImportCompleted {
		t.Errorf("%+v", e)
	}
	if due, err = a.DueEvents(t.Context(), a.all.ID, now0, 100); err != nil || len(due) != announced+1 {
		t.Errorf("at its end %d are due, %v", len(due), err)
	}
	if found, err := a.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

func (a announcing) start(j core.ImportJob) (core.ImportJob, *imports.Import) {
	a.Helper()
	j, err := a.StartImport(a.Context(), j.ID, now0)
	a.Must(err)
	im, err := a.ImportOf(a.Context(), &j)
	a.Must(err)
	for _, r := range readers(0, 6000) {
		a.Must(im.Put(r))
	}
	return j, im
}

func (a announcing) asked() core.ImportJob {
	a.Helper()
	j := a.NewImportJob(a.list.ID, "email\n")
	_, err := a.RunImport(a.Context(), j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "user:1", now0)
	a.Must(err)
	return j
}

// An import that is interrupted and resumed continues its count. The total number of announced changes is limited, and
// the end is announced once.
func TestImportThatIsResumedAnnouncesOneEnd(t *testing.T) {
	a := seedAnnouncing(t)
	j, im := a.start(a.asked())
	ctx, cancel := context.WithCancelCause(t.Context())
	err := im.Write(ctx, a.Time, func(int64) { cancel(errors.New("killed")) })
	im.Close()
	if im.Counts.Added == 0 || im.Counts.Added == 6000 {
		t.Fatalf("it was cut after %d rows, %v", im.Counts.Added, err)
	}
	a.expect(a.all, core.EventActivated, announced, "", "")
	j, im = a.start(j)
	defer im.Close()
	a.Must(im.Write(t.Context(), a.Time, nil))
	a.Must(a.FinishImport(t.Context(), &j, im.Counts, "", now0))
	e := a.expect(a.all, core.EventActivated, announced, core.EventImported, addedCounts(6000))
	if e.ImportID != j.ID || e.Status != core.ImportCompleted {
		t.Errorf("%+v", e)
	}
	a.expect(a.left, "", 0, "", "")
}

// An import that is canceled, or ends because a person in its file is erased, announces its progress up to then.
func TestImportThatIsCancelledAnnouncesItsEnd(t *testing.T) {
	for name, end := range map[string]func(announcing, core.ImportJob) error{
		"cancelled": func(a announcing, j core.ImportJob) error {
			_, err := a.CancelImport(a.Context(), j.ID, "user:1", now0)
			return err
		},
		"erased": func(a announcing, j core.ImportJob) error {
			_, err := a.ErasePerson(a.Context(), core.Person{Email: "held@example.org"}, "user:1", now0)
			return err
		},
	} {
		a := seedAnnouncing(t)
		j := a.NewImportJob(a.list.ID, "email\nheld@example.org\n")
		_, err := a.RunImport(t.Context(), j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "user:1", now0)
		a.Must(err)
		j, im := a.start(j)
		im.Close()
		a.Must(im.Add(t.Context(), readers(0, announced+5), now0))
		a.Must(end(a, j))
		if e := a.expect(a.all, core.EventActivated, announced, core.EventImported,
			addedCounts(announced+5)); e.Status != core.ImportCancelled {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// Undoing an import announces the same number of changes one by one, and its end.
func TestUndoAnnouncesItsEnd(t *testing.T) {
	a := seedAnnouncing(t)
	j, im := a.start(a.asked())
	a.Must(im.Write(t.Context(), a.Time, nil))
	im.Close()
	a.Must(a.FinishImport(t.Context(), &j, im.Counts, "", now0))
	_, err := a.UndoImport(t.Context(), j.ID, "user:1", now0)
	a.Must(err)
	for more := true; more; {
		more, err = a.UndoImportStep(t.Context(), j.ID, now0)
		a.Must(err)
	}
	e := a.expect(a.left, core.EventUnsubscribed, announced, core.EventImportUndone,
		"map[kept:0 lifted:0 pending:0 removed:6000 restored:0 resumed:0 unrestored:0]")
	if e.ImportID != j.ID {
		t.Errorf("%+v", e)
	}
	a.expect(a.far, "", 0, "", "")
}
