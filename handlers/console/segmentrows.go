package console

import (
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
)

// Subjects of conditions in a segment's form, in addition to fields.
const (
	subjectJoined   = "joined"
	subjectDomain   = "domain"
	subjectReceived = "received"
	subjectList     = "on_list"
	subjectSegment  = "segment"
	subjectOpened   = "opened"
	subjectClicked  = "clicked"
	subjectConsent  = "consented"
	subjectSource   = "source"
	subjectLanguage = "language"
	subjectLink     = "clicked_link"
	subjectPoll     = "poll"
	subjectTag      = "tag"
	subjectField    = "field." // prefix of a field's name
)

// Inputs for a condition's value.
const (
	inputNone    = ""
	inputText    = "text"
	inputTexts   = "texts" // strings, separated by commas
	inputNumber  = "number"
	inputDays    = "days"
	inputCount   = "count" // a number of campaigns
	inputDate    = "date"
	inputDay     = "day"     // day and month
	inputOptions = "options" // checkboxes for the options of a field
	inputRecord  = "record"  // a campaign, list, segment, tag or language to choose from
	inputLink    = "link"    // a campaign, and one of its links or answers
)

// segmentOp is an operator in a segment's form.
type segmentOp struct {
	Name  string // name in the form
	Text  string
	Key   string // key in the rule; for subjects other than fields and joined, the subject's key
	Not   bool   // whether the condition is negated
	Input string
	Value string // fixed value
	Unit  string // text after the input
	Said  string // text of the whole condition; empty: the subject, Text, the value and Unit
	For   string // heading in the list of operators; empty: above the headings
}

// Headings of operators for text fields that contain numbers or dates.
const (
	opsNumbers = "For numbers"
	opsDates   = "For dates"
)

