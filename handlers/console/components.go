package console

import (
	"html/template"
	"strings"

	"newsletterd/core"
)

// functions holds the template functions.
var functions = template.FuncMap{
	"icon":   icon,
	"field":  newField,
	"area":   newArea,
	"pick":   newChoice,
	"file":   newFile,
	"tick":   newTick,
	"client": newClientSwitch,
	"apiUse": newAPIUse,
	"stat": func(label, figure, note string, to ...string) stat {
		return stat{label, figure, note, strings.Join(to, "")}
	},
	"badge": func(text, tone string) Badge { return Badge{text, tone} },
	"empty": func(icon, title, text string, link ...string) emptyState {
		e := emptyState{Icon: icon, Title: title, Text: text}
		if len(link) == 2 {
			e.To, e.Link = link[0], link[1]
		}
		return e
	},
	"join":  strings.Join,
	"zones": zones,

	"relayTest":        newRelayTest,
	"relayFields":      newRelayFields,
	"mailServerFields": newMailServerFields,
	"int64":            func(n int) int64 { return int64(n) },
}

// Listed returns text for lists on pages, with its placeholders shown as in core.ListedText.
func (p *Page) Listed(text string) string { return core.ListedText(text, p.knownLabel) }

// field is a form input with its label. Its methods return a changed copy, for use in templates:
//
//	{{template "field" ((field "name" $label .Data.Name).Must.Limit 200)}}
type field struct {
	Name, Label, Value          string
	Type, Placeholder, Complete string
	Mode                        string // attribute inputmode, for on-screen keyboards
	Hint, Wrong                 string
	Required, Area              bool
	Calm                        bool         // whether the field has an error but another field has the focus
	List                        string       // id of a datalist
	Fields                      string       // id of a text input whose subscriber fields the editor script offers here
	Chips                       fieldChoices // the only fields that the text can contain, shown by the editor script
	Max, Rows                   int
	Options                     []option
}

type option struct{ Value, Text string }

func newField(name, label, value string) field {
	return field{Name: name, Label: label, Value: value, Type: "text"}
}

func newArea(name, label, value string) field {
	return field{Name: name, Label: label, Value: value, Area: true}
}

func newChoice(name, label, value string, options []option) field {
	return field{Name: name, Label: label, Value: value, Options: options}
}

// ID returns the element's id. It contains the name with dots replaced, because the id is used in selectors.
func (f field) ID() string { return "f-" + strings.ReplaceAll(f.Name, ".", "-") }

// Must makes the field required.
func (f field) Must() field { f.Required = true; return f }

// Limit sets the maximum number of characters.
func (f field) Limit(n int) field { f.Max = n; return f }

// Tall sets the number of rows in a text area.
func (f field) Tall(rows int) field { f.Rows = rows; return f }

// Help sets the hint below the field.
func (f field) Help(text string) field { f.Hint = text; return f }

// Blame sets the field's error. An empty string means no error.
func (f field) Blame(text string) field { f.Wrong = text; return f }

// Kind sets the type of the input.
func (f field) Kind(name string) field { f.Type = name; return f }

// Web makes the field accept a URL. Its type remains text, because browsers would reject the incomplete URLs that
// webAddress completes.
func (f field) Web() field { f.Mode = "url"; return f }

// Like sets a placeholder, an example that is shown while the field is empty.
func (f field) Like(text string) field { f.Placeholder = text; return f }

// FieldsOf makes the field offer the same subscriber fields as the editor for the text input with this id.
func (f field) FieldsOf(text string) field { f.Fields = text; return f }

// Only sets the fields that the text can contain, without fallbacks. With scripts, they appear as their labels.
func (f field) Only(fields fieldChoices) field { f.Chips = fields; return f }

// insertMenu holds the data for the component "insert": a menu that inserts a field into an input.
type insertMenu struct {
	Label, Into string // Into is the id of the input
	Fields      []option
	Emoji       bool // whether the menu also offers emoji
}

// Insert returns the menu for the fields that the text can contain.
func (f field) Insert(label string) insertMenu {
	m := insertMenu{Label: label, Into: f.ID()}
	for _, o := range f.Chips {
		m.Fields = append(m.Fields, option{"{{" + o.Name + "}}", o.Label})
	}
	return m
}

// From sets the id of the datalist that contains suggestions.
func (f field) From(list string) field { f.List = list; return f }

// Fill sets the autocomplete attribute.
func (f field) Fill(name string) field { f.Complete = name; return f }

// file is a file input named "file". Clicking its area opens a file dialog, and files can be dropped on it.
type file struct {
	ID, Label, Accept, Hint, Drop, Wrong string

	NotNeeded bool // whether the form can be submitted without a file
}

func newFile(label, accept, hint string) file {
	return file{ID: "f-file", Label: label, Accept: accept, Hint: hint}
}

// Second sets a different id, for the second file input on a page.
func (f file) Second() file { f.ID = "f-file-2"; return f }

// Pictures reports whether the input accepts only images. If so, scripts show the chosen image.
func (f file) Pictures() bool { return strings.HasPrefix(f.Accept, "image/") }

// Optional allows submitting the form without a file.
func (f file) Optional() file { f.NotNeeded = true; return f }

// Or sets text that scripts add to the hint.
func (f file) Or(text string) file { f.Drop = text; return f }

// Blame sets the file's error. An empty string means no error.
func (f file) Blame(text string) file { f.Wrong = text; return f }

type tick struct {
	Name, Label, Hint string
	On                bool
}

func newTick(name, label, hint string, on bool) tick { return tick{name, label, hint, on} }

type stat struct{ Label, Figure, Note, To string }

type emptyState struct{ Icon, Title, Text, To, Link string }

// pager holds a list's pagination links.
type pager struct{ Label, First, FirstText, Next, NextText string }

// Pager returns the links to a list's first and next page. next is the cursor for the next page, or empty on the last
// page.
func (p *Page) Pager(next string) pager {
	q := p.Request.URL.Query()
	out := pager{Label: p.T("Pagination"), FirstText: p.T("First page"), NextText: p.T("Next page")}
	if q.Has("cursor") {
		first := p.Request.URL.Query()
		first.Del("cursor")
		out.First = p.Request.URL.Path + "?" + first.Encode()
	}
	if next != "" {
		q.Set("cursor", next)
		out.Next = p.Request.URL.Path + "?" + q.Encode()
	}
	return out
}
