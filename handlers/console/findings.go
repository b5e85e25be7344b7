package console

import (
	"slices"
	"strings"

	"newsletterd/core"
)

// findingTexts maps finding codes to messages for authors. If the API's message contains more, the page adds it on a
// second line.
var findingTexts = map[string]string{
	"does_not_compile": "The text has a syntax error.",
	"list_missing":     "Select a list to send to.",
	"subject_missing":  "The subject is missing.",
	"content_missing":  "The text is missing.",
	"layout_missing":   "The layout was deleted. Choose another one.",
	"theme_missing":    "The theme was deleted. Choose another one.",
	"sender_not_yours": "The sender address doesn't belong to one of your sender domains.",
	"subject_placeholder_without_default": "A field in the subject has no fallback, the text shown if the field is " +
		"blank.",
	"placeholder_without_default": "A field in the text has no fallback, the text shown if the field is blank.",
	"placeholder_foreign": "The text contains a placeholder (merge tag) from another newsletter service. " +
		"Subscribers would see it as it is.",
	"placeholder_unknown":    "A field will be blank because none of this campaign's lists has it.",
	"field_missing":          "A field in this email is blank for some recipients.",
	"subject_long":           "The subject is long. Phones only show about 40 characters.",
	"content_doubtful":       "Some of the text may look different than you intended.",
	"html_as_text":           "The text contains HTML tags. Recipients will see the tags.",
	"image_without_alt":      "An image has no alt text, the description for people who can't see it.",
	"image_too_wide":         "An image is wider than the text column.",
	"image_local":            "An image wasn't uploaded. Upload it or remove it.",
	"image_embedded":         "An embedded image won't show in many email programs. Upload it instead.",
	"tracking_totals":        "Your settings only allow totals, so opens and clicks aren't tracked per subscriber.",
	"tracking_off":           "Tracking is turned off in Settings.",
	"pixel_in_short_mail":    "The email is very short. Short emails that track opens are more often marked as spam.",
	"html_clipped":           "The email is so long that Gmail cuts it off.",
	"poll_unused":            "A poll isn't in the text.",
	"poll_closed":            "A poll closes before the campaign is sent.",
	"poll_field":             "A field can't store the answers to a poll.",
	"attachment_missing":     "An attachment was deleted. Upload it again or remove it.",
	"attachments_large":      "The attachments are large. Link to the files instead.",
	"text_differs":           "The plain-text version differs from the HTML.",
	"unsubscribe_link_added": "An unsubscribe link will be added at the end of the email.",
	"postal_address_missing": "Your postal address is missing. Most countries require it by law.",
	"link_malformed":         "A link is incomplete. Enter the full URL, starting with https://.",
	"link_mixed_scripts":     "A link contains look-alike letters from another alphabet, like phishing links do.",
	"link_dead":              "A link isn't responding.",
	"link_not_public":        "A link isn't publicly reachable.",
	"dkim_missing": "Emails from your domain aren't signed (DKIM), so receiving servers can't verify that they come " +
		"from you.",
	"dkim_unpublished": "The DNS record for your DKIM signature is missing.",
	"spf_missing":      "Your domain has no valid SPF record, the list of servers that may send from it.",
	"dmarc_missing": "Your domain has no valid DMARC policy. It sets what receiving servers do with forged emails. " +
		"Gmail and Yahoo require it.",
	"sender_free_mail": "The sender is a free mailbox address, so newsletters may be rejected. Use your own domain.",
	"dmarc_misaligned": "Neither SPF (allowed servers) nor DKIM (signature) proves that the email comes from " +
		"your domain. It may land in spam.",
	"dns_unanswered": "Your domain couldn't be checked, because a DNS lookup failed. Try again later.",
}

// FindingText returns the message for a finding.
func (p *Page) FindingText(f core.CampaignFinding) string {
	if f.Message == noURL {
		return p.T("A link or button has no URL. Enter one, or remove the link.")
	}
	if text := findingTexts[f.Code]; text != "" {
		return p.T(text)
	}
	return p.T(f.Message)
}

// noURL is the API's message for a link without a URL. FindingText already says the same.
const noURL = "A link has no URL."

// FindingDetail returns the API's message if it has more details than FindingText, otherwise an empty string. In other
// languages, it returns only the name in the message, since messages are in English.
func (p *Page) FindingDetail(f core.CampaignFinding) string {
	if f.Code == "image_local" || f.Code == "placeholder_unknown" { // the text lacks only the name in the message
		return f.Name
	}
	if f.Code == "image_without_alt" || f.Message == noURL { // the text is complete
		return ""
	}
	for _, prefix := range []string{
		"does_not", "field_missing", "placeholder", "subject_placeholder", "content_", "image_", "link_",
		"sender_", "poll_",
	} {
		if strings.HasPrefix(f.Code, prefix) && f.Code != "content_missing" {
			if p.Lang != languages[0] && f.Name != "" {
				return f.Name
			}
			return f.Message
		}
	}
	return ""
}

