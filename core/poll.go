package core

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Limits of polls.
const (
	MaxPolls        = 10  // per campaign
	MaxPollQuestion = 200 // characters
	MinPollOptions  = 2
	MaxPollOptions  = 10
	MaxPollOption   = 100 // characters
	// FewAnswers is the minimum number of answers for showing results by option to people who may not see individual
	// subscribers. Fewer would reveal who answered what.
	FewAnswers = 5
	// MaxAnswerChanges is how often a person can change an answer. Each change may cause an event.
	MaxAnswerChanges = 20
)

// Poll is a question in a campaign that subscribers answer by clicking a link. It is part of a campaign version. Once
// the campaign is sent, PollResult holds its polls and their answers.
type Poll struct {
	Question    string  `json:"question" is:"required" like:"line" min:"1" max:"200"`
	Options     Strings `json:"options" is:"required" min:"2" max:"10" each:"line max=100" about:"Answers to choose from, in order"`
	Field       string  `json:"field,omitempty" max:"40" about:"Field of the lists that takes the answer; empty: none"`
	ClosesAt    Instant `json:"closes_at,omitzero" about:"Time after which answers are refused; absent: none"`
	ShowResults bool    `json:"show_results,omitempty" about:"Show the results to people who answered"`
}

// PollResult is a campaign's poll with its answers.
type PollResult struct {
	Number      int          `json:"number" about:"Number of the poll in the campaign, from 1"`
	Question    string       `json:"question"`
	Options     []PollOption `json:"options" about:"Answers to choose from, with their results"`
	Answers     int64        `json:"answers" about:"Number of people who answered"`
	Field       string       `json:"field,omitempty" about:"Field of the lists that takes the answer; absent: none"`
	ClosesAt    Instant      `json:"closes_at,omitzero" about:"Time after which answers are refused; absent: none"`
	ClosedAt    Instant      `json:"closed_at,omitzero" about:"Time when the poll was closed early; absent: it wasn't"`
	ShowResults bool         `json:"show_results" about:"Whether people who answered see the results"`
	Open        bool         `json:"open" about:"Whether people can answer now"`
}

// PollOption is one of a poll's options. Answers is absent before the campaign is sent. For people who may not see
// individual subscribers, it is also absent while the poll has fewer than FewAnswers answers in total.
type PollOption struct {
	Text    string `json:"text" db:"text" about:"Text of the answer"`
	Answers *int64 `json:"answers,omitempty" db:"answers" about:"Number of people who chose it; absent before sending, or if few answered and you may not see individuals"`
}

// ErrPollNotFound is returned if the campaign has no such poll.
var ErrPollNotFound = &Error{
	Kind: NotFound, Code: "poll_not_found", Message: "Poll not found. The campaign has no poll with this number.",
}

// ErrPollClosed is returned for an answer to a closed poll.
var ErrPollClosed = &Error{Kind: Conflict, Code: "poll_closed", Message: "The poll is closed."}

// ErrAnswerFixed is returned if a person changed an answer too often.
var ErrAnswerFixed = &Error{
	Kind: TooMany, Code: "too_many_changes",
	Message: "You've changed this answer too many times. You can't change it again.",
}

// JudgeKeys returns an error if a request has unknown keys in a poll.
func (p *Poll) JudgeKeys(unknown []string) error { return JudgeKeys(JSONKeys[Poll](), unknown) }

// checkPolls validates a campaign's polls and trims their texts.
func checkPolls(all []Poll) error {
	if len(all) > MaxPolls {
		return Invalidf("polls", "polls must have at most %d entries.", MaxPolls)
	}
	for i := range all {
		if err := all[i].check("polls[" + strconv.Itoa(i) + "]"); err != nil {
			return err
		}
	}
	return nil
}

func (p *Poll) check(at string) error {
	if err := checkPollText(&p.Question, at+".question", MaxPollQuestion); err != nil {
		return err
	}
	if len(p.Options) < MinPollOptions || len(p.Options) > MaxPollOptions {
		return Invalidf(at+".options", "%s.options must have %d to %d entries.", at, MinPollOptions, MaxPollOptions)
	}
	p.Options = slices.Clone(p.Options)
	for i := range p.Options {
		field := at + ".options[" + strconv.Itoa(i) + "]"
		if err := checkPollText(&p.Options[i], field, MaxPollOption); err != nil {
			return err
		}
		same := func(other string) bool { return foldText(other) == foldText(p.Options[i]) }
		if slices.ContainsFunc(p.Options[:i], same) {
			return Invalidf(field, "%s is empty or used twice. Change or remove it.", field)
		}
	}
	if p.Field != "" && (!IsFieldName(p.Field) || p.Field == "email" || p.Field == "source") {
		return Invalidf(at+".field", "%s.field must be the name of a field.", at)
	}
	return nil
}

