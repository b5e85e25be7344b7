package store_test

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// The attachments of a campaign stay as approved, whatever happens to the media, and are deleted with the approved
// content.
func TestAttachmentsStayAsTheyWereApproved(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	prices := s.NewMedia("Préis list.pdf", []string{"%PDF-1.7 prices"}, func(m *core.Media) {
		m.Mail.Type = core.PDF
		m.Full.Type = core.PDF
	})
	boot := s.NewMedia("boot.png", []string{"small", "large"})
	ids := []string{prices.ID, boot.ID}
	c := s.NewCampaign(l, func(f *core.CampaignFields) { f.Attachments = ids })
	d, err := s.Draft(t.Context(), &c, 0, plainParts, s.Now)
	s.Must(err)
	edit := campaigns.CampaignEdit{ID: c.ID, Actor: "test", Now: s.Now}
	if err := s.DeleteMedia(t.Context(), prices.ID, false, "test", s.Now); core.KindOf(err) != core.Conflict {
		t.Errorf("a document of a draft is deleted: %v", err)
	}
	c, err = s.ApproveCampaign(t.Context(), campaigns.CampaignSending{
		CampaignEdit: edit, Version: 1, Fields: &d.Fields, Copy: &d.Content.Copy,
	})
	s.Must(err)
	for _, id := range ids {
		s.Must(s.DeleteMedia(t.Context(), id, true, "test", s.Now))
	}
	if _, err := s.AttachmentsOf(t.Context(), l.TenantID, ids); core.KindOf(err) != core.Invalid {
		t.Errorf("media that are gone: %v", err)
	}
	if _, _, err := s.MediaFile(t.Context(), prices.Full.Digits()); core.KindOf(err) != core.NotFound {
		t.Errorf("a document that is gone is served: %v", err)
	}
	s.Clean(people.Retention{})
	files, err := s.Attachments(t.Context(), c.CopyID)
	s.Must(err)
	if len(files) != 2 || string(files[0].Data) != "%PDF-1.7 prices" || files[0].Name != "Préis list.pdf" ||
		files[0].Type != core.PDF || string(files[1].Data) != "large" || files[1].Name != "boot.png" {
		t.Errorf("%+v", files)
	}
	_, err = s.EditCampaign(t.Context(), edit, func(f *core.CampaignFields) error {
		f.Attachments = nil
		return nil
	})
	s.Must(err)
	s.Clean(people.Retention{})
	if n, err := s.MediaBytes(t.Context(), l.TenantID); err != nil || n != 0 {
		t.Errorf("%d bytes are left, %v", n, err)
	}
	if files, err = s.Attachments(t.Context(), d.Content.Copy.ID); err != nil || len(files) != 0 {
		t.Errorf("%+v %v", files, err)
	}
}

// Attachments must belong to the tenant, and their total size is limited.
func TestAttachmentsAreBounded(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	half := strings.Repeat("x", core.MaxAttachmentBytes/2)
	a, b := s.NewMedia("a.png", []string{half + "a"}), s.NewMedia("b.png", []string{half + "b"})
	other := s.At(s.Now)
	other.TenantID = s.NewTenant().ID
	theirs := other.NewMedia("c.png", []string{"c"})
	for why, ids := range map[string][]string{
		"too large": {a.ID, b.ID}, "another tenant's": {theirs.ID}, "none": {core.NewID()},
	} {
		f := core.CampaignFields{ListIDs: []string{l.ID}, Attachments: ids}
		_, err := s.AddCampaign(t.Context(), core.NewCampaign(l.TenantID, &f, "test", s.Now), &f)
		if core.KindOf(err) != core.Invalid {
			t.Errorf("%s: %v", why, err)
		}
	}
	f := core.CampaignFields{ListIDs: []string{l.ID}, Attachments: []string{a.ID}}
	s.Must(s.AddCampaign(t.Context(), core.NewCampaign(l.TenantID, &f, "test", s.Now), &f))
}
