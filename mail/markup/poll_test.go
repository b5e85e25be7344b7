package markup

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail"
)

var twoPolls = []core.Poll{
	{Question: "Apples & pears <b>?", Options: core.Strings{"Yes *both*", "No"}},
	{Question: "How often?", Options: core.Strings{"Weekly", "Monthly", "Never"}},
}

// compiledPoll compiles a campaign and renders both parts for a recipient.
func compiledPoll(t *testing.T, f *core.CampaignFields, r *mail.Recipient) (html, text string, err error) {
	t.Helper()
	made, err := CompileCampaign(f, nil, &core.List{Name: "L"}, &core.Tenant{Name: "T"})
	if err != nil {
		return "", "", err
	}
	b, err := mail.CompileBulk(&mail.BulkSpec{
		From: mail.Address{Email: "a@example.org"}, ListID: "l", Subject: "S", HTML: made.HTML, Text: made.Text,
		Track: mail.Tracking{Click: true, Origin: "https://track.example"},
	})
	if err != nil {
		return "", "", err
	}
	if len(b.Links()) > 0 {
		t.Errorf("the answers are tracked links: %q", b.Links())
	}
	_, text, html, err = b.Parts(r)
	return html, text, err
}

// Every kind of content shows the question once, and a link of the recipient for each option.
func TestPollsInEveryKind(t *testing.T) {
	ident := mail.NewIdent(make([]byte, 32))
	to := &mail.Recipient{
		Email: "b@example.org", PollURL: "https://news.example/poll/", Voter: &mail.Voter{Ident: ident, Job: 7, Seq: 8},
	}
	for kind, source := range map[string]string{
		core.ContentMarkdown: "# Hi\n\n{{ poll.1 }}\n\n::: tip\n{{poll.2}}\n:::\n",
		core.ContentBlocks: `{"version": 1, "blocks": [{"type": "text", "text": "{{ poll.1 }}"},
			{"type": "text", "text": "More\n\n{{- poll.2 -}}"}]}`,
		core.ContentHTML: "<html><body><p>Hi</p>{{ poll.1 }}<div>{{poll.2}}</div></body></html>",
		core.ContentText: "Hi\n\n{{ poll.1 }}\n\n{{ poll.2 }}\n",
	} {
		f := &core.CampaignFields{Polls: twoPolls, Content: core.CampaignContent{Kind: kind, Source: source}}
		f.UTM.Source = "news"
		html, text, err := compiledPoll(t, f, to)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		for poll, p := range twoPolls {
			for option := range p.Options {
				link := to.PollURL + ident.Poll(7, 8, mail.Answer{Poll: poll + 1, Option: option + 1})
				if strings.Count(text, link) != 1 || kind != core.ContentText && strings.Count(html, `"`+link+`"`) != 1 {
					t.Errorf("%s: link of %d.%d in\n%s\n%s", kind, poll+1, option+1, html, text)
				}
			}
		}
		if !strings.Contains(text, "Apples & pears <b>?") || !strings.Contains(text, "Yes *both*") ||
			kind != core.ContentText && !strings.Contains(html, "Apples &amp; pears &lt;b&gt;?") {
			t.Errorf("%s: %s\n%s", kind, html, text)
		}
		for _, preview := range []*mail.Recipient{{Email: "b@example.org", PollURL: to.PollURL}} {
			html, text, err := compiledPoll(t, f, preview)
			if err != nil || strings.Contains(html+text, "poll_url") || !strings.Contains(text, to.PollURL+"preview") {
				t.Errorf("%s: preview %v: %s", kind, err, text)
			}
		}
	}
}

// Pages for anyone show the question and the options, but no links.
func TestPollsInArticles(t *testing.T) {
	page, err := Article(KindMarkdown, "Hi\n\n{{ poll.1 }}\n", twoPolls)
	if err != nil || strings.Contains(page, "<a") || !strings.Contains(page, "<li>Yes *both*</li>") {
		t.Error(err, page)
	}
	if page := WithPolls(mail.PartHTML, "<i>{{poll.2}}</i>", twoPolls, false); strings.Contains(page, "<a") ||
		!strings.Contains(page, "Monthly") {
		t.Error(page)
	}
}

// Unknown polls, and polls in the middle of a sentence, are errors that say where.
func TestPollsOutOfPlace(t *testing.T) {
	for _, c := range []struct {
		kind, source string
		line         int
	}{
		{core.ContentMarkdown, "Hi\n\n{{ poll.3 }}\n", 3},
		{core.ContentMarkdown, "Hi {{ poll.1 }}\n", 1},
		{core.ContentMarkdown, "{{ poll.1 }} {{ poll.2 }}\n", 1},
		{core.ContentMarkdown, "Hi\n\n[vote]({{ poll.1 }})\n", 3},
		{core.ContentMarkdown, "# {{ poll.1 }}\n", 1},
		{core.ContentText, "\n{{ poll.99999999999999999999 }}\n", 0},
		{core.ContentText, "\n{{ poll.0 }}\n", 0},
		{core.ContentHTML, "<p>\n{{ poll.3 }}", 2},
		{core.ContentHTML, "<p>{{ poll_url.1.11 }}", 0},
		{core.ContentHTML, "<p>\n{{ poll_url.1.3 }}", 2},
		{core.ContentMarkdown, "Hi\n\n[vote]({{- poll_url.3.1 }})\n", 3},
		{core.ContentText, "\n\n{% if email %}{{ poll_url.2.4 | default: \"x\" }}{% endif %}\n", 3},
		{core.ContentHTML, "<p>{{ poll_url }}", 0},
		{core.ContentHTML, "<p>{{ poll_url.1.2.3 }}", 0},
		{core.ContentBlocks, `{"version": 1, "blocks": [{"type": "button", "text": "Vote", "href": "{{ poll.1 }}"}]}`, 0},
	} {
		f := &core.CampaignFields{Polls: twoPolls, Content: core.CampaignContent{Kind: c.kind, Source: c.source}}
		_, _, err := compiledPoll(t, f, &mail.Recipient{Email: "b@example.org"})
		e, ok := err.(*core.Error)
		if !ok || e.Kind != core.Invalid || c.line > 0 && (e.Line != c.line || e.Field != "content.source") {
			t.Errorf("%s: %v %+v", c.source, err, e)
		}
	}
}

// FuzzPolls checks that a text can't leave the element in which a poll shows it.
func FuzzPolls(f *testing.F) {
	for _, s := range []string{"Which?", "<b>", "}}", "{", "\ufde0\ufde2\ufde1", "](x)", "a\\", "& &amp;"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, question, option string) {
		fields := core.CampaignFields{
			Tracking: core.TrackingOff, Polls: []core.Poll{{Question: question, Options: core.Strings{option, "Other one"}}},
		}
		for kind, source := range map[string]string{
			core.ContentMarkdown: "a\n\n{{ poll.1 }}\n", core.ContentHTML: "<body>{{ poll.1 }}</body>",
		} {
			if fields.Content = (core.CampaignContent{Kind: kind, Source: source}); fields.Check() != nil {
				return
			}
			html, text, err := compiledPoll(t, &fields, &mail.Recipient{Email: "b@example.org", PollURL: "https://x.example/"})
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if n := strings.Count(html, `"https://x.example/preview"`); n != 2 {
				t.Errorf("%s: %d links in %s", kind, n, html)
			}
			if n := strings.Count(text, "https://x.example/preview"); n != 2 {
				t.Errorf("%s: %d links in %s", kind, n, text)
			}
		}
	})
}
