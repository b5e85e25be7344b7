package campaigns

import (
	"context"
	"crypto/sha256"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

const frozenHead = "list_name, list_names, tenant_name, postal_address, language, mail_from, from_name, reply_to, template, " +
	"resolved"

var insertFrozen = db.InsertInto("frozen_content", "copy_id, "+frozenHead)

// frozenBodies is the part of a query that selects the bodies that frozen content refers to.
const frozenBodies = `, coalesce((SELECT body FROM frozen_body WHERE no = f.template_html), '') AS template_html,
	coalesce((SELECT body FROM frozen_body WHERE no = f.template_text), '') AS template_text,
	coalesce((SELECT body FROM frozen_body WHERE no = f.layout_html), '') AS layout_html,
	coalesce((SELECT body FROM frozen_body WHERE no = f.layout_text), '') AS layout_text`

// frozen returns the frozen content of a campaign copy. It returns core.ErrNotFound for a campaign from an older
// version of newsletterd whose job has not started since the upgrade.
func (s *Store) frozen(ctx context.Context, copyID string) (f core.FrozenContent, err error) {
	err = s.Get(ctx, &f, "SELECT "+frozenHead+frozenBodies+" FROM frozen_content AS f WHERE copy_id = ?",
		copyID)
	return f, err
}

// freeze stores everything that a campaign's emails are generated from. If the template or its layout does not exist
// yet, the template is frozen when the job starts.
func freeze(tx *db.Tx, c *core.CampaignCopy, l *core.List, t *core.Tenant) (f core.FrozenContent, err error) {
	f = core.Freeze(c, l, t)
	return f, keepFrozen(tx, &f, c.ID, t.ID)
}

// freezeCampaign is like freeze, for all lists of a campaign and with the campaign's own sender and language. If the
// campaign's template or the template's layout does not exist, it returns an Invalid error.
func freezeCampaign(tx *db.Tx, c *core.CampaignCopy, own *core.CampaignFields, lists []core.List, t *core.Tenant) (
	f core.FrozenContent, err error,
) {
	f = core.Freeze(c, &lists[0], t)
	for i := range lists[1:] {
		f.ListNames = append(f.ListNames, lists[1+i].Name)
	}
	own.Override(&f)
	if err = keepFrozen(tx, &f, c.ID, t.ID); err == nil && !f.Resolved {
		err = core.Invalidf("content.layout",
			"content.layout: the layout of template %s was deleted. Choose another template.",
			f.TemplateName)
	}
	return f, err
}

func keepFrozen(tx *db.Tx, f *core.FrozenContent, copyID, tenantID string) error {
	_, err := tx.Exec(
		insertFrozen,
		copyID,
		f.ListName,
		f.ListNames.Column(),
		f.TenantName,
		f.PostalAddress,
		f.Language,
		f.MailFrom,
		f.FromName,
		f.ReplyTo,
		f.TemplateName,
		f.Resolved,
	)
	if err != nil || f.Resolved {
		return err
	}
	return resolve(tx, f, copyID, tenantID)
}

// resolve freezes the template of a campaign. If the template or its layout does not exist, f stays unresolved.
func resolve(tx *db.Tx, f *core.FrozenContent, copyID, tenantID string) error {
	template, err := tenants.ReadTemplate(tx, tenantID, f.TemplateName)
	var layout core.Template
	if err == nil && template.Layout != "" {
		layout, err = tenants.ReadTemplate(tx, tenantID, template.Layout)
	}
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	f.Resolve(&template, &layout)
	bodies := [...]string{f.TemplateHTML, f.TemplateText, f.LayoutHTML, f.LayoutText}
	args := make([]any, 0, len(bodies)+1)
	for _, body := range bodies {
		no, err := keepBody(tx, body)
		if err != nil {
			return err
		}
		args = append(args, no)
	}
	return tx.One(`UPDATE frozen_content SET resolved = 1, template_html = ?, template_text = ?, layout_html = ?,
		layout_text = ?
		WHERE copy_id = ?`, append(args, copyID)...)
}

// frozenRule returns the segment rule of an approved campaign, as of its approval. It is empty if the campaign has no
// segments.
func frozenRule(q db.Querier, copyID string) (rule core.RuleText, err error) {
	err = q.Get(&rule, "SELECT rule FROM frozen_content WHERE copy_id = ?", copyID)
	if errors.Is(err, core.ErrNotFound) { // the campaign is from an older version of newsletterd
		return "", nil
	}
	return rule, err
}

// CountedVersion returns the fields of a campaign version for CountAudience. For an approved version, they contain the
// approved segment rule, which is also used for sending. version has the same meaning as in CampaignVersion, and the
// errors are the same.
func (s *Store) CountedVersion(ctx context.Context, c *core.Campaign, version int64) (f core.CampaignFields,
	err error,
) {
	v, f, err := s.CampaignVersion(ctx, c, version)
	if err == nil && c.Frozen(v.Version) {
		f.Rule, err = frozenRule(s.Reads(ctx), c.CopyID)
	}
	return f, err
}

// keepBody stores a body, once for all jobs, and returns its number. The number of the empty body is 0.
func keepBody(tx *db.Tx, body string) (no int64, err error) {
	if body == "" {
		return 0, nil
	}
	sum := sha256.Sum256([]byte(body))
	err = tx.Get(&no, "SELECT no FROM frozen_body WHERE hash = ?", sum[:])
	if errors.Is(err, core.ErrNotFound) {
		no, err = tx.Insert("INSERT INTO frozen_body (hash, body) VALUES (?, ?)", sum[:], body)
	}
	return no, err
}

// frozenContent returns the frozen content of a starting job, without the bodies. It also freezes content that an older
// version of newsletterd did not freeze, and a template that did not exist before.
func frozenContent(tx *db.Tx, j *core.SendJob, l *core.List, t *core.Tenant) (f core.FrozenContent, err error) {
	err = tx.Get(&f, "SELECT "+frozenHead+" FROM frozen_content WHERE copy_id = ?", j.CopyID)
	if errors.Is(err, core.ErrNotFound) {
		var c core.CampaignCopy
		if err := tx.Get(&c, "SELECT "+copyColumns+" FROM campaign_copy WHERE id = ?", j.CopyID); err != nil {
			return f, err
		}
		return freeze(tx, &c, l, t)
	}
	if err == nil && !f.Resolved {
		err = resolve(tx, &f, j.CopyID, t.ID)
	}
	return f, err
}
