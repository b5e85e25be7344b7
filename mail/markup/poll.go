package markup

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/mail"
)

// poll is a node with a poll's question and a link for each option. hrefs contains marks of placeholders.
type poll struct {
	question string
	options  []string
	hrefs    []string
}

func (poll) isNode() {}

// pollOf returns the node for a poll whose placeholder is the whole text of a paragraph, or nil for any other text.
func (d *document) pollOf(text string) node {
	var number int
	alone := true
	d.marks.each(text, func(text string) {
		alone = alone && strings.TrimSpace(text) == ""
	}, func(_ string, p mail.Placeholder) {
		alone, number = alone && number == 0, pollNumber(&p)
	})
	if !alone || number < 1 || number > len(d.options.Polls) {
		return nil
	}
	of := &d.options.Polls[number-1]
	n := poll{question: dropMarks(of.Question)}
	for i, option := range of.Options {
		d.marks = append(d.marks, mail.Placeholder{Kind: mail.PlaceholderOutput, Text: pollURL(number, i+1)})
		n.options, n.hrefs = append(n.options, dropMarks(option)), append(n.hrefs, d.marks.mark(len(d.marks)-1))
	}
	return n
}

// pollNumber returns the number of the poll that a placeholder prints, or 0.
func pollNumber(p *mail.Placeholder) int {
	if p.Kind != mail.PlaceholderOutput {
		return 0
	}
	return core.PollNumber(p.Text[2 : len(p.Text)-2])
}

func pollURL(number, option int) string { return fmt.Sprintf("{{ poll_url.%d.%d }}", number, option) }

// poll writes the question, with a button for each option.
func (w *htmlWriter) poll(p *poll) {
	body := []node{paragraph{[]span{emphasis{"strong", []span{words(p.question)}}}}}
	for i, option := range p.options {
		body = append(body, button{[]span{words(option)}, p.hrefs[i]})
	}
	w.stack(body)
}

// poll writes the question, with a line for each option.
func (w *textWriter) poll(p *poll) string {
	lines := []string{w.plain(p.question), ""}
	for i, option := range p.options {
		lines = append(lines, "* "+w.link(&link{href: p.hrefs[i], body: []span{words(option)}}))
	}
	return strings.Join(lines, "\n")
}

// poll writes the question and the options, without links, because a web page can't know which subscriber answers.
func (w *articleWriter) poll(p *poll) {
	w.within("p", []span{emphasis{"strong", []span{words(p.question)}}})
	w.WriteString("\n<ul>\n")
	for _, option := range p.options {
		w.within("li", []span{words(option)})
		w.WriteByte('\n')
	}
	w.WriteString("</ul>")
}

// WithPolls replaces poll placeholders in HTML or text content with the polls. If answers is false, options have no
// links. Placeholders of unknown polls stay unchanged.
func WithPolls(part mail.Part, source string, polls []core.Poll, answers bool) string {
	if len(polls) == 0 {
		return source
	}
	all, err := mail.Placeholders("content.source", source)
	if err != nil { // compiling the email reports this
		return source
	}
	var b strings.Builder
	at := 0
	for i := range all {
		number := pollNumber(&all[i])
		if number < 1 || number > len(polls) {
			continue
		}
		b.WriteString(source[at:all[i].From])
		if at = all[i].To; part == mail.PartHTML {
			b.WriteString(pollHTML(number, &polls[number-1], answers))
		} else {
			b.WriteString(pollText(number, &polls[number-1], answers))
		}
	}
	return b.String() + source[at:]
}

// pollHTML returns the HTML of a poll. Its fonts and colors are those of the surrounding HTML.
func pollHTML(number int, p *core.Poll, answers bool) string {
	var b strings.Builder
	b.WriteString("<p><strong>" + html.EscapeString(p.Question) + "</strong></p>\n")
	for i, option := range p.Options {
		option = html.EscapeString(option)
		if answers {
			option = `<a href="` + pollURL(number, i+1) + `" style="display:inline-block;padding:10px 16px;` +
				`border:1px solid;border-radius:6px;text-decoration:none">` + option + "</a>"
		}
		b.WriteString("<p>" + option + "</p>\n")
	}
	return b.String()
}

func pollText(number int, p *core.Poll, answers bool) string {
	lines := []string{p.Question, ""}
	for i, option := range p.Options {
		line := "* " + option
		if answers {
			line += ": " + pollURL(number, i+1)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// checkPolls returns an Invalid error if the content uses a poll or an option that the campaign doesn't have, or if, in
// compiled HTML and text, a poll is not alone in its paragraph.
func checkPolls(f *core.CampaignFields, compiled ...string) error {
	for _, number := range core.PollNumbers(f.Content.Source + "\n" + f.Content.Text) {
		if number > len(f.Polls) {
			return onPlaceholder(f, fmt.Sprintf("poll.%d", number), core.Invalidf("content.source",
				"The campaign has no poll %d. Create it, or remove {{ poll.%d }}.", number, number))
		}
	}
	for _, part := range append([]string{f.Content.Source, f.Content.Text, f.Subject, f.Preheader}, compiled...) {
		if err := checkOptions(f, part); err != nil {
			return err
		}
	}
	for _, part := range compiled {
		for _, number := range core.PollNumbers(part) {
			if number <= len(f.Polls) {
				return onPlaceholder(f, fmt.Sprintf("poll.%d", number), core.Invalidf("content.source", "Poll %d must be alone in its paragraph. "+
					"Put {{ poll.%d }} on a line of its own, between empty lines.", number, number))
			}
		}
	}
	return nil
}

var answerLink = regexp.MustCompile(`\bpoll_url\.(\d{1,3})\.(\d{1,3})\b`)

// checkOptions returns an Invalid error if a template links to an option that the campaign doesn't have.
func checkOptions(f *core.CampaignFields, template string) error {
	all, err := mail.Placeholders("content.source", template)
	if err != nil { // compiling the email reports this
		return nil
	}
	for i := range all {
		if all[i].Kind != mail.PlaceholderOutput && all[i].Kind != mail.PlaceholderTag {
			continue
		}
		for _, m := range answerLink.FindAllStringSubmatch(all[i].Text, -1) {
			poll, _ := strconv.Atoi(m[1])
			option, _ := strconv.Atoi(m[2])
			known := poll > 0 && poll <= len(f.Polls) && option > 0 && option <= len(f.Polls[poll-1].Options)
			if !known {
				return onPlaceholder(f, m[0], core.Invalidf("content.source",
					"The campaign has no option %d in poll %d. Change or remove {{ %s }}.", option, poll, m[0]))
			}
		}
	}
	return nil
}

// onPlaceholder sets the line of an error to the line of the placeholder in the campaign's content.
func onPlaceholder(f *core.CampaignFields, body string, e *core.Error) error {
	before, _, found := strings.Cut(f.Content.Source, body)
	if found && f.Content.Kind != core.ContentBlocks {
		e.Line = 1 + strings.Count(before, "\n")
	}
	return e
}
