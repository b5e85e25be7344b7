package mail

import (
	"fmt"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/core/coretest"
)

func filled(piece string, n int) string { return strings.Repeat(piece, n/len(piece)) }

// numbered returns pieces with different numbers, up to a size.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := 0; ; i++ {
		s := fmt.Sprintf(format, i)
		if b.Len()+len(s) > n {
			return b.String()
		}
		b.WriteString(s)
	}
}

var hostileBodies = map[string]func(n int) string{
	"text":        func(n int) string { return filled("a ", n) },
	"links":       func(n int) string { return numbered(`<a href="https://a.example/%d">a</a>`, n) },
	"same links":  func(n int) string { return filled(`<a href="https://a.example/">a</a>`, n) },
	"bad links":   func(n int) string { return numbered(`<a href="htps:/a.example/%d">a</a>`, n) },
	"pictures":    func(n int) string { return numbered(`<img src="https://a.example/%d.png">`, n) },
	"local":       func(n int) string { return numbered(`<img src="%d.png">`, n) },
	"lt":          func(n int) string { return filled("<", n) },
	"tags":        func(n int) string { return filled("<a>", n) },
	"deep":        func(n int) string { return filled("<div>", n) },
	"tables":      func(n int) string { return filled("<table><tr><td>", n) },
	"attributes":  func(n int) string { return "<a " + numbered("a%d=b ", n-10) + ">" },
	"attributes2": func(n int) string { return "<a " + filled("a ", n-10) + ">" },
	"full tags": func(n int) string {
		return filled("<a "+numbered("a%03d=b ", 7*maxAttributes)+">", n)
	},
	"attribute":  func(n int) string { return `<a href="` + filled("a", n-20) + `">` },
	"open":       func(n int) string { return filled(`<a href="`, n) },
	"comments":   func(n int) string { return filled("<!--", n) },
	"comments2":  func(n int) string { return filled("<!---->", n) },
	"style":      func(n int) string { return "<style>" + filled("a{b:c}", n-20) + "</style>" },
	"styles":     func(n int) string { return filled("<style>a{b:c}</style>", n) },
	"inline":     func(n int) string { return filled(`<p style="a:b;c:d">`, n) },
	"script":     func(n int) string { return filled("<script>", n) },
	"script2":    func(n int) string { return filled("<script></script", n) },
	"title":      func(n int) string { return filled("<title>", n) },
	"textarea":   func(n int) string { return filled("<textarea></", n) },
	"cdata":      func(n int) string { return filled("<![CDATA[", n) },
	"entities":   func(n int) string { return filled("&amp;", n) },
	"ampersands": func(n int) string { return filled("&", n) },
	"entity":     func(n int) string { return filled("&notit", n) },
	"quotes":     func(n int) string { return filled(`"'`, n) },
	"open holes": func(n int) string { return filled("{{", n) },
	"raw":        func(n int) string { return filled("{% raw %}", n) },
	"comment":    func(n int) string { return filled("{% comment %}", n) },
	"comment2":   func(n int) string { return "{% comment %}" + filled("{% ", n-20) },
	"holes":      func(n int) string { return filled("{{ email }}"+strings.Repeat("x", 100), n) },
	"preferences": func(n int) string {
		return filled(`{{ preferences.a.b.c.d }}`+strings.Repeat("x", 1024), n)
	},
	"fields": func(n int) string { return numbered("{{ preferences.a%d }}"+strings.Repeat("x", 90), n) },
	"asked": func(n int) string {
		return "{% if email %}" + numbered("{% elsif preferences.a%d and preferences.b == preferences.c %}{{ preferences.a }}"+
			strings.Repeat("x", 300), n-30) + "{% endif %}"
	},
	"filters": func(n int) string {
		return filled("{{ email"+strings.Repeat(" | append: email", 110)+"}}"+strings.Repeat("x", 8000), n)
	},
	"replace": func(n int) string {
		return filled("{{ email"+strings.Repeat(` | replace: "a", "aaaaaaaaaaaaaa"`, 50)+"}}"+strings.Repeat("x", 100), n)
	},
	"conditions": func(n int) string {
		return filled("{% if email"+strings.Repeat(` == "a" or email`, 110)+" %}a{% endif %}"+strings.Repeat("x", 8000), n)
	},
	"elsif": func(n int) string {
		return "{% if email %}" + filled("{% elsif email %}"+strings.Repeat("x", 150), n-40) + "{% endif %}"
	},
	"nul":     func(n int) string { return filled("\x00", n) },
	"faulty":  func(n int) string { return filled("\xff", n) },
	"urls":    func(n int) string { return numbered("https://a.example/%d ", n) },
	"url":     func(n int) string { return filled("http://", n) },
	"scripts": func(n int) string { return numbered(`<a href="https://аb.example/%d">a</a>`, n) },
	"words":   func(n int) string { return filled(`<a href="https://a.example/">https://b.example/</a>`, n) },
	"lines":   func(n int) string { return filled("\n", n) },
	"fold":    func(n int) string { return filled("é", n) },
	"base":    func(n int) string { return filled("\u2028", n) },
	"srcset":  func(n int) string { return filled(`<img srcset="a 1x, b 2x">`, n) },
	"data":    func(n int) string { return `<img src="data:image/png;base64,` + filled("AAAA", n-50) + `">` },
	"br":      func(n int) string { return filled("<br>", n) },
	"li":      func(n int) string { return filled("<ul><li>", n) },
	"quote":   func(n int) string { return filled("<blockquote>a", n) },
	"names":   func(n int) string { return numbered(`<a name="x%d" href="#x">`, n) },
}

