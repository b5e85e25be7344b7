package campaigns

import (
	"cmp"
	"context"
	"errors"

	"newsletterd/core"
)

// Draft is a version of a campaign with all that its mails would be made of now.
type Draft struct {
	Campaign core.Campaign
	Version  core.CampaignVersion
	Fields   core.CampaignFields
	Theme    *core.Theme  // the tenant's own that it has; nil: a built-in one
	Content  core.Content // its Copy is not kept
	Head     IssueHead    // where it compiles
	Frozen   bool         // it was approved: this is what was frozen then
	Digest   core.Digest  // of what its approval covers; of one that is frozen, empty
}

// Draft compiles a version of a campaign, 0 for the one that is written on; one that was approved is what was frozen
// then. A campaign without a list gets one that is made up. core.ErrNotFound: there is no such version any more;
// Invalid: the list, the theme or the layout is not there; or an error of the compiler.
func (s *Store) Draft(ctx context.Context, c *core.Campaign, version int64, compile core.CampaignCompiler,
	now core.Instant,
) (d Draft, err error) {
	if c.Frozen(cmp.Or(version, c.Version)) {
		if d, err = s.frozenDraft(ctx, c, compile); !errors.Is(err, core.ErrNotFound) {
			return d, err
		}
	}
	return s.ChangedDraft(ctx, c, version, func(*core.CampaignFields) error { return nil }, compile, now)
}

// frozenDraft is Draft of the approved version. The compiler only looks at what is written: whether it compiles with
// the records as they are now doesn't matter any more.
func (s *Store) frozenDraft(ctx context.Context, c *core.Campaign, compile core.CampaignCompiler) (d Draft, err error) {
	d.Campaign, d.Frozen = *c, true
	if d.Version, d.Fields, err = s.CampaignVersion(ctx, c, c.ApprovedVersion); err != nil {
		return d, err
	}
	of := core.SendJob{TenantID: c.TenantID, CopyID: c.CopyID}
	if len(d.Fields.ListIDs) > 0 {
		of.ListID = d.Fields.ListIDs[0]
	}
	if d.Content, err = s.Content(ctx, &of); err != nil {
		return d, err
	}
	d.Theme, err = s.ThemeNamed(ctx, c.TenantID, d.Fields.Theme)
	if err == nil {
		_, _, err = compile(&d.Fields, d.Theme, &d.Content.List, &d.Content.Tenant)
	}
	if core.KindOf(err) == core.Invalid {
		d.Theme, err = nil, nil
	}
	return d, err
}

// ChangedDraft is Draft of what a version would say with a change, which may refuse.
func (s *Store) ChangedDraft(ctx context.Context, c *core.Campaign, version int64,
	change func(*core.CampaignFields) error, compile core.CampaignCompiler, now core.Instant,
) (d Draft, err error) {
	d.Campaign = *c
	if d.Version, d.Fields, err = s.CampaignVersion(ctx, c, version); err == nil {
		err = change(&d.Fields)
	}
	if err != nil {
		return d, err
	}
	t, err := s.Tenant(ctx, c.TenantID)
	if err != nil {
		return d, err
	}
	l := core.List{TenantID: c.TenantID, Name: t.Name}
	if len(d.Fields.ListIDs) > 0 {
		switch l, err = s.List(ctx, d.Fields.ListIDs[0]); {
		case errors.Is(err, core.ErrListNotFound):
			return d, core.Invalidf("list_ids", "list_ids: list %s was deleted. Remove it.", d.Fields.ListIDs[0])
		case err != nil:
			return d, err
		}
	}
	if d.Theme, err = s.ThemeNamed(ctx, c.TenantID, d.Fields.Theme); err != nil {
		return d, err
	}
	html, text, err := compile(&d.Fields, d.Theme, &l, &t)
	if err != nil {
		return d, err
	}
	written := d.Fields.Copy(c.TenantID, html, text, now)
	d.Content = core.Content{Copy: written, List: l, Tenant: t}
	frozen := core.Freeze(&written, &l, &t)
	d.Fields.Override(&frozen)
	frozen.Restore(&d.Content)
	if err = s.resolveDraft(ctx, &d, &frozen); err != nil {
		return d, err
	}
	covered := core.Covered{
		Copy: &d.Content.Copy, Frozen: &frozen, Fields: &d.Fields, Theme: d.Theme, Tenant: &t, List: &l,
		WantedAt: c.WantedAt(), FirstFew: t.FirstFew, MailedProof: []bool{l.RequireMailedProof},
	}
	for _, id := range d.Fields.ListIDs[min(1, len(d.Fields.ListIDs)):] {
		further, err := s.List(ctx, id)
		if err != nil && !errors.Is(err, core.ErrListNotFound) { // without it, it can't be approved
			return d, err
		}
		frozen.ListNames = append(frozen.ListNames, further.Name)
		covered.MailedProof = append(covered.MailedProof, further.RequireMailedProof)
	}
	err = cover(s.Reads(ctx), &covered)
	d.Digest = covered.Digest()
	return d, err
}

// resolveDraft reads the template of a draft, with the layout around it.
func (s *Store) resolveDraft(ctx context.Context, d *Draft, f *core.FrozenContent) (err error) {
	if f.Resolved {
		return nil
	}
	c := &d.Content
	c.Template, err = s.Template(ctx, c.Tenant.ID, f.TemplateName)
	if err == nil && c.Template.Layout != "" {
		c.Layout, err = s.Template(ctx, c.Tenant.ID, c.Template.Layout)
	}
	if core.KindOf(err) == core.NotFound {
		return core.Invalidf("content.layout", "content.layout: template %s not found. Choose another one.",
			f.TemplateName)
	}
	f.Resolve(&c.Template, &c.Layout)
	return err
}
