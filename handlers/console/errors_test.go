package console

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/subscribercsv"
)

// errorTexts returns the messages of errors in API responses, as formats, with the files that create them. Each message
// must be a constant, because a message that is put together in place can't be found by its format.
func errorTexts(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range []string{
		"core", "store", "store/campaigns", "store/db", "store/devices", "store/files", "store/identity",
		"store/exports", "store/imports", "store/audience", "store/bulk", "store/mailed", "store/polls",
		"handlers/segments",
		"store/members", "store/people", "store/tenants", "store/subscribercsv",
		"auth", "handlers", "handlers/campaigns", "handlers/devices", "handlers/drafts", "handlers/identity",
		"handlers/members", "handlers/page", "handlers/tenants", "handlers/web", "handlers/console",
		"mail",
		"mail/markup", "mail/picture", "mail/report", "mail/smtp", "netguard",
	} {
		eachFile(t, "../../"+dir+"/*.go", func(path string, file *ast.File) {
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			ast.Inspect(file, func(n ast.Node) bool {
				if text := messageOf(n); text != "" {
					found[text] = name
				} else if said := saidBy(n); isMade(said) && name != "core/errors.go" && name != "core/jsonscanner.go" {
					t.Errorf("%s: the message of an error is put together: give a format and its values to Sayf", name)
				}
				return true
			})
		})
	}
	return found
}

// eachFile passes the Go files that match a pattern, except tests, to fn. There must be one.
func eachFile(t *testing.T, pattern string, fn func(path string, file *ast.File)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		fn(path, file)
	}
}

// messageOf returns the message that a call or a literal gives an error, or an empty string if it is not an error or
// its text comes from elsewhere. A message that begins with a verb gets its field in front: "%s must be %s."
func messageOf(n ast.Node) string {
	text := textOf(saidBy(n))
	switch verb, _, _ := strings.Cut(text, " "); verb {
	case "must", "has", "is", "can't":
		return "%s " + text
	}
	return text
}

// saidBy returns the expression for the message that a call or a literal gives an error, or nil if it is not an error.
func saidBy(n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		at := 1
		switch nameOf(n.Fun) {
		case "Invalidf", "Conflictf":
		case "Forbiddenf", "Sayf", "refusedf", "tooLargef":
			at = 0
		default:
			return nil
		}
		if len(n.Args) > at {
			return n.Args[at]
		}
	case *ast.CompositeLit:
		if n.Type == nil || nameOf(n.Type) != "Error" {
			return nil
		}
		for _, e := range n.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok && nameOf(pair.Key) == "Message" {
				return pair.Value
			}
		}
	}
	return nil
}

// isMade reports whether a text is put together in place from parts that are not all constants.
func isMade(e ast.Expr) bool {
	switch e.(type) {
	case *ast.BinaryExpr, *ast.CallExpr:
		return true
	}
	return false
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// textOf returns a constant text, also one that is concatenated from others, or an empty string if it is not a
// constant.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		if x, y := textOf(e.X), textOf(e.Y); x != "" && y != "" {
			return x + y
		}
	}
	return ""
}

// notOfPages lists the files whose errors no form of the console can cause: errors of API clients, of other services,
// of pages outside the console, and of emails that API clients write as blocks.
var notOfPages = []string{
	"core/event.go",
	"core/jobkeys.go",
	"core/jsonscanner.go",
	"core/providerevent.go",
	"auth/",
	"handlers/identity/account",
	"handlers/identity/authorize.go",
	"handlers/identity/login.go",
	"handlers/identity/oauth.go",
	"handlers/identity/register_page.go",
	"handlers/members/disable.go",
	"handlers/members/newsletter.go",
	"handlers/members/preferences_page.go",
	"handlers/drafts/trial.go",
	"handlers/campaigns/sendjobs_try.go",
	"handlers/campaigns/memberevents.go",
	"mail/markup/blocks.go",
	"mail/report/kinds.go",
	"mail/report/sns.go",
	"mail/smtp/",
	"store/identity/codes.go",
	"store/tenants/fedlists.go",
	"store/identity/emailchange.go",
	"store/identity/firstoperator.go",
	"store/identity/logins.go",
	"store/identity/passkeys.go",
	"store/identity/secondfactors.go",
	"store/tenants/webhook_clients.go",
}

