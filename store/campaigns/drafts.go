package campaigns

import (
	"cmp"
	"context"
	"errors"

	"newsletterd/core"
)

// Draft is a campaign version with everything that its emails would currently be generated from.
type Draft struct {
	Campaign core.Campaign
	Version  core.CampaignVersion
	Fields   core.CampaignFields
	Theme    *core.Theme  // theme of the tenant; nil means a built-in one
	Content  core.Content // content whose Copy is not stored
	Head     IssueHead    // head in archives, set by the caller
	Frozen   bool         // whether the version was approved, so that Content is the frozen content
	Digest   core.Digest  // digest of the content that its approval covers; empty if frozen

	// rule of its segments with references inlined, as in an approval; empty if it has no segments or they can't be
	// evaluated
	Rule core.RuleText
}

// Draft compiles a campaign version. Version 0 means the current version. For an approved version, it returns the
// frozen content. A campaign without a list is compiled with a placeholder list. If the version no longer exists, it
// returns core.ErrNotFound. If the list, the theme or the layout is missing, it returns an Invalid error. It also
// returns the errors of compile.
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

// frozenDraft is like Draft, for the approved version. It compiles the version only to check it. It ignores Invalid
// errors, which mean that records have changed since the approval, and leaves Theme nil.
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
	if d.Fields.Rule, err = frozenRule(s.Reads(ctx), c.CopyID); err != nil {
		return d, err
	}
	d.Rule = d.Fields.Rule
	d.Theme, err = s.ThemeNamed(ctx, c.TenantID, d.Fields.Theme)
	if err == nil {
		_, _, err = compile(&d.Fields, d.Theme, &d.Content.List, &d.Content.Tenant)
	}
	if core.KindOf(err) == core.Invalid {
		d.Theme, err = nil, nil
	}
	return d, err
}

// ChangedDraft is like Draft, but first applies change to the fields of the version. It also returns the error of
// change.
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
			return d, core.Invalidf("list_ids", "list_ids: list %s was deleted. Leave it out.", d.Fields.ListIDs[0])
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
		if err != nil && !errors.Is(err, core.ErrListNotFound) { // without the list, the draft can't be approved anyway
			return d, err
		}
		frozen.ListNames = append(frozen.ListNames, further.Name)
		covered.MailedProof = append(covered.MailedProof, further.RequireMailedProof)
	}
	err = cover(s.Reads(ctx), &covered)
	d.Digest, d.Rule = covered.Digest(), core.RuleText(covered.Rule)
	return d, err
}

// resolveDraft reads a draft's template and the template's layout.
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
