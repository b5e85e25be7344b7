package storetest

import (
	"encoding/json"
	"errors"
	"testing"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// SeedList returns a Seeder for a fresh store with a list and a tenant, whose domain is example.org. All records get
// the time now.
func SeedList(t testing.TB, now core.Instant) *Seeder {
	t.Helper()
	s := Seed(t, nil).At(now)
	s.NewTenant(func(in *core.TenantInput) { in.Domains = &[]string{"example.org"} })
	s.NewList()
	return s
}

// Request subscribes an address to a list, as a signup form does, and returns the row of its email. If s.Now is set, it
// checks that the response is the same whatever is known about the address.
func (s *Seeder) Request(listID string, email core.Email, p core.Preferences) (rowID string) {
	s.Helper()
	sub, rowID, err := s.Subscribe(s.Context(),
		members.SubscribeRequest{ListID: listID, Email: email, Preferences: p}, s.Time())
	s.Must(err)
	want := core.Subscription{
		ID: s.SubscriptionID(listID, email.Key()), ListID: listID, Email: email,
		Status: core.SubscriptionPending, Preferences: p.OrEmpty(), CreatedAt: s.Time(),
	}
	if s.Now != 0 && sub != want {
		s.Errorf("subscribe answered %+v, want %+v", sub, want)
	}
	return rowID
}

// Token returns the token of a row that Request has returned.
func (s *Seeder) Token(rowID, proof string) string {
	s.Helper()
	token, err := s.ConfirmToken(s.Context(), rowID, proof)
	s.Must(err)
	return token
}

// Pending subscribes an address to a list and returns the token of its confirmation email.
func (s *Seeder) Pending(listID string, email core.Email) (token string) {
	s.Helper()
	return s.Token(s.Request(listID, email, ""), core.ProofMailed)
}

// Active subscribes an address to a list and confirms it. The send side gets the change only through the outbox.
func (s *Seeder) Active(listID string, email core.Email) core.Subscription {
	s.Helper()
	sub, err := s.Confirm(s.Context(), s.Pending(listID, email), core.Origin{}, s.Time())
	s.Must(err)
	return sub
}

// Leaving returns the request that an email's unsubscribe link sends for an address.
func (s *Seeder) Leaving(listID string, email core.Email) members.UnsubscribeRequest {
	return members.UnsubscribeRequest{
		ListID: listID, SubscriptionID: s.SubscriptionID(listID, email.Key()), Email: email, Proof: core.ProofMailed,
	}
}

// Leave unsubscribes an address, as the link of an email does.
func (s *Seeder) Leave(listID string, email core.Email) core.Subscription {
	s.Helper()
	sub, err := s.Unsubscribe(s.Context(), s.Leaving(listID, email), s.Time())
	s.Must(err)
	return sub
}

// MemberStatus returns the status of an address's subscription on the member side, or absent.
func (s *Seeder) MemberStatus(listID string, email core.Email) string {
	s.Helper()
	sub, err := s.Subscription(s.Context(), listID, email)
	if errors.Is(err, core.ErrSubscriptionNotFound) {
		return "absent"
	}
	s.Must(err)
	return sub.Status
}

// Events returns the types of the events in the outbox, oldest first.
func (s *Seeder) Events() (types []string) {
	s.Helper()
	rows, err := s.OutboxEvents(s.Context(), tenants.OutboxFilter{}, 0, 1000)
	s.Must(err)
	for _, e := range rows {
		types = append(types, e.EventType)
	}
	return types
}

// Deliver applies the events in the outbox to the send side, as the daemon does.
func (s *Seeder) Deliver() {
	s.Helper()
	due, err := s.DueEvents(s.Context(), "", s.Time(), 1000)
	s.Must(err)
	for i := range due {
		var e core.Event
		s.Must(json.Unmarshal([]byte(due[i].Body), &e))
		nonce := tenants.Nonce{ClientID: core.LoopClientID, Nonce: core.NewID()}
		s.Must(s.ApplyEvent(s.Context(), nonce, e, s.Time()))
		s.Must(s.FinishEvents(s.Context(), []tenants.EventResult{{Event: &due[i], Done: true}}, s.Time()))
	}
}

// Import imports rows with a status into a list, as an import of a file does.
func (s *Seeder) Import(listID, status string, rows ...imports.ImportRow) core.ImportCounts {
	s.Helper()
	im, err := s.NewImport(s.Context(), listID, status, "file.csv")
	s.Must(err)
	defer im.Close()
	for _, r := range rows {
		s.Must(im.Put(r))
	}
	s.Must(im.Write(s.Context(), s.Time, nil))
	return im.Counts
}

// Plan requests a full sync of a list and divides it into batches.
func (s *Seeder) Plan(listID string) core.Sync {
	s.Helper()
	id, err := s.RequestSync(s.Context(), listID, s.Time())
	s.Must(err)
	y, err := s.Sync(s.Context(), id)
	s.Must(err)
	s.Must(s.PlanSync(s.Context(), &y, s.Time()))
	return y
}

// Synced applies a full sync from a client, in a single batch, to the send side.
func (s *Seeder) Synced(l core.List, clientID string, subscribers ...core.EventSubscriber) {
	s.Helper()
	f := s.Batch(l, core.NewID(), 1, 1)
	f.Subscribers = subscribers
	s.Must(s.ApplyBatch(s.Context(), tenants.Nonce{ClientID: clientID, Nonce: core.NewID()}, f, s.Time()))
	for more := true; more; {
		var err error
		more, err = s.RemoveAbsent(s.Context(), s.Time())
		s.Must(err)
	}
}

// Audited returns the number of audit entries for an action.
func (s *Seeder) Audited(action string) (n int) {
	s.Helper()
	trail, _, err := s.Audit(s.Context(), core.AuditFilter{Action: action}, core.Page{Limit: 1000})
	s.Must(err)
	for _, a := range trail {
		if a.Action == action {
			n++
		}
	}
	return n
}

// SweptImports runs the cleanup of imports until nothing is left to remove.
func (s *Seeder) SweptImports() {
	s.Helper()
	for more := true; more; {
		var err error
		more, err = s.SweepImports(s.Context(), s.Time())
		s.Must(err)
	}
}
