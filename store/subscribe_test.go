package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// asks sends n different requests for an address and returns the tokens from the answers.
func asks(n *storetest.Seeder, email core.Email, times int, at core.Instant) (tokens []string) {
	n.Helper()
	for i := range times {
		r := members.SubscribeRequest{
			ListID: n.ListID, Email: email, Preferences: core.Preferences(fmt.Sprintf(`{"n":%d}`, i)),
			Origin: core.Origin{
				Source: "form", Remote: fmt.Sprintf("192.0.2.%d", i),
				UserAgent: "test",
			}, TextVersion: fmt.Sprint("v", i),
		}
		_, row, err := n.Subscribe(n.Context(), r, at+core.Instant(i))
		if err != nil {
			n.Fatal(err)
		}
		token, err := n.AnsweredToken(n.Context(), row, core.ProofResponse, r, at+core.Instant(i))
		if err != nil {
			n.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	return tokens
}

// Repeated requests for an address create at most as many rows as emails are allowed per day, plus one, whatever is
// known about the address.
func TestRepeatedRequestsShareARow(t *testing.T) {
	const address core.Email = "a@example.org"
	for name, before := range map[string]func(*storetest.Seeder){
		"stranger": func(*storetest.Seeder) {},
		"pending":  func(n *storetest.Seeder) { asks(n, address, 1, now0) },
		"active":   func(n *storetest.Seeder) { n.Active(n.ListID, address) },
		"unsubscribed": func(n *storetest.Seeder) {
			n.Active(n.ListID, address)
			n.At(now0+1).Leave(n.ListID, address)
		},
		"disabled": func(n *storetest.Seeder) {
			_, _ = n.Disable(n.Context(), members.DisableRequest{Email: address},
				now0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := storetest.SeedList(t, now0)
			before(n)
			for day := range 3 {
				at := now0.Add(time.Duration(day) * 25 * time.Hour)
				asks(n, address, 50, at+100)
				asks(n, "other@example.org", 2, at+200)
				want := store.RequestsApart * (day + 1)
				if got := n.Count("SELECT count(*) FROM confirm_token WHERE email = ?", string(address)); got != want {
					t.Errorf("day %d: %d rows of requests, want %d", day, got, want)
				}
				if got := n.Count("SELECT count(*) FROM mail WHERE email_key = ? AND kind <> 'unsubscribed'",
					string(address)); got != want {
					t.Errorf("day %d: %d rows of mails, want %d", day, got, want)
				}
			}
		})
	}
}

// Each returned token of a generation confirms the subscription, and reveals only data of its own request. The ledger
// has the origin of that request, or no origin.
func TestSharedRowsKeepRequestsApart(t *testing.T) {
	for i := range 9 {
		n := storetest.SeedList(t, now0)
		tokens := asks(n, "Ann@Example.org", 8, now0)
		last := asks(n, "ann@example.org", 1, now0+8)
		token := append(tokens, last...)[i]
		own := i < store.RequestsApart-1 // the other requests share a row
		want := core.Subscription{Email: "ann@example.org", Preferences: "{}", CreatedAt: now0 + core.Instant(i)}
		origin := core.Origin{}
		version := ""
		if own || i == 8 {
			nth := i % 8
			want.Preferences = core.Preferences(fmt.Sprintf(`{"n":%d}`, nth))
			origin = core.Origin{Source: "form", Remote: fmt.Sprintf("192.0.2.%d", nth), UserAgent: "test"}
			version = fmt.Sprint("v", nth)
		}
		if own {
			want.Email = "Ann@Example.org"
		}
		if _, email, err := n.ConfirmAsked(t.Context(), token, now0+20); err != nil || email != want.Email {
			t.Errorf("request %d asked for %s, %v; want %s", i, email, err, want.Email)
		}
		sub, err := n.Confirm(t.Context(), token, core.Origin{}, now0+20)
		if err != nil || sub.Status != core.SubscriptionActive || sub.Email != want.Email ||
			sub.Preferences != want.Preferences || sub.CreatedAt != want.CreatedAt {
			t.Errorf("request %d: %+v, %v; want %+v", i, sub, err, want)
		}
		ledger, err := n.Consents(t.Context(), n.ListID, sub.ID)
		if err != nil || len(ledger) != 2 || ledger[0].At != want.CreatedAt || ledger[0].Origin != origin ||
			ledger[0].TextVersion != version {
			t.Errorf("request %d: ledger %+v, %v; want %+v %s", i, ledger, err, origin, version)
		}
		for k, other := range tokens { // each token is for the same subscription, but shows only its own request
			sub, err := n.Confirm(t.Context(), other, core.Origin{}, now0+30)
			if err != nil || sub.CreatedAt != now0+core.Instant(k) || sub.Preferences != "{}" &&
				sub.Preferences != core.Preferences(fmt.Sprintf(`{"n":%d}`, k)) {
				t.Errorf("request %d after it: %+v, %v", k, sub, err)
			}
		}
	}
}

// The ledger describes the request whose email was confirmed, however many requests came after it.
func TestTheLedgerNamesTheMailedRequest(t *testing.T) {
	n := storetest.SeedList(t, now0)
	asks(n, "a@example.org", 20, now0)
	var rows []string
	n.AllRows(&rows, "SELECT token_id FROM mail WHERE state = 0 ORDER BY id")
	if len(rows) != store.ConfirmsPerListEmail {
		t.Fatal(rows)
	}
	sub, err := n.Confirm(t.Context(), n.Token(rows[1], core.ProofMailed), core.Origin{}, now0+100)
	if err != nil || sub.Preferences != `{"n":1}` {
		t.Fatal(sub, err)
	}
	ledger, err := n.Consents(t.Context(), n.ListID, sub.ID)
	if err != nil || len(ledger) != 2 || ledger[0].Remote != "192.0.2.1" || ledger[0].TextVersion != "v1" ||
		ledger[0].At != now0+1 {
		t.Errorf("%+v, %v", ledger, err)
	}
}

// A row that requests share belongs to one generation, and each token of it expires at the token's own time.
func TestTokensOfSharedRowsEnd(t *testing.T) {
	n := storetest.SeedList(t, now0)
	old := asks(n, "a@example.org", 10, now0)
	later := asks(n, "a@example.org", 1, now0.Add(23*time.Hour))[0]
	if _, err := n.Confirm(t.Context(), old[9], core.Origin{}, now0.Add(members.ConfirmTTL)+9); !errors.Is(err,
		core.ErrTokenExpired) {
		t.Errorf("after seven days: %v", err)
	}
	if _, err := n.Housekeeping(t.Context(), people.Retention{Pending: 30 * 24 * time.Hour, Mail: 30 * 24 * time.Hour},
		now0.Add(members.ConfirmTTL)+9); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Confirm(t.Context(), later, core.Origin{}, now0.Add(members.ConfirmTTL)+9); err != nil {
		t.Errorf("the last one is younger: %v", err)
	}
	n.At(now0.Add(members.ConfirmTTL)+10).Leave(n.ListID, "a@example.org")
	again := asks(n, "a@example.org", 10, now0.Add(members.ConfirmTTL)+11)
	if _, err := n.Confirm(t.Context(), later, core.Origin{}, now0.Add(members.ConfirmTTL)+30); !errors.Is(err,
		core.ErrInvalidToken) {
		t.Errorf("a token of the generation before: %v", err)
	}
	for _, token := range again {
		if _, err := n.Confirm(t.Context(), token, core.Origin{}, now0.Add(members.ConfirmTTL)+30); err != nil {
			t.Error(err)
		}
	}
}

// Repeated requests for a link, or with a token that anyone can request, don't create a row for each email that is left
// out.
func TestMailsLeftOutAreFew(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "a@example.org")
	for i := range core.Instant(30) {
		for _, email := range []core.Email{"a@example.org", "stranger@example.org"} {
			if err := n.RequestPreferencesLink(t.Context(), n.ListID, email, now0+i); err != nil {
				t.Fatal(err)
			}
			l := members.UnsubscribeRequest{
				ListID: n.ListID, SubscriptionID: n.SubscriptionID(n.ListID, email.Key()), Email: email,
				Proof: core.ProofResponse,
			}
			if _, err := n.Unsubscribe(t.Context(), l, now0+i); err != nil && !errors.Is(err, core.ErrNotFound) {
				t.Fatal(err)
			}
		}
	}
	for _, email := range []string{"a@example.org", "stranger@example.org"} {
		for _, kind := range []string{core.MailPreferences, core.MailUnsubscribed} {
			if got := n.Count("SELECT count(*) FROM mail WHERE email_key = ? AND kind = ?", email,
				kind); got != store.RequestsApart {
				t.Errorf("%s: %d rows of %s, want %d", email, got, kind, store.RequestsApart)
			}
		}
	}
}
