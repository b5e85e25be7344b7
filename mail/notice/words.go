package notice

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/mail/internal/octets"
	"newsletterd/mail/internal/words"
)

// Default returns the built-in text of a notice to subscribers, with the placeholders that a tenant's own text may use.
// Any language not in core.Languages means the first. As Data.Own, the result has the same effect as an empty value.
// For an unknown kind, Default returns the zero value.
func (k Kind) Default(language string) core.MailText {
	w := words.Of(words.Language(language))
	l, known := w.Notices[string(k)]
	if !known {
		return core.MailText{}
	}
	return core.MailText{Subject: l.Subject, Text: w.Hello + "\n\n" + l.Text}
}

// ServerTest returns the text of the mail server test email. Any language not in core.Languages means the first.
func ServerTest(language string) core.MailText { return words.Of(language).ServerTest }

// paragraph is a paragraph of plain text, which may have several lines.
type paragraph string

// Lines returns the lines of the paragraph.
func (p paragraph) Lines() []string { return strings.Split(string(p), "\n") }

// paragraphs splits s at empty lines.
func paragraphs(s string) (all []paragraph) {
	for p := range strings.SplitSeq(s, "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			all = append(all, paragraph(p))
		}
	}
	return all
}

// RoleName returns a role's name and permissions. If there is no text for the role, it returns role.
func RoleName(language, role string) string { return cmp.Or(words.Of(language).Roles[role], role) }

// filler returns a replacer that replaces placeholders with the values in d. If the inviting user is unknown, the
// tenant's name is used instead.
func filler(w *words.List, d Data) *strings.Replacer {
	by := octets.CleanLine(cmp.Or(d.Review.By, d.Invitation.By, d.Client.By, d.Server.By, d.Brand.Name))
	if d.Client.Name != "" && d.Client.By == "" || d.Server != (core.ServerMail{}) && d.Server.By == "" {
		by = w.Command
	}
	return core.Placeholders("{{email}}", d.To, "{{list.name}}", d.List, "{{tenant.name}}", d.Brand.Name,
		"{{valid}}", lifetime(w, d.Valid), "{{mailing}}", octets.CleanLine(core.ListedText(d.Review.Subject, nil)),
		"{{by}}", by, "{{role}}", RoleName(d.Language, d.Invitation.Role), "{{note}}", said(w, by, d.Review.Note),
		"{{wanted}}", wanted(w, &d), "{{client}}", octets.CleanLine(d.Client.Name),
		"{{scopes}}", cmp.Or(d.Client.Scopes, "–"), "{{when}}", moment(w, d.Client.At, d.Zone),
		"{{server}}", cmp.Or(octets.CleanLine(d.Server.Address), w.NoServer))
}

// said returns a note as a quote with its author, or an empty string if there is none.
func said(w *words.List, by, note string) string {
	if note = strings.TrimSpace(note); note == "" {
		return ""
	}
	return strings.NewReplacer("{{by}}", by, "{{note}}", note).Replace(w.Said)
}

// wanted returns the sentence about the deadline of a review, or an empty string if there is no deadline.
func wanted(w *words.List, d *Data) string {
	if d.Review.WantedAt == 0 {
		return ""
	}
	return strings.ReplaceAll(w.Wanted, "{{when}}", moment(w, d.Review.WantedAt, d.Zone))
}

// moment formats a time in words, in a time zone. A nil zone means UTC.
func moment(w *words.List, at core.Instant, zone *time.Location) string {
	t := at.Time().UTC()
	if zone != nil {
		t = t.In(zone)
	}
	return strings.NewReplacer("{{day}}", strconv.Itoa(t.Day()), "{{month}}", strings.Fields(w.Months)[t.Month()-1],
		"{{year}}", strconv.Itoa(t.Year()), "{{time}}", t.Format("15:04"), "{{zone}}", core.ZoneLabel(zone),
	).Replace(w.Moment)
}

// view returns the values for rendering a notice with the templates.
func (k Kind) view(d Data) (view, error) {
	d.Language = words.Language(d.Language)
	w := words.Of(d.Language)
	if d.List == "" {
		d.List = w.List
	}
	l, known := w.Notices[string(k)]
	if !known {
		return view{}, fmt.Errorf("notice %q: unknown", string(k))
	}
	fill, hello := filler(w, d), w.Hello
	if d.Own.Text != "" {
		hello = ""
	}
	orOpen := w.OrOpen
	if l.OpenSaysMore {
		orOpen = l.Open
	}
	return view{
		Hello: hello,
		Data:  d, Line: l, OrOpen: orOpen, Footer: fill.Replace(w.Footer), After: fill.Replace(l.After),
		Subject:    octets.CleanLine(fill.Replace(cmp.Or(d.Own.Subject, l.Subject))),
		Paragraphs: paragraphs(fill.Replace(cmp.Or(d.Own.Text, l.Text))),
	}, nil
}

// lifetime returns a duration in words.
func lifetime(w *words.List, d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf(w.Days, int(d/(24*time.Hour)))
	case d >= 2*time.Hour:
		return fmt.Sprintf(w.Hours, int(d/time.Hour))
	case d == time.Hour:
		return w.Hour
	}
	return fmt.Sprintf(w.Minutes, int(d/time.Minute))
}
