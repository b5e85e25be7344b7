package console

import (
	"slices"
	"strings"

	"newsletterd/core"
)

// findingTexts are the findings of checks by their codes, in words for who writes; a line with what the API says
// follows where it tells more.
var findingTexts = map[string]string{
	"does_not_compile":                    "A field or a mark in the text can't be read.",
	"list_missing":                        "Choose a list: it says who gets it.",
	"subject_missing":                     "There is no subject yet.",
	"content_missing":                     "There is no text yet.",
	"layout_missing":                      "Its layout is gone: choose another.",
	"theme_missing":                       "Its theme is gone: choose another.",
	"sender_not_yours":                    "The address of the sender is at a domain that is not yours.",
	"subject_placeholder_without_default": "A field in the subject has no word for those who have not told it.",
	"placeholder_without_default":         "A field in the text has no word for those who have not told it.",
	"placeholder_unknown":                 "A field prints nothing: no list of this campaign asks for it.",
	"field_missing":                       "Some readers lack a field that the mail prints.",
	"subject_long":                        "The subject is long: phones show about 40 characters.",
	"content_doubtful":                    "Something in the text is shown otherwise than it may be meant.",
	"html_as_text":                        "There are HTML tags in the text: readers see them as they stand.",
	"image_without_alt":                   "A picture has no words for those who don't see it.",
	"image_too_wide":                      "A picture is wider than the column.",
	"image_local":                         "A picture stayed on a computer: upload it in its place, or leave it out.",
	"image_embedded":                      "A picture is part of the text: many mail programs don't show it. Upload it.",
	"tracking_totals":                     "Openings and clicks are counted, but not by whom: the settings say so.",
	"tracking_off":                        "Nothing is measured: the settings say so.",
	"html_clipped":                        "The mail is so long that Gmail cuts it off.",
	"attachment_missing":                  "A file that comes with the mail is gone: upload it again, or leave it out.",
	"attachments_large":                   "The files that come with each mail are large: a link to them is kinder.",
	"text_differs":                        "The text for programs without HTML says something else.",
	"unsubscribe_link_added":              "A line to unsubscribe is added at the end.",
	"postal_address_missing":              "Your postal address is missing: the law asks for it in most countries.",
	"link_malformed":                      "A link is no whole address.",
	"link_mixed_scripts":                  "A link mixes letters that look alike, as forged ones do.",
	"link_dead":                           "A link does not answer.",
	"link_not_public":                     "A link leads to an address that readers can't reach.",
	"dkim_missing":                        "Mails from your domain are not signed.",
	"dkim_unpublished":                    "The record for the signature of your mails is not in the DNS.",
	"spf_missing":                         "Your domain has no record that says which servers may send for it (SPF).",
	"dmarc_missing":                       "Your domain has no DMARC record, which large mailboxes ask for.",
	"sender_free_mail":                    "The sender is at a provider of mailboxes: mail programs refuse or hide such newsletters.",
	"dmarc_misaligned":                    "Nothing proves yet that your mails are from your domain: they may end in the spam folder.",
	"dns_unanswered":                      "The DNS did not answer, so your domain could not be looked at.",
}

// FindingText is what a check has found, in a sentence.
func (p *Page) FindingText(f core.CampaignFinding) string {
	if text := findingTexts[f.Code]; text != "" {
		return p.T(text)
	}
	return p.T(f.Message)
}

// FindingDetail is what the API says of it beyond that; empty where that is nothing more.
func (p *Page) FindingDetail(f core.CampaignFinding) string {
	if f.Code == "image_local" { // its name is all that the sentence doesn't say
		_, name, _ := strings.Cut(f.Message, "“")
		name, _, _ = strings.Cut(name, "”")
		return name
	}
	if f.Code == "placeholder_unknown" {
		name, _, _ := strings.Cut(f.Message, " ")
		return name
	}
	if f.Code == "image_without_alt" { // the sentence says it all
		return ""
	}
	for _, prefix := range []string{
		"does_not", "field_missing", "placeholder", "subject_placeholder", "content_", "image_", "link_",
		"sender_",
	} {
		if strings.HasPrefix(f.Code, prefix) && f.Code != "content_missing" {
			return f.Message
		}
	}
	return ""
}

