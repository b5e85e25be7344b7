package core

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// TrackingMember is the member of the preferences that says whether a subscriber agrees to be named in openings and
// clicks: true, or the TextVersion of what was agreed to; false after a withdrawal. As a part of the preferences it
// gets to the send service by every event and full sync. No field of a list and no free field of a form is called so.
const TrackingMember = "_tracking"

// AsksForTracking reports whether readers of the tenant are named in openings and clicks only where they have agreed.
func (t *Tenant) AsksForTracking() bool { return t.TrackingConsent && !t.NoTracking && !t.TotalsOnly }

// AgreesToTracking reports whether the subscriber agrees to be named in openings and clicks.
func (p Preferences) AgreesToTracking() bool {
	_, agrees := p.TrackingConsent()
	return agrees
}

// TrackingConsent returns whether the subscriber agrees to be named in openings and clicks, and the version of the text
// that was agreed to; empty where none is known. Any value but true and a version, such as a text in a file, is no
// agreement.
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

// tracking returns the value of the member; nil where there is none.
func (p Preferences) tracking() json.RawMessage {
	if !strings.Contains(string(p), `"`+TrackingMember+`"`) { // of nearly all; the others are decoded for each mail
		return nil
	}
	return p.Values()[TrackingMember]
}

// AgreeingToTracking returns the object with an agreement to a text; its version is empty where it is not known.
func (p Preferences) AgreeingToTracking(textVersion string) Preferences {
	if textVersion == "" {
		return p.With(map[string]any{TrackingMember: true})
	}
	return p.With(map[string]any{TrackingMember: textVersion})
}

// RefusingTracking returns the object with the agreement withdrawn.
func (p Preferences) RefusingTracking() Preferences {
	return p.With(map[string]any{TrackingMember: false})
}

// withTrackingOf returns the object with the member as another one has it.
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

// ReplacedBy returns the preferences that take the place of others. What they say of tracking stays where the new ones
// say nothing: who replaces preferences without it did not mean to withdraw.
func (p Preferences) ReplacedBy(by Preferences) Preferences {
	if by.tracking() != nil {
		return by
	}
	return by.withTrackingOf(p)
}

// MergedWith returns the preferences with the members of others in place of their own; what the others don't name
// stays. Where that is too large, the others take their place.
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

// MeetTracking keeps an agreement of a subscription that was just confirmed only where the confirmed request has it as
// well: another request, which no one has confirmed, may have given the subscription other preferences since.
func (s *Subscription) MeetTracking(asked Preferences) {
	if s.Preferences.AgreesToTracking() && !asked.AgreesToTracking() {
		s.Preferences = s.Preferences.withTrackingOf(NoPreferences)
	}
}

// TextVersion names a text that subscribers agree to, as the ledger does.
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
