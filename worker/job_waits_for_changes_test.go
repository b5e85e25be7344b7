package worker

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/smtp"
	"newsletterd/store"
)

// imports brings n readers to the member's side, as the command does; what the send side is told is left in the outbox.
func (m *member) imports(n int) {
	m.Helper()
	im, err := m.NewImport(m.Context(), m.list.ID, "active", "test")
	m.Must(err)
	var rows []store.ImportRow
	for i := range n {
		rows = append(rows, store.ImportRow{Email: core.Email(fmt.Sprintf("r%03d@example.org", i))})
	}
	m.Must(im.Add(m.Context(), rows, core.At(time.Now())))
}

// deliver brings what is in the outbox to the send side.
func (m *member) deliver() (n int) {
	m.Helper()
	now := core.At(time.Now())
	due, err := m.DueEvents(m.Context(), "", now, 1000)
	m.Must(err)
	for i := range due {
		var e struct {
			Subscriber core.EventSubscriber
		}
		m.Must(json.Unmarshal([]byte(due[i].Body), &e))
		m.Must(m.ApplyEvent(m.Context(), store.Nonce{ClientID: "loop", Nonce: core.NewID()}, core.Event{
			ID: due[i].EventID, Type: core.EventActivated, TenantID: m.list.TenantID, ListID: m.list.ID,
			OccurredAt: due[i].OccurredAt, Subscriber: e.Subscriber,
		}, now))
		m.Must(m.FinishEvents(m.Context(), []store.EventResult{{Event: &due[i], Done: true}}, now))
	}
	return len(due)
}

func (m *member) recipients(j core.SendJob, after time.Duration) (n int64, expanded bool) {
	m.Helper()
	time.Sleep(after)
	synctest.Wait()
	j, err := m.SendJob(m.Context(), j.ID)
	m.Must(err)
	return j.Recipients, j.Expanded
}

// Readers who were imported just before a job are in it, though the send side has yet to hear of them; it does not
// wait for changes that are made while it waits, nor for those that the send side refuses, nor for ever.
func TestJobWaitsForChangesUnderway(t *testing.T) {
	inBubble(t, func(m *member) {
		sender := NewSender(m.Store, &smtp.Client{Addr: "127.0.0.1:1"},
			SendOptions{From: mail.Address{Email: "news@example.org"}, Log: quiet})
		m.run(Scheduler(m.Store, sender, quiet))
		m.imports(20)
		j := m.NewJob(m.list.ID)
		if n, expanded := m.recipients(j, time.Second); n != 0 || expanded {
			t.Errorf("before anything is delivered: %d recipients, expanded %t", n, expanded)
		}
		if n := m.deliver(); n != 20 {
			t.Fatalf("%d events", n)
		}
		m.Active(m.list.ID, "late@example.org")
		if n, expanded := m.recipients(j, time.Second); n != 20 || !expanded {
			t.Errorf("%d recipients, expanded %t, want 20", n, expanded)
		}

		j = m.NewJob(m.list.ID) // late's event is on its way; the send side is not there
		if n, _ := m.recipients(j, time.Second); n != 0 {
			t.Errorf("%d recipients before the event has failed", n)
		}
		due, err := m.DueEvents(m.Context(), "", core.At(time.Now()), 1)
		m.Must(err)
		m.Must(m.FinishEvents(m.Context(), []store.EventResult{{
			Event: &due[0], RetryAt: core.At(time.Now().Add(time.Hour)),
			Reason: "503",
		}}, core.At(time.Now())))
		if n, expanded := m.recipients(j, time.Second); n != 20 || !expanded {
			t.Errorf("%d recipients, expanded %t, after the event has failed", n, expanded)
		}

		_, err = m.RequestSync(m.Context(), m.list.ID, core.At(time.Now()))
		m.Must(err)
		j = m.NewJob(m.list.ID)
		if n, _ := m.recipients(j, changesMost-time.Minute); n != 0 {
			t.Errorf("%d recipients while a sync is open", n)
		}
		if n, expanded := m.recipients(j, 2*time.Minute); n != 20 || !expanded {
			t.Errorf("%d recipients, expanded %t, after all that time", n, expanded)
		}
	})
}
