package console

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// pollRoutes adds the routes for polls in a campaign.
func (o *Console) pollRoutes(t *web.Table) {
	const all = "/campaigns/:id/polls"
	o.get(t, all, core.ActionCampaignRead, o.polls, "The console: the polls of a campaign")
	o.post(t, all, core.ActionCampaignWrite, o.savePoll, "The console: create, edit, delete or close a poll")
}

// pollsData holds the data for templates/polls.html.
type pollsData struct {
	*campaignPage
	Forms []pollForm
	Open  int  // number of the poll whose form is open; 0: a new poll, -1: none
	Ends  bool // whether new polls are added to the end of the text
}

// pollForm is the form for a poll.
type pollForm struct {
	Number   int // 0: a new one
	Question string
	Insert   string // placeholder, for people who write HTML
	Prefix   string // prefix of the names in the form
	Results  bool

	Ask, Options, Field, Closes field
}

func (o *Console) polls(p *Page) (web.HTML, error) {
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	if !written(c.State) {
		return web.HTML{To: p.PublicURL() + p.Path("campaigns", c.ID)}, nil
	}
	return p.showPolls(c, -1, nil)
}

// showPolls shows a draft's polls. The form of the poll with the given number is open and shows fault. 0 is a new poll,
// which is already the last one in c, and -1 opens no form.
func (p *Page) showPolls(c *campaignPage, number int, fault error) (web.HTML, error) {
	lists, err := p.lists(c)
	if err != nil {
		return web.HTML{}, err
	}
	v := View{
		Title: p.T("Polls"), Within: []Link{{p.T("Campaigns"), p.Path("campaigns")}, {c.Title(p), p.Path("campaigns", c.ID)}},
	}
	if err := p.blame(&v, fault); err != nil {
		return web.HTML{}, err
	}
	d := &pollsData{campaignPage: c, Open: number, Ends: endsWithText(c.Content.Kind)}
	said := shown{Page: p, View: v}
	for i := range c.Polls {
		f := p.pollForm(i, &c.Polls[i], lists, said)
		if c.Content.Kind == core.ContentHTML {
			f.Insert = fmt.Sprintf("{{ poll.%d }}", i+1)
		}
		d.Forms = append(d.Forms, f)
	}
	if number == 0 {
		d.Forms[len(d.Forms)-1].Number = 0
	} else if len(c.Polls) < core.MaxPolls {
		blank := p.pollForm(len(c.Polls), &core.Poll{}, lists, shown{Page: p})
		blank.Number = 0
		d.Forms = append(d.Forms, blank)
	}
	v.Data = d
	return p.Show("polls", v)
}

// pollForm returns the form for a poll. at is the poll's index.
func (p *Page) pollForm(at int, poll *core.Poll, lists []listChoice, said shown) pollForm {
	key := func(name string) string { return fmt.Sprintf("polls[%d].%s", at, name) }
	options := []string{key("options")}
	for i := range core.MaxPollOptions {
		options = append(options, key(fmt.Sprintf("options[%d]", i)))
	}
	fields := p.pollFields(poll.Field, lists)
	help := p.T("Replaces the value of this field for each subscriber who answers")
	if len(fields) == 1 {
		help = p.T("To save answers, first add the same field to all lists of this campaign.")
	}
	id := strconv.Itoa(at+1) + "."
	closes := ""
	if poll.ClosesAt != 0 {
		closes = p.InputTime(poll.ClosesAt)
	}
	return pollForm{
		Number: at + 1, Question: poll.Question, Prefix: id,
		Results: poll.ShowResults,
		Ask: newField(id+"question", p.T("Question"), poll.Question).Must().Limit(core.MaxPollQuestion).
			Blame(said.Wrong(key("question"))),
		Options: newArea(id+"options", p.T("Options"), strings.Join(poll.Options, "\n")).Must().Tall(4).
			Help(p.T("One per line, 2 to 10")).Blame(said.Wrong(options...)),
		Field: newChoice(id+"field", p.T("Save answers in a field (optional)"), poll.Field, fields).Help(help).
			Blame(said.Wrong(key("field"))),
		Closes: newField(id+"closes", p.T("Close automatically (optional)"), closes).Kind("datetime-local").
			Help(p.T("Time zone: {{zone}}", "zone", p.ZoneName())).Blame(said.Wrong(key("closes_at"))),
	}
}