// notOnPages lists messages that a page never shows, about the tokens and requests of API clients.
var notOnPages = []string{
	"%s",
	"The signature headers are missing or wrong. Sign the exact bytes of the body.",
	"The token lacks a scope that this operation needs.",
	"The token needs one of the scopes %s.",
	"The token needs the scope %s.",
	"The token needs the scopes %s.",
	"%s can't be null. Leave it out.",
	"This batch was already accepted. Don't send it again.",
	"This event was already accepted. Don't send it again.",
	"This nonce was already used. Sign each request with a new one.",
	"id_token_signed_response_alg must be RS256 or ES256.",
	"require_pkce can only be turned off for confidential clients. Set it to true.",
	"token_endpoint_auth_method is not allowed for the client_type %s. Leave it out to use the default.",
	"The client doesn't belong to a tenant. Use a client of the list's tenant.",
	"This provider belongs to another tenant. Send the event to one of your tenant's providers.",
	"The access token is sent twice. Send it once.",
	"sample must be from 0 to %d.",
	"batch_total differs from earlier batches. This sync has %d batches.",
	"This sync belongs to another list. Use a new sync_id for each list.",
}

// Every error that a form of the console can cause is translated, also if it contains values. plainFaults and
// errors.json contain only messages that the code uses, and only values that these have.
func TestErrorsAreTranslated(t *testing.T) {
	made := errorTexts(t)
	for kind := core.Invalid; kind <= core.PreconditionFailed; kind++ {
		if kind != core.Unauthenticated && kind != core.MethodNotAllowed {
			made[web.MessageOf(kind)] = "handlers/web/errors.go"
		}
	}
	for text, file := range made {
		if slices.Contains(notOnPages, text) ||
			slices.ContainsFunc(notOfPages, func(of string) bool { return strings.HasPrefix(file, of) }) {
			continue
		}
		for _, lang := range languages[1:] {
			if other := words()[lang][cmp.Or(plainFaults[text], text)]; other == "" {
				t.Errorf("%s: %q has no text in %s", file, text, lang)
			}
		}
	}
	says := func(lang, text, other string) {
		values := len(verb.FindAllString(strings.ReplaceAll(text, "%%", ""), -1))
		for _, name := range names.FindAllString(other, -1) {
			if n, _ := strconv.Atoi(name[2:3]); n < 1 || n > values {
				t.Errorf("%s: %q of %q names %s", lang, other, text, name)
			}
		}
		if made[text] == "" && !slices.ContainsFunc(slices.Collect(maps.Keys(made)), func(format string) bool {
			return letters.MatchString(verb.ReplaceAllString(format, "")) && formOf(format).MatchString(text)
		}) {
			t.Errorf("%s: nothing says %q", lang, text)
		}
	}
	formats := map[string]string{} // formats by their plain texts
	for text, plain := range plainFaults {
		formats[plain] = text
		says(languages[0], text, plain)
	}
	for _, lang := range languages[1:] {
		for text, other := range readWordFile(t, "words/"+lang+"/errors.json") {
			says(lang, cmp.Or(formats[text], text), other)
		}
	}
}

var (
	verb  = regexp.MustCompile(`%[sdqv%]`)
	names = regexp.MustCompile(`{{\d}}`)
	// letters matches formats that contain words of their own; "%s: %s" matches any text
	letters = regexp.MustCompile(`[a-z]{3}`)
)

// formOf returns an expression that matches every text that a format can become.
func formOf(text string) *regexp.Regexp {
	return regexp.MustCompile("^" + verb.ReplaceAllString(regexp.QuoteMeta(text), "(.*)") + "$")
}

