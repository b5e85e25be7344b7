package worker_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestImportsAreTakenBack checks that undoing an import removes the people that it added. People who unsubscribed,
// confirmed or changed since stay as they are.
func TestImportsAreTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		h.Run(worker.Imports(h.Store, nil, h.Opts.Log))
		ctx, list := t.Context(), h.List.ID
		sub := func(email core.Email) core.Subscription {
			s, err := h.Subscription(ctx, list, email)
			if err != nil {
				return core.Subscription{}
			}
			return s
		}
		h.Active(list, "there@example.org")
		_, _, err := h.Subscribe(ctx, members.SubscribeRequest{ListID: list, Email: "asked@example.org"}, h.Time())
		h.Must(err)
		asked := sub("asked@example.org")
		time.Sleep(time.Hour)
		var file strings.Builder
		file.WriteString("email,name\nthere@example.org,T\nasked@example.org,A\nleft@example.org,L\nchanged@example.org,C\n" +
			"gone@example.org,G\n")
		for i := range 1200 {
			fmt.Fprintf(&file, "reader%d@example.org,R\n", i)
		}
		j := h.NewImportJob(list, file.String())
		_, err = h.RunImport(ctx, j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "user:1", h.Time())
		h.Must(err)
		synctest.Wait()
		j, err = h.ImportJob(ctx, j.ID)
		if err != nil || j.Brought != 1204 || j.UndoUntil != j.FinishedAt.Add(imports.FaultsKept) {
			t.Fatalf("%+v, %v", j, err)
		}
		time.Sleep(time.Hour)
		h.Leave(list, "left@example.org")
		_, err = h.SetPreferences(ctx, list, "changed@example.org", `{"name":"Me"}`, h.Time())
		h.Must(err)
		_, err = h.ErasePerson(ctx, core.Person{Email: "gone@example.org", TenantID: h.List.TenantID}, "user:1",
			h.Time())
		h.Must(err)

		plan, err := h.ImportUndoPlan(ctx, j.ID, h.Time())
		want := core.ImportUndoPlan{
			Brought: 1204, Looked: 1204, Remove: 1200, Pending: 1, Left: 1, Changed: 1, Gone: 1,
			Replaced: 2, ReplacedLooked: 2, Restore: 2,
		}
		if err != nil || plan != want {
			t.Errorf("%+v, %v", plan, err)
		}
		left, changed, late := sub("left@example.org"), sub("changed@example.org"), sub("reader8@example.org")
		reader9 := sub("reader9@example.org")
		_, err = h.UndoImport(ctx, j.ID, "user:2", h.Time())
		h.Must(err)
		synctest.Wait()
		j, err = h.ImportJob(ctx, j.ID)
		if err != nil || j.UndoStatus != core.ImportUndoDone || j.UndoRemoved != 1200 || j.UndoPending != 1 ||
			j.UndoKept != 2 || j.UndoneAt == 0 || j.UndoUntil != 0 {
			t.Errorf("%+v, %v", j, err)
		}
		if s := sub("left@example.org"); s != left {
			t.Errorf("who has left: %+v, was %+v", s, left)
		}
		if s := sub("changed@example.org"); s != changed {
			t.Errorf("who has changed: %+v, was %+v", s, changed)
		}
		if s := sub("there@example.org"); s.Status != core.SubscriptionActive || s.Preferences != `{}` {
			t.Errorf("who was there: %+v", s)
		}
		if s := sub("asked@example.org"); s.Status != core.SubscriptionPending || s.ChangedAt != asked.ChangedAt ||
			s.Proof != "" {
			t.Errorf("who had not confirmed: %+v, was %+v", s, asked)
		}
		if s := sub("reader7@example.org"); s.Status != "" {
			t.Errorf("who was brought: %+v", s)
		}
		if s, err := h.Subscriber(ctx, list, "reader7@example.org"); err != nil || s.Mailable() ||
			s.Preferences != core.NoPreferences {
			t.Errorf("the send side: %+v, %v", s, err)
		}
		c, err := h.CountedList(ctx, list)
		if err != nil || c.Counts.Active != 2 || c.Counts.Pending != 1 || c.Counts.Unsubscribed != 1 {
			t.Errorf("%+v, %v", c.Counts, err)
		}
		if _, err = h.UndoImport(ctx, j.ID, "user:2", h.Time()); core.KindOf(err) != core.Conflict {
			t.Errorf("twice: %v", err)
		}
		for proof, want := range map[string]string{
			core.ProofResponse: "",
			core.ProofMailed:   core.SubscriptionUnsubscribed,
		} {
			l := members.UnsubscribeRequest{ListID: list, SubscriptionID: late.ID, Email: late.Email, Proof: proof}
			if proof == core.ProofResponse {
				l.SubscriptionID, l.Email = reader9.ID, reader9.Email
			}
			if _, err = h.Unsubscribe(ctx, l, h.Time()); core.KindOf(err) != core.NotFound {
				t.Errorf("who is not on the list any more, leaves: %v", err)
			}
			if s := sub(l.Email); s.Status != want {
				t.Errorf("left by %s: %+v", proof, s)
			}
		}
		time.Sleep(time.Second)
		again := h.NewImportJob(list, "email\nreader7@example.org\nleft@example.org\nreader8@example.org\n")
		_, err = h.RunImport(ctx, again.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "user:1",
			h.Time())
		h.Must(err)
		synctest.Wait()
		if a := sub("reader7@example.org"); a.Status != core.SubscriptionActive || sub("left@example.org") != left {
			t.Errorf("imported again: %+v", a)
		}
		if s, err := h.Subscriber(ctx, list, "reader8@example.org"); err != nil || s.Mailable() ||
			sub("reader8@example.org").Status != core.SubscriptionUnsubscribed {
			t.Errorf("who has left by a mail from before is brought again: %+v, %v", s, err)
		}
	})
}

