package console

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail/report"
)

// patterns for texts in templates and code: {{.T "…"}}, ($.N "…"), p.T("…"), p.T("…" + "…")
var (
	texts = regexp.MustCompile(`\.[TN][ (]("(?:[^"\\]|\\.)*"(?:\s*\+\s*"(?:[^"\\]|\\.)*")*)`)
	parts = regexp.MustCompile(`"\s*\+\s*"`)
)

// eachSource calls check with the name and the contents of each template and each code file that is not a test.
func eachSource(t *testing.T, check func(file, source string)) {
	t.Helper()
	for _, pattern := range []string{"templates/*.html", "*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			check(file, string(b))
		}
	}
}

// usedTexts returns the texts that pages use, with the places where they are used.
func usedTexts(t *testing.T) map[string]string {
	t.Helper()
	used := map[string]string{}
	eachSource(t, func(file, source string) {
		for _, found := range texts.FindAllStringSubmatch(source, -1) {
			text, err := strconv.Unquote(parts.ReplaceAllString(found[1], ""))
			if err != nil {
				t.Fatalf("%s: %s: %v", file, found[1], err)
			}
			used[text] = file
		}
	})
	for _, text := range notices {
		used[text] = "words.go"
	}
	for _, table := range []map[string]refusal{refusals, refusalClasses} {
		for _, r := range table {
			used[r.What], used[r.Turn] = "refusals.go", "refusals.go"
		}
	}
	used[turnOver], used[turnReport], used[turnAllTaken] = "refusals.go", "refusals.go", "refusals.go"
	for _, text := range findingTexts {
		used[text] = "findings.go"
	}
	for _, text := range hostSteps {
		used[text] = "dnshosts.go"
	}
	for _, name := range report.Names() {
		if help := report.KindOf(name).Secret.Help; help != "" {
			used[help] = "mail/report/kinds.go"
		}
	}
	for _, text := range fieldNames {
		used[text] = "faults.go"
	}
	for _, text := range changedParts {
		used[text] = "changed.go"
	}
	for _, text := range auditSentences {
		used[text] = "auditwords.go"
	}
	for _, text := range auditNames {
		used[text] = "auditfields.go"
	}
	for _, all := range auditWords {
		for _, text := range all {
			used[text] = "auditfields.go"
		}
	}
	for _, a := range auditAreas {
		used[a.Text] = "auditwords.go"
	}
	for _, ops := range segmentOps {
		for _, op := range ops {
			used[op.Text], used[op.Unit], used[op.Said] = "segmentrows.go", "segmentrows.go", "segmentrows.go"
			used[op.For] = "segmentrows.go"
		}
	}
	for _, s := range segmentSubjects {
		used[s.text] = "segmentrows.go"
	}
	for _, a := range areas {
		used[a.text] = "shell.go"
	}
	for _, a := range operatorAreas {
		used[a.text] = "operator.go"
	}
	for _, a := range ownAreas {
		used[a.text] = "own.go"
	}
	return used
}

// Every text is translated, with the same placeholders, and in both forms if it depends on a number. A translation file
// has no unused texts. Messages of errors, which come from elsewhere, are in errors.json.
func TestTextsAreTranslated(t *testing.T) {
	used := usedTexts(t)
	names, verbs := regexp.MustCompile(`{{\w+}}`), regexp.MustCompile(`%[a-z]`)
	for _, lang := range languages[1:] {
		for text, file := range used {
			other := words()[lang][text]
			if text == "" {
				continue
			}
			if other == "" {
				t.Errorf("%s: %q has no text in %s", file, text, lang)
				continue
			}
			if strings.Count(text, "|") != strings.Count(other, "|") {
				t.Errorf("%s: %q and %q have not the same forms", lang, text, other)
			}
			for _, name := range names.FindAllString(text, -1) {
				if !strings.Contains(other, name) {
					t.Errorf("%s: %q lacks %s", lang, other, name)
				}
			}
		}
		files, err := filepath.Glob("words/" + lang + "/*.json")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			if filepath.Base(file) == "doctor.json" {
				continue // see TestDoctorIsTranslated
			}
			if filepath.Base(file) == "errors.json" {
				for text, other := range readWordFile(t, file) {
					if verbs.MatchString(other) {
						t.Errorf("%s: %q has a verb of fmt: its values are {{1}}, {{2}} …", text, other)
					}
				}
				continue
			}
			for text := range readWordFile(t, file) {
				if used[text] == "" {
					t.Errorf("%s: nothing says %q", file, text)
				}
			}
		}
	}
}

