package store

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"newsletterd/core"

	"pgregory.net/rapid"
)

var roomy = core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 1 << 40}

func testModel(t testing.TB, s *Store, owner core.Caller, name string, v core.Visibility) core.Model {
	m, err := tryModel(s, owner, name, v)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func tryModel(s *Store, owner core.Caller, name string, v core.Visibility) (core.Model, error) {
	m, err := core.NewModel(owner.UserID, core.ModelInput{Name: name, Visibility: string(v)}, 10)
	if err != nil {
		return m, err
	}
	u := s.NewUpload(owner.UserID, roomy)
	defer u.Close(context.Background())
	if err := u.ReadFrom(context.Background(), strings.NewReader("x"), nil,
		func() core.Instant { return 10 }); err != nil {
		return m, err
	}
	return u.Commit(context.Background(), m, "command")
}

// walk reads the library to its end in pages.
func walk(s *Store, who core.Caller, p LibraryPage) (ids []string, err error) {
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

// TestAccessIsOneRule holds core.Model.CanView, which decides, against the SQL of profile, library and search, which
// read: random models, shares and callers.
func TestAccessIsOneRule(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	callers := []core.Caller{{}, {ClientID: "c"}}
	for i := range 4 {
		callers = append(callers, testUser(t, s, fmt.Sprintf("User%d@a.co", i)))
	}
	unverified := callers[2]
	unverified.EmailVerified = false
	owners := slices.Clone(callers[2:])
	callers = append(callers, unverified)
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("25") // each waits for the disk some hundred times
	}
	rapid.Check(t, func(rt *rapid.T) {
		defer emptied(t, s)
		models, shares := randomModels(rt, t, s, owners)
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
				if got, err := walk(s, who, LibraryPage{Limit: limit, Query: q}); err != nil || !slices.Equal(got,
					want) {
					rt.Fatalf("library %q of %+v: %v %v, want %v", q, who, got, err, want)
				}
				own := slices.DeleteFunc(slices.Clone(want), func(id string) bool {
					return !slices.ContainsFunc(models, func(m core.Model) bool { return m.ID == id && m.OwnedBy(who) })
				})
				if got, err := walk(s, who,
					LibraryPage{Limit: limit, Query: q, Own: true}); err != nil || !slices.Equal(got, own) {
					rt.Fatalf("own %q of %+v: %v %v, want %v", q, who, got, err, own)
				}
			}
		}
	})
}

// emptied deletes every model.
func emptied(t *testing.T, s *Store) {
	var all []core.Model
	if err := s.all(t.Context(), &all, "SELECT "+modelColumns+" FROM model m"); err != nil {
		t.Error(err)
	}
	for _, m := range all {
		if err := s.DeleteModel(t.Context(), m.ID, m.OwnerID, "command", 20); err != nil {
			t.Error(err)
		}
	}
}

