package sourcetest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxColumns   = 120
	maxWideLines = 0.005 // share of a package's lines that can be wider than maxColumns
)

// standardWord is a word that this repository must not use, with its replacement.
type standardWord struct {
	not    string // regular expression for whole words, case-insensitive
	say    string // replacement
	unless string // regular expression for allowed uses
	in     string // package that the rule applies to, including those below it; empty: all
}

// inComments are words and phrases that comments must not use.
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

// inNames are words that declared names must not contain. Names are split into words, separated by spaces.
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

// inFileNames are words that file names must not contain. A file is named after its contents or the code it tests.
var inFileNames = []standardWord{
	{
		not: `beside|letters|agreement|eight|gather|underway|apart`,
		say: "a name after the file or behaviour that is tested",
	},
}

// WideLines returns a package's lines that are wider than maxColumns, or nil if their share is at most maxWideLines. It
// skips raw strings, such as help texts, because users see their width.
func WideLines(files []File) (wide []string) {
	lines := 0
	for _, f := range files {
		raw := map[int]bool{} // lines inside a raw string
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(l.Value, "`") {
				for at := f.Line(l.Pos()); at <= f.Line(l.End()); at++ {
					raw[at] = true
				}
			}
			return true
		})
		n := 0
		for line := range bytes.Lines(f.Text) {
			n++
			if w := utf8.RuneCount(bytes.TrimSuffix(line, []byte{'\n'})); w > maxColumns && !raw[n] {
				wide = append(wide, fmt.Sprintf("%s:%d: has %d columns, more than %d", f.Path, n, w, maxColumns))
			}
		}
		lines += n
	}
	if float64(len(wide)) <= maxWideLines*float64(lines) {
		return nil
	}
	return wide
}

// Faults returns the places where the file uses words, or forms of comments, that this repository avoids.
func (f File) Faults() (faults []string) {
	check := func(rules []standardWord, line int, what, text string) {
		for _, r := range rules {
			for _, use := range r.uses(f.Dir, text) {
				at := fmt.Sprintf("%s:%d", f.Path, line+use.line)
				faults = append(faults, fmt.Sprintf("%s: %s says %q: say %s", at, what, use.word, r.say))
			}
		}
	}
	check(inFileNames, 1, "the name of the file", strings.ReplaceAll(path.Base(f.Path), "_", " "))
	for _, group := range f.Tree.Comments {
		from, to := f.Set.Position(group.Pos()).Offset, f.Set.Position(group.End()).Offset
		text := commentMark.ReplaceAllString(string(f.Text[from:to]), "$1 ")
		check(inComments, f.Line(group.Pos()), "the comment", text)
	}
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		for _, id := range declared(n) {
			check(inNames, f.Line(id.Pos()), id.Name, strings.Join(wordsOf(id.Name), " "))
		}
		if fn, ok := n.(*ast.FuncDecl); ok && !f.Test() && fn.Doc != nil {
			if form := formOfDoc(fn); form != "" {
				line := f.Line(fn.Doc.Pos())
				faults = append(faults, fmt.Sprintf("%s:%d: the comment of %s must %s", f.Path, line, fn.Name, form))
			}
		}
		if text, ok := n.(*ast.BasicLit); ok && !f.Test() && docFile.MatchString(text.Value) {
			faults = append(faults, fmt.Sprintf("%s:%d: the text names a file: name a page or a link", f.Path,
				f.Line(text.Pos())))
		}
		return true
	})
	return faults
}

// docFile matches the name of a documentation file, which users who have only the program don't have.
var docFile = regexp.MustCompile(`docs/[a-z-]+\.md`)

var commentMark = regexp.MustCompile(`(^|\n)\s*//`)

// use is one use of a word, with the number of line ends before it.
type use struct {
	word string
	line int
}

// uses returns the uses of a word in text from a package.
func (w standardWord) uses(dir, text string) (all []use) {
	if w.in != "" && !Within(dir, w.in) {
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

// wordPattern returns the regular expression for whole words. A space in it also matches line ends.
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

// wordsOf splits an identifier before each capital that follows a small letter: TestMailWay becomes Test, Mail and Way.
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

// formOfDoc describes what is wrong with the form of a function's comment, or returns an empty string if it is correct.
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
