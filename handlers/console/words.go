package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"newsletterd/handlers/web"
)

// Texts of the console stand in English where they are used. Their other languages are in words/LANGUAGE/AREA.json, by
// the English text. A text for a number has two forms, for one and for others: "{{n}} reader|{{n}} readers".
//
//go:embed words
var wordFiles embed.FS

var words = sync.OnceValue(readWords)

// languages of the console. English needs no file.
var languages = []string{"en", "de"}

func readWords() map[string]map[string]string {
	all := map[string]map[string]string{"en": {}}
	err := fs.WalkDir(wordFiles, "words", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		lang := strings.Split(path, "/")[1]
		if all[lang] == nil {
			all[lang] = map[string]string{}
		}
		b, err := wordFiles.ReadFile(path)
		if err != nil {
			return err
		}
		area := map[string]string{}
		if err := json.Unmarshal(b, &area); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for text, other := range area {
			all[lang][text] = other
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	return all
}

// languageOf is the language of the console's pages that the browser likes best.
func languageOf(c *web.Call) string {
	if lang := c.Language(); words()[lang] != nil {
		return lang
	}
	return languages[0]
}

// T returns a text in the language of the page, with values in the place of names: name, value, name, value …
func (p *Page) T(text string, pairs ...any) string {
	if other := words()[p.Lang][text]; other != "" {
		text = other
	}
	return fillIn(text, pairs...)
}

// N is T of a text for a number, which {{n}} stands for.
func (p *Page) N(text string, n int64, pairs ...any) string {
	if other := words()[p.Lang][text]; other != "" {
		text = other
	}
	one, others, _ := strings.Cut(text, "|")
	if n != 1 {
		one = others
	}
	return fillIn(one, append([]any{"n", p.Number(n)}, pairs...)...)
}

func fillIn(text string, pairs ...any) string {
	if len(pairs) == 0 {
		return text
	}
	names := make([]string, len(pairs))
	for i, v := range pairs {
		if names[i] = fmt.Sprint(v); i%2 == 0 {
			names[i] = "{{" + names[i] + "}}"
		}
	}
	return strings.NewReplacer(names...).Replace(text)
}

// notices are what pages say was done, by the word in the query that leads to them.
var notices = map[string]string{
	"saved":           "Saved.",
	"created":         "Created.",
	"deleted":         "Deleted.",
	"sent":            "Sent.",
	"restored":        "Brought back.",
	"duplicated":      "This is the copy.",
	"put-away":        "Put away. You find it by the state.",
	"undone":          "Send undone. Nothing was sent, and the campaign is a draft again.",
	"undone-approved": "Send undone. Nothing was sent. The campaign stays approved as long as you change nothing.",
	"again":           "Thank you. Choose the file once more: it was not kept.",
	"cancelled":       "Cancelled.",

	// of operators
	"queued-again": "On their way again.",

	"picture": "Here it is. Say what it shows, for those who don't see it.",

	// of settings
	"checked":    "Looked at again.",
	"invited":    "Invited. A mail is on its way.",
	"removed":    "Removed.",
	"taken-back": "Taken back.",

	// of people
	"added":        "Added.",
	"asked":        "Added. A mail that asks them to confirm is on its way.",
	"known":        "The address is on the list already. Nothing was changed.",
	"ended":        "Taken off.",
	"erased":       "Erased.",
	"lifted":       "The address may be mailed again.",
	"switched-off": "Switched off.",

	// of mailings
	"to-approve":  "Asked: who may approve gets a mail.",
	"paused":      "Paused. What is on its way is finished.",
	"resumed":     "It goes on.",
	"stopped":     "Stopped: no one else gets it.",
	"retried":     "It is sent once more to those who have not got it.",
	"mended":      "Mended: who follows the link from now on comes to the new address.",
	"link-asked":  "Asked: who may mend it gets a mail.",
	"link-noted":  "Noted here. It is mended as soon as someone can.",
	"link-let-be": "The link stays as it is.",
	"corrected":   "Corrected: the web version and the archive show it, with the date.",
	"as-sent":     "The web version and the archive show what was sent again.",
}
