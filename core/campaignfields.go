package core

import (
	"encoding/json"
	"net/mail"
	"slices"
	"strings"
	"unicode/utf8"
)

// The kinds of a campaign's content.
const (
	ContentMarkdown = "markdown"
	ContentBlocks   = "blocks"
	ContentHTML     = "html"
	ContentText     = "text"
)

// ContentKinds are the kinds of a campaign's content.
var ContentKinds = []string{ContentMarkdown, ContentBlocks, ContentHTML, ContentText}

// The values of CampaignFields.Tracking: how a campaign's opens and clicks are tracked.
const (
	TrackingOff     = "off"
	TrackingTotals  = "totals"  // totals that identify no subscribers
	TrackingPersons = "persons" // by subscriber
)

// Trackings lists the values of CampaignFields.Tracking.
var Trackings = []string{TrackingOff, TrackingTotals, TrackingPersons}

// Limits of a campaign's fields.
const (
	MaxPreheader     = 255  // characters
	MaxCampaignLists = 20   // lists
	MaxTemplateJSON  = 4096 // bytes
)

// CampaignContent is the content of a campaign's email.
type CampaignContent struct {
	Kind   string `json:"kind" about:"Format of source: markdown, blocks, html or text"`
	Source string `json:"source" about:"Content of the email, in the format of kind"`
	Text   string `json:"text,omitempty" about:"Text part for kind html; absent: generated from the HTML"`
	Layout string `json:"layout,omitempty" about:"Name of the layout template, for kind html or text; absent: none"`
}

// CampaignFields holds a campaign's content and settings. A draft may be incomplete; Complete returns the missing
// fields.
type CampaignFields struct {
	Name      string          `json:"name"`
	ListIDs   []string        `json:"list_ids"`
	Subject   string          `json:"subject"`
	Preheader string          `json:"preheader"`
	FromName  string          `json:"from_name"`
	FromEmail string          `json:"from_email"` // empty means the tenant's
	ReplyTo   string          `json:"reply_to"`   // empty means the tenant's
	Language  string          `json:"language"`   // empty means the list's
	Tracking  string          `json:"tracking"`
	Template  json.RawMessage `json:"template,omitempty"` // a JSON object; empty: none
	Theme     string          `json:"theme"`              // built-in theme, or id of a custom one; empty: the first
	Content   CampaignContent `json:"content"`
	UTM       UTM             `json:"utm,omitzero"` // added to links without such parameters
	Narrowing

	Polls         []Poll   `json:"polls,omitempty"`
	Attachments   []string `json:"attachments,omitempty"`    // ids of media attached to the emails
	TestAddresses []string `json:"test_addresses,omitempty"` // recipients of tests; empty: the tenant's test group
}

// ownKeys maps keys in a send job's template object to the campaign fields that replace them.
var ownKeys = map[string]string{"mailer_template_name": "content.layout", "preheader": "preheader"}

// FieldsOf converts a send job's copy to campaign fields, for a job that was requested without a campaign.
func FieldsOf(c *CampaignCopy, listID string) CampaignFields {
	f := CampaignFields{
		Name: c.Name, ListIDs: []string{listID}, Subject: c.Subject, Preheader: c.Preheader(), Tracking: TrackingOff,
		Content: CampaignContent{Kind: ContentHTML, Source: c.BodyHTML, Text: c.BodyText, Layout: c.TemplateName()},
	}
	if c.BodyHTML == "" && c.BodyText != "" {
		f.Content.Kind, f.Content.Source, f.Content.Text = ContentText, c.BodyText, ""
	}
	if c.TrackOpen || c.TrackClick {
		if f.Tracking = TrackingPersons; c.Totals {
			f.Tracking = TrackingTotals
		}
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(c.Template), &object) == nil {
		for key := range ownKeys {
			delete(object, key)
		}
		if len(object) > 0 {
			f.Template, _ = json.Marshal(object) // object was parsed from JSON
		}
	}
	return f
}

// Check validates the fields as far as possible without the database. Its error names the first invalid field.
func (f *CampaignFields) Check() error {
	if err := f.checkTexts(); err != nil {
		return err
	}
	switch {
	case len(f.ListIDs) > MaxCampaignLists:
		return Invalidf("list_ids", "list_ids must have at most %d entries.", MaxCampaignLists)
	case repeats(f.ListIDs):
		return Invalidf("list_ids", "list_ids contains a list twice. Remove the duplicate.")
	case !slices.Contains(Trackings, f.Tracking):
		return Invalidf("tracking", "tracking must be one of %s.", strings.Join(Trackings, ", "))
	case f.Language != "" && !slices.Contains(Languages, f.Language):
		return Invalidf("language", "language must be one of %s.", strings.Join(Languages, ", "))
	case len(f.Attachments) > MaxAttachments:
		return Invalidf("attachments", "attachments must have at most %d entries.", MaxAttachments)
	case repeats(f.Attachments):
		return Invalidf("attachments", "attachments contains a file twice. Remove the duplicate.")
	case len(f.Template) > MaxTemplateJSON:
		return Invalidf("template", "template must have at most %d bytes.", MaxTemplateJSON)
	}
	if err := f.checkAddresses(); err != nil {
		return err
	}
	if err := checkPolls(f.Polls); err != nil {
		return err
	}
	group, err := checkTestGroup(f.TestAddresses)
	if err != nil {
		return err
	}
	f.TestAddresses = group
	if err := f.UTM.check(); err != nil {
		return err
	}
	if err := f.Narrowing.check(f.ListIDs); err != nil {
		return err
	}
	n := NewJob{Template: f.Template}
	if err := n.validateTemplate(); err != nil {
		return err
	}
	for key, instead := range ownKeys {
		if k, _ := templateKey(string(f.Template), key); k != nil {
			return Invalidf("template."+key,
				"template.%s is not allowed in a campaign. Use %s instead.", key, instead)
		}
	}
	return f.Content.check()
}