// The texts of the account page, the approval page and their layout are translated to each language of subscribers'
// pages.
func TestSharedTextsAreTranslated(t *testing.T) {
	b, err := os.ReadFile("templates/account.html")
	if err != nil {
		t.Fatal(err)
	}
	shared := readWordFile(t, "words/fr/shared.json")
	for _, text := range regexp.MustCompile(`\.T "([^"]*)"`).FindAllStringSubmatch(string(b), -1) {
		if shared[text[1]] == "" {
			t.Errorf("%q has no text in fr", text[1])
		}
	}
	for _, lang := range core.Languages {
		for text := range shared {
			if lang != languages[0] && words()[lang][text] == "" {
				t.Errorf("%q has no text in %s", text, lang)
			}
		}
	}
}

// A number selects the form of its language: one for 1, and one for others.
func TestNumbersInTexts(t *testing.T) {
	en, de := &Page{Lang: "en"}, &Page{Lang: "de"}
	for _, c := range []struct{ got, want string }{
		{en.N("on 1 list|on {{n}} lists", 1), "on 1 list"},
		{en.N("on 1 list|on {{n}} lists", 1234567), "on 1,234,567 lists"},
		{de.N("on 1 list|on {{n}} lists", 0), "auf 0 Listen"},
		{de.Number(-12480), "−12.480"},
		{en.Percent(1, 8), "12.5%"},
		{de.Percent(1, 8), "12,5\u00a0%"},
		{en.Percent(8000, 8001), "99.9%"},
		{en.Percent(8001, 8001), "100.0%"},
		{de.Percent(0, 0), "–"},
		{en.Size(999), "999 B"},
		{de.Size(1_234_567), "1,2 MB"},
	} {
		if c.got != c.want {
			t.Errorf("%q, not %q", c.got, c.want)
		}
	}
}

// The names of the tabs at the bottom of a phone are short in each language: five of them fit into 360 pixels.
func TestTabsOfAPhoneAreShort(t *testing.T) {
	for _, lang := range languages {
		p := &Page{Call: &web.Call{Request: httptest.NewRequest("GET", OperatorPath, nil)}, Lang: lang}
		items := p.operatorNavigation()
		for _, a := range areas {
			items = append(items, navItem{Text: p.T(a.text), Tab: a.tab})
		}
		for _, item := range items {
			if item.Tab && len([]rune(item.Text)) > 11 {
				t.Errorf("%s: %q is too long", lang, item.Text)
			}
		}
	}
}

// In German, a comma follows the day of the week.
func TestDates(t *testing.T) {
	at := core.At(time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC))
	for lang, want := range map[string][2]string{
		"en": {"Mon 30 Nov 2026", "Mon 30 Nov"}, "de": {"Mo., 30.\u00a0Nov. 2026", "Mo., 30.\u00a0Nov."},
	} {
		p := &Page{Lang: lang, Zone: time.UTC}
		if got := [2]string{p.Date(at), p.Day(at)}; got != want {
			t.Errorf("%q", got)
		}
	}
}

// A text that depends on a number has a form for 1 and a form for others. Without the second form, it would be empty.
func TestTextsForNumbersHaveBothForms(t *testing.T) {
	call := regexp.MustCompile(`\.N[ (]\s*("(?:[^"\\]|\\.)*"(?:\s*\+\s*"(?:[^"\\]|\\.)*")*)`)
	eachSource(t, func(file, source string) {
		for _, found := range call.FindAllStringSubmatch(source, -1) {
			if strings.Count(found[1], "|") != 1 {
				t.Errorf("%s: %s", file, found[1])
			}
		}
	})
}

func readWordFile(t *testing.T, file string) (out map[string]string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return out
}

