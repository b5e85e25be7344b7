package store_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/devices"
	"newsletterd/store/people"
	"newsletterd/store/storetest"

	"pgregory.net/rapid"
)

var roomy = core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 1 << 40}

// walk reads all pages of the library.
func walk(s *store.Store, who core.Caller, p devices.LibraryPage) (ids []string, err error) {
	for {
		page, err := s.Library(context.Background(), who, p)
		for _, m := range page {
			ids = append(ids, m.ID)
			p.Before = m.No
		}
		if err != nil || len(page) < p.Limit {
			return ids, err
		}
	}
}

// TestAccessIsOneRule compares core.Model.CanView, which decides on access, with the SQL of profile, library and
// search, for random models, shares and callers.
func TestAccessIsOneRule(t *testing.T) {
	s := storetest.Seed(t, nil).At(10)
	callers := []core.Caller{{}, {ClientID: "c"}}
	for i := range 4 {
		callers = append(callers, s.NewCaller(core.Email(fmt.Sprintf("User%d@a.co", i))))
	}
	unverified := callers[2]
	unverified.EmailVerified = false
	owners := slices.Clone(callers[2:])
	callers = append(callers, unverified)
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("25") // each check waits for the disk a few hundred times
	}
	rapid.Check(t, func(rt *rapid.T) {
		defer func() {
			for _, owner := range owners {
				ms, err := s.Models(t.Context(), owner.UserID, 0, 100)
				s.Must(err)
				for _, m := range ms {
					s.Must(s.DeleteModel(t.Context(), m.ID, m.OwnerID, "command", 20))
				}
			}
		}()
		models, shares := randomModels(rt, s, owners)
		for _, who := range callers {
			var want []string
			for i := range models {
				m := &models[i]
				shared := slices.ContainsFunc(shares, func(sh core.Share) bool {
					return sh.ModelID == m.ID &&
						sh.HeldBy(who)
				})
				_, err := s.Model(t.Context(), who, m.ID)
				if m.CanView(who, shared) != (err == nil) || (err != nil && !errors.Is(err, core.ErrNotFound)) {
					rt.Fatalf("%+v shared %v with %+v: %v", m, shared, who, err)
				}
				if who.UserID != "" && m.CanView(who, shared) {
					want = append(want, m.ID)
				}
			}
			slices.Reverse(want)
			limit := rapid.IntRange(1, 5).Draw(rt, "limit")
			for _, q := range []string{"", "mod"} {
				if got, err := walk(s.Store, who, devices.LibraryPage{Limit: limit, Query: q}); err != nil || !slices.Equal(got,
					want) {
					rt.Fatalf("library %q of %+v: %v %v, want %v", q, who, got, err, want)
				}
				own := slices.DeleteFunc(slices.Clone(want), func(id string) bool {
					return !slices.ContainsFunc(models, func(m core.Model) bool { return m.ID == id && m.OwnedBy(who) })
				})
				if got, err := walk(s.Store, who,
					devices.LibraryPage{Limit: limit, Query: q, Own: true}); err != nil || !slices.Equal(got, own) {
					rt.Fatalf("own %q of %+v: %v %v, want %v", q, who, got, err, own)
				}
			}
		}
	})
}

func randomModels(rt *rapid.T, s *storetest.Seeder, owners []core.Caller) (models []core.Model,
	shares []core.Share,
) {
	visibilities := []core.Visibility{core.Private, core.TenantVisible, core.PublicVisible}
	for range rapid.IntRange(0, 8).Draw(rt, "models") {
		owner := rapid.SampledFrom(owners).Draw(rt, "owner")
		m := s.NewModel(owner.UserID, "Model x", rapid.SampledFrom(visibilities).Draw(rt, "visibility"), "x")
		if rapid.Bool().Draw(rt, "changed") {
			var err error
			if m, err = s.SetVisibility(s.Context(), m.ID, m.OwnerID, rapid.SampledFrom(visibilities).Draw(rt, "then"),
				"command", 11); err != nil {
				rt.Fatal(err)
			}
		}
		for range rapid.IntRange(0, 3).Draw(rt, "shares") {
			with := rapid.SampledFrom(owners).Draw(rt, "with")
			in := core.ShareInput{UserID: &with.UserID}
			if rapid.Bool().Draw(rt, "by address") {
				address := core.Email(strings.ToUpper(string(with.Email)))
				in = core.ShareInput{Email: &address}
			}
			sh, err := core.NewShare(&m, in, owner, 10)
			if err == nil {
				err = s.AddShare(s.Context(), sh, "command")
			}
			if err != nil {
				continue // the user is the owner, or the model is already shared with them
			}
			if rapid.IntRange(0, 3).Draw(rt, "ended") == 0 {
				if err := s.DeleteShare(s.Context(), m.ID, sh.ID, "command", 12); err != nil {
					rt.Fatal(err)
				}
				continue
			}
			shares = append(shares, sh)
		}
		models = append(models, m)
	}
	return models, shares
}