func randomModels(rt *rapid.T, t *testing.T, s *Store, owners []core.Caller) (models []core.Model,
	shares []core.Share,
) {
	visibilities := []core.Visibility{core.Private, core.TenantVisible, core.PublicVisible}
	for range rapid.IntRange(0, 8).Draw(rt, "models") {
		owner := rapid.SampledFrom(owners).Draw(rt, "owner")
		m := testModel(t, s, owner, "Model x", rapid.SampledFrom(visibilities).Draw(rt, "visibility"))
		if rapid.Bool().Draw(rt, "changed") {
			var err error
			if m, err = s.SetVisibility(t.Context(), m.ID, m.OwnerID, rapid.SampledFrom(visibilities).Draw(rt, "then"),
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
				err = s.AddShare(t.Context(), sh, "command")
			}
			if err != nil {
				continue // the owner, or shared already
			}
			if rapid.IntRange(0, 3).Draw(rt, "ended") == 0 {
				if err := s.DeleteShare(t.Context(), m.ID, sh.ID, "command", 12); err != nil {
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

// TestLibraryHoldsStill walks the library while models come and go: what was there throughout is told once.
func TestLibraryHoldsStill(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	owner, reader := testUser(t, s, "o@a.co"), testUser(t, s, "r@a.co")
	var stay, go_ []core.Model
	for i := range 200 {
		m := testModel(t, s, owner, fmt.Sprintf("model %d", i), core.PublicVisible)
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
		for i := 0; i < 1000 && !stop.Load(); i++ { // on one processor a writer may well be faster than a reader
			if _, err := tryModel(s, owner, "model new", core.PublicVisible); err != nil {
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
		got, err := walk(s, reader, LibraryPage{Limit: 7, Query: query})
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
	s, ctx := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon), t.Context()
	owner := testUser(t, s, "o@a.co")
	for _, name := range []string{
		"Red Panda 3D", "Blue-Panda v2", "Crème brûlée", "日本語 モデル", "p",
		"C++ \"quoted\" AND",
	} {
		testModel(t, s, owner, name, core.Private)
	}
	for q, want := range map[string]int{
		"": 6, "   ": 6, "panda": 2, "PAND": 2, "panda red": 1, "red blue": 0, "brulee": 1, "crème": 1, "日本": 1, "p": 3,
		"-": 0, `"`: 0, "*": 0, "AND": 1, "OR": 0, "name:red": 0, "c++": 2, `quoted"`: 1, "NEAR(red panda)": 0, "v2": 1,
		"blue-panda": 1,
		"audience":   0, "u": 0, strings.Repeat("x ", 90): 0,
	} {
		ms, err := s.Library(ctx, owner, LibraryPage{Limit: 50, Query: q})
		if err != nil || len(ms) != want {
			t.Errorf("%q: %d found, %v, want %d", q, len(ms), err, want)
		}
	}
}

func FuzzSearch(f *testing.F) {
	for _, q := range []string{"red panda", `a"b`, "*", "NEAR(", "日本語", "a\x00b", "\u0301", "ⅷ¼²"} {
		f.Add(q)
	}
	s := testOpen(f, filepath.Join(f.TempDir(), "a.db"), Daemon)
	owner := testUser(f, s, "o@a.co")
	testModel(f, s, owner, "Red Panda", core.Private)
	f.Fuzz(func(t *testing.T, q string) {
		if _, err := s.Library(t.Context(), owner, LibraryPage{Limit: 5, Query: q}); err != nil {
			t.Errorf("%q: %v", q, err)
		}
	})
}

// TestAreaCReadsByIndex shows that no statement of area C reads a table from one end to the other.
func TestAreaCReadsByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	for _, query := range []string{
		wholeLibrary, ownLibrary, searchLibrary, "SELECT " + viewColumns + " FROM model m JOIN user u ON u.id = " +
			"m.owner_id WHERE m.id = ?4",
		"SELECT " + modelColumns + " FROM model m WHERE m.owner_id = ? AND m.no > ? ORDER BY m.no LIMIT ?",
		"SELECT " + deviceColumns + " FROM device WHERE owner_id = ? AND unpaired_at = 0 AND id > ? ORDER BY id " +
			"LIMIT ?",
		"SELECT count(*) FROM device WHERE owner_id = ? AND unpaired_at = 0",
		"SELECT " + agentColumns + " FROM agent WHERE owner_id = ? AND id > ? ORDER BY id LIMIT ?",
		"SELECT " + shareColumns + " FROM model m JOIN share s ON s.model_no = m.no WHERE m.id = ? AND s.id > ? " +
			"ORDER BY s.id LIMIT ?",
		oneShare, "UPDATE device SET agent_id = '' WHERE agent_id = ? AND agent_id <> ''",
		readPiece,
		deadUploads,
		"DELETE FROM share WHERE email_key = ? AND email_key <> ''", "DELETE FROM user WHERE id = ?",
	} {
		var plan []struct {
			ID, Parent, NotUsed int
			Detail              string
		}
		rows, err := s.readers.Queryx("EXPLAIN QUERY PLAN "+query,
			slices.Repeat([]any{"1"}, strings.Count(query, "?")%10)...)
		if err != nil {
			rows, err = s.readers.Queryx("EXPLAIN QUERY PLAN "+query, slices.Repeat([]any{"1"}, 7)...)
		}
		if err != nil {
			t.Fatal(query, err)
		}
		for rows.Next() {
			var a, b, c int
			var detail string
			if err := rows.Scan(&a, &b, &c, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, struct {
				ID, Parent, NotUsed int
				Detail              string
			}{a, b, c, detail})
			if strings.HasPrefix(detail, "SCAN ") && !strings.Contains(detail, "VIRTUAL TABLE") &&
				!strings.Contains(detail, "SCAN c") && !strings.HasPrefix(detail, "SCAN (subquery") {
				t.Errorf("%s\n%s", query, detail)
			}
			if strings.Contains(detail, "USE TEMP B-TREE FOR ORDER BY") && !strings.Contains(query, "UNION") {
				t.Errorf("%s\n%s", query, detail)
			}
		}
		rows.Close()
		t.Log(plan)
	}
}

func TestSharesOfAModel(t *testing.T) {
	s, ctx := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon), t.Context()
	owner, friend := testUser(t, s, "o@a.co"), testUser(t, s, "f@a.co")
	m := testModel(t, s, owner, "m", core.Private)
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
	later := testUser(t, s, "LATER@a.co")
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
	if ms, err := s.Library(ctx, later, LibraryPage{Limit: 5, Query: "m"}); err != nil || len(ms) != 0 {
		t.Errorf("after the owner has gone: %+v %v", ms, err)
	}
	drained(t, s)
}

// drained lets housekeeping work and fails unless nothing of any file is left and the counts add up.
func drained(t *testing.T, s *Store) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.Housekeeping(t.Context(), Retention{}, 10); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"model_file", "model_chunk"} {
		var n int
		if err := s.get(t.Context(), &n, "SELECT count(*) FROM "+table); err != nil || n != 0 {
			t.Errorf("%d rows of %s are left, %v", n, table, err)
		}
	}
	if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("check: %v %v", found, err)
	}
}

func TestModelsOfAnOwner(t *testing.T) {
	s, ctx := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon), t.Context()
	owner, other := testUser(t, s, "o@a.co"), testUser(t, s, "x@a.co")
	a, b := testModel(t, s, owner, "a", core.Private), testModel(t, s, owner, "b", core.PublicVisible)
	testModel(t, s, other, "c", core.PublicVisible)
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
