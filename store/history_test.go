package store_test

import (
	"slices"
	"strconv"
	"testing"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// The history of an address contains each email to it once, newest first and in pages. It covers only the requested
// tenants. Jobs to other people in between make no difference.
func TestHistoryOfAnAddress(t *testing.T) {
	s := storetest.Seed(t, storetest.Open(t))
	email := storetest.Reader(7)
	var lists []core.List
	for range 3 {
		tenant := s.NewTenant().ID
		l := s.NewList(func(in *core.ListInput) { in.TenantID = &tenant })
		s.Readers(l, 20)
		lists = append(lists, l)
	}
	var mailed, others []int64 // newest first
	for i := range 20 {
		l := lists[i%2]
		switch i {
		case 6, 12:
			s.Tell(lists[0], core.StatusUnsubscribed, email)
		case 9, 16:
			s.Tell(lists[0], core.StatusActive, email)
		}
		j := s.Finish(s.NewJob(l.ID))
		switch {
		case l.ID == lists[1].ID:
			mailed, others = slices.Insert(mailed, 0, j.No), slices.Insert(others, 0, j.No)
		case j.Recipients == 20:
			mailed = slices.Insert(mailed, 0, j.No)
		}
	}
	read := func(limit int, tenants []string, all bool) (nos []int64) {
		page := core.Page{Limit: limit}
		for {
			rows, err := s.History(t.Context(), email, tenants, all, page)
			s.Must(err)
			for _, r := range rows {
				nos = append(nos, r.JobNo)
			}
			if len(rows) < limit {
				return nos
			}
			page.After = strconv.FormatInt(nos[len(nos)-1], 10)
		}
	}
	for limit := range 6 {
		if got := read(limit+1, nil, true); !slices.Equal(got, mailed) {
			t.Errorf("pages of %d of all tenants: %v, not %v", limit+1, got, mailed)
		}
		if got := read(limit+1, []string{lists[1].TenantID, lists[2].TenantID}, false); !slices.Equal(got, others) {
			t.Errorf("pages of %d of two tenants: %v, not %v", limit+1, got, others)
		}
	}
	if len(mailed) != 16 {
		t.Errorf("%d mails", len(mailed))
	}
	s.Must(s.DeleteTenant(t.Context(), lists[0].TenantID, "test", s.Time()))
	if got := read(4, nil, true); !slices.Equal(got, others) {
		t.Errorf("without a tenant that is deleted: %v, not %v", got, others)
	}
}
