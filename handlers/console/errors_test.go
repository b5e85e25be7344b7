package console

import (
	"cmp"
	"errors"
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

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// errorTexts returns the messages of errors that the API may answer, as formats, by the files that make them.
func errorTexts(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range []string{
		"core", "store", "store/subscribercsv", "auth", "handlers", "handlers/web", "handlers/console", "mail",
		"mail/markup", "mail/picture", "mail/report", "mail/smtp", "netguard",
	} {
		files, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if text := messageOf(n); text != "" {
					found[text] = strings.TrimPrefix(filepath.ToSlash(file), "../../")
				}
				return true
			})
		}
	}
	return found
}

// messageOf returns the message that a call or a literal gives an error; empty: it is no error, or its text is made
// elsewhere.
func messageOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		at := 1
		switch nameOf(n.Fun) {
		case "Invalidf", "Conflictf":
		case "Forbiddenf", "refusedf":
			at = 0
		default:
			return ""
		}
		if len(n.Args) > at {
			return textOf(n.Args[at])
		}
	case *ast.CompositeLit:
		if n.Type == nil || nameOf(n.Type) != "Error" {
			return ""
		}
		for _, e := range n.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok && nameOf(pair.Key) == "Message" {
				return textOf(pair.Value)
			}
		}
	}
	return ""
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

// textOf returns a constant text, also one that is added up of others or given to fmt.Sprintf.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return cmp.Or(textOf(e.X), "%s") + cmp.Or(textOf(e.Y), "%s")
	case *ast.CallExpr:
		if nameOf(e.Fun) == "Sprintf" {
			return textOf(e.Args[0])
		}
	}
	return ""
}

// notOfPages are the files whose errors no form of the console can meet: of programs and of other services, of pages
// that are not the console's, and of mails that programs write as blocks.
var notOfPages = []string{
	"core/event.go",
	"core/jobkeys.go",
	"core/jsonscanner.go",
	"core/providerevent.go",
	"auth/",
	"handlers/account",
	"handlers/authorize.go",
	"handlers/login.go",
	"handlers/newsletter.go",
	"handlers/oauth.go",
	"handlers/preferences_page.go",
	"handlers/register_page.go",
	"handlers/sendjobs_try.go",
	"handlers/webhooks.go",
	"mail/markup/blocks.go",
	"mail/report/kinds.go",
	"mail/report/sns.go",
	"mail/smtp/",
	"store/codes.go",
	"store/drift.go",
	"store/emailchange.go",
	"store/firstoperator.go",
	"store/logins.go",
	"store/passkeys.go",
	"store/secondfactors.go",
	"store/webhook_clients.go",
}

// notOnPages are messages that a page never shows: of programs' tokens and requests.
var notOnPages = []string{
	"%s",
	"The signature headers are missing or wrong.",
	"The token lacks the scope that this operation needs.",
	"This batch was accepted before.",
	"This event was accepted before.",
	"This nonce was used before.",
	"id_token_signed_response_alg must be RS256 or ES256.",
	"require_pkce can be switched off for confidential clients only.",
	"token_endpoint_auth_method doesn't fit the client_type %s.",
	"The client belongs to no tenant.",
	"The provider reports for another tenant.",
	"The access token is given twice.",
	"sample must be 0 to %d.",
	"The sync has %d batches.",
	"The sync is about another list.",
}

// Every error that a form of the console may meet is said in the other languages, also where it carries values, and
// errors.json says nothing that no one says.
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
			if other := words()[lang][text]; other == "" {
				t.Errorf("%s: %q has no text in %s", file, text, lang)
			}
		}
	}
	names := regexp.MustCompile(`{{\d}}`)
	for _, lang := range languages {
		for text, other := range readWordFile(t, "words/"+lang+"/errors.json") {
			values := len(verb.FindAllString(strings.ReplaceAll(text, "%%", ""), -1))
			for _, name := range names.FindAllString(other, -1) {
				if n, _ := strconv.Atoi(name[2:3]); n < 1 || n > values {
					t.Errorf("%s: %q names %s", lang, other, name)
				}
			}
			if made[text] == "" && !slices.ContainsFunc(slices.Collect(maps.Keys(made)), func(form string) bool {
				return formOf(form).MatchString(text)
			}) {
				t.Errorf("%s: nothing says %q", lang, text)
			}
		}
	}
}

// formOf matches what a format may become.
func formOf(text string) *regexp.Regexp {
	return regexp.MustCompile("^" + verb.ReplaceAllString(regexp.QuoteMeta(text), "(.*)") + "$")
}

// Errors with values are said in the words of the page, in its language; those without a translation say so.
func TestFaultTexts(t *testing.T) {
	en, de := &Page{Lang: "en"}, &Page{Lang: "de"}
	for _, c := range []struct {
		err    *core.Error
		en, de string
	}{
		{
			invalid("from_name", "%s must have at most %d characters.", "from_name", 12345),
			"Name of the sender: 12,345 characters at most.", "Name des Absenders: höchstens 12.345 Zeichen.",
		},
		{
			invalid("reply_to", "%s is not a valid e-mail address.", "reply_to"),
			"Replies go to: this is not a valid e-mail address.",
			"Antworten gehen an: Das ist keine gültige E-Mail-Adresse.",
		},
		{
			invalid("time_zone", "time_zone: there is no time zone %q: write one as Europe/Berlin.", "Berlin"),
			`Time zone: there is no time zone "Berlin": write one as Europe/Berlin.`,
			"Die Zeitzone „Berlin“ gibt es nicht: Schreiben Sie eine wie Europe/Berlin.",
		},
		{
			invalid("fields[0].options[1]", "%s is empty or stands twice.", "fields[0].options[1]"),
			"An answer is empty or stands twice.", "Eine Antwort ist leer oder steht zweimal da.",
		},
		{
			invalid("brand_color", "brand_color must be written #rrggbb."), "A colour is written like #1d6b52.",
			"Eine Farbe wird wie #1d6b52 geschrieben.",
		},
		{
			invalid("light.title", "%s must be written #rrggbb.", "light.title"),
			"Headings: a colour is written like #1d6b52.",
			"Überschriften: Eine Farbe wird wie #1d6b52 geschrieben.",
		},
		{
			core.Conflictf("conflict", "The campaign is %s already.", "scheduled"),
			"The campaign is scheduled already.",
			"Die Kampagne ist schon so weit: geplant.",
		},
		{
			invalid("test_addresses", "test_addresses: %q is not a valid e-mail address.", "a@b@c"),
			"“a@b@c” is not a valid e-mail address.", "„a@b@c“ ist keine gültige E-Mail-Adresse.",
		},
		{
			invalid("x", "x is %d blue moons.", 3), "x is 3 blue moons.",
			"Das wurde nicht angenommen: x is 3 blue moons.",
		},
		{
			&core.Error{Kind: core.Conflict}, "This no longer fits what stands now: load the page again.",
			"Das passt nicht mehr zum jetzigen Stand: Laden Sie die Seite neu.",
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

// invalid is core.Invalidf as an error of core.
func invalid(field, format string, args ...any) *core.Error {
	e, _ := errors.AsType[*core.Error](core.Invalidf(field, format, args...))
	return e
}