// TestTheEndOfACommentIsNear checks that the end tag of a comment can't be longer than any other tag. Searching further
// would take quadratic time.
func TestTheEndOfACommentIsNear(t *testing.T) {
	for blanks, ok := range map[int]bool{maxExpression / 2: true, maxExpression: false} {
		_, err := Compile(PartText, "body_text", "{% comment %}a{% endcomment"+strings.Repeat(" ", blanks)+"%}")
		if (err == nil) != ok {
			t.Errorf("%d blanks: %v", blanks, err)
		}
	}
}

// TestAttributesOfATagAreCounted checks that the number of attributes of a tag is limited. HTML parsers keep all names
// of a tag in a table, and its cost grows with its size.
func TestAttributesOfATagAreCounted(t *testing.T) {
	tag := func(n int) string { return "<a" + strings.Repeat(" a=b", n) }
	for name, c := range map[string]struct {
		html string
		ok   bool
	}{
		"as many as may be":      {tag(maxAttributes) + ">", true},
		"one more":               {"x\n" + tag(maxAttributes+1) + ">", false},
		"in two tags":            {strings.Repeat(tag(maxAttributes)+">", 2), true},
		"after an end tag":       {tag(maxAttributes) + "></" + tag(1)[1:] + ">", true},
		"without an end":         {tag(maxAttributes + 1), false},
		"around a placeholder":   {tag(maxAttributes/2) + ` c="{{ email }}"` + tag(maxAttributes / 2)[2:] + ">", false},
		"in a value":             {`<a title="` + strings.Repeat(" a=b", maxAttributes+1) + `">`, true},
		"in a comment":           {"<!--" + strings.Repeat(" a=b", maxAttributes+1) + "-->", true},
		"in a style":             {"<style>" + tag(maxAttributes+1) + "</style>", true},
		"in a text":              {strings.Repeat(" a=b", maxAttributes+1), true},
		"with slashes between":   {"<a" + strings.Repeat("/a", maxAttributes+1) + ">", false},
		"without values":         {"<a" + strings.Repeat("\na", maxAttributes+1) + ">", false},
		"in one of two branches": {"{% if email %}" + tag(maxAttributes+1) + ">{% endif %}", false},
	} {
		_, err := CompileBulk(&BulkSpec{JobID: "j", From: Address{Email: "a@b.example"}, Subject: "a", HTML: c.html})
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "attributes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlacesAreLookedForAFewTimes checks that positions are searched only for reported findings.
func TestPlacesAreLookedForAFewTimes(t *testing.T) {
	spec := BulkSpec{
		JobID: "j", From: Address{Email: "a@b.example"}, Subject: "a", HTML: numbered(`<a href="htps:/a.example/%d">a</a>`, 200_000),
	}
	b, err := CompileBulk(&spec)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	found, _, err := b.Inspect(&Inspection{
		Recipient: &Recipient{Email: "a@b.example"}, Written: true,
		Place: func(string) (p core.FindingPlace) { asked++; return p },
	})
	if err != nil || len(found) == 0 || asked > maxPlaces {
		t.Errorf("%d places for %d findings: %v", asked, len(found), err)
	}
}

func TestWorkOfBodies(t *testing.T) {
	for name, make := range hostileBodies {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "body of a mail: "+name, func(part float64) (string, int) {
				s := make(int(maxTemplate * part))
				return s, len(s)
			}, func(s string) {
				spec := BulkSpec{
					JobID: "j", From: Address{Email: "a@b.example"}, Subject: "a", HTML: s, Text: s,
					Track: Tracking{Click: true, Open: true, Origin: "https://t.example"},
				}
				b, err := CompileBulk(&spec)
				if err != nil {
					spec.Text = "" // it may be invalid in only one of the two parts
					b, err = CompileBulk(&spec)
				}
				if err == nil {
					_, _, _ = b.Inspect(&Inspection{
						Recipient: &Recipient{Email: "a@b.example", Preferences: `{"a":1}`},
						Place:     func(string) (p core.FindingPlace) { return p },
					})
					_, _ = b.UsedFields()
				}
				if err == nil {
					HTMLToText(s)
					Beginning(s, s)
				}
			})
		})
	}
}