// TestTakenBackBeforeConfirming checks that people who were asked to confirm no longer can, unless they have requested
// the newsletter themselves since. After a week, an import can't be undone.
func TestTakenBackBeforeConfirming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		h.Run(worker.Imports(h.Store, nil, h.Opts.Log))
		ctx, list := t.Context(), h.List.ID
		run := func(file string) core.ImportJob {
			j := h.NewImportJob(list, file)
			_, err := h.RunImport(ctx, j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionPending}, "user:1",
				h.Time())
			h.Must(err)
			synctest.Wait()
			return j
		}
		j := run("email\nwaits@example.org\nasks@example.org\n")
		time.Sleep(time.Hour)
		_, _, err := h.Subscribe(ctx, members.SubscribeRequest{ListID: list, Email: "asks@example.org"}, h.Time())
		h.Must(err)
		_, err = h.UndoImport(ctx, j.ID, "user:1", h.Time())
		h.Must(err)
		synctest.Wait()
		c, err := h.CountedList(ctx, list)
		if err != nil || c.Counts.Pending != 1 {
			t.Errorf("%+v, %v", c.Counts, err)
		}
		if _, err := h.Subscription(ctx, list, "asks@example.org"); err != nil {
			t.Error("who asks:", err)
		}
		mails, err := h.DueMails(ctx, h.Time().Add(time.Hour), 10)
		if err != nil || len(mails) != 2 || mails[0].Email != "asks@example.org" ||
			mails[1].Email != "asks@example.org" {
			t.Errorf("%+v, %v", mails, err)
		}
		j = run("email\nlater@example.org\n")
		time.Sleep(imports.FaultsKept)
		if _, err = h.UndoImport(ctx, j.ID, "user:1", h.Time()); core.KindOf(err) != core.Conflict {
			t.Errorf("after a week: %v", err)
		}
		if _, err = h.ImportUndoPlan(ctx, j.ID, h.Time()); core.KindOf(err) != core.Conflict {
			t.Errorf("after a week: %v", err)
		}
	})
}

// TestTakenBackAfterAsking checks that a person whom an import added, and who has requested the newsletter since, waits
// for confirmation. A person who unsubscribes through an earlier email stays recorded as unsubscribed, even after the
// record of the import is deleted.
func TestTakenBackAfterAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		h.Run(worker.Imports(h.Store, nil, h.Opts.Log))
		ctx, list := t.Context(), h.List.ID
		j := h.NewImportJob(list, "email\nasks@example.org\nlate@example.org\n")
		_, err := h.RunImport(ctx, j.ID, core.ImportInput{SubscriberStatus: core.SubscriptionActive}, "user:1",
			h.Time())
		h.Must(err)
		synctest.Wait()
		time.Sleep(time.Hour)
		_, _, err = h.Subscribe(ctx, members.SubscribeRequest{ListID: list, Email: "asks@example.org"}, h.Time())
		h.Must(err)
		plan, err := h.ImportUndoPlan(ctx, j.ID, h.Time())
		if h.Must(err); plan.Remove != 1 || plan.Pending != 1 {
			t.Errorf("%+v", plan)
		}
		_, err = h.UndoImport(ctx, j.ID, "user:1", h.Time())
		h.Must(err)
		synctest.Wait()
		if got := h.MemberStatus(list, "asks@example.org"); got != core.SubscriptionPending {
			t.Errorf("who has asked since is %s", got)
		}
		h.Must(h.DeleteImport(ctx, j.ID, "user:1", h.Time()))
		_, err = h.Unsubscribe(ctx, h.Leaving(list, "late@example.org"), h.Time())
		if core.KindOf(err) != core.NotFound {
			t.Error(err)
		}
		if got := h.MemberStatus(list, "late@example.org"); got != core.SubscriptionUnsubscribed {
			t.Errorf("who has left by a mail from before is %q", got)
		}
	})
}