// checkPollText trims and validates a poll's question or option. It refuses placeholders, because the text becomes part
// of a template.
func checkPollText(text *string, at string, most int) error {
	if err := checkText(text, at, most, false); err != nil {
		return err
	}
	switch {
	case *text == "":
		return Invalidf(at, "%s is empty. Enter a value.", at)
	case strings.Contains(*text, "{{") || strings.Contains(*text, "{%"):
		return Invalidf(at, "%s contains placeholders. Remove them.", at)
	}
	return nil
}

// PollNumbers returns the numbers of the polls whose placeholders text contains, in order and without duplicates.
func PollNumbers(text string) (numbers []int) {
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "{{")
		if !found {
			return numbers
		}
		body, next, closed := strings.Cut(after, "}}")
		if !closed {
			return numbers
		}
		if n := PollNumber(body); n > 0 && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
		rest = next
	}
}

// PollNumber returns the number of the poll that a placeholder names, such as 1 for "poll.1", or 0 if it names none.
// body is the text between the braces.
func PollNumber(body string) int {
	digits, found := strings.CutPrefix(strings.TrimSpace(strings.Trim(body, "-")), "poll.")
	n, err := strconv.Atoi(digits)
	if !found || err != nil || n < 1 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

// PollFindings returns the problems with a campaign's polls at now, given its lists. elsewhere is true if another
// service holds the lists' subscriptions.
func (f *CampaignFields) PollFindings(lists []List, elsewhere bool, now Instant) (all []CampaignFinding) {
	add := func(severity, code string, i int, hint string, said *Error) {
		all = append(all, CampaignFinding{
			Severity: severity, Code: code, Message: said.Message, Hint: hint, Name: f.Polls[i].Question, fault: said,
			Where: FindingPlace{Field: "polls[" + strconv.Itoa(i) + "]"},
		})
	}
	used := PollNumbers(f.Content.Source + "\n" + f.Content.Text)
	for i := range f.Polls {
		p := &f.Polls[i]
		if !slices.Contains(used, i+1) && !strings.Contains(f.Content.Source, "poll_url."+strconv.Itoa(i+1)+".") {
			add(SeverityWarning, "poll_unused", i, "Insert it into the text, or delete it.",
				Invalidf("", "Poll %d isn't in the text.", i+1))
		}
		if p.ClosesAt != 0 && p.ClosesAt <= now {
			add(SeverityError, "poll_closed", i, "Choose a later time, or none.",
				Invalidf("", "Poll %d is already closed.", i+1))
		}
		if elsewhere && p.Field != "" {
			add(SeverityError, "poll_field", i, "Choose no field.",
				Invalidf("", "Poll %d: another service manages the subscriptions, so a field can't store the answers.",
					i+1))
			continue
		}
		for k := range lists {
			if said := p.Fits(i+1, &lists[k]); said != nil {
				add(SeverityError, "poll_field", i, "Choose another field, or change the list's fields.", said)
				break
			}
		}
	}
	return all
}

// Fits returns an error if a list has no field that can store the answers. The error names the poll by number.
func (p *Poll) Fits(number int, l *List) *Error {
	if p.Field == "" {
		return nil
	}
	at := slices.IndexFunc(l.Fields, func(f Field) bool { return f.Name == p.Field })
	switch {
	case at < 0:
		return Invalidf("", "Poll %d: the list %s has no field %s.", number, l.Name, p.Field)
	case l.Fields[at].Type == FieldBoolean:
		return Invalidf("", "Poll %d: the field %s of the list %s can't store text.", number, p.Field, l.Name)
	case l.Fields[at].Type == FieldChoice:
		for _, option := range p.Options {
			if !slices.Contains(l.Fields[at].Options, option) {
				return Invalidf("", "Poll %d: the field %s of the list %s has no option “%s”.", number, p.Field, l.Name,
					option)
			}
		}
	}
	return nil
}

// BreakDown hides the number of answers per option if the poll has fewer than FewAnswers answers in total.
func (r *PollResult) BreakDown() {
	if r.Answers >= FewAnswers {
		return
	}
	for i := range r.Options {
		r.Options[i].Answers = nil
	}
}

// Result returns the result, without answers, of a poll whose campaign has not been sent.
func (p *Poll) Result(number int) PollResult {
	r := PollResult{
		Number: number, Question: p.Question, Field: p.Field, ClosesAt: p.ClosesAt, ShowResults: p.ShowResults,
	}
	for _, option := range p.Options {
		r.Options = append(r.Options, PollOption{Text: option})
	}
	return r
}

// OpenAt reports whether a poll of a sent campaign can be answered at now.
func (r *PollResult) OpenAt(now Instant) bool {
	return r.ClosedAt == 0 && cmp.Or(r.ClosesAt, now+1) > now
}
