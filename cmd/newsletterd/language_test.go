package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// notYetClean lists the packages, with those below them, whose faults TestLanguage logs instead of failing. Delete a
// package from it once it is clean.
var notYetClean []string

const (
	maxColumns   = 120
	maxWideLines = 0.005 // share of a package's lines that may be wider than maxColumns
)

// standardWord says what to write instead of a word that the house does not use.
type standardWord struct {
	not    string // regular expression of whole words, without regard to case
	say    string // what to write instead
	unless string // regular expression of the uses that are allowed
	in     string // the package that the rule is about, with those below it; empty: all
}

// inComments are words and phrases that comments do not use.
var inComments = []standardWord{
	{not: `tells? (whether|if)`, say: `"reports whether"`},
	{not: `whoever`, say: `who it is: "the caller", "the subscriber", "the operator"`},
	{not: `nobody|somebody|anybody`, say: `who it is, or "no one", "a person", "anyone"`},
	{not: `beside`, say: `"next to", "concurrent with", "in addition to"`},
	{
		not: `behind`, say: `"after"`,
		unless: `(?i)\b(leav|left|queue)[^.;]*\bbehind\b` +
			`|\bbehind (\w+ ){0,2}(prox(y|ies)|relays?|NAT|firewall|balancer|button|link|webhooks|listener|guard|interface)\b`,
	},
	{
		not: `contract [0-9]+|(contract|spec|mail|language|console|limits|promises)\.md`,
		say: `what it says, or the page of docs/`, unless: `docs/\w+\.md`,
	},
	{not: `TODO|FIXME|XXX`, say: `nothing: do it, or leave it`},
	{not: `guests?|guestbooks?`, say: `"failed login", "login limiter"`},
	{not: `moulds?`, say: `"segment"`},
	{not: `dress(es)?|wears?`, say: `"page style", "apply"`},
	{not: `stretch(es)?`, say: `"range"`},
	{not: `sharpen(s|ed)?`, say: `"orNotFound"`},
}

// inNames are words of the names that are declared. A name is read as its words, with spaces between them.
var inNames = []standardWord{
	{not: `guests?|guestbook`, say: "loginLimiter, failedLogins"},
	{not: `mould|cast`, say: "segment, compiledBody", in: "mail"},
	{not: `gaps?`, say: "placeholder", in: "mail"},
	{not: `dress|wear`, say: "pageStyle, apply"},
	{not: `^(\w+ )?ways?$`, say: "relay", in: "worker"},
	{not: `feed`, say: "dispatcher", in: "worker"},
	{not: `stretch`, say: "range"},
	{not: `spares?`, say: "extraThread", in: "worker"},
	{not: `^apart$`, say: "remote, remoteServices"},
	{not: `^means( \w+)?$`, say: "proof, confirmationMethod", in: "core"},
	{
		not: `^(leaving|undoing|disabling|look)$`,
		say: "UnsubscribeResult, UndoResult, DisableRequest, Snapshot", in: "core",
	},
	{not: `^(tells|takes|told|also)$`, say: "describesResponse, describesBody", in: "handlers"},
	{not: `spared`, say: "padTo", in: "store"},
	{not: `sharpen`, say: "orNotFound"},
	{not: `beside`, say: "next to, with, during"},
}

// inFileNames are words of the names of files, which are named after what they hold or test.
var inFileNames = []standardWord{
	{
		not: `beside|letters|agreement|eight|gather|underway|apart`,
		say: "a name after the file or behaviour that is tested",
	},
}

// TestLanguage holds the house to one language: the standard words of the trade, comments in Go's forms, and lines that
// fit a screen. With -v it also shows the faults of packages that are notYetClean; a single package is looked at by
//
//	go test ./cmd/newsletterd -v -run TestLanguage/mail/smtp
func TestLanguage(t *testing.T) {
	packages := map[string][]sourceFile{}
	for _, f := range sourceFiles(t) {
		dir := filepath.ToSlash(filepath.Dir(f.path))
		packages[dir] = append(packages[dir], f)
	}
	for dir, files := range packages {
		t.Run(dir, func(t *testing.T) {
			faults := wideLines(files)
			for _, f := range files {
				faults = append(faults, faultsOfLanguage(dir, f)...)
			}
			report := t.Errorf
			if slices.ContainsFunc(notYetClean, func(root string) bool { return within(dir, []string{root}) }) {
				t.Logf("%d faults", len(faults))
				report = t.Logf
			}
			for _, fault := range faults {
				report("%s", fault)
			}
		})
	}
}

// wideLines returns the lines that are wider than maxColumns, or nothing where they are few enough. Lines of raw
// strings, as the help of commands, have the width that is shown.
func wideLines(files []sourceFile) (wide []string) {
	lines := 0
	for _, f := range files {
		raw := map[int]bool{} // lines with text of a raw string
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(l.Value, "`") {
				for at := f.set.Position(l.Pos()).Line; at <= f.set.Position(l.End()).Line; at++ {
					raw[at] = true
				}
			}
			return true
		})
		n := 0
		for line := range bytes.Lines(f.text) {
			n++
			if w := utf8.RuneCount(bytes.TrimSuffix(line, []byte{'\n'})); w > maxColumns && !raw[n] {
				wide = append(wide, fmt.Sprintf("%s:%d: has %d columns, more than %d", f.path, n, w, maxColumns))
			}
		}
		lines += n
	}
	if float64(len(wide)) <= maxWideLines*float64(lines) {
		return nil
	}
	return wide
}

