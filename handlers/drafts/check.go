package drafts

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/markup"
	"newsletterd/store"
	"newsletterd/store/campaigns"
)

// Look holds the findings about a version of a campaign that don't require network access.
type Look struct {
	Draft    campaigns.Draft
	Bulk     *mail.Bulk // compiled emails; nil: the campaign doesn't compile
	Fault    error      // why the campaign doesn't compile
	Findings []core.CampaignFinding

	Looks     *Looks // design of the email; nil: the campaign has no theme
	notes     []markup.Warning
	addresses []string // URLs of links and images
}

// Warnings returns one line of text for each finding.
func (l *Look) Warnings() []string {
	lines := make([]string, len(l.Findings))
	for i, f := range l.Findings {
		lines[i] = f.String()
	}
	return lines
}

// Look compiles and inspects a version of a campaign. Version 0 is the draft being edited. Errors in the campaign
// become findings. The returned error comes from the store.
func (d Drafts) Look(ctx context.Context, c *core.Campaign, version int64, now core.Instant) (l Look, err error) {
	if l, err = d.Compile(ctx, c, version, now); err != nil {
		return l, err
	}
	if fault, ok := errors.AsType[*core.Error](l.Fault); ok {
		f := core.FindingOf(fault)
		if problem, ok := errors.AsType[*mail.TemplateError](fault); ok {
			f.Name, f.Write = problem.Name, problem.Write
		}
		l.Findings = append(l.Findings, f)
	}
	if err := d.lookForForeignTags(ctx, &l); err != nil {
		return l, err
	}
	t, err := d.Store.Tenant(ctx, c.TenantID)
	if err != nil {
		return l, err
	}
	for _, f := range l.Draft.Fields.Faults(&t) {
		if !slices.ContainsFunc(l.Findings, func(known core.CampaignFinding) bool { return known.Code == f.Code }) {
			l.Findings = append(l.Findings, f)
		}
	}
	if l.Draft.Fields.Tracking != core.TrackingOff && t.NoTracking {
		l.Findings = append(l.Findings, core.Warningf("tracking_off", core.FindingPlace{Field: "tracking"},
			"Set tracking to off, or turn off no_tracking for the tenant.",
			"The tenant does not allow tracking. Opens and clicks are not counted."))
	}
	if l.Draft.Fields.Tracking == core.TrackingPersons && t.TotalsOnly {
		l.Findings = append(l.Findings, core.Warningf("tracking_totals", core.FindingPlace{Field: "tracking"},
			"Set tracking to totals, or turn off totals_only for the tenant.",
			"The tenant counts opens and clicks only in total."))
	}
	for _, n := range l.notes {
		f := core.Warningf(n.Code, core.FindingPlace{
			Field: "content.source", Line: n.Line, Block: n.Block,
		}, hintOf(n.Code), "%s", n.Text)
		f.Name = n.Name
		if n.Code == mail.LocalPictureCode {
			f.Severity = core.SeverityError
		}
		l.Findings = append(l.Findings, f)
	}
	if err := d.lookAtPolls(ctx, &l, now); err != nil {
		return l, err
	}
	if err := d.lookAtAttachments(ctx, &l, t.ID); err != nil || l.Bulk == nil {
		return l, err
	}
	return l, d.inspect(ctx, &l, now)
}

// largeAttachments is the total size in bytes above which attachments cause a warning. Their encoding in an email is a
// third larger.
const largeAttachments = 1 << 20

func (d Drafts) lookAtPolls(ctx context.Context, l *Look, now core.Instant) error {
	f := &l.Draft.Fields
	if len(f.Polls) == 0 {
		return nil
	}
	var lists []core.List
	for _, id := range f.ListIDs {
		list, err := d.Store.List(ctx, id)
		switch {
		case err == nil:
			lists = append(lists, list)
		case core.KindOf(err) != core.NotFound:
			return err
		}
	}
	l.Findings = append(l.Findings, f.PollFindings(lists, d.Store.Options().MemberElsewhere, now)...)
	return nil
}

func (d Drafts) lookAtAttachments(ctx context.Context, l *Look, tenantID string) error {
	if l.Draft.Frozen { // the files of a frozen draft are stored with it
		return nil
	}
	at, total := core.FindingPlace{Field: "attachments"}, int64(0)
	for _, id := range l.Draft.Fields.Attachments {
		m, err := d.Store.Media(ctx, id)
		switch {
		case core.KindOf(err) == core.NotFound || err == nil && m.TenantID != tenantID:
			l.Findings = append(l.Findings, core.CampaignFinding{
				Severity: core.SeverityError, Code: "attachment_missing", Where: at,
				Message: "attachments: file " + id + " not found.",
				Hint:    "Upload it again, or remove it.",
			})
		case err != nil:
			return err
		}
		total += m.Full.Bytes
	}
	if total > largeAttachments {
		l.Findings = append(l.Findings, core.Warningf("attachments_large", at, "Link to the files instead.",
			"Each email has %.1f MB of attachments.", float64(total)/1e6))
	}
	return nil
}

