package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// TestRecipientFilter checks that recipients can be filtered by status, code and address, separately and combined, in
// pages, and according to their current state.
func TestRecipientFilter(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	s.Readers(l, 100)
	j := s.Start(s.NewJob(l.ID))
	outcomes := [...]core.Outcome{
		{State: core.RecipientSent},
		{State: core.RecipientDeferred, Reason: "452 4.2.2 full", DueAt: sendNow.Add(1e9)},
		{State: core.RecipientFailed, Reason: "550 5.1.1 no such user"},
		{State: core.RecipientFailed, Reason: "550 no"},
		{State: core.RecipientFailed, Reason: core.ReasonRender},
		{State: core.RecipientSkipped, Reason: core.ReasonUnsubscribed},
	}
	var batch []core.Outcome
	for seq := int64(1); seq <= 90; seq++ { // ten stay queued
		o := outcomes[seq%6]
		o.JobNo, o.TenantID, o.Seq, o.Tried = j.No, j.TenantID, seq, true
		batch = append(batch, o)
	}
	s.Must(s.FinishRecipients(t.Context(), batch, sendNow))
	again := batch[:12] // of the deferred recipients among them, seq 1 and 7, one is sent and one is refused
	again = []core.Outcome{again[0], again[6]}
	again[0].State, again[1].State, again[1].Reason = core.RecipientSent, core.RecipientFailed,
		"550 5.1.1 no such user"
	s.Must(s.FinishRecipients(t.Context(), again, sendNow))
	later := sendNow.Add(time.Hour)
	for _, g := range []core.Engagement{
		{Seq: 6}, {Seq: 6, LinkNo: 1}, {Seq: 12}, // a person opens two emails and clicks a link in one of them
		{Seq: 18, LinkNo: 1, Program: core.ProgramScanner}, // a scanner clicks that link in another email
	} {
		g.JobNo, g.At, g.Last, g.Times = j.No, later, later, 1
		_, err := s.AddEngagements(t.Context(), []core.Engagement{g})
		s.Must(err)
	}
	j = s.Reload(j)
	all, err := s.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 1000})
	s.Must(err)
	for _, tt := range []struct {
		f    campaigns.RecipientFilter
		want int
	}{
		{campaigns.RecipientFilter{}, 100},
		{campaigns.RecipientFilter{Status: "queued"}, 10},
		{campaigns.RecipientFilter{Status: "sent"}, 16},
		{campaigns.RecipientFilter{Status: "deferred"}, 13},
		{campaigns.RecipientFilter{Status: "failed"}, 46},
		{campaigns.RecipientFilter{Status: "skipped"}, 15},
		{campaigns.RecipientFilter{Code: "550"}, 31},
		{campaigns.RecipientFilter{Code: "5.1.1"}, 16},
		{campaigns.RecipientFilter{Code: "452"}, 13},
		{campaigns.RecipientFilter{Code: "4.2.2", Status: "deferred"}, 13},
		{campaigns.RecipientFilter{Code: "4.2.2", Status: "failed"}, 0},
		{campaigns.RecipientFilter{Code: "421"}, 0},
		{campaigns.RecipientFilter{Email: core.Email(all[2].Email)}, 1},
		{campaigns.RecipientFilter{Email: core.Email(all[2].Email), Status: "sent"}, 0},
		{campaigns.RecipientFilter{Email: core.Email(all[6].Email), Code: "5.1.1"}, 1},
		{campaigns.RecipientFilter{Email: "stranger@example.org"}, 0},
		{campaigns.RecipientFilter{Search: "R00000"}, 10},
		{campaigns.RecipientFilter{Search: " r1"}, 11}, // R1 and R10 to R19
		{campaigns.RecipientFilter{Search: "00000"}, 0},
		{campaigns.RecipientFilter{Search: "r000099@"}, 1},
		{campaigns.RecipientFilter{Search: "r1@"}, 0},
		{campaigns.RecipientFilter{Search: "r0", Status: "failed"}, 46},
		{campaigns.RecipientFilter{Search: "r0", Code: "5.1.1", Status: "failed"}, 16},
		{campaigns.RecipientFilter{Search: "r0", Event: "opened"}, 2},
		{campaigns.RecipientFilter{Search: "x", Event: "opened"}, 0},
		{campaigns.RecipientFilter{Search: "r0", Status: "sent"}, 16},
		{campaigns.RecipientFilter{Search: "x", Email: core.Email(all[2].Email)}, 0},
		{campaigns.RecipientFilter{Search: "r", Email: core.Email(all[2].Email)}, 1},
		{campaigns.RecipientFilter{Event: "opened"}, 2},
		{campaigns.RecipientFilter{Event: "clicked"}, 1},
		{campaigns.RecipientFilter{Event: "machine_clicked"}, 1},
		{campaigns.RecipientFilter{Event: "complained"}, 0},
		{campaigns.RecipientFilter{Event: "clicked", Status: "sent"}, 1},
		{campaigns.RecipientFilter{Event: "clicked", Status: "failed"}, 0},
		{campaigns.RecipientFilter{Event: "clicked", Code: "550"}, 0},
		{campaigns.RecipientFilter{Event: "clicked", Email: core.Email(all[5].Email)}, 1},
		{campaigns.RecipientFilter{Event: "clicked", Email: core.Email(all[11].Email)}, 0},
	} {
		t.Run(fmt.Sprint(tt.f), func(t *testing.T) {
			page, n, last := core.Page{Limit: 7}, 0, int64(0)
			for {
				rs, err := s.Recipients(t.Context(), &j, tt.f, page)
				if err != nil {
					t.Fatal(err)
				}
				if tt.f.Search != "" { // the same in pages, each continuing after the previous one
					found, next, err := s.FindRecipients(t.Context(), &j, tt.f, page)
					if err != nil || !reflect.DeepEqual(found, rs) || next == "" && len(rs) == page.Limit && rs[6].Seq != all[99].Seq {
						t.Fatalf("%v, next %q: %v", found, next, err)
					}
				}
				for _, r := range rs {
					if r.Seq <= last || tt.f.Status != "" && core.RecipientStates[r.State] != tt.f.Status {
						t.Errorf("%+v after %d", r, last)
					}
					last = r.Seq
				}
				n += len(rs)
				if len(rs) < page.Limit {
					break
				}
				page.After = strconv.FormatInt(last, 10)
			}
			if n != tt.want {
				t.Errorf("%d recipients, want %d", n, tt.want)
			}
		})
	}
	for field, f := range map[string]campaigns.RecipientFilter{
		"status": {Status: "bounced"}, "code": {Code: "5.1"}, "event": {Event: "delivered"},
		"search": {Search: strings.Repeat("x", 255)},
	} {
		_, err := s.Recipients(t.Context(), &j, f, core.Page{Limit: 1})
		if e, ok := err.(*core.Error); !ok || e.Field != field || e.Kind != core.Invalid {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A search reads a limited number of recipients and returns the position to continue from, whether it reads all
// recipients or those that an index finds.
func TestFindRecipientsIsBounded(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	const readers = 4500
	s.Readers(l, readers)
	j := s.Start(s.NewJob(l.ID))
	var batch []core.Outcome
	for seq := range int64(readers) {
		batch = append(batch, core.Outcome{
			JobNo: j.No, TenantID: j.TenantID, Seq: seq + 1, Tried: true, State: core.RecipientFailed, Reason: "550 5.1.1 none",
		})
	}
	s.Must(s.FinishRecipients(t.Context(), batch, sendNow))
	j = s.Reload(j)
	all, err := s.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: readers})
	s.Must(err)
	last := all[len(all)-1].Email
	for _, f := range []campaigns.RecipientFilter{{Search: last}, {Search: last, Code: "5.1.1"}, {Search: last, Status: "failed"}} {
		page, reads := core.Page{Limit: 10}, []int{}
		for {
			found, next, err := s.FindRecipients(t.Context(), &j, f, page)
			s.Must(err)
			reads = append(reads, len(found))
			if page.After = next; next == "" || len(reads) > 5 {
				break
			}
		}
		if want := []int{0, 0, 1}; !slices.Equal(reads, want) {
			t.Errorf("%v: pages of %v, not of %v", f, reads, want)
		}
		whole, err := s.Recipients(t.Context(), &j, f, core.Page{Limit: 10})
		if err != nil || len(whole) != 1 {
			t.Errorf("%v: %v, %v", f, whole, err)
		}
	}
}

// Recipients are shown with their names, if these are known.
func TestRecipientNames(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	names := map[core.Email]string{}
	for prefs, name := range map[core.Preferences]string{
		`{"first_name":"Grace","last_name":"Hopper","name":"x"}`: "Grace Hopper",
		`{"last_name":"Lovelace"}`:                               "Lovelace",
		`{"first_name":"","name":"Ida Rhodes"}`:                  "Ida Rhodes",
		`{"first_name":null,"city":"Ulm"}`:                       "",
		`{"first_name":7}`:                                       "7",
	} {
		email := core.Email(strconv.Itoa(len(names)) + "@reader.example")
		names[email] = name
		s.Active(l.ID, email)
		_, err := s.SetPreferences(t.Context(), l.ID, email, prefs, sendNow)
		s.Must(err)
	}
	s.Deliver()
	j := s.Start(s.NewJob(l.ID))
	all, err := s.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 10})
	if err != nil || len(all) != len(names) {
		t.Fatalf("%d: %v", len(all), err)
	}
	for _, r := range all {
		if want := names[core.Email(r.Email)]; r.Name != want {
			t.Errorf("%s: %q, not %q", r.Email, r.Name, want)
		}
	}
}
