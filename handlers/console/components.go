package console

import (
	"html/template"
	"strings"

	"newsletterd/core"
)

// functions of the templates.
var functions = template.FuncMap{
	"icon":   icon,
	"field":  newField,
	"area":   newArea,
	"pick":   newChoice,
	"file":   newFile,
	"tick":   newTick,
	"client": newClientSwitch,
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

// Listed returns a text with placeholders as pages list it (core.ListedText).
func (p *Page) Listed(text string) string { return core.ListedText(text, p.knownLabel) }

// field is an input with its label. The methods return a changed copy, for templates:
//
//	{{template "field" ((field "name" $label .Data.Name).Must.Limit 200)}}
type field struct {
	Name, Label, Value          string
	Type, Placeholder, Complete string
	Mode                        string // the keys that a telephone offers
	Hint, Wrong                 string
	Required, Area              bool
	Calm                        bool   // wrong, and another one has the focus
	List                        string // the id of a datalist
	Fields                      string // the id of the text whose fields the script of the editor shows here, too
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

// ID is the id of the element: the name with dots made good for selectors.
func (f field) ID() string { return "f-" + strings.ReplaceAll(f.Name, ".", "-") }

// Must makes it required.
func (f field) Must() field { f.Required = true; return f }

// Limit sets the number of characters that it takes.
func (f field) Limit(n int) field { f.Max = n; return f }

// Tall sets the rows of an area.
func (f field) Tall(rows int) field { f.Rows = rows; return f }

// Help sets the line below it.
func (f field) Help(text string) field { f.Hint = text; return f }

// Blame sets what is wrong with its value; empty: nothing.
func (f field) Blame(text string) field { f.Wrong = text; return f }

// Kind sets the type of the input.
func (f field) Kind(name string) field { f.Type = name; return f }

// Web makes it take an address of the web. Its type stays text: the form is read with webAddress, and browsers would
// refuse what that completes.
func (f field) Web() field { f.Mode = "url"; return f }

// Like sets an example, shown while it is empty.
func (f field) Like(text string) field { f.Placeholder = text; return f }

// FieldsOf shows fields as the editor of a text does, which has the id.
func (f field) FieldsOf(text string) field { f.Fields = text; return f }

// From offers the values of a datalist.
func (f field) From(list string) field { f.List = list; return f }

// Fill sets what a browser may fill in (the attribute autocomplete).
func (f field) Fill(name string) field { f.Complete = name; return f }

// file is an input for a file, named file: a click anywhere in its area opens the dialog, and a file may be dropped
// there.
type file struct{ Label, Accept, Hint, Drop, Wrong string }

func newFile(label, accept, hint string) file { return file{Label: label, Accept: accept, Hint: hint} }

// Pictures reports whether it takes pictures alone: the one that was chosen is shown where scripts run.
func (f file) Pictures() bool { return strings.HasPrefix(f.Accept, "image/") }

// Or adds a text to the hint that is shown where scripts run.
func (f file) Or(text string) file { f.Drop = text; return f }

// Blame sets what is wrong with the file; empty: nothing.
func (f file) Blame(text string) file { f.Wrong = text; return f }

type tick struct {
	Name, Label, Hint string
	On                bool
}

func newTick(name, label, hint string, on bool) tick { return tick{name, label, hint, on} }

type stat struct{ Label, Figure, Note, To string }

type emptyState struct{ Icon, Title, Text, To, Link string }

// pager leads to the other pages of a list.
type pager struct{ Label, First, FirstText, Next, NextText string }

// Pager returns the links from a page of a list to the first and the next one. next is the cursor of the next page;
// empty: there is none.
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