// repeats reports whether any id occurs more than once.
func repeats(ids []string) bool {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return true
		}
	}
	return false
}

func (f *CampaignFields) checkTexts() error {
	for _, t := range []struct {
		field, text string
		most        int
	}{
		{"name", f.Name, MaxSubject},
		{"subject", f.Subject, MaxSubject},
		{"preheader", f.Preheader, MaxPreheader},
		{"from_name", f.FromName, MaxName},
	} {
		switch {
		case hasControl(t.text):
			return Invalidf(t.field, "%s contains control characters. Remove them.", t.field)
		case utf8.RuneCountInString(t.text) > t.most:
			return Invalidf(t.field, "%s must have at most %d characters.", t.field, t.most)
		}
	}
	return nil
}

func (f *CampaignFields) checkAddresses() error {
	for _, a := range []struct{ field, address string }{{"from_email", f.FromEmail}, {"reply_to", f.ReplyTo}} {
		if a.address == "" {
			continue
		}
		if _, err := ParseEmail(a.address); err != nil {
			return Invalidf(a.field, "%s is not a valid email address.", a.field)
		}
		if _, err := mail.ParseAddress(a.address); err != nil {
			return Invalidf(a.field, "%s is not a valid email address.", a.field)
		}
	}
	return nil
}

func (c *CampaignContent) check() error {
	switch {
	case !slices.Contains(ContentKinds, c.Kind):
		return Invalidf("content.kind", "content.kind must be one of %s.", strings.Join(ContentKinds, ", "))
	case c.Text != "" && c.Kind != ContentHTML:
		return Invalidf("content.text", "content.text is only allowed for content.kind html. Leave it out: other "+
			"kinds generate their plain-text version.")
	case c.Layout != "" && c.Kind != ContentHTML && c.Kind != ContentText:
		return Invalidf("content.layout",
			"content.layout is only allowed for content.kind html and text. For markdown and blocks, set a theme.")
	case len(c.Source) > MaxBody:
		return Invalidf("content.source", "content.source must have at most %d bytes.", MaxBody)
	case len(c.Text) > MaxBody:
		return Invalidf("content.text", "content.text must have at most %d bytes.", MaxBody)
	}
	if c.Layout != "" && ValidateTemplateName(c.Layout) != nil {
		return Invalidf("content.layout", "content.layout must be the name of a template.")
	}
	return nil
}

// Complete returns an Invalid error if anything required for approval is missing. The error names the first missing
// field and holds all findings.
func (f *CampaignFields) Complete() error { return NotReady(f.missing()) }

// HasSender returns an Invalid error about from_email if its domain is not one of the tenant's.
func (f *CampaignFields) HasSender(t *Tenant) error {
	domain := Email(f.FromEmail).Domain()
	if f.FromEmail != "" && !slices.Contains(t.Domains, domain) {
		if IsFreeMail(domain) {
			return freeMailSender("from_email")
		}
		return Invalidf("from_email", "from_email must be at one of the tenant's verified sender domains.")
	}
	return nil
}

// Copy returns the copy that a job sends. It contains the given HTML and text parts instead of the source.
func (f *CampaignFields) Copy(tenantID, html, text string, now Instant) CampaignCopy {
	template := map[string]json.RawMessage{}
	if len(f.Template) > 0 {
		_ = json.Unmarshal(f.Template, &template) // Check has validated it
	}
	for key, value := range map[string]string{"preheader": f.Preheader, "mailer_template_name": f.Content.Layout} {
		if value != "" {
			template[key], _ = json.Marshal(value) // a string always encodes
		}
	}
	c := CampaignCopy{
		ID: NewID(), TenantID: tenantID, Name: f.Name, Subject: f.Subject, BodyHTML: html, BodyText: text,
		UnsubscribeURL: templateText(string(f.Template), "unsubscribe_url"), CreatedAt: now,
		TrackOpen: f.Tracking != TrackingOff, TrackClick: f.Tracking != TrackingOff,
		Totals: f.Tracking == TrackingTotals,
	}
	if len(template) > 0 {
		object, _ := json.Marshal(template) // strings and valid JSON always encode
		c.Template = string(object)
	}
	return c
}

// Override replaces the sender and language of the frozen content with the campaign's own, if those are set.
func (f *CampaignFields) Override(c *FrozenContent) {
	for _, o := range []struct {
		own  string
		into *string
	}{{f.FromName, &c.FromName}, {f.FromEmail, &c.MailFrom}, {f.ReplyTo, &c.ReplyTo}, {f.Language, &c.Language}} {
		if o.own != "" {
			*o.into = o.own
		}
	}
}
