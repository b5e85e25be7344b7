package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// question is a list field in the form.
type question struct {
	No                int
	Name, Label, Type string
	Options           string // options, one per line
	Required, Removed bool
	SetBy             string
	Unsaved           bool // proposed by undeclared
}

// questionsData is the Data.More of templates/list-questions.html.
type questionsData struct {
	Fields []question
	Others []string // names of undeclared fields
}

// undeclaredIn is the number of people in which undeclared looks for fields.
const undeclaredIn = 100

// undeclared returns the names of fields that people of a list have, for example from an imported file, but that the
// list doesn't declare.
func (p *Page) undeclared(l *core.List) (names []string, err error) {
	if !p.May(core.ActionPeopleRead) {
		return nil, nil
	}
	var people []person
	q := p.ofTenant("list_id", l.ID, "limit", strconv.Itoa(undeclaredIn))
	if _, err := p.Get("/api/admin/subscribers", q, &people); err != nil {
		return nil, err
	}
	return undeclaredBy(people, l.Fields), nil
}

// undeclaredBy returns the names of fields that people have but that the list doesn't declare.
func undeclaredBy(people []person, fields core.Fields) (names []string) {
	for i := range people {
		for name := range people[i].Preferences.Values() {
			declared := slices.ContainsFunc(fields, func(f core.Field) bool { return f.Name == name })
			if !declared && core.IsFieldName(name) && !strings.HasPrefix(name, "_") && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// KnownLabel returns the label for a field with a known name, otherwise the name.
func (p *Page) KnownLabel(name string) string { return p.knownLabel(name) }

// listQuestions shows and saves the editor for a list's fields.
func (o *Console) listQuestions(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	show := func(f filled, v View) (web.HTML, error) {
		v.State = p.T("Information that subscribers can give in addition to their email address.")
		questions := questionsOf(l.Fields)
		if f.values != nil {
			questions = p.sentQuestions()
		}
		others, err := p.undeclared(&l.List)
		if err != nil {
			return web.HTML{}, err
		}
		if p.May(core.ActionListSettings) {
			if f.values != nil {
				others = nil // a link would discard what has been entered
			} else if name := p.Query("add"); slices.Contains(others, name) {
				questions = append(questions, question{
					No: nextQuestion(questions), Name: name, Label: p.knownLabel(name), Type: core.FieldText,
					SetBy: core.SetByTeam, Unsaved: true,
				})
				others = nil
			}
			questions = append(questions, question{No: nextQuestion(questions), Type: core.FieldText})
		}
		return p.showList("list-questions", &l, v, f, questionsData{questions, others})
	}
	if p.isGet() {
		return show(filled{}, View{})
	}
	fields, at := fieldsOf(p.sentQuestions())
	body := map[string]any{"fields": fields}
	return p.changeList(&l, body, "questions", func(f filled, v View) (web.HTML, error) {
		f.at = at(f.at)
		return show(f, v)
	})
}

// QuestionTypes returns the types that a field can have.
func (p *Page) QuestionTypes() []option {
	return []option{
		{core.FieldText, p.T("Short text")},
		{core.FieldChoice, p.T("Choice")},
		{core.FieldBoolean, p.T("Checkbox")},
	}
}

// QuestionSetters returns the options for who can set a field.
func (p *Page) QuestionSetters() []option {
	return []option{
		{core.SetBySubscriber, p.T("Subscribers")},
		{core.SetByTeam, p.T("Only your team")},
	}
}

func questionsOf(fields core.Fields) (all []question) {
	for i := range fields {
		f := &fields[i]
		all = append(all, question{
			No: i + 1, Name: f.Name, Label: f.Label, Type: f.Type,
			Options: strings.Join(f.Options, "\n"), Required: f.Required,
			SetBy: f.SetBy,
		})
	}
	return all
}

func nextQuestion(all []question) (n int) {
	for _, q := range all {
		n = max(n, q.No)
	}
	return n + 1
}

// sentQuestions returns the submitted form's fields, without the last one if it is empty.
func (p *Page) sentQuestions() (all []question) {
	for no := 1; no <= core.MaxFields+2; no++ {
		at := "q" + strconv.Itoa(no) + "."
		q := question{
			No: no, Name: p.Form[at+"name"], Label: strings.TrimSpace(p.Form[at+"label"]), Type: p.Form[at+"type"],
			Options: p.Form[at+"options"], Required: p.Form[at+"required"] == "1", Removed: p.Form[at+"remove"] == "1",
			SetBy: p.Form[at+"set_by"],
		}
		if q.Name != "" || q.Label != "" {
			all = append(all, q)
		}
	}
	return all
}

// fieldsOf converts fields in the form to list fields. at maps an API field's name to the name in the form.
func fieldsOf(questions []question) (fields core.Fields, at func(string) string) {
	fields = core.Fields{}
	var numbers []int
	taken := map[string]bool{}
	for _, q := range questions {
		taken[q.Name] = true
	}
	for _, q := range questions {
		if q.Removed {
			continue
		}
		f := core.Field{
			Name: q.Name, Label: q.Label, Type: q.Type, Required: q.Required && q.SetBy != core.SetByTeam,
			SetBy: q.SetBy,
		}
		if f.Name == "" {
			f.Name = fieldName(q.Label, taken)
		}
		if q.Type == core.FieldChoice {
			for line := range strings.SplitSeq(q.Options, "\n") {
				if line = strings.TrimSpace(line); line != "" {
					f.Options = append(f.Options, line)
				}
			}
		}
		fields, numbers = append(fields, f), append(numbers, q.No)
	}
	return fields, func(name string) string {
		for i, no := range numbers {
			if rest, ok := strings.CutPrefix(name, fmt.Sprintf("fields[%d].", i)); ok {
				rest, _, _ = strings.Cut(rest, "[")
				return fmt.Sprintf("q%d.%s", no, rest)
			}
		}
		return name
	}
}

// fieldName derives a field's name from its label by replacing everything except letters and digits with underscores.
func fieldName(label string, taken map[string]bool) string {
	const most = 30
	letters := strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "é", "e", "è", "e", "á", "a", "í", "i",
		"ó", "o",
		"ú", "u", "ñ", "n", "ç", "c", "à", "a", "ê", "e")
	var b strings.Builder
	for _, r := range letters.Replace(strings.ToLower(label)) {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) && b.Len() > 0):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
		if b.Len() >= most {
			break
		}
	}
	base := strings.Trim(b.String(), "_")
	if base == "" || base == "email" || base == "source" {
		base = strings.Trim("field_"+base, "_")
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	taken[name] = true
	return name
}
