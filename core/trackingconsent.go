package core

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// TrackingMember is the preferences member that records whether a subscriber agrees to be identified in opens and
// clicks. It is true, or the TextVersion of the text that the subscriber agreed to; false means withdrawn. As part of
// the preferences, it reaches the send service with every event and full sync. List fields and free form fields can't
// have this name.
const TrackingMember = "_tracking"

// AsksForTracking reports whether the tenant identifies subscribers in opens and clicks only if they agreed.
func (t *Tenant) AsksForTracking() bool { return t.TrackingConsent && !t.NoTracking && !t.TotalsOnly }

// AgreesToTracking reports whether the subscriber agrees to be identified in opens and clicks.
func (p Preferences) AgreesToTracking() bool {
	_, agrees := p.TrackingConsent()
	return agrees
}

// TrackingConsent returns whether the subscriber agrees to be identified in opens and clicks, and the version of the
// text they agreed to, or "" if unknown. Any value other than true or a version, such as a string from a file, does not
// count as agreement.
func (p Preferences) TrackingConsent() (textVersion string, agrees bool) {
	raw := p.tracking()
	if string(raw) == "true" {
		return "", true
	}
	if len(raw) == 0 || json.Unmarshal(raw, &textVersion) != nil || !IsTextVersion(textVersion) {
		return "", false
	}
	return textVersion, true
}

// tracking returns the value of the member TrackingMember, or nil if there is none.
func (p Preferences) tracking() json.RawMessage {
	if !strings.Contains(string(p), `"`+TrackingMember+`"`) { // nearly all; the others are decoded for each email
		return nil
	}
	return p.Values()[TrackingMember]
}

// AgreeingToTracking returns p with consent to tracking. textVersion is the agreed text's version, or empty if unknown.
func (p Preferences) AgreeingToTracking(textVersion string) Preferences {
	if textVersion == "" {
		return p.With(map[string]any{TrackingMember: true})
	}
	return p.With(map[string]any{TrackingMember: textVersion})
}

// RefusingTracking returns p with consent to tracking withdrawn.
func (p Preferences) RefusingTracking() Preferences {
	return p.With(map[string]any{TrackingMember: false})
}

// withTrackingOf returns p with the tracking member of other.
func (p Preferences) withTrackingOf(other Preferences) Preferences {
	is, want := p.tracking(), other.tracking()
	switch {
	case string(is) == string(want):
		return p
	case want == nil:
		return p.With(map[string]any{TrackingMember: nil})
	}
	return p.With(map[string]any{TrackingMember: want})
}

// ReplacedBy returns the preferences in by, which replace p. If they have no tracking member, the result keeps that of
// p, because leaving it out does not withdraw consent.
func (p Preferences) ReplacedBy(by Preferences) Preferences {
	if by.tracking() != nil {
		return by
	}
	return by.withTrackingOf(p)
}

// MergedWith returns p with the members of by, which replace those with the same name. If the result would exceed
// MaxPreferences, it returns p.ReplacedBy(by).
func (p Preferences) MergedWith(by Preferences) Preferences {
	have, values := p.Values(), map[string]any{}
	for name, value := range by.Values() {
		if !bytes.Equal(have[name], value) {
			values[name] = value
		}
	}
	if len(values) == 0 {
		return p
	}
	if merged := p.With(values); len(merged) <= MaxPreferences {
		return merged
	}
	return p.ReplacedBy(by)
}

// MeetTracking removes consent to tracking from a newly confirmed subscription if the confirmed request did not contain
// it: a later, unconfirmed request may have set it.
func (s *Subscription) MeetTracking(asked Preferences) {
	if s.Preferences.AgreesToTracking() && !asked.AgreesToTracking() {
		s.Preferences = s.Preferences.withTrackingOf(NoPreferences)
	}
}

// TextVersion returns the version that the consent ledger records for a consent text.
func TextVersion(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:textVersionBytes])
}

const textVersionBytes = 6

// IsTextVersion reports whether s has the form of a TextVersion.
func IsTextVersion(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == textVersionBytes && s == strings.ToLower(s)
}