// pollFields returns the fields in which answers can be stored: those that all of the campaign's lists have.
func (p *Page) pollFields(now string, lists []listChoice) []option {
	out := []option{{"", p.T("No field")}}
	chosen := slices.DeleteFunc(slices.Clone(lists), func(l listChoice) bool { return !l.On })
	if len(chosen) > 0 {
		for _, f := range chosen[0].Fields {
			everywhere := !slices.ContainsFunc(chosen, func(l listChoice) bool {
				return !slices.ContainsFunc(l.Fields, func(o core.Field) bool { return o.Name == f.Name })
			})
			if everywhere && f.Type != core.FieldBoolean {
				out = append(out, option{f.Name, f.Label})
			}
		}
	}
	if !slices.ContainsFunc(out, func(o option) bool { return o.Value == now }) {
		out = append(out, option{now, now})
	}
	return out
}

// savePoll creates, edits or deletes a poll in a draft, or closes one in a sent campaign.
func (o *Console) savePoll(p *Page) (web.HTML, error) {
	number, err := strconv.Atoi(p.Form["number"])
	if err != nil || number < 0 {
		return web.HTML{}, core.ErrPollNotFound
	}
	if p.Form["do"] == "close" {
		err := p.Do(http.MethodPost, campaignAPI(p.ID(), "polls", strconv.Itoa(number), "close"), struct{}{}, nil)
		if fault, status, ok := p.FaultOf(err); ok {
			return p.campaignAgain(fault, status)
		}
		if err != nil {
			return web.HTML{}, err
		}
		return p.Redirect(p.Path("campaigns", p.ID()), "saved")
	}
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	if number > len(c.Polls) {
		return web.HTML{}, core.ErrPollNotFound
	}
	before, fresh := slices.Clone(c.Polls), c.openedAs("polls")
	c.opened = cmp.Or(p.Form["revision"], fresh)
	revision := c.since(c.opened, "polls")
	change, deletes := map[string]any{}, p.Form["do"] == "delete" && number > 0
	if deletes {
		c.Polls = slices.Delete(c.Polls, number-1, number)
		change["content"] = map[string]string{"source": withoutPoll(c.Content.Source, number)}
		if c.Content.Kind == core.ContentHTML {
			change["content"].(map[string]string)["text"] = withoutPoll(c.Content.Text, number)
		}
	} else {
		poll, err := p.sentPoll(max(number, 1))
		if number == 0 {
			poll, err = p.sentPoll(len(c.Polls) + 1)
			c.Polls = append(c.Polls, poll)
			if placeholder := fmt.Sprintf("{{ poll.%d }}", len(c.Polls)); endsWithText(c.Content.Kind) {
				source := strings.TrimRight(c.Content.Source, "\n")
				change["content"] = map[string]string{"source": strings.TrimLeft(source+"\n\n"+placeholder+"\n", "\n")}
			}
		} else {
			c.Polls[number-1] = poll
		}
		if err != nil {
			return p.showPolls(c, number, err)
		}
	}
	change["polls"] = c.Polls
	_, err = p.Ask(web.Question{
		Method: http.MethodPatch, Path: "/api/campaigns/" + c.ID, Body: change,
		Header: map[string]string{"If-Match": revision},
	})
	if err != nil {
		if deletes {
			c.Polls, number = before, -1
		}
		if number <= 0 { // creating a poll changes no other one, so it can be retried
			c.opened = fresh
		}
		return p.showPolls(c, number, err)
	}
	notice := "saved"
	if number == 0 && endsWithText(c.Content.Kind) {
		notice = "poll-added"
	}
	return p.Redirect(p.Path("campaigns", c.ID, "polls"), notice)
}

// endsWithText reports whether a new poll can be added to the end of content of this kind.
func endsWithText(kind string) bool { return kind == core.ContentMarkdown || kind == core.ContentText }

