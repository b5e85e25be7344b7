package console

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail/markup"
)

// TestSampleTextIsFound checks that the sample texts of each design are recognized, and an author's own texts are not.
func TestSampleTextIsFound(t *testing.T) {
	for _, lang := range core.Languages[:2] {
		for _, name := range []string{"letter", "story", "digest", "columns", "event", "offer"} {
			text, err := designFiles.ReadFile("designs/" + lang + "/" + name + ".md")
			if err != nil {
				t.Fatal(err)
			}
			if sampleIn(core.CampaignContent{Source: string(text)}) == "" {
				t.Errorf("no sample text in the design %s/%s", lang, name)
			}
		}
	}
	for line, want := range map[string]string{
		"# Our news\n\nA few lines about it.\n":              "A few lines about it.",
		"**When:** Saturday, 12 December, 10:00":             "When: Saturday, 12 December, 10:00",
		"# Several topics\n\n[See the offer](){.button}\n":   "",
		"Dear {{ preferences.first_name }}, here is ours.\n": "",
		"Warm regards\n": "",
	} {
		if got := sampleIn(core.CampaignContent{Source: line}); got != want {
			t.Errorf("sampleIn(%q) = %q, want %q", line, got, want)
		}
	}
	for _, line := range samples() {
		if strings.HasPrefix(line, "#") {
			t.Errorf("the heading %q counts as sample text", line)
		}
	}
}

// TestPicturesShowTheirDesigns checks that the picture of each design has the blocks of its email, in the same order.
func TestPicturesShowTheirDesigns(t *testing.T) {
	block := regexp.MustCompile(`<(h1|h2|h3|hr|p|div|button)[ >]`)
	kinds := map[string]string{
		"h1": shapeTitle, "h2": shapeHeading, "h3": shapeHeading, "hr": shapeDivider, "p": shapeLine, "div": shapeNote,
		"button": shapeButton,
	}
	button := regexp.MustCompile(`<p><strong>[^<]*</strong></p>`) // without a URL
	for _, lang := range []string{"en", "de"} {
		p := &Page{Lang: lang}
		for _, design := range p.designs() {
			text, _ := p.designText(design.Value)
			article, err := markup.Article(markup.KindMarkdown, text, nil)
			if err != nil {
				t.Fatal(err)
			}
			email, err := markup.Compile(markup.KindMarkdown, text, markup.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			article = button.ReplaceAllString(article, "<button>")
			for _, tag := range block.FindAllStringSubmatch(article, -1) {
				want = append(want, kinds[tag[1]])
			}
			columns := 0
			var got []string
			var read func([]shape)
			read = func(shapes []shape) {
				for _, s := range shapes {
					switch s.Kind {
					case shapeColumn:
						columns++
					case shapeColumns:
					case shapeLines:
						got = append(got, shapeLine)
					default:
						got = append(got, s.Kind)
					}
					read(s.Parts)
				}
			}
			read(design.Shapes)
			if !slices.Equal(got, want) {
				t.Errorf("%s/%s: the picture shows %v, not %v", lang, design.Value, got, want)
			}
			if n := strings.Count(email.HTML, `<div class="col"`); n != columns {
				t.Errorf("%s/%s: the picture has %d columns, the email %d", lang, design.Value, columns, n)
			}
		}
	}
}
