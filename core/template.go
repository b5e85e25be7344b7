package core

// Template is a tenant's email template, or a layout around other templates ({{content}}).
type Template struct {
	ID        string  `db:"id" json:"id"`
	TenantID  string  `db:"tenant_id" json:"tenant_id"`
	Name      string  `db:"name" json:"name"`
	Layout    string  `db:"layout" json:"layout,omitempty"` // name of another template
	BodyHTML  string  `db:"body_html" json:"body_html"`
	BodyText  string  `db:"body_text" json:"body_text"`
	CreatedAt Instant `db:"created_at" json:"created_at"`
	UpdatedAt Instant `db:"updated_at" json:"updated_at"`
}

// BuiltInTemplate returns the default template for a tenant without one. It contains only the job's content.
func BuiltInTemplate(tenantID string) Template {
	return Template{TenantID: tenantID, Name: DefaultTemplate, BodyHTML: "{{content}}", BodyText: "{{content}}"}
}

// TemplateInput holds the fields of a template that a caller sets. A nil field is left unchanged.
type TemplateInput struct {
	Name, Layout, BodyHTML, BodyText *string
}

// NewTemplate returns a new template for a tenant.
func NewTemplate(tenantID string, in TemplateInput, now Instant) (Template, error) {
	t := Template{ID: NewID(), TenantID: tenantID, CreatedAt: now}
	return t, t.Change(in, now)
}

// Change sets the template's fields from in. It doesn't check whether the content compiles; package mail does.
func (t *Template) Change(in TemplateInput, now Instant) error {
	take(&t.Name, in.Name)
	take(&t.Layout, in.Layout)
	take(&t.BodyHTML, in.BodyHTML)
	take(&t.BodyText, in.BodyText)
	t.UpdatedAt = now
	if err := checkBodies(t.BodyHTML, t.BodyText); err != nil {
		return err
	}
	if err := ValidateTemplateName(t.Name); err != nil {
		return err
	}
	switch {
	case t.Layout != "" && ValidateTemplateName(t.Layout) != nil, t.Layout == t.Name:
		return Invalidf("layout", "layout must be the name of another template.")
	case t.BodyHTML == "" && t.BodyText == "":
		return Invalidf("body_html", "The template has no content. Set body_html or body_text.")
	}
	return nil
}

// TemplateUse is a record that still needs a template, which therefore can't be deleted: another template that uses it
// as its layout, an unsent campaign, or a send job that has neither started nor frozen the template.
type TemplateUse struct {
	Kind       string `db:"kind" json:"kind" enum:"template|campaign|job" about:"What uses the template"`
	ID         string `db:"id" json:"id"`
	Name       string `db:"name" json:"name" about:"Name of the record; of a job or a campaign without a name, the subject"`
	CampaignID string `db:"campaign_id" json:"campaign_id,omitempty" about:"Campaign of a job; absent otherwise"`
}

// ErrTemplateUsed returns the Conflict error for deleting a template that is in use.
func ErrTemplateUsed(uses []TemplateUse) *Error {
	more := ""
	if len(uses) > 1 {
		more = " and others"
	}
	return Conflictf("template_in_use",
		"The %s %q%s uses this template. Choose a different template for it, or delete this one anyway with "+
			"force=true.",
		uses[0].Kind, uses[0].Name, more)
}

// Content holds all data for rendering a job's emails.
type Content struct {
	Copy     CampaignCopy
	List     List
	Tenant   Tenant
	Template Template // zero if the campaign's bodies are sent without a template
	Layout   Template // layout around the template; zero: none
}