// segmentOps maps kinds of subject (see segmentFields.kind) to their operators.
var segmentOps = map[string][]segmentOp{
	core.FieldText: {
		{Name: "is", Text: "is", Key: "is", Input: inputTexts},
		{Name: "is_not", Text: "is not", Key: "is_not", Input: inputTexts},
		{Name: "contains", Text: "contains", Key: "contains", Input: inputText},
		{Name: "not_contains", Text: "doesn't contain", Key: "contains", Not: true, Input: inputText},
		{Name: "starts_with", Text: "starts with", Key: "starts_with", Input: inputText},
		{Name: "exists", Text: "is filled in", Key: "exists"},
		{Name: "missing", Text: "is blank", Key: "missing"},
		{Name: "less", Text: "is less than", Key: "less", Input: inputNumber, For: opsNumbers},
		{Name: "more", Text: "is more than", Key: "more", Input: inputNumber, For: opsNumbers},
		{Name: "before", Text: "is before", Key: "before", Input: inputDate, For: opsDates},
		{Name: "after", Text: "is after", Key: "after", Input: inputDate, For: opsDates},
		{
			Name: "within_days", Text: "is within the last", Key: "within_days", Input: inputDays, Unit: "days",
			For: opsDates,
		},
		{Name: "today", Text: "is today (any year)", Key: "on_day", Value: core.Today, For: opsDates},
		{Name: "on_day", Text: "falls on (any year)", Key: "on_day", Input: inputDay, For: opsDates},
	},
	core.FieldChoice: {
		{Name: "is", Text: "is", Key: "is", Input: inputOptions},
		{Name: "is_not", Text: "is not", Key: "is_not", Input: inputOptions},
		{Name: "exists", Text: "is filled in", Key: "exists"},
		{Name: "missing", Text: "is blank", Key: "missing"},
	},
	core.FieldBoolean: {
		{Name: "yes", Text: "is yes", Key: "is", Value: "true"},
		{Name: "no", Text: "is no", Key: "is", Value: "false"},
		{Name: "exists", Text: "is filled in", Key: "exists"},
		{Name: "missing", Text: "is blank", Key: "missing"},
	},
	subjectJoined: {
		{Name: "before_days", Text: "more than", Key: "before_days", Input: inputDays, Unit: "days ago"},
		{Name: "within_days", Text: "within the last", Key: "within_days", Input: inputDays, Unit: "days"},
		{Name: "before", Text: "before", Key: "before", Input: inputDate},
		{Name: "after", Text: "after", Key: "after", Input: inputDate},
	},
	subjectConsent: {
		{Name: "before_days", Text: "more than", Key: "before_days", Input: inputDays, Unit: "days ago"},
		{Name: "within_days", Text: "within the last", Key: "within_days", Input: inputDays, Unit: "days"},
		{
			Name: "not_within_days", Text: "not within the last", Key: "within_days", Not: true, Input: inputDays,
			Unit: "days",
		},
		{Name: "before", Text: "before", Key: "before", Input: inputDate},
		{Name: "after", Text: "after", Key: "after", Input: inputDate},
	},
	subjectSource: {
		{Name: "is", Text: "is", Input: inputTexts},
		{Name: "is_not", Text: "is not", Input: inputTexts, Not: true},
	},
	subjectLanguage: {
		{Name: "is", Text: "is", Input: inputRecord},
		{Name: "is_not", Text: "is not", Input: inputRecord, Not: true},
	},
	subjectLink: {
		{Name: "is", Text: "was clicked", Input: inputLink, Said: "Clicked {{link}} in “{{value}}”"},
		{
			Name: "is_not", Text: "wasn't clicked", Input: inputLink, Not: true,
			Said: "Didn't click {{link}} in “{{value}}”",
		},
	},
	subjectPoll: {
		{Name: "is", Text: "was answered", Input: inputLink, Said: "Answered in “{{value}}”: {{link}}"},
		{
			Name: "is_not", Text: "wasn't answered", Input: inputLink, Not: true,
			Said: "Didn't answer in “{{value}}”: {{link}}",
		},
	},
	subjectDomain: {
		{Name: "is", Text: "is", Input: inputTexts},
		{Name: "is_not", Text: "is not", Input: inputTexts, Not: true},
	},
	subjectReceived: {
		{Name: "is", Text: "received", Input: inputRecord, Said: "Received “{{value}}”"},
		{Name: "is_not", Text: "didn't receive", Input: inputRecord, Not: true, Said: "Didn't receive “{{value}}”"},
	},
	subjectList: {
		{Name: "is", Text: "is on", Input: inputRecord, Said: "On the list “{{value}}”"},
		{Name: "is_not", Text: "is not on", Input: inputRecord, Not: true, Said: "Not on the list “{{value}}”"},
	},
	subjectTag: {
		{Name: "is", Text: "has", Input: inputRecord, Said: "Has the tag “{{value}}”"},
		{Name: "is_not", Text: "doesn't have", Input: inputRecord, Not: true, Said: "Doesn't have the tag “{{value}}”"},
	},
	subjectSegment: {
		{Name: "is", Text: "is in", Input: inputRecord, Said: "In the segment “{{value}}”"},
		{Name: "is_not", Text: "is not in", Input: inputRecord, Not: true, Said: "Not in the segment “{{value}}”"},
	},
	subjectOpened: engagedOps("Opened one of the last {{value}} campaigns", "Didn't open any of the last {{value}} "+
		"campaigns",
		"Opened a campaign from the last {{value}} days", "Didn't open any campaign from the last {{value}} days"),
	subjectClicked: engagedOps("Clicked a link in the last {{value}} campaigns",
		"Didn't click any link in the last {{value}} campaigns",
		"Clicked a link in a campaign from the last {{value}} days",
		"Didn't click any link in campaigns from the last {{value}} days"),
}

// engagedOps returns the operators for opens or clicks. The arguments are their sentences.
func engagedOps(last, noneOfLast, days, notForDays string) []segmentOp {
	return []segmentOp{
		{Name: "last", Text: "one of the last", Key: "last", Input: inputCount, Unit: "campaigns", Said: last},
		{
			Name: "none_of_last", Text: "none of the last", Key: "last", Not: true, Input: inputCount,
			Unit: "campaigns",
			Said: noneOfLast,
		},
		{
			Name: "days", Text: "a campaign from the last", Key: "within_days", Input: inputDays, Unit: "days",
			Said: days,
		},
		{
			Name: "not_for_days", Text: "no campaign from the last", Key: "within_days", Not: true, Input: inputDays,
			Unit: "days", Said: notForDays,
		},
	}
}

// segmentSubjects lists the subjects that aren't fields.
var segmentSubjects = []struct{ name, text string }{
	{subjectConsent, "Signed up"},
	{subjectJoined, "Added to list"},
	{subjectSource, "Source"},
	{subjectOpened, "Opened"},
	{subjectClicked, "Clicked"},
	{subjectLink, "Link"},
	{subjectPoll, "Poll"},
	{subjectDomain, "Email domain"},
	{subjectReceived, "Campaign"},
	{subjectList, "List"},
	{subjectLanguage, "List language"},
	{subjectSegment, "Segment"},
	{subjectTag, "Tag"},
}

// segmentRow is a condition in a segment's form.
type segmentRow struct {
	No     int
	Of     string // subject; empty: not chosen yet
	Op     segmentOp
	Value  string
	Link   string   // number of a link, or an answer (answerOf), for inputLink
	Chosen []string // for inputOptions
	In     int      // number of its group; 0: none
	InAny  bool     // whether one matching condition in the group is enough
	Wrong  string
	New    bool // whether it is new and gets the focus
}

