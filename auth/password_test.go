package auth

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
)

func testHasher(t testing.TB, cost Argon2) *Hasher {
	t.Helper()
	h, err := NewHasher(cost)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHasher(t *testing.T) {
	h := testHasher(t, cheapCost)
	phc, err := h.Hash(t.Context(), "Pässwörter")
	if err != nil || !strings.HasPrefix(phc, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Fatalf("%s, %v", phc, err)
	}
	if again, _ := h.Hash(t.Context(), "Pässwörter"); again == phc {
		t.Error("two hashes have the same salt")
	}
	dear := testHasher(t, Argon2{Memory: 128, Passes: 1, Threads: 1})
	for _, c := range []struct {
		name, phc, password string
		h                   *Hasher
		ok, rehash          bool
	}{
		{"right", phc, "Pässwörter", h, true, false},
		{"decomposed", phc, "Pa\u0308sswo\u0308rter", h, true, false},
		{"fullwidth", phc, "Ｐässwörter", h, true, false},
		{"wrong", phc, "pässwörter", h, false, false},
		{"empty", phc, "", h, false, false},
		{"unknown user", "", "Pässwörter", h, false, false},
		{"unknown user, empty", "", "", h, false, false},
		{"huge", phc, strings.Repeat("x", 1<<20), h, false, false},
		{"other cost now", phc, "Pässwörter", dear, true, true},
		{"other cost now, wrong", phc, "wrong", dear, false, false},
	} {
		ok, rehash, err := c.h.Verify(t.Context(), c.phc, c.password)
		if err != nil || ok != c.ok || rehash != c.rehash {
			t.Errorf("%s: %v %v %v", c.name, ok, rehash, err)
		}
	}
}

// TestArgon2Vector tests the vector of the reference implementation.
func TestArgon2Vector(t *testing.T) {
	const phc = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	if ok, rehash, err := testHasher(t, Argon2{}).Verify(t.Context(), phc, "password"); err != nil || !ok || !rehash {
		t.Errorf("%v %v %v", ok, rehash, err)
	}
}

func TestParsePHC(t *testing.T) {
	for _, bad := range []string{
		"", "x", "$argon2i$v=19$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHApl8ArZWb2GRPPc",
		"$argon2id$v=16$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHApl8ArZWb2GRPPc",
		"$argon2id$v=19$m=64,t=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHApl8ArZWb2GRPPc",
		"$argon2id$v=19$m=4294967295,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHApl8ArZWb2GRPPc",
		"$argon2id$v=19$t=1,m=64,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHApl8ArZWb2GRPPc",
		"$argon2id$v=19$m=64,t=1,p=1,x=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHApl8ArZWb2GRPPc",
		"$argon2id$v=19$m=64,t=1,p=1$c29t$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHApl8ArZWb2GRPPc",
		"$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$", "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$!",
	} {
		if _, _, _, err := parsePHC(bad); err == nil {
			t.Errorf("parsePHC(%q) succeeded", bad)
		}
	}
}

func FuzzParsePHC(f *testing.F) {
	f.Add("$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHApl8ArZWb2GRPPc")
	f.Fuzz(func(t *testing.T, phc string) {
		cost, salt, key, err := parsePHC(phc)
		if err == nil && (cost.Memory > 1<<20 || cost.Passes > 64 || len(salt) < 8 || len(key) < 16) {
			t.Errorf("%q was taken", phc)
		}
	})
}

func TestPasswordRules(t *testing.T) {
	for _, c := range []struct {
		name, password string
		strict, ok     bool
	}{
		{"seven", "abcdefg", false, false},
		{"eight", "abcdefgh", false, true},
		{"eight, common", "abcdefgh", true, false},
		{"common in another case", "PassWord1", true, false},
		{"common in fullwidth", "ｐａｓｓｗｏｒｄ１", true, false},
		{"not common", "xkqv-plod-91", true, true},
		{"eight characters of two bytes", "ääääääää", false, true},
		{"eight code points that compose to four", strings.Repeat("a\u0308", 4), false, false},
		{"256", strings.Repeat("ä", 256), false, true},
		{"257", strings.Repeat("ä", 257), false, false},
		{"a ligature that grows", strings.Repeat("\ufdfa", 15), false, false},
		{"5 KiB", strings.Repeat("x", 5<<10), false, false},
		{"no UTF-8", "abcdefgh\xff", false, false},
		{"only spaces", "         ", false, true},
	} {
		err := PasswordRules{RefuseCommon: c.strict}.Check("new_password", c.password)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		var e *core.Error
		if err != nil && (!errors.As(err, &e) || e.Code != "weak_password" || e.Field != "new_password" || e.Message == "") {
			t.Errorf("%s: %#v", c.name, err)
		}
	}
}

func TestCommonPasswords(t *testing.T) {
	all := strings.Fields(commonPasswords())
	if !slices.IsSorted(all) {
		t.Error("the list is not sorted")
	}
	if n := len(slices.Compact(all)); n != 10_000 {
		t.Errorf("%d common passwords", n)
	}
	for _, p := range all {
		if len(p) < minPassword || p != strings.ToLower(p) {
			t.Errorf("%q is of no use on the list", p)
		}
		if !isCommon(p) || !isCommon(strings.ToUpper(p)) {
			t.Errorf("%q is not found", p)
		}
	}
	for _, p := range []string{"assword1", "password1 ", all[0] + "\n" + all[1]} {
		if isCommon(p) {
			t.Errorf("%q is found", p)
		}
	}
}

func TestCheapHasherIsForTests(t *testing.T) {
	if h := testHasher(t, Argon2{}); h.cost != DefaultArgon2 {
		t.Errorf("cost %+v", h.cost)
	}
}

// TestHasherQueue checks that at most as many hashes run concurrently as there are cores, and that the queue is limited
// in length and time.
func TestHasherQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := testHasher(t, cheapCost)
		for range cap(h.cores) {
			h.cores <- struct{}{} // all cores are busy
		}
		began := time.Now()
		var wg sync.WaitGroup
		results := make(chan error, 2*hashQueue)
		for range hashQueue + runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				_, err := h.Hash(t.Context(), "x")
				results <- err
			})
		}
		synctest.Wait()
		if _, err := h.Hash(t.Context(), "x"); !errors.Is(err, errBusy) || time.Since(began) != 0 {
			t.Errorf("beyond the queue: %v after %v", err, time.Since(began))
		}
		wg.Wait()
		if d := time.Since(began); d != hashWait {
			t.Errorf("waited %v", d)
		}
		close(results)
		for err := range results {
			if core.KindOf(err) != core.Unavailable {
				t.Errorf("waited in vain: %v", err)
			}
		}
		<-h.cores
		if _, err := h.Hash(t.Context(), "x"); err != nil {
			t.Errorf("with a core free: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		h.cores <- struct{}{}
		cancel()
		if _, err := h.Hash(ctx, "x"); !errors.Is(err, context.Canceled) {
			t.Errorf("caller gone: %v", err)
		}
	})
}

func BenchmarkHash(b *testing.B) {
	h := testHasher(b, Argon2{})
	for b.Loop() {
		if _, err := h.Hash(b.Context(), "correct horse battery"); err != nil {
			b.Fatal(err)
		}
	}
}
