package store

import (
	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// suppressed imports addresses to which no campaign may be sent.
func (s *story) suppressed() {
	ctx := s.Context()
	row := imports.ImportRow{
		Email:     "blocked@example.org",
		Left:      true,
		Departure: imports.Departure{Block: core.StatusComplaint},
	}
	var im *imports.Import
	s.op("NewSuppressionImport", func() (err error) {
		im, err = s.NewSuppressionImport(ctx, s.tenant, "file", "test")
		return err
	})
	s.op("NewSuppressionImport", func() error { return im.Add(ctx, []imports.ImportRow{row}, now0+110) })
	s.op("NewSuppressionImport", func() error { return im.End(ctx, now0+110) })
	s.op("NoteSuppressionExport", func() error { return s.NoteSuppressionExport(ctx, s.tenant, "test", now0+110) })
	im.Close()
}

// hygiene asks an unconfirmed person once more, and imports blocked addresses.
func (s *story) hygiene() {
	s.suppressed()
	ctx := s.Context()
	s.op("Subscribe", func() error {
		return onlyErr2(s.Subscribe(ctx, members.SubscribeRequest{ListID: s.list, Email: "fay@example.org"}, now0+30))
	})
	asking := now0.Add(core.AskAfter) + 31
	s.op("AskAgain", func() error {
		return onlyErr2(s.AskAgain(ctx, people.AskAgain{ListID: s.list, Who: core.AskUnconfirmed, Actor: "test"}, asking))
	})
	s.op("Subscribe", func() error {
		return onlyErr2(s.Subscribe(ctx, members.SubscribeRequest{ListID: s.list, Email: "gil@example.org"}, now0+30))
	})
	s.op("RemoveUnconfirmed", func() error {
		return onlyErr2(s.RemoveUnconfirmed(ctx, s.list, "test", 0, now0.Add(members.ConfirmTTL)+31))
	})
	must(s.T, s.Update(ctx, func(tx *db.Tx) error { // as if fay had been asked later, while active
		_, err := tx.Exec("UPDATE subscription SET status = 'active', asked_at = ? WHERE list_id = ? AND email_key = ?",
			int64(asking), s.list, "fay@example.org")
		tenants.Moved(tx, s.list, core.CountPending, core.CountActive)
		return err
	}))
	s.op("UnsubscribeSilent", func() error {
		return onlyErr2(s.UnsubscribeSilent(ctx, s.list, "test", 0, asking.Add(core.AnswerWithin)))
	})
}