// matter is what a check has found, as a page says it: in a sentence, with what else belongs to it and where it is
// mended.
type matter struct {
	Text, Detail, Advice string
	Line                 int      // of HTML; of a text no one sees lines
	Bad                  bool     // nothing goes out before it is mended
	Settled              bool     // the author has provided for it: nothing is asked
	More                 []string // findings on the same matter
	Mend                 Link
}

// isOfDomain reports whether records of the sender domain mend a finding.
func isOfDomain(f *core.CampaignFinding) bool {
	return slices.ContainsFunc([]string{"dkim_", "spf_", "dmarc_", "dns_"}, func(prefix string) bool {
		return strings.HasPrefix(f.Code, prefix)
	})
}

// matters are the findings of a campaign's checks, the errors first. Those on the records of the sender domain are one.
func (p *Page) matters(of *campaignPage, found []core.CampaignFinding, fields []core.FieldCoverage) (out []matter) {
	domain := matter{Text: p.T("Your sender domain is not wholly set up: mails may end in the spam folder.")}
	if p.May(core.ActionDomainPropose) {
		domain.Mend = Link{p.T("Sender domains"), p.Path("settings", "domains")}
	}
	for i := range found {
		f := &found[i]
		m := matter{
			Text: p.FindingText(*f), Detail: p.FindingDetail(*f),
			Bad: f.Severity == core.SeverityError, Mend: p.mend(of.ID, f),
		}
		if of.Content.Kind == core.ContentHTML {
			m.Line = f.Where.Line
		}
		m.Settled = f.Code == "field_missing" && slices.ContainsFunc(fields, func(c core.FieldCoverage) bool {
			return c.Default != "" && namesField(f.Message, c.Name)
		})
		text, detail, said := p.sayField(of.Content.Kind, f, fields)
		if said {
			m.Text, m.Detail = text, detail
		}
		switch {
		case said && text == "":
			continue
		case isOfDomain(f) && !m.Bad:
			domain.More = append(domain.More, m.Text)
			continue
		case m.Mend.To == "" && !said && !strings.Contains(f.Hint, "/api/"): // others are for programs
			m.Advice = p.T(f.Hint)
		}
		out = append(out, m)
	}
	if len(domain.More) > 0 {
		out = append(out, domain)
	}
	slices.SortStableFunc(out, func(a, b matter) int {
		switch {
		case a.Bad == b.Bad:
			return 0
		case a.Bad:
			return -1
		}
		return 1
	})
	return out
}

// mend leads to where a finding is mended, by those who may.
func (p *Page) mend(id string, f *core.CampaignFinding) Link {
	editor := p.Path("campaigns", id)
	tab := Link{p.T("Readers and sender"), editor + "?tab=settings"}
	switch field := f.Where.Field; {
	case isOfDomain(f) || f.Code == "sender_not_yours":
		if p.May(core.ActionDomainPropose) {
			return Link{p.T("Sender domains"), p.Path("settings", "domains")}
		}
	case f.Code == "postal_address_missing" || f.Code == "tracking_off" || f.Code == "tracking_totals":
		if p.May(core.ActionListSettings) {
			return Link{p.T("Settings"), p.Path("settings")}
		}
	case !p.May(core.ActionCampaignWrite):
	case field == "subject":
		return Link{p.T("To the subject"), editor + "#f-subject"}
	case field == "preheader":
		return Link{p.T("To the preview text"), editor + "#f-preheader"}
	case strings.HasPrefix(field, "content"), strings.HasPrefix(f.Code, "content"), strings.HasPrefix(f.Code, "link_"),
		strings.HasPrefix(f.Code, "image_"), f.Code == "does_not_compile", f.Code == "html_clipped":
		return Link{p.T("To the text"), editor + "#text"}
	case field != "":
		return tab
	}
	return Link{}
}

// Matter is a matter with its page, for the template that they share.
func (p *Page) Matter(m matter) any {
	return struct {
		Page   *Page
		Matter matter
	}{p, m}
}