// Compile compiles the email for a version of a campaign. If that fails, Fault contains the reason.
func (d Drafts) Compile(ctx context.Context, c *core.Campaign, version int64, now core.Instant) (l Look, err error) {
	l.Draft, err = d.Store.Draft(ctx, c, version, l.compile, now)
	err = l.bulk(ctx, d.Store, c.ID, err, now)
	return l, err
}

// compileChanged is like Compile, but applies a change to the version.
func (d Drafts) compileChanged(ctx context.Context, c *core.Campaign, version int64,
	change func(*core.CampaignFields) error, now core.Instant,
) (l Look, err error) {
	l.Draft, err = d.Store.ChangedDraft(ctx, c, version, change, l.compile, now)
	err = l.bulk(ctx, d.Store, c.ID, err, now)
	return l, err
}

// compile is a core.CampaignCompiler that records its findings in l.
func (l *Look) compile(f *core.CampaignFields, own *core.Theme, list *core.List, t *core.Tenant) (html, text string,
	err error,
) {
	r, err := markup.CompileCampaign(f, own, list, t)
	if err != nil {
		return "", "", err
	}
	l.notes, l.Looks = r.Warnings, looksOf(f, own, t)
	return r.HTML, r.Text, nil
}

// bulk compiles the draft's emails. err is the error from compile, or nil.
func (l *Look) bulk(ctx context.Context, s *store.Store, id string, err error, now core.Instant) error {
	l.Findings = []core.CampaignFinding{}
	if err == nil {
		l.Bulk, err = mail.CompileShown(id, &l.Draft.Content)
		c := &l.Draft.Fields.Content
		err = markup.Placed(c.Kind, c.Source, err)
	}
	if err == nil {
		l.Draft.Head, err = HeadOf(ctx, s, l.Bulk, &l.Draft.Fields, &l.Draft.Content, now)
	}
	if core.KindOf(err) == core.Invalid {
		l.Bulk, l.Fault, err = nil, inFieldOf(&l.Draft.Fields, err), nil
	}
	return err
}

// Looks describes the design that a theme gives an email, with unreadable colors already adjusted.
type Looks struct {
	Light  core.ThemeColors `json:"light" about:"Colors in light mode"`
	Dark   core.ThemeColors `json:"dark" about:"Colors in dark mode"`
	Radius int              `json:"radius"`
}

// looksOf returns a campaign's design, or nil if its email is plain HTML or text.
func looksOf(f *core.CampaignFields, own *core.Theme, t *core.Tenant) *Looks {
	if f.Content.Kind == core.ContentHTML || f.Content.Kind == core.ContentText {
		return nil
	}
	o, err := markup.LooksOf(f.Theme, own, t)
	if err != nil {
		return nil
	}
	return &Looks{core.ThemeColors(o.Theme.Light), core.ThemeColors(o.Theme.Dark), o.Theme.Radius}
}

// hintOf returns the hint that explains how to fix a compiler warning.
func hintOf(code string) string {
	return map[string]string{
		"link_malformed":      "Write the full URL, starting with https://.",
		"image_without_alt":   "Describe what it shows.",
		mail.LocalPictureCode: mail.LocalPictureHint,
		"html_as_text":        "Write it in Markdown, or write the whole email in HTML.",
	}[code]
}

// inFieldOf returns a compiler error that names the campaign's field. The compiler itself uses the field names of send
// jobs.
func inFieldOf(f *core.CampaignFields, err error) error {
	e, ok := errors.AsType[*core.Error](err)
	if !ok {
		return err
	}
	own := *e
	switch {
	case e.Field == "template.preheader":
		own.Field = "preheader"
	case e.Field == "body_html", e.Field == "body_text" && f.Content.Kind == core.ContentText:
		own.Field = "content.source"
	case e.Field == "body_text":
		own.Field = "content.text"
	}
	return &own
}

// inspect renders the email for a subscriber with no details and adds findings about it.
func (d Drafts) inspect(ctx context.Context, l *Look, now core.Instant) error {
	r, err := d.Recipient(ctx, l, "", now)
	if err != nil {
		return err
	}
	sealed, err := d.Sealer.SealUnsubscribe(auth.UnsubscribeToken{
		Kind: auth.UnsubscribeMailed, ListID: core.NewID(), SubscriptionID: core.NewID(), Email: core.Email(r.Email),
		JobNo: 1 << 30, Seq: 1 << 30, IssuedAt: now,
	})
	if err != nil {
		return err
	}
	r.UnsubscribeToken = sealed // has the same length as in a real email
	for _, link := range []*string{&r.UnsubscribeURL, &r.PreferencesURL} {
		*link = strings.Replace(*link, "preview", sealed, 1)
	}
	f := &l.Draft.Fields
	tracked := f.Tracking != core.TrackingOff && !l.Draft.Content.Tenant.NoTracking
	in := mail.Inspection{
		Recipient: &r, Place: (&placer{fields: f}).place,
		Written: f.Content.Kind == core.ContentHTML || f.Content.Kind == core.ContentText,
		Track: mail.Tracking{
			Open: tracked, Click: tracked,
			Origin: l.Draft.Content.Tenant.Origin(d.Origin),
		},
	}
	if own := l.Draft.Theme; own != nil && !in.Written {
		in.Column, in.Address = own.Width, own.PostalAddress
	} else if theme, err := markup.BuiltInTheme(f.Theme); err == nil && !in.Written {
		in.Column = theme.Width
	}
	found, addresses, err := l.Bulk.Inspect(&in)
	if err != nil {
		return err
	}
	l.Findings, l.addresses = append(l.Findings, found...), addresses
	return nil
}

