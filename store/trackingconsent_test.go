package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
)

// The ledger records when, where and to which text a subscriber agreed to personal tracking, and when the consent was
// withdrawn.
func TestConsentToTrackingInTheLedger(t *testing.T) {
	n := storetest.SeedList(t, now0)
	version, err := n.KeepConsentText(t.Context(), n.ListID, "I agree.", now0)
	n.Must(err)
	again, err := n.KeepConsentText(t.Context(), n.ListID, "I agree.", now0+1)
	n.Must(err)
	if text, err := n.ConsentText(t.Context(), n.ListID, version); text != "I agree." || err != nil || again != version {
		t.Fatalf("%q %v %q %q", text, err, version, again)
	}
	const ann = core.Email("ann@example.org")
	ask := members.SubscribeRequest{
		ListID: n.ListID, Email: ann, Preferences: core.NoPreferences.AgreeingToTracking(version),
		Origin: core.Origin{Source: "form", Remote: "192.0.2.1"},
	}
	_, row, err := n.Subscribe(t.Context(), ask, now0)
	n.Must(err)
	ledger := func() string {
		var said []string
		all, err := n.Consents(t.Context(), n.ListID, n.SubscriptionID(n.ListID, ann.Key()))
		n.Must(err)
		for _, c := range all {
			if strings.HasPrefix(c.What, "tracking") {
				said = append(said, fmt.Sprint(int64(c.At-now0), " ", c.What, " ", c.Proof, " ", c.Source, " ", c.Remote, " ",
					c.TextVersion == version))
			}
		}
		return strings.Join(said, "; ")
	}
	if got := ledger(); got != "" {
		t.Errorf("what no one has confirmed: %s", got)
	}
	_, err = n.Confirm(t.Context(), n.Token(row, core.ProofMailed), core.Origin{Source: "page"}, now0+10)
	n.Must(err)
	want := "10 tracking_agreed mailed form 192.0.2.1 true"
	if got := ledger(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	set := func(agrees bool, at core.Instant) {
		_, err := n.SetTracking(t.Context(), members.TrackingRequest{
			ListID: n.ListID, Email: ann, Agrees: agrees, TextVersion: version, Proof: core.ProofMailed,
			Origin: core.Origin{Source: "preferences"},
		}, at)
		n.Must(err)
	}
	set(true, now0+15) // no change
	set(false, now0+20)
	set(false, now0+21)
	set(true, now0+30)
	want += "; 20 tracking_withdrawn mailed preferences  false; 30 tracking_agreed mailed preferences  true"
	if got := ledger(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for i, p := range []core.Preferences{`{"city":"Ulm"}`, `{"_tracking":false}`, `{"_tracking":true}`} {
		_, err := n.SetPreferences(t.Context(), n.ListID, ann, p, now0+40+core.Instant(i))
		n.Must(err)
	}
	want += "; 41 tracking_withdrawn  api  false; 42 tracking_agreed  api  false"
	if got := ledger(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	n.Leave(n.ListID, ann)
	_, err = n.SetTracking(t.Context(), members.TrackingRequest{ListID: n.ListID, Email: ann}, now0+50)
	n.Must(err)
	_, err = n.SetTracking(t.Context(), members.TrackingRequest{ListID: n.ListID, Email: ann, Agrees: true}, now0+60)
	if !errors.Is(err, core.ErrInvalidToken) {
		t.Errorf("who has left agrees: %v", err)
	}
	_, err = n.SetTracking(t.Context(), members.TrackingRequest{ListID: n.ListID, Email: "no@example.org"}, now0+60)
	if !errors.Is(err, core.ErrSubscriptionNotFound) {
		t.Errorf("%v", err)
	}
	if want += "; 50 tracking_withdrawn    false"; ledger() != want {
		t.Errorf("%s\nwant %s", ledger(), want)
	}
}

// An operator's file can show who has given consent in another system, and the ledger records that. Importing the file
// again changes nothing.
func TestConsentToTrackingInFiles(t *testing.T) {
	n := storetest.SeedList(t, now0)
	rows := []imports.ImportRow{
		{Email: "ann@example.org", Preferences: `{"_tracking":true}`},
		{Email: "bob@example.org", Preferences: `{"_tracking":"true"}`},
		{Email: "cyd@example.org", Preferences: `{}`},
	}
	n.Import(n.ListID, core.SubscriptionActive, rows...)
	noted := func() int {
		return n.Count("SELECT count(*) FROM consent WHERE what = 'tracking_agreed' AND means = 'import' AND source = " +
			"'file.csv'")
	}
	if noted() != 1 {
		t.Errorf("%d agree", noted())
	}
	rows[2].Preferences = `{"_tracking":true}`
	for i, want := range []core.ImportCounts{{Updated: 1, Unchanged: 2}, {Unchanged: 3}} {
		if got := n.Import(n.ListID, core.SubscriptionActive, rows...); got != want || noted() != 2 {
			t.Errorf("%d: %+v, %d agree", i, got, noted())
		}
	}
	_, err := n.SetTracking(t.Context(), members.TrackingRequest{ListID: n.ListID, Email: "ann@example.org"}, n.Time()+1)
	n.Must(err)
	if got := n.Import(n.ListID, core.SubscriptionActive, rows[:1]...); got != (core.ImportCounts{Unchanged: 1}) {
		t.Errorf("a file takes a withdrawal back: %+v", got)
	}
}

// Opens that a provider reports don't identify subscribers without consent either, neither in the recipient's record
// nor in the stored report.
func TestReportsOfOpeningsNameNoReader(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.ChangeTenant(n.TenantID, core.TenantInput{TrackingConsent: new(true)})
	l, err := n.List(t.Context(), n.ListID)
	n.Must(err)
	f := n.Batch(l, core.NewID(), 1, 2)
	for k, p := range []core.Preferences{`{}`, `{"_tracking":true}`} {
		f.Subscribers = append(f.Subscribers, core.EventSubscriber{
			ID: core.NewID(), Email: storetest.Reader(k), Status: "active", Preferences: p,
		})
	}
	n.Must(n.ApplyBatch(t.Context(), n.Nonce(), f, n.Time()))
	j := n.Finish(n.NewJob(n.ListID))
	for seq := int64(0); seq <= 2; seq++ {
		r := core.ProviderReport{
			Provider: "own", Key: []byte(fmt.Sprint(seq)), JobNo: j.No, Seq: seq,
			Event: core.ProviderEvent{TenantID: n.TenantID, Type: "open", OccurredAt: n.Time()},
		}
		if seq == 0 { // unknown email
			r.JobNo, r.Event.Email = 0, storetest.Reader(0)
		}
		n.Must(n.ApplyReports(t.Context(), []core.ProviderReport{r}, n.Time()))
	}
	if got := n.Reload(j).Opened; got != 1 {
		t.Errorf("%d have opened", got)
	}
	named := n.Count("SELECT count(*) FROM provider_event WHERE email_key <> '' OR seq <> 0")
	all := n.Count("SELECT count(*) FROM provider_event")
	agreed := n.Count("SELECT count(*) FROM provider_event WHERE email_key = '" + string(storetest.Reader(1)) + "'")
	if named != 1 || all != 3 || agreed != 1 {
		t.Errorf("%d of %d reports name a reader, %d of them the one who agrees", named, all, agreed)
	}
}

// Confirming one request doesn't give the consent of another request, which a stranger may have sent since. Neither
// does an operator's file that activates a subscriber.
func TestOnlyWhatIsConfirmedAgrees(t *testing.T) {
	n := storetest.SeedList(t, now0)
	agrees := func(email core.Email) bool {
		sub, err := n.Subscription(t.Context(), n.ListID, email)
		n.Must(err)
		noted := n.Count("SELECT count(*) FROM consent WHERE what LIKE 'tracking%' AND subscription_id = '" + sub.ID + "'")
		if (noted > 0) != sub.Preferences.AgreesToTracking() {
			t.Errorf("%s: %d in the ledger, %s", email, noted, sub.Preferences)
		}
		return sub.Preferences.AgreesToTracking()
	}
	const ticked, plain = core.Preferences(`{"_tracking":true,"a":1}`), core.Preferences(`{"a":1}`)
	for i, tt := range []struct {
		first, second core.Preferences
		want          bool
	}{{plain, ticked, false}, {ticked, plain, false}, {ticked, ticked, true}, {plain, plain, false}} {
		email := core.Email(fmt.Sprintf("a%d@example.org", i))
		row := n.Request(n.ListID, email, tt.first)
		n.Request(n.ListID, email, tt.second)
		_, err := n.Confirm(t.Context(), n.Token(row, core.ProofMailed), core.Origin{}, n.Time())
		n.Must(err)
		if agrees(email) != tt.want {
			t.Errorf("%s, then %s: %v", tt.first, tt.second, !tt.want)
		}
	}
	for i, file := range []core.Preferences{"", plain, ticked} {
		email := core.Email(fmt.Sprintf("b%d@example.org", i))
		n.Request(n.ListID, email, ticked)
		n.Import(n.ListID, core.SubscriptionActive, imports.ImportRow{Email: email, Preferences: file})
		if agrees(email) != (file == ticked) {
			t.Errorf("imported with %q: %v", file, file != ticked)
		}
	}
}
