package mail

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/mail/internal/octets"
)

// wordList is what notices say in one language (texts/words). {{email}}, {{list.name}}, {{tenant.name}} and
// {{valid}} stand for themselves.
type wordList struct {
	Hello   string          `json:"hello"`
	Footer  string          `json:"footer"`
	Reason  string          `json:"reason"` // for which a newsletter is sent
	Leave   string          `json:"leave"`
	Minutes string          `json:"minutes"`
	Hour    string          `json:"hour"`
	Hours   string          `json:"hours"`
	Days    string          `json:"days"`
	Notices map[Notice]line `json:"notices"`
}

// line is one notice. Text stands above the link and may be the tenant's own; Open introduces the link in the text part.
type line struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
	Open    string `json:"open"`
	Button  string `json:"button"`
	After   string `json:"after"`
}

var words = func() map[string]*wordList {
	all := map[string]*wordList{}
	for _, lang := range core.Languages {
		b, err := textFiles.ReadFile("texts/words/" + lang + ".json")
		if err != nil {
			panic(err)
		}
		w, d := new(wordList), json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(w); err != nil {
			panic(fmt.Sprintf("texts/words/%s.json: %v", lang, err))
		}
		all[lang] = w
	}
	return all
}()

// wordsOf are those of a language, or of the first where there is none of that name.
func wordsOf(language string) *wordList { return cmp.Or(words[language], words[core.Languages[0]]) }

// languageOf is a language, or the first where there are no words of it.
func languageOf(language string) string {
	if words[language] == nil {
		return core.Languages[0]
	}
	return language
}

// paragraph is a part of a text between empty lines.
type paragraph string

// Lines are those of the paragraph.
func (p paragraph) Lines() []string { return strings.Split(string(p), "\n") }

func paragraphs(s string) (all []paragraph) {
	for p := range strings.SplitSeq(s, "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			all = append(all, paragraph(p))
		}
	}
	return all
}

// filler puts names in the place of placeholders.
func (w *wordList) filler(d NoticeData) *strings.Replacer {
	return strings.NewReplacer("{{email}}", d.To, "{{list.name}}", d.List, "{{tenant.name}}", d.Brand.Name, "{{valid}}", w.lifetime(d.Valid))
}

// data is what the templates of a notice get.
func (n Notice) data(d NoticeData) (notice, error) {
	w := words[d.Language]
	if w == nil {
		d.Language, w = core.Languages[0], words[core.Languages[0]]
	}
	if d.List == "" {
		d.List = "our newsletter"
	}
	l, known := w.Notices[n]
	if !known {
		return notice{}, fmt.Errorf("notice %q: unknown", string(n))
	}
	fill, hello := w.filler(d), w.Hello
	if d.Own.Text != "" {
		hello = ""
	}
	return notice{
		Hello:      hello,
		NoticeData: d, Words: w, Line: l, Footer: fill.Replace(w.Footer), After: fill.Replace(l.After),
		Subject:    octets.CleanLine(fill.Replace(cmp.Or(d.Own.Subject, l.Subject))),
		Paragraphs: paragraphs(fill.Replace(cmp.Or(d.Own.Text, l.Text))),
	}, nil
}

// lifetime says a duration as people do.
func (w *wordList) lifetime(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf(w.Days, int(d/(24*time.Hour)))
	case d >= 2*time.Hour:
		return fmt.Sprintf(w.Hours, int(d/time.Hour))
	case d == time.Hour:
		return w.Hour
	}
	return fmt.Sprintf(w.Minutes, int(d/time.Minute))
}