// hintsAtAPI reports whether a finding's hint is for API clients.
func hintsAtAPI(f *core.CampaignFinding) bool {
	return f.Code == "dkim_missing" || f.Code == "dmarc_misaligned" ||
		f.Code == "postal_address_missing" && f.Where.Field == ""
}

// matter is a finding in the form that the page shows, with details and a link for fixing it.
type matter struct {
	Text, Detail, Advice string
	Line                 int      // line number, only for HTML, because other editors show no lines
	Bad                  bool     // whether it must be fixed before sending
	Settled              bool     // whether the author has handled it, so that it is a hint instead of a warning
	More                 []string // further findings of the same kind
	Mend                 Link
}

// isOfDomain reports whether a finding is about the DNS records of the sender domain.
func isOfDomain(f *core.CampaignFinding) bool {
	return slices.ContainsFunc([]string{"dkim_", "spf_", "dmarc_", "dns_"}, func(prefix string) bool {
		return strings.HasPrefix(f.Code, prefix)
	})
}

// matters returns a campaign's findings, errors first. It combines those about the sender domain's records.
func (p *Page) matters(of *campaignPage, found []core.CampaignFinding, fields []core.FieldCoverage) (out []matter) {
	domain := matter{Text: p.T("Your sender domain isn't fully set up. Emails may land in spam.")}
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
			return c.Default != "" && f.Name == "preferences."+c.Name
		})
		text, detail, said := p.sayField(of, f, fields)
		if said {
			m.Text, m.Detail = text, detail
		}
		switch {
		case said && text == "":
			continue
		case isOfDomain(f) && !m.Bad:
			domain.More = append(domain.More, m.Text)
			continue
		case m.Mend.To == "" && !said && !hintsAtAPI(f):
			m.Advice = p.T(f.Hint)
		}
		out = append(out, m)
	}
	if line := sampleIn(of.Content); line != "" {
		m := matter{Text: p.T("The email still contains sample text from its design."), Detail: line}
		if p.May(core.ActionCampaignWrite) {
			m.Mend = Link{p.T("Edit text"), p.Path("campaigns", of.ID) + "#text"}
		}
		out = append(out, m)
	}
	if len(domain.More) > 0 {
		out = append(out, domain)
	}
	out = append(out, p.serverMatters()...)
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

// serverMatters returns problems with the server's setup, which affect every campaign.
func (p *Page) serverMatters() (out []matter) {
	if p.folder() {
		no := matter{Text: p.T("No mail server is set up, so no one would receive this email."), Bad: true}
		if p.IsOperator() {
			no.Mend = Link{p.T("Set up mail server"), operatorPath("mail-server")}
		}
		out = append(out, no)
	}
	if p.LocalLinks() {
		advice, mend := p.localAdvice()
		out = append(out, matter{
			Text:   p.T("Links in this email only work on the computer that newsletterd runs on."),
			Advice: advice, Mend: mend,
		})
	}
	return out
}

// mend returns a link for fixing a finding, if the visitor may do so.
func (p *Page) mend(id string, f *core.CampaignFinding) Link {
	editor := p.Path("campaigns", id)
	tab := Link{p.T("Recipients and sender"), editor + "?tab=settings"}
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
	case field == "tracking":
		return Link{p.T("Change tracking"), tab.To + "#f-tracking"}
	case field == "subject":
		return Link{p.T("Edit subject"), editor + "#f-subject"}
	case field == "preheader":
		return Link{p.T("Edit preview text"), editor + "#f-preheader"}
	case strings.HasPrefix(field, "content"), strings.HasPrefix(f.Code, "content"), strings.HasPrefix(f.Code, "link_"),
		strings.HasPrefix(f.Code, "image_"), f.Code == "does_not_compile", f.Code == "html_clipped":
		return Link{p.T("Edit text"), editor + "#text"}
	case strings.HasPrefix(field, "polls"):
		return Link{p.T("Polls"), p.Path("campaigns", id, "polls")}
	case field != "":
		return tab
	}
	return Link{}
}

// Matter returns the data for the template that shows a matter.
func (p *Page) Matter(m matter) any {
	return struct {
		Page   *Page
		Matter matter
	}{p, m}
}