// TestLibraryHoldsStill walks the library while models are added and deleted. Each model that exists throughout must be
// listed once.
func TestLibraryHoldsStill(t *testing.T) {
	s := storetest.Seed(t, nil).At(10)
	owner, reader := s.NewCaller("o@a.co"), s.NewCaller("r@a.co")
	var stay, go_ []core.Model
	for i := range 200 {
		m := s.NewModel(owner.UserID, fmt.Sprintf("model %d", i), core.PublicVisible, "x")
		if i%3 == 0 {
			go_ = append(go_, m)
		} else {
			stay = append(stay, m)
		}
	}
	slices.Reverse(stay)
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; i < 1000 && !stop.Load(); i++ { // on a single processor, a writer can be faster than a reader
			if _, err := s.TryModel(owner.UserID,
				core.ModelInput{Name: "model new", Visibility: "public"}, strings.NewReader("x"), roomy); err != nil {
				t.Error(err)
			}
			if i < len(go_) {
				if err := s.DeleteModel(context.Background(), go_[i].ID, owner.UserID, "command", 20); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for round := range 10 {
		query := []string{"", "model"}[round%2]
		got, err := walk(s.Store, reader, devices.LibraryPage{Limit: 7, Query: query})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, id := range got {
			if seen[id] {
				t.Errorf("%s twice", id)
			}
			seen[id] = true
		}
		for _, m := range stay {
			if !seen[m.ID] {
				t.Errorf("%q: %s left out", query, m.ID)
			}
		}
		if !slices.IsSortedFunc(slices.DeleteFunc(got, func(id string) bool {
			return !slices.ContainsFunc(stay,
				func(m core.Model) bool { return m.ID == id })
		}),
			func(a, b string) int { return strings.Compare(b, a) }) {
			t.Error("not newest first")
		}
	}
	stop.Store(true)
	wg.Wait()
}

func TestSearch(t *testing.T) {
	s, ctx := storetest.Seed(t, nil).At(10), t.Context()
	owner := s.NewCaller("o@a.co")
	for _, name := range []string{
		"Red Panda 3D", "Blue-Panda v2", "Crème brûlée", "日本語 モデル", "p",
		"C++ \"quoted\" AND",
	} {
		s.NewModel(owner.UserID, name, core.Private, "x")
	}
	for q, want := range map[string]int{
		"": 6, "   ": 6, "panda": 2, "PAND": 2, "panda red": 1, "red blue": 0, "brulee": 1, "crème": 1, "日本": 1, "p": 3,
		"-": 0, `"`: 0, "*": 0, "AND": 1, "OR": 0, "name:red": 0, "c++": 2, `quoted"`: 1, "NEAR(red panda)": 0, "v2": 1,
		"blue-panda": 1,
		"audience":   0, "u": 0, strings.Repeat("x ", 90): 0,
	} {
		ms, err := s.Library(ctx, owner, devices.LibraryPage{Limit: 50, Query: q})
		if err != nil || len(ms) != want {
			t.Errorf("%q: %d found, %v, want %d", q, len(ms), err, want)
		}
	}
}

func FuzzSearch(f *testing.F) {
	for _, q := range []string{"red panda", `a"b`, "*", "NEAR(", "日本語", "a\x00b", "\u0301", "ⅷ¼²"} {
		f.Add(q)
	}
	s := storetest.Seed(f, nil).At(10)
	owner := s.NewCaller("o@a.co")
	s.NewModel(owner.UserID, "Red Panda", core.Private, "x")
	f.Fuzz(func(t *testing.T, q string) {
		if _, err := s.Library(t.Context(), owner, devices.LibraryPage{Limit: 5, Query: q}); err != nil {
			t.Errorf("%q: %v", q, err)
		}
	})
}

func TestSharesOfAModel(t *testing.T) {
	s, ctx := storetest.Seed(t, nil).At(10), t.Context()
	owner, friend := s.NewCaller("o@a.co"), s.NewCaller("f@a.co")
	m := s.NewModel(owner.UserID, "m", core.Private, "x")
	stranger, known, unknown := core.NewID(), core.Email("F@a.co"), core.Email("later@a.co")
	add := func(in core.ShareInput) (core.Share, error) {
		sh, err := core.NewShare(&m, in, owner, 10)
		if err != nil {
			t.Fatal(err)
		}
		return sh, s.AddShare(ctx, sh, "command")
	}
	if _, err := add(core.ShareInput{UserID: &stranger}); core.KindOf(err) != core.NotFound {
		t.Errorf("an unknown user: %v", err)
	}
	byMail, err := add(core.ShareInput{Email: &known})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := add(core.ShareInput{Email: &known}); !errors.Is(err, core.ErrConflict) {
		t.Errorf("twice: %v", err)
	}
	if _, err := add(core.ShareInput{UserID: &friend.UserID}); err != nil {
		t.Error(err)
	}
	if _, err := add(core.ShareInput{Email: &unknown}); err != nil {
		t.Errorf("an unknown address: %v", err)
	}
	if got, err := s.Share(ctx, m.ID, byMail.ID); err != nil || got != byMail {
		t.Errorf("%+v %v, want %+v", got, err, byMail)
	}
	later := s.NewCaller("LATER@a.co")
	if _, err := s.Model(ctx, later, m.ID); err != nil {
		t.Errorf("the unknown address, once verified: %v", err)
	}
	if err := s.DeleteUser(ctx, friend.UserID); err != nil {
		t.Fatal(err)
	}
	shs, err := s.Shares(ctx, m.ID, core.Page{Limit: 10})
	if err != nil || len(shs) != 1 || shs[0].Email != "later@a.co" {
		t.Errorf("after the friend has gone: %+v %v", shs, err)
	}
	if err := s.DeleteUser(ctx, owner.UserID); err != nil {
		t.Fatal(err)
	}
	if ms, err := s.Library(ctx, later, devices.LibraryPage{Limit: 5, Query: "m"}); err != nil || len(ms) != 0 {
		t.Errorf("after the owner has gone: %+v %v", ms, err)
	}
	drained(s)
}

// drained runs housekeeping, and fails if anything of a file remains or the counts are wrong.
func drained(s *storetest.Seeder) {
	s.Helper()
	s.Clean(people.Retention{})
	for _, table := range []string{"model_file", "model_chunk"} {
		if n := s.Count("SELECT count(*) FROM " + table); n != 0 {
			s.Errorf("%d rows of %s are left", n, table)
		}
	}
	if found, err := s.Check(s.Context()); err != nil || len(found) > 0 {
		s.Errorf("check: %v %v", found, err)
	}
}

func TestModelsOfAnOwner(t *testing.T) {
	s, ctx := storetest.Seed(t, nil).At(10), t.Context()
	owner, other := s.NewCaller("o@a.co"), s.NewCaller("x@a.co")
	a, b := s.NewModel(owner.UserID, "a", core.Private, "x"), s.NewModel(owner.UserID, "b", core.PublicVisible, "x")
	s.NewModel(other.UserID, "c", core.PublicVisible, "x")
	ms, err := s.Models(ctx, owner.UserID, 0, 10)
	if err != nil || len(ms) != 2 || ms[0] != a || ms[1] != b {
		t.Errorf("%+v %v, want %+v %+v", ms, err, a, b)
	}
	if _, err := s.SetVisibility(ctx, b.ID, other.UserID, core.Private, "command", 30); !errors.Is(err,
		core.ErrNotFound) {
		t.Errorf("another changes the visibility: %v", err)
	}
	if err := s.DeleteModel(ctx, b.ID, other.UserID, "command", 30); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("another deletes: %v", err)
	}
	if n, err := s.Usage(ctx, owner.UserID); err != nil || n != 2 {
		t.Errorf("usage %d %v", n, err)
	}
	var buf bytes.Buffer
	f := s.OpenFile(ctx, &a)
	if _, err := buf.ReadFrom(f); err != nil || buf.String() != "x" {
		t.Errorf("%q %v", buf.String(), err)
	}
}