// Only server administrators and the API use the word "tenant": people who write one newsletter are not tenants.
func TestTenantIsAWordOfOperators(t *testing.T) {
	for text, file := range usedTexts(t) {
		of := filepath.Base(file)
		if strings.Contains(strings.ToLower(strings.ReplaceAll(text, "{{tenant}}", "")), "tenant") &&
			!strings.HasPrefix(of, "operator") && !slices.Contains([]string{
			"tenant.html", "tenants.html", "user.html", "users.html", "queues.html", "mailings.html", "findings.html",
			"sure.html", "new-user.html", "model.html", "models.html", "models.go", "auditwords.go", "faults.go", "providers.go",
		}, of) {
			t.Errorf("%s: %q", file, text)
		}
	}
}

// Each English text has one translation. A text with a second meaning needs its own English.
func TestEachTextHasOneTranslation(t *testing.T) {
	for _, lang := range languages[1:] {
		files, err := filepath.Glob("words/" + lang + "/*.json")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		first := map[string]string{}
		from := map[string]string{}
		for _, file := range files {
			for text, other := range readWordFile(t, file) {
				if from[text] != "" && first[text] != other {
					t.Errorf("%q is %q in %s, and %q in %s", text, first[text], from[text], other, file)
				}
				first[text], from[text] = other, file
			}
		}
	}
}

// homely matches words that people who know other newsletter services would have to decode.
var homely = regexp.MustCompile(`(?i)\b(readers?|mailings?|mails|put away|tak(e|en) (it |this |them )?back|came back|` +
	`brought back|bring back|can't be reached|has left|have left|leave the list|switched off|going out|goes out|` +
	`went out|once more|by itself|by themselves|all the same|at once|for good|by hand|mend(ed|s)?|operators?|trail|` +
	`second step|second factor|who(ever)? looks after|what is (missing|left|measured|known)|measured|machines|` +
	`first few|looks of|to be (confirmed|proved)|records? that stand)\b|[0-9}] %`)

// heimelig matches their German counterparts, and words that mean something else in the console.
var heimelig = regexp.MustCompile(`\b(Leser(n|innen)?|Mailings?|Betreiber|zurückgenommen|weggelegt|abgeschaltet|` +
	`gescheitert|hinausgegangen|ausgetragen|Schlagw[oö]rt(er)?|Geheimnis|Einzelheiten)\b|[0-9}]%|\bMails?\b`)

// fillers matches the placeholders of a text.
var fillers = regexp.MustCompile(`{{[^}]*}}|%[sdqv]`)

// TestTextsUseTheTermsOfTheField checks that the console, in both languages, and the errors of the API use the terms of
// the glossary.
func TestTextsUseTheTermsOfTheField(t *testing.T) {
	check := func(words *regexp.Regexp, text, file string) {
		if found := words.FindString(fillers.ReplaceAllString(text, "0")); found != "" {
			t.Errorf("%s: %q in %q", file, found, text)
		}
	}
	for text, file := range usedTexts(t) {
		check(homely, text, file)
	}
	for text, file := range errorTexts(t) {
		check(homely, text, file)
		check(homely, plainFaults[text], file)
	}
	files, err := filepath.Glob("words/de/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, text := range readWordFile(t, file) {
			check(heimelig, strings.ReplaceAll(text, "E-Mail", "Brief"), file)
		}
	}
}

// comparesProse matches code that depends on the text of a message, so that rewriting the text would change what the
// code does.
var comparesProse = regexp.MustCompile(`strings\.[A-Z]\w+\([a-z][\w.]*\.(Message|Hint)\b|` +
	`\.(Message|Hint) (==|!=) "[^"]|\.(Find|Match)\w*\([a-z][\w.]*\.(Message|Hint)\)|` +
	`\b(?:eq|ne) [^}"]*"[A-Z][^"]* [^"]*"|\b(?:eq|ne) \(\$?\.T `)

// TestNothingComparesProse checks that neither the console nor its templates depend on a text that people read.
func TestNothingComparesProse(t *testing.T) {
	eachSource(t, func(file, source string) {
		for n, line := range strings.Split(source, "\n") {
			if found := comparesProse.FindString(line); found != "" {
				t.Errorf("%s:%d: %s", file, n+1, found)
			}
		}
	})
}
