package auth

import (
	"errors"
	"testing"

	"newsletterd/core"
)

func TestViewTokens(t *testing.T) {
	s, err := NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	want := ViewToken{JobNo: 3, Seq: 1_000_000, IssuedAt: 1_800_000_000_000}
	token := string(s.AppendView(nil, want))
	if got, err := s.OpenView(token); err != nil || got != want {
		t.Errorf("%+v %v", got, err)
	}
	if want.Expired(want.IssuedAt.Add(ViewTTL)-1) || !want.Expired(want.IssuedAt.Add(ViewTTL)) {
		t.Error("it ends at another time")
	}
	unsubscribe, err := s.SealUnsubscribe(UnsubscribeToken{
		Kind: UnsubscribeMailed, ListID: core.NewID(), SubscriptionID: core.NewID(), Email: "a@example.org",
		IssuedAt: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "x", token[:len(token)-1], token + "A", unsubscribe, s.Seal(purposeView, []byte{1}),
		s.Seal(purposeView, []byte{1, 1, 1, 1}),
	} {
		if _, err := s.OpenView(bad); !errors.Is(err, core.ErrInvalidToken) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, p := range []byte{purposeUnsubscribe, purposeUndo, purposeManage} {
		if _, err := s.Open(purposeView, s.Seal(p, []byte{1, 1, 1})); !errors.Is(err, core.ErrInvalidToken) {
			t.Errorf("a token for purpose %d opens for a view: %v", p, err)
		}
	}
	if _, err := s.OpenUnsubscribe(token); !errors.Is(err, core.ErrInvalidToken) {
		t.Errorf("it opens as an unsubscribe token: %v", err)
	}
}

func TestPreviewTokens(t *testing.T) {
	s, err := NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for _, email := range []core.Email{"", "a@example.org"} {
		want := PreviewToken{JobNo: 3, Email: email, IssuedAt: 1_800_000_000_000}
		token := s.SealPreview(want)
		if got, err := s.OpenPreview(token); err != nil || got != want {
			t.Errorf("%+v %v", got, err)
		}
		if want.Expired(want.IssuedAt.Add(ViewTTL)-1) || !want.Expired(want.IssuedAt.Add(ViewTTL)) {
			t.Error("it ends at another time")
		}
		if _, err := s.OpenView(token); !errors.Is(err, core.ErrInvalidToken) {
			t.Errorf("it opens as a view: %v", err)
		}
		for _, bad := range []string{
			"", token[:len(token)-1], string(s.AppendView(nil, ViewToken{JobNo: 3, Seq: 1})),
			s.Seal(purposePreview, []byte{1}),
		} {
			if _, err := s.OpenPreview(bad); !errors.Is(err, core.ErrInvalidToken) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
}

func TestRecordsTokens(t *testing.T) {
	s, err := NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	want := RecordsToken{DomainID: "d", IssuedAt: 1_800_000_000_000}
	token := s.SealRecords(want)
	if got, err := s.OpenRecords(token); err != nil || got != want {
		t.Errorf("%+v %v", got, err)
	}
	if want.Expired(want.IssuedAt.Add(RecordsTTL)-1) || !want.Expired(want.IssuedAt.Add(RecordsTTL)) {
		t.Error("it ends at another time")
	}
	for _, bad := range []string{
		"", token[:len(token)-1], s.SealDraft(DraftToken{CampaignID: "d", Version: 1}), s.Seal(purposeRecords, nil),
	} {
		if _, err := s.OpenRecords(bad); !errors.Is(err, core.ErrInvalidToken) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestDraftTokens(t *testing.T) {
	s, err := NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for _, email := range []core.Email{"", "a@example.org"} {
		bound := DraftToken{CampaignID: "c", Version: 3, Email: email, IssuedAt: 1_800_000_000_000, Seen: "abc"}
		if got, err := s.OpenDraft(s.SealDraft(bound)); err != nil || got != bound {
			t.Errorf("%+v %v", got, err)
		}
		want := DraftToken{CampaignID: "c", Version: 3, Email: email, IssuedAt: 1_800_000_000_000}
		token := s.SealDraft(want)
		if got, err := s.OpenDraft(token); err != nil || got != want {
			t.Errorf("%+v %v", got, err)
		}
		if want.Expired(want.IssuedAt.Add(DraftTTL)-1) || !want.Expired(want.IssuedAt.Add(DraftTTL)) {
			t.Error("it ends at another time")
		}
		for _, bad := range []string{
			"", token[:len(token)-1], s.SealPreview(PreviewToken{JobNo: 3}), s.Seal(purposeDraft, []byte{1}),
			s.Seal(purposeDraft, []byte{1, 1, 9, 'c'}),
		} {
			if _, err := s.OpenDraft(bad); !errors.Is(err, core.ErrInvalidToken) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
}