// sentPoll returns the poll in the submitted form. number is the poll's number in the campaign, starting at 1.
func (p *Page) sentPoll(number int) (poll core.Poll, err error) {
	at := strconv.Itoa(number) + "."
	for name := range p.Form { // a new poll had a different number before someone else added or deleted one
		if before, ok := strings.CutSuffix(name, "question"); ok {
			at = before
		}
	}
	poll = core.Poll{
		Question: p.Form[at+"question"], Field: p.Form[at+"field"], ShowResults: p.Form[at+"results"] != "",
		Options: core.Strings{},
	}
	for line := range strings.Lines(p.Form[at+"options"]) {
		if line = strings.TrimSpace(line); line != "" {
			poll.Options = append(poll.Options, line)
		}
	}
	poll.ClosesAt, err = core.ParseTime(fmt.Sprintf("polls[%d].closes_at", number-1), p.Form[at+"closes"], p.Zone)
	return poll, err
}

var pollReference = regexp.MustCompile(`(\{\{-?\s*poll(?:_url)?\.)(\d+)((?:\.\d+)?\s*-?\}\})`)

// withoutPoll removes a poll's placeholder from text and renumbers those of later polls.
func withoutPoll(text string, number int) string {
	return pollReference.ReplaceAllStringFunc(text, func(found string) string {
		m := pollReference.FindStringSubmatch(found)
		switch n, _ := strconv.Atoi(m[2]); {
		case n == number:
			return ""
		case n > number:
			return m[1] + strconv.Itoa(n-1) + m[3]
		}
		return found
	})
}

// pollResults reads a sent campaign's polls with their answers.
func (p *Page) pollResults(id string) ([]core.PollResult, error) {
	var out struct{ Polls []core.PollResult }
	_, err := p.Get(campaignAPI(id, "polls"), nil, &out)
	return out.Polls, err
}

// BrokenDown reports whether a poll has answers and the number for each option is known.
func (p *Page) BrokenDown(r core.PollResult) bool {
	return r.Answers > 0 && r.Options[0].Answers != nil
}

// FewAnswers returns the number of answers that a poll needs before visitors who may not see individual subscribers see
// results by option.
func (p *Page) FewAnswers() int64 { return core.FewAnswers }

// PollShare formats the share of answers that chose an option.
func (p *Page) PollShare(r core.PollResult, o core.PollOption) string {
	return p.Percent(*o.Answers, r.Answers)
}

// AnsweredTo returns the URL of the page with the people who chose an option. If there are none or the visitor may not
// see them, it returns an empty string.
func (p *Page) AnsweredTo(campaign string, number int, o core.PollOption) string {
	if *o.Answers == 0 || !p.May(core.ActionPeopleRead) || !p.May(core.ActionSegmentRead) {
		return ""
	}
	f := peopleFilter{Answered: campaign + "." + strconv.Itoa(number) + "." + o.Text}
	return p.Path("people") + "?" + f.query().Encode()
}

// answerOf returns the form value for a poll condition: "2.1" is option 1 of poll 2, and "2" is any answer. For
// conditions that the form can't show, it returns an empty string.
func answerOf(r *core.Rule) string {
	number := strconv.Itoa(r.Poll.Number)
	switch {
	case r.Exists:
		return number
	case len(r.Is) == 1:
		return number + "." + r.Is[0]
	}
	return ""
}

// answerCondition returns the condition for a form value from answerOf.
func answerCondition(campaign, answer string) map[string]any {
	number, option, one := strings.Cut(answer, ".")
	n, _ := strconv.Atoi(number)
	out := map[string]any{"poll": map[string]any{"campaign": campaign, "number": n}}
	if out["exists"] = true; one {
		delete(out, "exists")
		out["is"] = []string{option}
	}
	return out
}

// answers returns options for the answers to all of a campaign's polls.
func (p *Page) answers(campaign string) ([]option, error) {
	var found struct{ Polls []core.PollResult }
	if _, err := p.readNamed(campaignAPI(campaign, "polls"), &found); err != nil {
		return nil, err
	}
	out := []option{}
	for _, r := range found.Polls {
		number := strconv.Itoa(r.Number)
		question := " (" + cut(r.Question, 40) + ")" // at the end, because a narrow menu truncates it
		out = append(out, option{number, p.T("Any answer") + question})
		for _, o := range r.Options {
			out = append(out, option{number + "." + o.Text, o.Text + question})
		}
	}
	return out, nil
}
