package members

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// NoteTracking enters into the ledger that a subscriber agrees to be named in openings and clicks, or does so no more,
// where the preferences say it that were others before. c says when, from where and how that was proved.
func NoteTracking(tx *db.Tx, was core.Preferences, sub *core.Subscription, c core.Consent) error {
	version, agrees := sub.Preferences.TrackingConsent()
	before, agreed := was.TrackingConsent()
	if agrees == agreed && version == before {
		return nil
	}
	c.ListID, c.SubscriptionID, c.Generation = sub.ListID, sub.ID, sub.Generation
	if c.What, c.TextVersion = core.ConsentTracking, version; !agrees {
		c.What = core.ConsentTrackingWithdrawn
	}
	return AddConsent(tx, c)
}

// TrackingRequest is that a subscriber agrees to be named in openings and clicks, or withdraws that.
type TrackingRequest struct {
	ListID      string
	Email       core.Email
	Agrees      bool
	TextVersion string // of what was agreed to, as KeepConsentText returns it
	Proof       string
	Origin      core.Origin
	JobNo       int64 // of the mail whose link it was; 0: none
}

// SetTracking keeps what a subscriber says of tracking. It returns core.ErrSubscriptionNotFound where there is no
// subscription, and core.ErrInvalidToken where one that isn't active is to agree.
func (s *Store) SetTracking(ctx context.Context, r TrackingRequest, now core.Instant) (core.Subscription, error) {
	c := core.Consent{Proof: r.Proof, Origin: r.Origin, JobNo: r.JobNo}
	sub, err := s.changePreferences(ctx, r.ListID, r.Email, c, func(p core.Preferences) (core.Preferences, error) {
		switch {
		case !r.Agrees:
			return p.RefusingTracking(), nil
		case p.AgreesToTracking():
			return p, nil
		}
		return p.AgreeingToTracking(r.TextVersion), nil
	}, now)
	if err == nil && r.Agrees && !sub.Preferences.AgreesToTracking() {
		err = core.ErrInvalidToken
	}
	return sub, err
}

// KeepConsentText keeps a text that subscribers of a list agree to, and returns the name that the ledger calls it by.
// Its only error is core.ErrStorage.
func (s *Store) KeepConsentText(ctx context.Context, listID, text string, now core.Instant) (version string,
	err error,
) {
	version = core.TextVersion(text)
	if _, err := s.ConsentText(ctx, listID, version); !errors.Is(err, core.ErrNotFound) {
		return version, err
	}
	return version, s.Update(ctx, func(tx *db.Tx) error { return tenants.AddConsentText(tx, listID, text, now) })
}
