package mail

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"newsletterd/core"
)

// Inspection holds the parameters of Bulk.Inspect.
type Inspection struct {
	Recipient *Recipient // recipient to render for
	Track     Tracking   // tracking of the sent emails
	Column    int        // width in pixels; 0: the width in the HTML
	Address   string     // postal address shown instead of the tenant's; empty: the tenant's
	Written   bool       // the author wrote text and HTML separately
	// Place returns the position of a string, such as a URL or placeholder, in the email's source.
	Place func(text string) core.FindingPlace
}

// Thresholds for Inspect's warnings.
const (
	maxShownSubject = 70   // characters: mailbox lists on phones show fewer
	usualColumn     = 600  // pixels
	shortText       = 2800 // bytes of text; up to here SpamAssassin applies HTML_IMAGE_ONLY_04…28 (20_html_tests.cf)
	enoughAlike     = 0.5  // minimum share of words that the text part and the HTML have in common
)

// Inspect checks an email before it is sent. It returns the problems it finds, and the URLs of links and images that
// contain no placeholder, each once. It opens no connections. If the email can't be rendered, it returns an error.
func (b *Bulk) Inspect(in *Inspection) (all []core.CampaignFinding, addresses []string, err error) {
	i := &inspector{b: b, in: in, seen: map[string]bool{}}
	subject, text, html, err := b.Parts(in.Recipient)
	if err != nil {
		return nil, nil, err
	}
	if err := i.placeholders(); err != nil {
		return nil, nil, err
	}
	if n := utf8.RuneCountInString(subject); n > maxShownSubject {
		i.warn("subject_long", "subject", "Put what matters in the first 50 characters.",
			"The subject has %d characters. Inboxes show 40 to %d.", n, maxShownSubject)
	}
	written, ownText, err := (&Bulk{spec: b.spec}).bodyTokens()
	if err != nil {
		return nil, nil, err
	}
	if written != nil {
		i.links(written)
		i.pictures(html)
		i.pixel(html)
		if err := i.size(); err != nil {
			return nil, nil, err
		}
	}
	if written == nil {
		i.textLinks(ownText)
	}
	i.leaving(html, text)
	i.alike()
	return i.all, i.addresses, nil
}

// inspector is one run of Bulk.Inspect.
type inspector struct {
	b         *Bulk
	in        *Inspection
	all       []core.CampaignFinding
	addresses []string
	seen      map[string]bool // URLs found so far
	places    int             // number of searches for positions
}

func (i *inspector) warn(code, field, hint, format string, args ...any) {
	i.add(core.Warningf(code, core.FindingPlace{Field: field}, hint, format, args...))
}

// embedded is the prefix of an inline image's URL.
const embedded = "data:"

// at is like warn, but adds the position of text in the content.
func (i *inspector) at(text, code, hint, format string, args ...any) {
	if i.places++; i.places <= maxPlaces && len(i.all) < maxFindings {
		f := core.Warningf(code, i.in.Place(text), hint, format, args...)
		if text != embedded {
			f.Name = clip(text)
		}
		i.add(f)
	}
}

func (i *inspector) add(f core.CampaignFinding) {
	if len(i.all) < maxFindings && !slices.Contains(i.all, f) {
		i.all = append(i.all, f)
	}
}

const (
	maxFindings = 200 // maximum number of findings per email
	maxPlaces   = 400 // maximum number of position searches: each reads the whole source
)

// placeholders finds placeholders that print nothing for some or all subscribers. In a campaign's subject that is an
// error.
func (i *inspector) placeholders() error {
	s := &i.b.spec
	const hint = `Add a fallback: {{ %s | default: "…" }}.`
	for _, part := range []struct{ field, text string }{
		{"subject", s.Subject}, {"preheader", s.Preheader}, {"content.source", s.HTML}, {"content.source", s.Text},
	} {
		tokens, err := lex(&source{part.field, cleanBody(part.text)})
		if err != nil {
			return err
		}
		open, err := withoutDefault(tokens)
		if err != nil {
			return err
		}
		for _, name := range open[:min(len(open), maxFindings)] {
			f := core.Warningf("placeholder_without_default", core.FindingPlace{Field: part.field},
				strings.Replace(hint, "%s", name, 1), "%s is blank for subscribers who don't have it.", name)
			f.Name = name
			switch part.field {
			case "subject":
				f.Severity, f.Code = core.SeverityError, "subject_placeholder_without_default"
				f.Message = "In the subject, " + f.Message
			case "content.source":
				f.Where = i.in.Place(name)
				if !i.in.Written && f.Where.Line == 0 && f.Where.Block == 0 {
					continue // it is in the title, which repeats the subject
				}
			}
			i.add(f)
		}
	}
	for _, t := range []struct {
		of    *Template
		field string
	}{{i.b.subject, "subject"}, {i.b.html, "content.source"}, {i.b.text, "content.source"}} {
		if t.of == nil {
			continue
		}
		for _, w := range t.of.warnings {
			f := core.Warningf("placeholder_unknown", core.FindingPlace{Field: t.field},
				"Write preferences.NAME for a custom field. Other names: email, list.name, tenant.name, job.subject, "+
					"unsubscribe_url, view_url and preferences_url.", "%s.", w)
			f.Name, f.Write = w.name, w.write
			i.add(f)
		}
	}
	return nil
}