// Errors with values are shown with the texts of the page, in its language. Errors without a translation are shown
// unchanged.
func TestFaultTexts(t *testing.T) {
	en, de := &Page{Lang: "en"}, &Page{Lang: "de"}
	for _, c := range []struct {
		err    *core.Error
		en, de string
	}{
		{
			invalid("from_name", "%s must have at most %d characters.", "from_name", 12345),
			"Sender name: enter at most 12,345 characters.", "Absendername: Geben Sie höchstens 12.345 Zeichen ein.",
		},
		{
			invalid("reply_to", "%s is not a valid email address.", "reply_to"),
			"Reply-to address: enter a valid email address.",
			"Antwortadresse: Geben Sie eine gültige E-Mail-Adresse ein.",
		},
		{
			invalid("time_zone", "time_zone: unknown time zone %q. Use a name such as Europe/Berlin.", "Berlin"),
			"Unknown time zone “Berlin”. Choose one such as Europe/Berlin.",
			"Unbekannte Zeitzone „Berlin“. Wählen Sie eine wie Europe/Berlin.",
		},
		{
			invalid("fields[0].options[1]", "%s is empty or used twice. Change or remove it.", "fields[0].options[1]"),
			"An option is empty or listed twice. Change or remove it.",
			"Eine Option ist leer oder doppelt. Ändern oder entfernen Sie sie.",
		},
		{
			invalid("brand_color", "%s must be a hex color such as #1d6b52.", "brand_color"),
			"Color: choose a color, or enter its code, for example #1d6b52.",
			"Farbe: Wählen Sie eine Farbe, oder geben Sie ihren Code ein, zum Beispiel #1d6b52.",
		},
		{
			invalid("light.title", "%s must be a hex color such as #1d6b52.", "light.title"),
			"Headings: choose a color, or enter its code, for example #1d6b52.",
			"Überschriften: Wählen Sie eine Farbe, oder geben Sie ihren Code ein, zum Beispiel #1d6b52.",
		},
		{
			core.Conflictf("conflict", "The campaign is already %s.", "scheduled"),
			"The campaign is already scheduled. Reload the page.",
			"Die Kampagne hat bereits den Status „Geplant“. Laden Sie die Seite neu.",
		},
		{
			invalid("test_addresses", "test_addresses: %q is not a valid email address.", "a@b@c"),
			"Test group: “a@b@c” is not a valid email address.",
			"Testgruppe: „a@b@c“ ist keine gültige E-Mail-Adresse.",
		},
		{
			invalid("x", "x is %d blue moons.", 3), "x is 3 blue moons.",
			"Das hat nicht geklappt: x is 3 blue moons.",
		},
		{ // in the form in which package web names a member of an element
			invalid("from_name", "%s must have at most %d characters.", "from_name", 200).Under("[0]").Under("items"),
			"Sender name: enter at most 200 characters.",
			"Absendername: Geben Sie höchstens 200 Zeichen ein.",
		},
		{
			invalid("port", "must be %s.", "a whole number").On("").Under("port"), "Port: this must be a whole number.",
			"Port: Dieser Wert wird nicht akzeptiert. Prüfen Sie Schreibweise und Format.",
		},
		{
			core.ChangedMeanwhile("user:1", core.Instant(0)), "Someone else changed this (–). Reload the page.",
			"Jemand anderes hat das inzwischen geändert (–). Laden Sie die Seite neu.",
		},
		{ // a message inside another one
			invalid("x", "%s is %s", "x", invalid("name", "name is missing.").Sentence()), "x is Enter a name.",
			"Das hat nicht geklappt: x is name is missing.",
		},
		{ // its own translation, in addition to that of its format
			core.Conflictf("conflict", "This address can't receive emails. Its status is %s.", "bounced"),
			"This address bounced. Ask the person for another one.",
			"Diese Adresse ist unzustellbar. Bitten Sie die Person um eine andere.",
		},
		{ // values stay unchanged; none is mistaken for a verb or a name
			invalid("x", "%s already has a key with the selector %s. Choose another selector.", "100%d", "{{1}}"),
			"100%d already has a key with the selector {{1}}. Choose another selector.",
			"100%d hat schon einen Schlüssel mit dem Selektor {{1}}. Wählen Sie einen anderen.",
		},
		{
			&core.Error{Kind: core.Conflict}, "This is no longer possible. Reload the page.",
			"Das ist nicht mehr möglich. Laden Sie die Seite neu.",
		},
	} {
		if got := en.faultText(c.err); got != c.en {
			t.Errorf("%q, not %q", got, c.en)
		}
		if got := de.faultText(c.err); got != c.de {
			t.Errorf("%q, not %q", got, c.de)
		}
	}
}