// placeIn locates text in the campaign's source.
func placeIn(f *core.CampaignFields, text string) core.FindingPlace {
	return (&placer{fields: f}).place(text)
}

// placer locates text in a campaign's source. It decodes the blocks only once.
type placer struct {
	fields *core.CampaignFields
	blocks []any
	read   bool
}

func (p *placer) place(text string) core.FindingPlace {
	c := &p.fields.Content
	at := core.FindingPlace{Field: "content.source"}
	if text == "" {
		return at
	}
	if c.Kind == core.ContentBlocks {
		at.Block = p.blockWith(text)
		return at
	}
	for _, part := range []struct{ field, text string }{{"content.source", c.Source}, {"content.text", c.Text}} {
		if n := strings.Index(part.text, text); n >= 0 {
			return core.FindingPlace{Field: part.field, Line: 1 + strings.Count(part.text[:n], "\n")}
		}
	}
	if c.Layout != "" {
		at.Field = "content.layout"
	}
	return at
}

// blockWith returns the 1-based number of the first block that contains text, or 0 if there is none.
func (p *placer) blockWith(text string) int {
	if !p.read {
		var document struct {
			Blocks []any `json:"blocks"`
		}
		if json.Unmarshal([]byte(p.fields.Content.Source), &document) == nil {
			p.blocks = document.Blocks
		}
		p.read = true
	}
	for n, block := range p.blocks {
		if holdsText(block, text) {
			return n + 1
		}
	}
	return 0
}

// holdsText reports whether any string in a JSON value contains text.
func holdsText(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		for _, e := range v {
			if holdsText(e, text) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if holdsText(e, text) {
				return true
			}
		}
	}
	return false
}

// Ready compiles a version for approval or sending. If the inspection finds errors, it returns an Invalid error with
// the findings.
func (d Drafts) Ready(ctx context.Context, c *core.Campaign, version int64, now core.Instant) (draft campaigns.Draft,
	warnings []string, err error,
) {
	l, err := d.Look(ctx, c, version, now)
	if err == nil {
		err = core.NotReady(l.Findings)
	}
	return l.Draft, l.Warnings(), err
}

// Checked is the result of checking a campaign.
type Checked struct {
	Version  int64                  `json:"version" about:"Version that was checked"`
	Errors   int                    `json:"errors" about:"Number of findings that prevent approval and sending"`
	Warnings int                    `json:"warnings" about:"Number of findings that don't prevent sending"`
	Findings []core.CampaignFinding `json:"findings" about:"What the checks found"`
	Fields   []core.FieldCoverage   `json:"fields" about:"Custom fields of the subscribers: those of the lists first"`
	Links    *AskedLinks            `json:"links,omitempty" about:"Numbers of checked links; absent: links weren't checked"`
}

// Check returns the findings of Look, the coverage of fields, findings about the sender's DNS records and, if links is
// true, about links that don't respond.
func (d Drafts) Check(ctx context.Context, c *core.Campaign, version int64, links bool, now core.Instant) (out Checked,
	err error,
) {
	l, err := d.Look(ctx, c, version, now)
	if err == nil {
		out, err = d.CheckLook(ctx, &l, now)
	}
	if err != nil || !links {
		return out, err
	}
	asked, dead := d.askLinks(ctx, &l)
	out.Links = &asked
	out.add(dead)
	return out, nil
}

// CheckLook is like Check for an already compiled version, but never checks links.
func (d Drafts) CheckLook(ctx context.Context, l *Look, now core.Instant) (out Checked, err error) {
	sender, err := d.senderFindings(ctx, &l.Draft, now)
	if err != nil {
		return out, err
	}
	fields, lacking, err := d.fieldCoverage(ctx, l)
	if err != nil {
		return out, err
	}
	out = Checked{Version: l.Draft.Version.Version, Findings: slices.Clone(l.Findings), Fields: fields}
	out.add(lacking)
	out.add(sender)
	return out, nil
}

// add adds findings and updates the counts.
func (out *Checked) add(found []core.CampaignFinding) {
	out.Findings = append(out.Findings, found...)
	out.Errors = len(core.Blocking(out.Findings))
	out.Warnings = len(out.Findings) - out.Errors
}
