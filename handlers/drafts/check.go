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
	"newsletterd/store/campaigns"
)

// Look is what there is to be said about a version of a campaign without asking anyone else.
type Look struct {
	Draft    campaigns.Draft
	Bulk     *mail.Bulk // nil: it doesn't compile
	Fault    error      // why it doesn't
	Findings []core.CampaignFinding

	Looks     *Looks // nil: it has no theme
	notes     []markup.Warning
	addresses []string // of links and pictures
}

// Warnings returns the findings as lines of text.
func (l *Look) Warnings() []string {
	lines := make([]string, len(l.Findings))
	for i, f := range l.Findings {
		lines[i] = f.String()
	}
	return lines
}

// Look compiles a version of a campaign, 0 for the one that is written on, and looks at what comes out. Its errors are
// those of the store; what is faulty in the campaign is a finding.
func (d Drafts) Look(ctx context.Context, c *core.Campaign, version int64, now core.Instant) (l Look, err error) {
	if l, err = d.Compile(ctx, c, version, now); err != nil {
		return l, err
	}
	if fault, ok := errors.AsType[*core.Error](l.Fault); ok {
		l.Findings = append(l.Findings, compileFinding(&l.Draft, fault))
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
		if n.Code == mail.LocalPictureCode {
			f.Severity = core.SeverityError
		}
		l.Findings = append(l.Findings, f)
	}
	if err := d.lookAtAttachments(ctx, &l, t.ID); err != nil || l.Bulk == nil {
		return l, err
	}
	return l, d.inspect(ctx, &l, now)
}

// largeAttachments is how many bytes of attachments are worth a word: they come with each mail, and weigh a third more
// there.
const largeAttachments = 1 << 20

func (d Drafts) lookAtAttachments(ctx context.Context, l *Look, tenantID string) error {
	if l.Draft.Frozen { // its files are kept
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

// Compile makes the mail of a campaign, or says in Fault why there is none.
func (d Drafts) Compile(ctx context.Context, c *core.Campaign, version int64, now core.Instant) (l Look, err error) {
	l.Draft, err = d.Store.Draft(ctx, c, version, l.compile, now)
	err = l.bulk(c.ID, err, now)
	return l, err
}

// compileChanged is compile of what a version would say with a change.
func (d Drafts) compileChanged(ctx context.Context, c *core.Campaign, version int64,
	change func(*core.CampaignFields) error, now core.Instant,
) (l Look, err error) {
	l.Draft, err = d.Store.ChangedDraft(ctx, c, version, change, l.compile, now)
	err = l.bulk(c.ID, err, now)
	return l, err
}

// compile is a core.CampaignCompiler that keeps what there is to be said.
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

// bulk compiles the mails of the draft, which came with err.
func (l *Look) bulk(id string, err error, now core.Instant) error {
	l.Findings = []core.CampaignFinding{}
	if err == nil {
		l.Bulk, err = mail.CompileShown(id, &l.Draft.Content)
		c := &l.Draft.Fields.Content
		err = markup.Placed(c.Kind, c.Source, err)
	}
	if err == nil {
		l.Draft.Head, err = HeadOf(l.Bulk, now)
	}
	if core.KindOf(err) == core.Invalid {
		l.Bulk, l.Fault, err = nil, err, nil
	}
	return err
}

// Looks are what a theme makes of a mail, after colours that can't be read were moved.
type Looks struct {
	Light  core.ThemeColors `json:"light"`
	Dark   core.ThemeColors `json:"dark"`   // where the reader's program is dark
	Radius int              `json:"radius"` // pixels of corners
}

// looksOf returns the looks of a campaign; nil: its mail is HTML or text as it was written.
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

// hintOf says what to do about a warning of the compiler.
func hintOf(code string) string {
	return map[string]string{
		"link_malformed":      "Write the full URL, starting with https://.",
		"image_without_alt":   "Describe what it shows.",
		mail.LocalPictureCode: mail.LocalPictureHint,
		"html_as_text":        "Write it in Markdown, or write the whole email in HTML.",
	}[code]
}

// compileFinding is the error of a compiler, with the line that it names.
func compileFinding(d *campaigns.Draft, e *core.Error) core.CampaignFinding {
	f := core.FindingOf(e)
	switch {
	case e.Field == "body_html", e.Field == "body_text" && d.Fields.Content.Kind == core.ContentText:
		f.Where.Field = "content.source"
	case e.Field == "body_text":
		f.Where.Field = "content.text"
	}
	return f
}

// inspect looks at the mail as a reader gets it of whom nothing is known.
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
	r.UnsubscribeToken = sealed // as long as one that is sent
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

// placeIn returns where a text stands in what was written.
func placeIn(f *core.CampaignFields, text string) core.FindingPlace {
	return (&placer{fields: f}).place(text)
}

// placer finds where texts stand in what was written. It reads blocks once.
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

// blockWith returns the first block, from 1, that holds a text; 0: none.
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

// holdsText reports whether a text of a JSON value holds another.
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

// Ready compiles a version that is to be approved or sent. It refuses one in which the look finds an error: Invalid,
// with these findings.
func (d Drafts) Ready(ctx context.Context, c *core.Campaign, version int64, now core.Instant) (draft campaigns.Draft,
	warnings []string, err error,
) {
	l, err := d.Look(ctx, c, version, now)
	if err == nil {
		err = core.NotReady(l.Findings)
	}
	return l.Draft, l.Warnings(), err
}

// Checked is what the check of a campaign has found.
type Checked struct {
	Version  int64                  `json:"version"`
	Errors   int                    `json:"errors"` // findings that keep the campaign from being approved and sent
	Warnings int                    `json:"warnings"`
	Findings []core.CampaignFinding `json:"findings"`
	// of its readers: those of its lists, then others that they have
	Fields []core.FieldCoverage `json:"fields"`
	Links  *AskedLinks          `json:"links,omitempty"` // where they were asked for
}

// Check looks at a version of a campaign as Look does, at which fields its readers have, at what the DNS says of its
// sender and, on request, whether its links answer.
func (d Drafts) Check(ctx context.Context, c *core.Campaign, version int64, links bool, now core.Instant) (out Checked,
	err error,
) {
	l, err := d.Look(ctx, c, version, now)
	if err != nil {
		return out, err
	}
	sender, err := d.senderFindings(ctx, &l.Draft, now)
	if err != nil {
		return out, err
	}
	fields, lacking, err := d.fieldCoverage(ctx, &l)
	if err != nil {
		return out, err
	}
	out.Version, out.Findings, out.Fields = l.Draft.Version.Version, append(l.Findings, lacking...), fields
	out.Findings = append(out.Findings, sender...)
	if links {
		asked, dead := d.askLinks(ctx, &l)
		out.Links, out.Findings = &asked, append(out.Findings, dead...)
	}
	out.Errors = len(core.Blocking(out.Findings))
	out.Warnings = len(out.Findings) - out.Errors
	return out, nil
}