// pixel warns if the tracking pixel is the only image in a short email. Spam filters distrust an image with little
// text: SpamAssassin's HTML_IMAGE_ONLY rules add 1.1 to 2.1 points of 5.
func (i *inspector) pixel(html string) {
	if !i.in.Track.Open || strings.Contains(strings.ToLower(html), "<img") {
		return
	}
	if n := len(HTMLToText(html)); n < shortText {
		i.warn("pixel_in_short_mail", "tracking", "Set tracking to off, or write more text.",
			"The email has only %d characters of text and a tracking pixel. Some spam filters treat it as an "+
				"image-only email.", n)
	}
}

// size checks the size of the HTML part as sent, with the pixel and tracked links.
func (i *inspector) size() error {
	spec := i.b.spec
	spec.Track = i.in.Track
	sent, err := CompileBulk(&spec)
	if err != nil {
		return err
	}
	r := *i.in.Recipient
	r.Track = &Tracker{
		Ident: NewIdent(make([]byte, 32)), Job: 1 << 30, Seq: 1 << 30, Links: make([]int64, len(sent.links)),
	}
	for n := range r.Track.Links {
		r.Track.Links[n] = int64(n + 1)
	}
	_, _, html, err := sent.Parts(&r)
	if err != nil {
		return err
	}
	if len(html) > gmailClip {
		i.warn("html_clipped", "content.source", "Shorten the email, or link to part of it.",
			"The HTML has %d bytes. Gmail cuts it off after %d, including the footer and the tracking pixel.",
			len(html), gmailClip)
	}
	return nil
}

// leaving checks what the law requires of a newsletter: an unsubscribe link and the sender's postal address.
func (i *inspector) leaving(html, text string) {
	s := &i.b.spec
	own := true
	for _, part := range []struct {
		kind               Part
		field, src, layout string
	}{{PartHTML, "body_html", s.HTML, s.HTMLLayout}, {PartText, "body_text", s.Text, s.TextLayout}} {
		if part.src == "" {
			continue
		}
		if tokens, err := withLayout(part.kind, part.field, part.src, part.layout); err == nil {
			own = own && prints(tokens, unsubscribeNames...)
		}
	}
	if !own {
		i.warn("unsubscribe_link_added", "content.source", "Add a link to {{ unsubscribe_url }} where you want it.",
			"The email has no unsubscribe link. A footer with one is added at the end.")
	}
	address := cmp.Or(i.in.Address, s.Shared.Tenant["postal_address"])
	first, _, _ := strings.Cut(strings.TrimSpace(address), "\n")
	shown := text
	if html != "" {
		shown = HTMLToText(html)
	}
	switch {
	case first == "":
		i.warn("postal_address_missing", "", "Set it: PUT /api/admin/tenants/{id} postal_address, or admin tenant update "+
			"--postal-address.", "The tenant has no postal address. Many countries require one in newsletters.")
	case !strings.Contains(squeeze(shown), squeeze(first)):
		i.warn("postal_address_missing", "content.source", "Add {{ tenant.postal_address }}.",
			"The email lacks the tenant's postal address. Many countries require it in newsletters.")
	}
}

// squeeze replaces each run of white space with one space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// alike warns if the text and HTML parts differ too much and the author wrote both.
func (i *inspector) alike() {
	s := &i.b.spec
	if !i.in.Written || s.HTML == "" || s.Text == "" {
		return
	}
	html, text := wordsOf(HTMLToText(s.HTML)), wordsOf(s.Text)
	if share := min(shareOf(html, text), shareOf(text, html)); share < enoughAlike {
		i.warn("text_differs", "content.text", "Leave content.text empty to generate it from the HTML.",
			"The plain-text version differs from the HTML: only %d%% of the words match.", int(share*100))
	}
}
