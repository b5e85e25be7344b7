package console

import (
	"strings"

	"newsletterd/core"
)

// findingTexts are the findings of checks by their codes, in words for who writes; a line with what the API says follows
// where it tells more.
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
	"subject_long":                        "The subject is long: phones show about 40 characters.",
	"content_doubtful":                    "Something in the text is shown otherwise than it may be meant.",
	"html_as_text":                        "There are HTML tags in the text: readers see them as they stand.",
	"image_without_alt":                   "A picture has no words for those who don't see it.",
	"image_too_wide":                      "A picture is wider than the column.",
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
	for _, prefix := range []string{"does_not", "placeholder", "subject_placeholder", "content_", "image_", "link_", "sender_"} {
		if strings.HasPrefix(f.Code, prefix) && f.Code != "content_missing" {
			return f.Message
		}
	}
	return ""
}
