package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/store/storetest"
)

// TestTortureTimesTellNothing compares the response times for addresses with and without an account or a subscription,
// in interleaved pairs. On a busy machine, single times mean nothing, but medians of many do. A real difference shows
// in every round.
func TestTortureTimesTellNothing(t *testing.T) {
	if !daemontest.AtLength() {
		t.Skip("make torture")
	}
	const pairs = 200
	f := daemontest.New(t)
	f.People(pairs)
	list := ""
	f.Prepare(func(s *storetest.Seeder) {
		list = s.NewList().ID
		for i := range timingRounds * pairs { // subscribers
			s.Active(list, core.Email(daemontest.Person(i)))
		}
	})
	f.Serve()
	defer f.Stop()
	ask := func(path, media, body string) time.Duration {
		began := time.Now()
		res, err := f.HTTP.Post(f.URL+path, media, strings.NewReader(body))
		f.Must(err)
		_, _ = io.Copy(io.Discard, res.Body)
		f.Must(res.Body.Close())
		if res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500 {
			t.Fatalf("%s: %d", path, res.StatusCode)
		}
		return time.Since(began)
	}
	token := func(email string) string { // requested before the measurement
		res, err := f.HTTP.Post(f.URL+"/api/newsletter/unsubscribe-token", "application/json",
			strings.NewReader(fmt.Sprintf(`{"list_id":%q,"email":%q}`, list, email)))
		f.Must(err)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		f.Must(err)
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
				member := daemontest.Person(i)
				if strings.Contains(tt.path, "newsletter") { // a subscriber can only unsubscribe once
					member = daemontest.Person(round*pairs + i)
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

// timingRounds is how often a pair is measured at most. A pair whose medians differ is measured again, because the
// reason may be other work on the machine.
const timingRounds = 3
