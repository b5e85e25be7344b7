package worker

import (
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// At night both sides are compared, and what differs is copied whole; a list that agrees is left alone.
func TestSelfCheckHeals(t *testing.T) {
	inBubble(t, func(m *member) {
		wanted := time.Now().Add(6 * time.Hour)
		check := NewSelfCheck(m.Store, time.Duration(wanted.Hour())*time.Hour+time.Duration(wanted.Minute())*time.Minute,
			false, quiet)
		m.Active(m.list.ID, "a@example.org")
		m.run(Outbox(m.Store, m.poster, quiet), FullSync(m.Store, m.poster, quiet), check.Loop())
		time.Sleep(5 * time.Hour) // the receiver has taken the event, and the send side here knows no subscriber
		synctest.Wait()
		if f := check.Figures(); f.EndedAt != 0 {
			m.Errorf("before its time: %+v", f)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if f := check.Figures(); f.Differing != 1 || f.Healed != 1 {
			m.Errorf("%+v", f)
		}
		m.receiver.mu.Lock()
		b := m.receiver.batches[1]
		m.receiver.mu.Unlock()
		if len(b.Subscribers) != 1 {
			m.Errorf("batch %+v", b)
		}
		m.Must(m.ApplyBatch(m.Context(), store.Nonce{ClientID: core.LoopClientID, Nonce: core.NewID()}, b,
			core.At(time.Now())))
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if f := check.Figures(); f.Differing != 0 || f.Healed != 1 {
			m.Errorf("the night after: %+v", f)
		}
	})
}

// A full sync that was refused is asked for again the next night, also where the send side can't be looked into.
func TestSelfCheckBeginsFailedSyncsAnew(t *testing.T) {
	inBubble(t, func(m *member) {
		m.receiver.say(func(core.Event) (int, map[string]string) { return 422, nil })
		_, err := m.RequestSync(m.Context(), m.list.ID, core.At(time.Now()))
		m.Must(err)
		check := NewSelfCheck(m.Store, 0, true, quiet)
		m.run(FullSync(m.Store, m.poster, quiet), check.Loop())
		time.Sleep(time.Minute)
		synctest.Wait()
		m.receiver.say(nil)
		for night, want := range []int64{1, 1} {
			time.Sleep(25 * time.Hour)
			synctest.Wait()
			if failed, err := m.SyncFailed(m.Context(), m.list.ID); err != nil || failed || check.Figures().Healed != want {
				m.Errorf("night %d: %v, %v, %+v", night, failed, err, check.Figures())
			}
		}
	})
}
