package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// wordFiles holds the translations: words/LANGUAGE/AREA.json, keyed by the English text, which is in the code and
// templates. A text with a number has a singular and a plural form: "{{n}} subscriber|{{n}} subscribers".
//
//go:embed words
var wordFiles embed.FS

var words = sync.OnceValue(readWords)

// doctorWords is the suffix of files with doctor's texts, and of their keys in words.
const doctorWords = "/doctor.json"

// languages lists the console's languages. English needs no file. Other languages exist only for the account page, the
// approval page and their layout (shared.json), which people outside the console also see.
var languages = []string{"en", "de"}

func readWords() map[string]map[string]string {
	all := map[string]map[string]string{"en": {}}
	err := fs.WalkDir(wordFiles, "words", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		lang := strings.Split(path, "/")[1]
		if strings.HasSuffix(path, doctorWords) { // separate, because errors have some of the same formats
			lang += doctorWords
		}
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

// languageOf returns the console language that the browser prefers.
func languageOf(c *web.Call) string {
	if lang := c.Language(); slices.Contains(languages, lang) {
		return lang
	}
	return languages[0]
}

// T translates text to the page's language and replaces its placeholders. pairs contains alternating names and values.
func (p *Page) T(text string, pairs ...any) string {
	if other := words()[p.Lang][text]; other != "" {
		text = other
	}
	return fillIn(text, pairs...)
}

// N is like T, but chooses the singular or plural form for n, which also replaces {{n}}.
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
	return core.Placeholders(names...).Replace(text)
}

// notices maps keys in the page's query to messages about completed actions.
var notices = map[string]string{
	"saved":              "Changes saved",
	"list-created":       "List created",
	"domain-added":       "Domain added",
	"key-created":        "DKIM key created",
	"template-created":   "Template created",
	"theme-created":      "Theme created",
	"campaign-created":   "Campaign created",
	"segment-created":    "Segment created",
	"provider-added":     "Provider added",
	"keys-created":       "Keys created",
	"mail-server":        "Mail server saved. Check whether the test email arrived.",
	"deleted":            "Deleted",
	"sent":               "Sent",
	"restored":           "Version restored",
	"poll-added":         "Poll added to the end of the email",
	"segment-duplicated": "Segment duplicated. You're editing the copy.",
	"duplicated":         "Campaign duplicated. You're editing the copy.",
	"put-away":           "Campaign archived. To see it again, filter by Archived.",
	"undone":             "Sending undone. The campaign is a draft again.",
	"unplanned":          "Schedule canceled. The campaign is a draft again.",
	"unplanned-approved": "Schedule canceled. The campaign stays approved as long as you don't edit it.",
	"undone-approved":    "Sending undone. The campaign stays approved as long as you don't edit it.",
	"again":              "Identity confirmed. Choose the file again.",
	"cancelled":          "Canceled",

	// For server administrators.
	"queued-again": "Queued again",

	"picture": "Image added. Add alt text for people who can't see it.",

	// For settings.
	"checked":    "Checked again",
	"invited":    "Invitation sent",
	"taken-back": "Invitation withdrawn",
	"removed":    "Removed",
	"text-reset": "Text reset to default",

	// For people.
	"added":        "Added",
	"person-added": "Person added",
	"tag-deleted":  "Tag deleted",
	"no-posts":     "No posts were imported: all of them are already in the archive or were skipped.",
	"none-chosen":  "No posts were imported, because none are selected.",
	"asked":        "Person added. The confirmation email is on its way.",
	"known":        "This address is already on the list. Nothing changed.",
	"ended":        "Person unsubscribed",
	"erased":       "Data erased",
	"lifted":       "Address unblocked",
	"switched-off": "Address blocked",

	// For sends.
	"to-approve":     "Approval requested. Everyone who can approve gets an email.",
	"moved":          "Start time changed",
	"archive-hidden": "Hidden from the public archive. Copies may stay in browsers for up to a minute.",
	"archive-shown":  "Shown in the public archive",
	"paused":         "Sending paused. Emails already in progress are still delivered.",
	"resumed":        "Sending resumed",
	"stopped":        "Sending canceled. No one else will get it.",
	"retried":        "Resending to everyone who didn't get the campaign",
	"mended":         "Link fixed. Clicks now go to the new link.",
	"link-asked":     "Suggestion sent. Everyone who can fix links gets an email.",
	"link-noted":     "Suggestion saved. No one on your team can apply it yet.",
	"link-let-be":    "Link not changed",
	"corrected":      "Web version updated. It shows the date of your edit.",
	"as-sent":        "Original restored. The web version and the archive show what was sent.",
}