// defaultDays is the initial number of days in a condition.
const defaultDays = "30"

// defaultCount is the initial number of campaigns in a condition.
const defaultCount = "5"

// valuesOfTest returns the operator and the values of a test.
func valuesOfTest(t *core.Test) (key string, values []string) {
	switch {
	case t.Is != nil:
		return "is", t.Is
	case t.IsNot != nil:
		return "is_not", t.IsNot
	case t.WithinDays != nil:
		return "within_days", []string{strconv.Itoa(*t.WithinDays)}
	case t.BeforeDays != nil:
		return "before_days", []string{strconv.Itoa(*t.BeforeDays)}
	case t.Last != nil:
		return "last", []string{strconv.Itoa(*t.Last)}
	case t.Exists:
		return "exists", nil
	case t.Missing:
		return "missing", nil
	}
	for _, one := range []struct{ key, value string }{
		{"contains", t.Contains},
		{"starts_with", t.StartsWith},
		{"less", t.Less},
		{"more", t.More},
		{"before", t.Before},
		{"after", t.After},
		{"on_day", t.OnDay},
	} {
		if one.value != "" {
			return one.key, []string{one.value}
		}
	}
	return "", nil
}

// rowOf returns the row for a condition. If the form can't show it, ok is false.
func (f *segmentFields) rowOf(r *core.Rule) (row segmentRow, ok bool) {
	not := r.Not != nil
	if not {
		r = r.Not
	}
	var key string
	var values []string
	switch {
	case r.Field != "" && r.Test != nil:
		row.Of = subjectField + r.Field
		key, values = valuesOfTest(r.Test)
	case r.Joined != nil:
		row.Of = subjectJoined
		key, values = valuesOfTest(r.Joined)
	case r.Consented != nil:
		row.Of = subjectConsent
		key, values = valuesOfTest(r.Consented)
	case r.Source != nil:
		row.Of, values = subjectSource, r.Source
	case r.Language != nil:
		row.Of, values = subjectLanguage, r.Language
	case r.ClickedLink != nil:
		row.Of, values = subjectLink, []string{r.ClickedLink.Campaign}
		row.Link = strconv.FormatInt(r.ClickedLink.Link, 10)
	case r.Poll != nil:
		row.Of, values = subjectPoll, []string{r.Poll.Campaign}
		if row.Link = answerOf(r); row.Link == "" {
			return row, false
		}
	case r.Opened != nil:
		row.Of = subjectOpened
		key, values = valuesOfTest(r.Opened)
	case r.Clicked != nil:
		row.Of = subjectClicked
		key, values = valuesOfTest(r.Clicked)
	case r.Domain != nil:
		row.Of, values = subjectDomain, r.Domain
	case r.Received != "":
		row.Of, values = subjectReceived, []string{r.Received}
	case r.OnList != "":
		row.Of, values = subjectList, []string{r.OnList}
	case r.Segment != "":
		row.Of, values = subjectSegment, []string{r.Segment}
	case r.Tag != "":
		row.Of, values = subjectTag, []string{r.Tag}
	default:
		return row, false
	}
	for _, op := range segmentOps[f.kind(row.Of)] {
		if op.Key != key || op.Not != not || op.Value != "" && !slices.Equal(values, []string{op.Value}) {
			continue
		}
		row.Op = op
		if op.Input == inputOptions {
			row.Chosen = values
		} else if op.Value == "" {
			row.Value = strings.Join(values, ", ")
		}
		if op.Input == inputRecord && len(values) != 1 {
			return row, false
		}
		// A comma in a value would split the value.
		return row, op.Input != inputTexts || !slices.ContainsFunc(values, func(v string) bool {
			return strings.Contains(v, ",")
		})
	}
	return row, false
}

