package members

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// NoteTracking adds a ledger entry if a change to the preferences gives or withdraws consent to tracking opens and
// clicks per subscriber. was holds the earlier preferences. c has the time, origin and proof of the change.
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

// TrackingRequest is a request to give or withdraw consent to tracking opens and clicks per subscriber.
type TrackingRequest struct {
	ListID      string
	Email       core.Email
	Agrees      bool
	TextVersion string // version of the consent text, as returned by KeepConsentText
	Proof       string
	Origin      core.Origin
	JobNo       int64 // job of the email with the link; 0 means none
}

// SetTracking stores a subscriber's consent to tracking, or its withdrawal. If there is no subscription, it returns
// core.ErrSubscriptionNotFound. If an inactive subscription is to give consent, it returns core.ErrInvalidToken.
func (s *Store) SetTracking(ctx context.Context, r TrackingRequest, now core.Instant) (core.Subscription, error) {
	c := core.Consent{Proof: r.Proof, Origin: r.Origin, JobNo: r.JobNo}
	agreeing := func(_ core.Fields, p core.Preferences) (core.Preferences, error) {
		switch {
		case !r.Agrees:
			return p.RefusingTracking(), nil
		case p.AgreesToTracking():
			return p, nil
		}
		return p.AgreeingToTracking(r.TextVersion), nil
	}
	sub, err := s.changePreferences(ctx, r.ListID, r.Email, c, agreeing, now)
	if err == nil && r.Agrees && !sub.Preferences.AgreesToTracking() {
		err = core.ErrInvalidToken
	}
	return sub, err
}

// KeepConsentText stores a text that subscribers of a list agree to, and returns its version for the consent ledger.
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