// invalid returns core.Invalidf as an error of type *core.Error.
func invalid(field, format string, args ...any) *core.Error {
	e, _ := errors.AsType[*core.Error](core.Invalidf(field, format, args...))
	return e
}

// The errors of lines are stored as text. Pages find their translation by the format, whatever the values contain.
func TestFaultsOfLines(t *testing.T) {
	de := &Page{Lang: "de"}
	for said, want := range map[string]string{
		`"a \"b\" c" is not a valid email address`:                   "„a \"b\" c“ ist keine E-Mail-Adresse.",
		`"" is not a valid email address`:                            "Die E-Mail-Adresse fehlt.",
		`"32.13. in column x" in column born is not a date.`:         "„32.13. in column x“ in der Spalte „born“ ist kein Datum. Verwenden Sie ein Format wie 2026-01-31.",
		`"none" in column from where is not an IP address.`:          "„none“ in der Spalte „from where“ ist keine IP-Adresse. Korrigieren Sie sie, oder überspringen Sie die Spalte.",
		"Column a is not valid UTF-8 or contains NUL. (preferences)": "Die Spalte a enthält Zeichen, die sich nicht lesen lassen. Speichern Sie die Datei in Ihrem Tabellenprogramm als „CSV UTF-8“.",
		"preferences must have at most 16 KiB.":                      "preferences: Erlaubt sind höchstens 16 KiB.",
		"preferences must have at most 4 levels of nesting.":         "preferences: Höchstens 4 verschachtelte Ebenen sind möglich.",
		"preferences is not valid JSON: it has no end (byte 12).":    "Das hat nicht geklappt: preferences is not valid JSON: it has no end (byte 12).",
	} {
		if got := de.FaultOfLine(lineFault{Line: 2, Error: said}); got != want {
			t.Errorf("%s: %q, not %q", said, got, want)
		}
	}
}

// Each error in the names of columns is found by its format, so that pages show it in their language.
func TestFaultsOfColumns(t *testing.T) {
	de, met := &Page{Lang: "de"}, map[string]bool{}
	for _, c := range []struct {
		header string
		uses   map[string]string
		want   string
	}{
		{"Kunde,Ort", nil, "Keine Spalte heißt „E-Mail“. Vorhanden sind: Kunde, Ort"},
		{"email", map[string]string{"Ort": "city"}, "Keine Spalte heißt „Ort“. Vorhanden sind: email"},
		{
			"a,b",
			map[string]string{"a": "email", "b": "email"},
			"Zwei Spalten enthalten E-Mail-Adressen: „a“ und „b“",
		},
		{"email,a,b", map[string]string{"a": "x", "b": "x"}, "Zwei Spalten heißen „x“"},
	} {
		_, err := subscribercsv.NewReader(strings.NewReader(c.header+"\n"), subscribercsv.Options{Map: c.uses})
		said, ok := errors.AsType[subscribercsv.MappingError](err)
		if got := de.MappingFault(said.Text); !ok || got != c.want {
			t.Errorf("%v: %q, not %q", err, got, c.want)
		}
		for _, f := range mappingFaults {
			_, ok := valuesOf(f.format, said.Text)
			met[f.format] = met[f.format] || ok
		}
	}
	if len(met) != len(mappingFaults) || slices.Contains(slices.Collect(maps.Values(met)), false) {
		t.Errorf("formats without an error: %v", met)
	}
}

// The values in a text that a format has created are found again, if no value contains the text between them.
func FuzzValuesOf(f *testing.F) {
	f.Add("cell", "column")
	f.Add(`a "b" \`, "in column")
	f.Add("%", "%q")
	f.Fuzz(func(t *testing.T, cell, column string) {
		for _, l := range lineFaults {
			valuesOf(l.format, cell)
		}
		text := fmt.Sprintf("%q in column %s is not a date.", cell, column)
		values, ok := valuesOf("%q in column %s is not a date.", text)
		if !ok || !strings.Contains(column, `" in column `) && !strings.Contains(column, " is not a date.") &&
			utf8.ValidString(cell) && !slices.Equal(values, []string{cell, column}) {
			t.Errorf("%s: %q, %v", text, values, ok)
		}
	})
}