// faultsOfLanguage returns what a file of a package says in other words or forms than the house does.
func faultsOfLanguage(dir string, f sourceFile) (faults []string) {
	check := func(rules []standardWord, line int, what, text string) {
		for _, r := range rules {
			for _, use := range r.uses(dir, text) {
				at := fmt.Sprintf("%s:%d", f.path, line+use.line)
				faults = append(faults, fmt.Sprintf("%s: %s says %q: say %s", at, what, use.word, r.say))
			}
		}
	}
	lineOf := func(pos token.Pos) int { return f.set.Position(pos).Line }
	check(inFileNames, 1, "the name of the file", strings.ReplaceAll(filepath.Base(f.path), "_", " "))
	for _, group := range f.tree.Comments {
		from, to := f.set.Position(group.Pos()).Offset, f.set.Position(group.End()).Offset
		text := commentMark.ReplaceAllString(string(f.text[from:to]), "$1 ")
		check(inComments, lineOf(group.Pos()), "the comment", text)
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		for _, id := range declared(n) {
			check(inNames, lineOf(id.Pos()), id.Name, strings.Join(wordsOf(id.Name), " "))
		}
		if fn, ok := n.(*ast.FuncDecl); ok && !f.test() && fn.Doc != nil {
			if form := formOfDoc(fn); form != "" {
				line := lineOf(fn.Doc.Pos())
				faults = append(faults, fmt.Sprintf("%s:%d: the comment of %s must %s", f.path, line, fn.Name, form))
			}
		}
		return true
	})
	return faults
}

var commentMark = regexp.MustCompile(`(^|\n)\s*//`)

// use is one use of a word, with the number of line ends before it.
type use struct {
	word string
	line int
}

// uses returns the uses of a word in a text of a package.
func (w standardWord) uses(dir, text string) (all []use) {
	if w.in != "" && !within(dir, []string{w.in}) {
		return nil
	}
	if w.unless != "" {
		text = wordPattern(w.unless).ReplaceAllStringFunc(text, func(allowed string) string {
			return strings.Repeat("\n", strings.Count(allowed, "\n"))
		})
	}
	for _, at := range wordPattern(w.not).FindAllStringIndex(text, -1) {
		word := strings.Join(strings.Fields(text[at[0]:at[1]]), " ")
		all = append(all, use{word, strings.Count(text[:at[0]], "\n")})
	}
	return all
}

// wordPattern returns the regular expression of whole words, in which a space matches line ends too.
var wordPattern = func() func(string) *regexp.Regexp {
	made := map[string]*regexp.Regexp{}
	return func(words string) *regexp.Regexp {
		if made[words] == nil {
			made[words] = regexp.MustCompile(`(?i)\b(` + strings.ReplaceAll(words, " ", `\s+`) + `)\b`)
		}
		return made[words]
	}
}()

// declared returns the names that a node declares.
func declared(n ast.Node) (names []*ast.Ident) {
	exprs := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok {
				names = append(names, id)
			}
		}
	}
	switch n := n.(type) {
	case *ast.FuncDecl:
		names = append(names, n.Name)
	case *ast.TypeSpec:
		names = append(names, n.Name)
	case *ast.ValueSpec:
		names = append(names, n.Names...)
	case *ast.Field:
		names = append(names, n.Names...)
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			exprs(n.Lhs...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			exprs(n.Key, n.Value)
		}
	}
	return names
}

// wordsOf splits an identifier where a capital follows a small letter: TestMailWay has Test, Mail and Way.
func wordsOf(name string) (words []string) {
	start, before := 0, rune('A')
	for i, r := range name {
		if r == '_' || unicode.IsUpper(r) && !unicode.IsUpper(before) {
			words = append(words, name[start:i])
			start = i
		}
		before = r
	}
	return append(words, name[start:])
}

// formOfDoc returns what is wrong with the form of a function's comment, or nothing.
func formOfDoc(fn *ast.FuncDecl) string {
	doc := strings.Join(strings.Fields(fn.Doc.Text()), " ")
	if first, _, _ := strings.Cut(doc, " "); ast.IsExported(fn.Name.Name) && first != fn.Name.Name {
		return fmt.Sprintf("start with %q", fn.Name.Name)
	}
	if r := fn.Type.Results; r == nil || len(r.List) != 1 || len(r.List[0].Names) > 1 {
		return ""
	} else if id, ok := r.List[0].Type.(*ast.Ident); !ok || id.Name != "bool" {
		return ""
	}
	if doc != "" && !strings.Contains(doc, "reports whether") && !strings.Contains(doc, "report whether") {
		return `say "reports whether", for it returns a bool alone`
	}
	return ""
}
