package store

import "newsletterd/core"

// hygiene asks a person once more who has not confirmed.
func (s *story) hygiene() {
	ctx := s.Context()
	s.op("Subscribe", func() error {
		return onlyErr2(s.Subscribe(ctx, SubscribeRequest{ListID: s.list, Email: "fay@example.org"}, now0+30))
	})
	asking := now0.Add(core.AskAfter) + 31
	s.op("AskAgain", func() error {
		return onlyErr2(s.AskAgain(ctx, AskAgain{ListID: s.list, Who: core.AskUnconfirmed, Actor: "test"}, asking))
	})
	s.op("Subscribe", func() error {
		return onlyErr2(s.Subscribe(ctx, SubscribeRequest{ListID: s.list, Email: "gil@example.org"}, now0+30))
	})
	s.op("RemoveUnconfirmed", func() error {
		return onlyErr2(s.RemoveUnconfirmed(ctx, s.list, "test", 0, now0.Add(ConfirmTTL)+31))
	})
	must(s.T, s.update(ctx, func(tx *Tx) error { // as if fay had been asked later, while active
		_, err := tx.exec("UPDATE subscription SET status = 'active', asked_at = ? WHERE list_id = ? AND email_key = ?",
			int64(asking), s.list, "fay@example.org")
		tx.moved(s.list, core.CountPending, core.CountActive)
		return err
	}))
	s.op("UnsubscribeSilent", func() error {
		return onlyErr2(s.UnsubscribeSilent(ctx, s.list, "test", 0, asking.Add(core.AnswerWithin)))
	})
}