// condition returns a row's condition for encoding as JSON. If the row isn't complete, it sets Wrong.
func (row *segmentRow) condition(p *Page) any {
	var value any
	text := strings.TrimSpace(row.Value)
	switch row.Op.Input {
	case inputNone:
		value = true
		if row.Op.Value != "" {
			value = row.Op.Value
		}
	case inputOptions:
		if value = row.Chosen; len(row.Chosen) == 0 {
			row.Wrong = p.T("Choose at least one value.")
		}
	case inputTexts:
		texts := []string{}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				texts = append(texts, part)
			}
		}
		if value = texts; len(texts) == 0 {
			row.Wrong = p.T("Enter a value.")
		}
	case inputDays:
		days, err := strconv.Atoi(text)
		if value = days; err != nil || days < 0 {
			row.Wrong = p.T("Enter the number of days.")
		}
	case inputCount:
		campaigns, err := strconv.Atoi(text)
		if value = campaigns; err != nil || campaigns < 1 {
			row.Wrong = p.T("Enter the number of campaigns.")
		}
	case inputNumber:
		value = strings.Replace(text, ",", ".", 1)
	case inputDay:
		value = isoDay(text)
	default:
		value = text
	}
	switch {
	case row.Of == "":
		row.Wrong = p.T("Choose a field for this condition, or remove it.")
	case value == "" && row.Op.Input == inputRecord,
		row.Op.Input == inputLink && (value == "" || row.Link == ""):
		row.Wrong = p.T("Choose an option.")
	case value == "":
		row.Wrong = p.T("Enter a value.")
	}
	var out map[string]any
	switch name, isField := strings.CutPrefix(row.Of, subjectField); {
	case isField:
		out = map[string]any{"field": name, row.Op.Key: value}
	case row.Of == subjectPoll:
		out = answerCondition(row.Value, row.Link)
	case row.Of == subjectLink:
		no, _ := strconv.Atoi(row.Link)
		out = map[string]any{row.Of: map[string]any{"campaign": value, "link": no}}
	case row.Of == subjectJoined, row.Of == subjectConsent, row.Of == subjectOpened, row.Of == subjectClicked:
		out = map[string]any{row.Of: map[string]any{row.Op.Key: value}}
	default:
		out = map[string]any{row.Of: value}
	}
	if row.Op.Not {
		out = map[string]any{"not": out}
	}
	return out
}

// isoDay converts a day such as 24.12. to the format in rules, 12-24. Other text is returned unchanged.
func isoDay(text string) string {
	day, month, ok := strings.Cut(strings.TrimSuffix(text, "."), ".")
	d, err := strconv.Atoi(day)
	m, err2 := strconv.Atoi(month)
	if !ok || err != nil || err2 != nil || d < 1 || d > 31 || m < 1 || m > 12 {
		return text
	}
	two := func(n int) string { return strconv.Itoa(n/10) + strconv.Itoa(n%10) }
	return two(m) + "-" + two(d)
}

// ofTime reports whether an input accepts a time or a number of campaigns. Other inputs can't show such a value.
func ofTime(input string) bool {
	return slices.Contains([]string{inputDays, inputCount, inputDate, inputDay}, input)
}

// sentRows returns the rows in the submitted form. If a row's subject was changed, the row gets the new subject's first
// operator, or keeps its operator for times if the new subject also has it. If the form is to be saved, such a row is
// marked.
func (f *segmentFields) sentRows(saves bool) (rows []segmentRow) {
	p := f.page
	for name, of := range p.Form {
		no, ok := strings.CutSuffix(strings.TrimPrefix(name, "c"), ".of")
		n, err := strconv.Atoi(no)
		if !ok || err != nil || n < 1 || name != "c"+strconv.Itoa(n)+".of" {
			continue
		}
		at := "c" + no + "."
		row := segmentRow{No: n, Of: of}
		if in, err := strconv.Atoi(p.Form[at+"in"]); err == nil && in > 0 {
			row.In, row.InAny = in, p.Form["g"+strconv.Itoa(in)+".match"] == "any"
		}
		ops := segmentOps[f.kind(of)]
		if len(ops) == 0 {
			row.Of = ""
			rows = append(rows, row)
			continue
		}
		row.Op = ops[0]
		had := p.Form[at+"input"]
		same := p.Form[at+"was"] == of
		keeps := same
		for _, op := range ops {
			if op.Name == p.Form[at+"op"] && (same || op.Input == had && ofTime(had)) {
				row.Op, keeps = op, true
			}
		}
		if keeps && (had == "" || had == row.Op.Input || !ofTime(had) && !ofTime(row.Op.Input)) {
			row.Value = p.Form[at+"value"]
		}
		if same {
			if row.Op.Input == inputLink && row.Value == p.Form[at+"campaign"] {
				row.Link = p.Form[at+"link"]
			}
			for name, value := range p.Form {
				if strings.HasPrefix(name, at+"o.") {
					row.Chosen = append(row.Chosen, value)
				}
			}
			slices.Sort(row.Chosen)
		} else if saves {
			row.Wrong = p.T("Check this condition.")
		}
		if row.Op.Input == inputDays && row.Value == "" && had != inputDays {
			row.Value = defaultDays
		}
		if row.Op.Input == inputCount && row.Value == "" && had != inputCount {
			row.Value = defaultCount
		}
		rows = append(rows, row)
	}
	sortRows(rows)
	return rows
}
