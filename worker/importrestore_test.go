package worker_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/members"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestImportGivesFieldsBack checks that undoing an import restores the fields that the file has replaced, except those
// that were changed since. The send side gets them, too, and the stored data is deleted.
func TestImportGivesFieldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		h.Run(worker.Imports(h.Store, nil, h.Opts.Log))
		ctx, list := t.Context(), h.List.ID
		prefs := func(email core.Email) core.Preferences {
			s, err := h.Subscription(ctx, list, email)
			h.Must(err)
			return s.Preferences
		}
		set := func(email core.Email, p core.Preferences) {
			_, err := h.SetPreferences(ctx, list, email, p, h.Time())
			h.Must(err)
		}
		const anna, ben, twice, gone, asked = "anna@example.org", "ben@example.org", "twice@example.org",
			"gone@example.org", "asked@example.org"
		for _, email := range []core.Email{anna, ben, twice, gone} {
			h.Active(list, email)
			set(email, `{"city":"Ulm","last_name":"Müller","tags":["a"]}`)
		}
		_, _, err := h.Subscribe(ctx, members.SubscribeRequest{
			ListID: list, Email: asked, Preferences: `{"city":"Ulm"}`,
		}, h.Time())
		h.Must(err)
		var file strings.Builder
		file.WriteString("email,city,first_name\n")
		for _, email := range []core.Email{anna, ben, twice, gone, asked} {
			fmt.Fprintf(&file, "%s,WRONG,A\n", email)
		}
		file.WriteString("twice@example.org,WORSE,B\nnew@example.org,Bonn,N\n")
		for i := range 1100 {
			email := core.Email(fmt.Sprintf("reader%d@example.org", i))
			h.Active(list, email)
			set(email, `{"city":"Ulm"}`)
			fmt.Fprintf(&file, "%s,WRONG,R\n", email)
		}
		time.Sleep(time.Hour)
		j := h.NewImportJob(list, file.String())
		_, err = h.RunImport(ctx, j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "user:1", h.Time())
		h.Must(err)
		synctest.Wait()
		if j, err = h.ImportJob(ctx, j.ID); err != nil || j.Replaced != 1105 || j.ReplacedUnkept != 0 || j.Brought != 2 {
			t.Fatalf("%+v, %v", j, err)
		}
		kept := func(want int) {
			t.Helper()
			d, err := h.ExportPerson(ctx, core.Person{Email: anna, TenantID: h.List.TenantID})
			if h.Must(err); len(d.Subscriptions) != 1 || len(d.Subscriptions[0].Replaced) != want {
				t.Errorf("%+v", d.Subscriptions)
			}
		}
		kept(1)
		if got := prefs(anna); !strings.Contains(string(got), "WRONG") {
			t.Fatal(got)
		}
		time.Sleep(time.Hour)
		set(ben, `{"city":"Mainz","first_name":"A","last_name":"Müller","tags":["a"]}`)
		set(anna, `{"city":"WRONG","first_name":"A","last_name":"Maier","tags":["a"]}`)
		_, err = h.ErasePerson(ctx, core.Person{Email: gone, TenantID: h.List.TenantID}, "user:1", h.Time())
		h.Must(err)
		plan, err := h.ImportUndoPlan(ctx, j.ID, h.Time())
		if h.Must(err); plan.Replaced != 1105 || plan.ReplacedLooked != 1104 || plan.Restore != 1104 || plan.Unrestored != 0 {
			t.Errorf("%+v", plan)
		}
		_, err = h.UndoImport(ctx, j.ID, "user:2", h.Time())
		h.Must(err)
		synctest.Wait()
		for email, want := range map[core.Email]core.Preferences{
			anna:                  `{"city":"Ulm","last_name":"Maier","tags":["a"]}`,
			ben:                   `{"city":"Mainz","last_name":"Müller","tags":["a"]}`,
			twice:                 `{"city":"Ulm","last_name":"Müller","tags":["a"]}`,
			asked:                 `{"city":"Ulm"}`,
			"reader7@example.org": `{"city":"Ulm"}`,
		} {
			if got := prefs(email); got != want {
				t.Errorf("%s has %s, want %s", email, got, want)
			}
			if email == asked {
				continue
			}
			if s, err := h.Subscriber(ctx, list, email); err != nil || s.Preferences != want || !s.Mailable() {
				t.Errorf("the send side has %+v, %v, want %s", s, err, want)
			}
		}
		if j, err = h.ImportJob(ctx, j.ID); err != nil || j.UndoStatus != core.ImportUndoDone || j.UndoRestored != 1104 ||
			j.UndoUnrestored != 0 || j.UndoRemoved != 1 || j.UndoPending != 1 {
			t.Errorf("%+v, %v", j, err)
		}
		kept(0)
	})
}
