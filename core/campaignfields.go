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

// Whether a campaign's links and opens are followed.
const (
	TrackingOff     = "off"
	TrackingTotals  = "totals"  // how often, by no reader
	TrackingPersons = "persons" // by reader
)

// Trackings are the words of CampaignFields.Tracking.
var Trackings = []string{TrackingOff, TrackingTotals, TrackingPersons}

// Most of what a campaign may have.
const (
	MaxPreheader     = 255  // characters
	MaxCampaignLists = 20   // lists
	MaxTemplateJSON  = 4096 // octets
)

// CampaignContent is what the mail of a campaign says.
type CampaignContent struct {
	Kind   string `json:"kind"`
	Source string `json:"source"`
	Text   string `json:"text,omitempty"`   // of kind html: the text part as it was written; empty: there is none
	Layout string `json:"layout,omitempty"` // of the kinds html and text: name of a template around it
}

// CampaignFields is what is written of a campaign. A draft may be incomplete: Complete says what is still missing.
type CampaignFields struct {
	Name      string          `json:"name"`
	ListIDs   []string        `json:"list_ids"`
	Subject   string          `json:"subject"`
	Preheader string          `json:"preheader"`
	FromName  string          `json:"from_name"`
	FromEmail string          `json:"from_email"` // empty: the tenant's
	ReplyTo   string          `json:"reply_to"`   // empty: the tenant's
	Language  string          `json:"language"`   // empty: the list's
	Tracking  string          `json:"tracking"`
	Template  json.RawMessage `json:"template,omitempty"` // an object; empty: none
	Theme     string          `json:"theme"`              // of the kinds markdown and blocks: name of a built-in one, id of an own; empty: the first
	Content   CampaignContent `json:"content"`
	UTM       UTM             `json:"utm,omitzero"` // added to links that have none
	Narrowing

	Attachments   []string `json:"attachments,omitempty"`    // ids of media, as the mails bring them along
	TestAddresses []string `json:"test_addresses,omitempty"` // where its tests go; empty: to the tenant's test group
}

// ownKeys are the keys of a send job's template that campaigns have fields for.
var ownKeys = map[string]string{"mailer_template_name": "content.layout", "preheader": "preheader"}

// FieldsOf returns what a campaign says that came with its job: as its copy does.
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
			f.Template, _ = json.Marshal(object) // of what was JSON
		}
	}
	return f
}

// Check judges what is written without the database, and names the first faulty field.
func (f *CampaignFields) Check() error {
	if err := f.checkTexts(); err != nil {
		return err
	}
	switch {
	case len(f.ListIDs) > MaxCampaignLists:
		return Invalidf("list_ids", "list_ids must have at most %d entries.", MaxCampaignLists)
	case repeats(f.ListIDs):
		return Invalidf("list_ids", "list_ids must name each list once.")
	case !slices.Contains(Trackings, f.Tracking):
		return Invalidf("tracking", "tracking must be one of %s.", strings.Join(Trackings, ", "))
	case f.Language != "" && !slices.Contains(Languages, f.Language):
		return Invalidf("language", "language must be one of %s.", strings.Join(Languages, ", "))
	case len(f.Attachments) > MaxAttachments:
		return Invalidf("attachments", "attachments must have at most %d entries.", MaxAttachments)
	case repeats(f.Attachments):
		return Invalidf("attachments", "attachments must name each file once.")
	case len(f.Template) > MaxTemplateJSON:
		return Invalidf("template", "template must have at most %d bytes.", MaxTemplateJSON)
	}
	if err := f.checkAddresses(); err != nil {
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

// repeats reports whether an id stands twice.
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
			return Invalidf(t.field, "%s must not contain control characters.", t.field)
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

// Complete returns what is still missing before the campaign can be approved: it is Invalid on the first field.
func (f *CampaignFields) Complete() error { return NotReady(f.missing()) }

// HasSender returns an error on from_email where its domain is none of the tenant's.
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

// Copy returns the campaign as a job sends it, with the parts that the content was compiled to.
func (f *CampaignFields) Copy(tenantID, html, text string, now Instant) CampaignCopy {
	template := map[string]json.RawMessage{}
	if len(f.Template) > 0 {
		_ = json.Unmarshal(f.Template, &template) // Check has read it
	}
	for key, value := range map[string]string{"preheader": f.Preheader, "mailer_template_name": f.Content.Layout} {
		if value != "" {
			template[key], _ = json.Marshal(value) // a text always can
		}
	}
	c := CampaignCopy{
		ID: NewID(), TenantID: tenantID, Name: f.Name, Subject: f.Subject, BodyHTML: html, BodyText: text,
		UnsubscribeURL: templateText(string(f.Template), "unsubscribe_url"), CreatedAt: now,
		TrackOpen: f.Tracking != TrackingOff, TrackClick: f.Tracking != TrackingOff, Totals: f.Tracking == TrackingTotals,
	}
	if len(template) > 0 {
		object, _ := json.Marshal(template) // of texts and what was JSON
		c.Template = string(object)
	}
	return c
}

// Override puts the campaign's own sender and language into what is frozen.
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
