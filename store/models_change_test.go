package store_test

import (
	"errors"
	"testing"

	"newsletterd/core"
	"newsletterd/store/devices"
	"newsletterd/store/storetest"
)

// Only the owner can rename a model, and a search then finds it by the new name. The library can be filtered to models
// shared with the caller, or to public ones.
func TestChangesOfAModel(t *testing.T) {
	s := storetest.Seed(t, nil)
	ann, bob := s.NewUser("ann@owner.example", ""), s.NewUser("bob@owner.example", "")
	shelf := s.NewModel(ann.ID, "shelf", core.Private, "a")
	open := s.NewModel(ann.ID, "open", core.PublicVisible, "b")
	s.NewModel(ann.ID, "hidden", core.Private, "c")
	s.NewModel(bob.ID, "own", core.Private, "d")
	share, err := core.NewShare(&shelf, core.ShareInput{UserID: &bob.ID}, core.Caller{UserID: ann.ID}, s.Time())
	s.Must(err)
	s.Must(s.AddShare(t.Context(), share, "test"))
	rename := func(m *core.Model) error { return m.Change(core.ModelChange{Name: new("bracket")}, s.Time().Add(1e9)) }
	if _, err := s.UpdateModel(t.Context(), shelf.ID, bob.ID, "test", rename); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("another one's: %v", err)
	}
	if m, err := s.UpdateModel(t.Context(), shelf.ID, ann.ID, "test", rename); err != nil || m.Name != "bracket" ||
		m.UpdatedAt == shelf.UpdatedAt {
		t.Errorf("%+v, %v", m, err)
	}
	is, err := s.Model(t.Context(), core.Caller{UserID: ann.ID}, shelf.ID)
	if same, err2 := s.UpdateModel(t.Context(), shelf.ID, ann.ID, "test", func(m *core.Model) error {
		return m.Change(core.ModelChange{}, s.Time().Add(5e9))
	}); err != nil || err2 != nil || same.UpdatedAt != is.UpdatedAt {
		t.Errorf("nothing changed: %+v, %v, %v", same, err, err2)
	}
	for _, c := range []struct {
		page devices.LibraryPage
		want []string
	}{
		{devices.LibraryPage{Access: devices.AccessShared}, []string{shelf.ID}},
		{devices.LibraryPage{Access: devices.AccessPublic}, []string{open.ID}},
		{devices.LibraryPage{Access: devices.AccessShared, Query: "brack"}, []string{shelf.ID}},
		{devices.LibraryPage{Access: devices.AccessShared, Query: "shelf"}, nil},
		{devices.LibraryPage{Access: devices.AccessShared, Query: "open"}, nil},
		{devices.LibraryPage{Access: devices.AccessPublic, Query: "open"}, []string{open.ID}},
		{devices.LibraryPage{Access: devices.AccessPublic, Query: "bracket"}, nil},
	} {
		c.page.Limit = 10
		found, err := s.Library(t.Context(), core.Caller{UserID: bob.ID, Email: bob.Email, EmailVerified: true}, c.page)
		s.Must(err)
		var ids []string
		for _, m := range found {
			ids = append(ids, m.ID)
		}
		if len(ids) != len(c.want) || len(ids) == 1 && ids[0] != c.want[0] {
			t.Errorf("%+v: %v, want %v", c.page, ids, c.want)
		}
	}
}
