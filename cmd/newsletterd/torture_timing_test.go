package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// TestTortureTimesTellNothing compares how long answers take for addresses with and without an account or a
// subscription, in interleaved pairs. On a busy machine single answers tell nothing; medians of many do, and what tells
// something does so in every round.
func TestTortureTimesTellNothing(t *testing.T) {
	if os.Getenv("NEWSLETTERD_TORTURE") == "" {
		t.Skip("make torture")
	}
	const pairs = 200
	f := newProcess(t)
	f.people(pairs)
	list := f.readers(timingRounds * pairs)
	f.serve()
	defer f.stop()
	ask := func(path, media, body string) time.Duration {
		began := time.Now()
		res, err := f.httpClient.Post(f.url+path, media, strings.NewReader(body))
		f.must(err)
		_, _ = io.Copy(io.Discard, res.Body)
		f.must(res.Body.Close())
		if res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500 {
			t.Fatalf("%s: %d", path, res.StatusCode)
		}
		return time.Since(began)
	}
	token := func(email string) string { // asked for before the time counts
		res, err := f.httpClient.Post(f.url+"/api/newsletter/unsubscribe-token", "application/json",
			strings.NewReader(fmt.Sprintf(`{"list_id":%q,"email":%q}`, list, email)))
		f.must(err)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		f.must(err)
		return strings.Split(string(b), `"`)[3]
	}
	const jsonType, formType = "application/json", "application/x-www-form-urlencoded"
	for _, tt := range []struct {
		path, media string
		body        func(email string) string
	}{
		{"/api/auth/login", formType, func(email string) string {
			return url.Values{"grant_type": {"password"}, "username": {email}, "password": {"a wrong one"}}.Encode()
		}},
		{
			"/api/auth/register", jsonType,
			func(email string) string { return fmt.Sprintf(`{"email":%q,"password":"one of my own"}`, email) },
		},
		{"/api/auth/password/forgot", jsonType, func(email string) string { return fmt.Sprintf(`{"email":%q}`, email) }},
		{
			"/api/newsletter/subscribe", jsonType,
			func(email string) string { return fmt.Sprintf(`{"list_id":%q,"email":%q}`, list, email) },
		},
		{"/l/" + list, formType, func(email string) string { return url.Values{"email": {email}}.Encode() }},
		{
			"/preferences", formType,
			func(email string) string { return url.Values{"list": {list}, "email": {email}}.Encode() },
		},
		{
			"/api/newsletter/unsubscribe-token", jsonType,
			func(email string) string { return fmt.Sprintf(`{"list_id":%q,"email":%q}`, list, email) },
		},
		{
			"/api/newsletter/unsubscribe", jsonType,
			func(email string) string { return fmt.Sprintf(`{"token":%q}`, token(email)) },
		},
	} {
		var ratio float64
		for round := range timingRounds {
			var known, unknown []time.Duration
			for i := range pairs {
				member := person(i)
				if strings.Contains(tt.path, "newsletter") { // no subscriber can leave twice
					member = person(round*pairs + i)
				}
				stranger := fmt.Sprintf("nobody%s%d-%d@example.org", strings.ReplaceAll(tt.path, "/", "-"), round, i)
				known = append(known, ask(tt.path, tt.media, tt.body(member)))
				unknown = append(unknown, ask(tt.path, tt.media, tt.body(stranger)))
			}
			slices.Sort(known)
			slices.Sort(unknown)
			a, b := known[pairs/2], unknown[pairs/2]
			ratio = float64(a) / float64(b)
			t.Logf("%-28s known %v, unknown %v, ratio %.2f", tt.path, a.Round(10*time.Microsecond),
				b.Round(10*time.Microsecond), ratio)
			if ratio >= 0.8 && ratio <= 1.2 {
				break
			}
		}
		if ratio < 0.8 || ratio > 1.2 {
			t.Errorf("%s: known take %.2f times as long as unknown, in each of %d rounds", tt.path, ratio, timingRounds)
		}
	}
}

// timingRounds is how often a pair of medians that differ is looked at again: other work of the machine makes some
// differ.
const timingRounds = 3

// readers makes a list and the first n people its subscribers, while no daemon runs.
func (f *figures) readers(n int) string {
	f.Helper()
	s, err := store.Open(f.Context(), store.Options{Path: filepath.Join(f.dir, "newsletterd.db"), Migrate: true})
	f.must(err)
	defer func() { f.must(s.Close()) }()
	tenant, err := core.NewTenant(core.TenantInput{Name: new("Acme")}, now())
	f.must(err)
	f.must(s.AddTenant(f.Context(), tenant, "test"))
	list, err := core.NewList(core.ListInput{TenantID: &tenant.ID, Name: new("News")}, now())
	f.must(err)
	f.must(s.AddList(f.Context(), list, "test"))
	for i := range n {
		_, row, err := s.Subscribe(f.Context(), store.SubscribeRequest{ListID: list.ID, Email: core.Email(person(i))}, now())
		f.must(err)
		token, err := s.ConfirmToken(f.Context(), row, core.ProofMailed)
		f.must(err)
		_, err = s.Confirm(f.Context(), token, core.Origin{}, now())
		f.must(err)
	}
	return list.ID
}
