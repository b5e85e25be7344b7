package console

import (
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// The times in the note of an import are shown like other times. Whatever else it says stays as it is.
func TestConsentNotesShowTimes(t *testing.T) {
	p := &Page{Call: &web.Call{Now: 1}, Lang: "en", Zone: time.UTC}
	c := core.Consent{
		What: core.ConsentImported, SubscribedAt: 1,
		Reason: "opted in 2024-12-17T16:07:00Z; confirmed 2024-13-17T16:07:00Z from 203.0.113.50",
	}
	left := core.Consent{What: core.ConsentImportedLeft, Reason: "unsubscribed 2025-01-01T09:00:00Z"}
	if got := p.consentLine(&left, nil).Reason; strings.Contains(got, "2025-01-01T") {
		t.Error(got)
	}
	got := p.consentLine(&c, nil).Reason
	if strings.Contains(got, "2024-12-17T") || !strings.Contains(got, "17 Dec 2024") ||
		!strings.HasSuffix(got, "; confirmed 2024-13-17T16:07:00Z from 203.0.113.50") {
		t.Error(got)
	}
}

// Sources that newsletterd notes itself are named. Those that an API client or an import gave are quoted.
func TestConsentSourcesAreNamed(t *testing.T) {
	p := &Page{Call: &web.Call{Now: 1}, Lang: "de", Zone: time.UTC}
	for _, c := range []struct{ what, source, want string }{
		{core.ConsentConfirmed, "page", "Bestätigungsseite"},
		{core.ConsentUnsubscribed, "page", "Abmeldeseite"},
		{core.ConsentUnsubscribed, "preferences", "Einstellungsseite"},
		{core.ConsentRequested, "form", "Anmeldeformular"},
		{core.ConsentRequested, "page", "„page“"},
		{core.ConsentRequested, "fair 2026", "„fair 2026“"},
	} {
		got := p.consentFrom(&core.Consent{What: c.what, Origin: core.Origin{Source: c.source}}, nil)
		if got != c.want {
			t.Errorf("%s from %s: %q", c.what, c.source, got)
		}
	}
}
