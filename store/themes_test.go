package store_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// TestThemesOfATenant checks that the names of themes are unique only within a tenant, their number is limited, a
// draft's theme can't be deleted, and a campaign keeps its theme when the theme is renamed.
func TestThemesOfATenant(t *testing.T) {
	s := storetest.Seed(t, nil)
	l := s.NewList()
	theme := func(tenantID, name string) core.Theme {
		return core.Theme{ID: core.NewID(), TenantID: tenantID, Name: name, Base: "letter", CreatedAt: now0, UpdatedAt: now0}
	}
	ours, theirs := theme(l.TenantID, "Ours"), theme(s.NewTenant().ID, "Ours")
	s.Must(s.AddTheme(t.Context(), ours, "test"))
	s.Must(s.AddTheme(t.Context(), theirs, "test"))
	if err := s.AddTheme(t.Context(), theme(l.TenantID, "Ours"), "test"); core.KindOf(err) != core.Conflict {
		t.Error(err)
	}
	if err := s.AddTheme(t.Context(), theme(core.NewID(), "Ours"), "test"); core.KindOf(err) != core.NotFound {
		t.Error(err)
	}
	c := s.NewCampaign(l, func(f *core.CampaignFields) { f.Theme = "Ours" })
	of := func() string {
		_, f, err := s.CampaignVersion(t.Context(), &c, 0)
		s.Must(err)
		return f.Theme
	}
	if got := of(); got != ours.ID {
		t.Errorf("the campaign has %s", got)
	}
	edit := func(theme string) error {
		_, err := s.EditCampaign(t.Context(), campaigns.CampaignEdit{ID: c.ID, Actor: "test", Now: now0 + 1},
			func(f *core.CampaignFields) error { f.Theme = theme; return nil })
		return err
	}
	was := c.Revision
	s.Must(edit("Ours"))
	if c, err := s.Campaign(t.Context(), c.ID); err != nil || c.Revision != was {
		t.Errorf("the theme that it has, by its name: revision %d, then %d, %v", was, c.Revision, err)
	}
	for _, name := range []string{theirs.ID, "nothing", ours.ID[:8]} {
		if err := edit(name); core.KindOf(err) != core.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Must(s.UpdateTheme(t.Context(), ours.ID, "test", now0+2, func(t *core.Theme) error { t.Name = "Else"; return nil }))
	found, err := s.ThemeNamed(t.Context(), l.TenantID, of())
	if err != nil || found.Name != "Else" {
		t.Errorf("%+v, %v", found, err)
	}
	if err := s.DeleteTheme(t.Context(), ours.ID, "test", now0); err != core.ErrThemeInUse {
		t.Error(err)
	}
	s.Must(edit("studio"))
	s.Must(s.DeleteTheme(t.Context(), ours.ID, "test", now0))
	var all sync.WaitGroup
	var kept atomic.Int32
	for i := range core.MaxThemes + 10 {
		all.Go(func() {
			if err := s.AddTheme(t.Context(), theme(l.TenantID, "T"+strconv.Itoa(i)), "test"); err == nil {
				kept.Add(1)
			} else if core.KindOf(err) != core.Conflict {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if kept.Load() != core.MaxThemes {
		t.Errorf("%d themes", kept.Load())
	}
}
