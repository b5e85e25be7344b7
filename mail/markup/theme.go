package markup

import (
	"regexp"
	"strconv"
	"strings"

	"newsletterd/core"
)

// Palette holds a theme's colors for light or dark mode. All are in the form #rrggbb, because email clients drop other
// forms.
type Palette struct {
	Page   string // background around the email
	Card   string // background of the text
	Text   string // paragraphs
	Title  string // headings
	Muted  string // footer and captions
	Link   string // links
	Accent string // buttons and bars
	On     string // text on Accent
	Tint   string // background of callouts and code
	Line   string // dividers and tables
}

// The styles of the masthead at the top of an email.
const (
	MastheadBar    = core.MastheadBar
	MastheadCenter = core.MastheadCenter
	MastheadLeft   = core.MastheadLeft
)

// Theme is the design of an email. Its font stacks contain only preinstalled fonts, because email clients don't
// reliably load others.
type Theme struct {
	Name     string
	Light    Palette
	Dark     Palette
	Body     string // font stack of text
	Heading  string // font stack of headings
	Fallback string // single font that Outlook for Windows uses for both
	Size     int    // text size in pixels, 14 to 20
	Radius   int    // corner radius of buttons, callouts and the card in pixels, 0 to 24
	Width    int    // width of the column in pixels, 480 to 680
	Padding  int    // padding at the column's sides in pixels, 0 to 48
	Masthead string
	Weight   int // font weight of headings, 400 to 800
}

var stack = regexp.MustCompile(`^[A-Za-z0-9 ,'-]{1,200}$`)

// Check validates the theme. It returns an error of kind Invalid that names the first invalid value.
func (t *Theme) Check() error {
	for side, p := range map[string]*Palette{"light": &t.Light, "dark": &t.Dark} {
		for name, value := range p.named() {
			if c, ok := core.ParseColor(value); !ok || c.String() != value {
				return core.Invalidf("theme", "%s.%s must be a hex color such as #1d6b52.", side, name)
			}
		}
	}
	for name, s := range map[string]string{"body": t.Body, "heading": t.Heading, "fallback": t.Fallback} {
		if !stack.MatchString(s) {
			return core.Invalidf("theme", "%s must be font names, separated by commas.", name)
		}
	}
	for _, r := range []struct {
		name          string
		n, least, max int
	}{
		{"size", t.Size, 14, 20},
		{"radius", t.Radius, 0, 24},
		{"width", t.Width, 480, 680},
		{"padding", t.Padding, 0, 48},
		{"weight", t.Weight, 400, 800},
	} {
		if r.n < r.least || r.n > r.max {
			return core.Invalidf("theme", "%s must be from %d to %d.", r.name, r.least, r.max)
		}
	}
	switch t.Masthead {
	case MastheadBar, MastheadCenter, MastheadLeft:
		return nil
	}
	return core.Invalidf("theme", "masthead must be bar, center or left.")
}

func (p *Palette) named() map[string]string {
	return map[string]string{
		"page": p.Page, "card": p.Card, "text": p.Text, "title": p.Title, "muted": p.Muted, "link": p.Link,
		"accent": p.Accent, "on": p.On, "tint": p.Tint, "line": p.Line,
	}
}

// lineHeight returns the line height for a text size. It is a whole number of pixels, because Outlook would round it
// anyway.
func lineHeight(size int) int { return (size*16 + 5) / 10 }

func font(family string, size, height int, color string) string {
	return "font-family:" + family + ";font-size:" + strconv.Itoa(size) + "px;line-height:" + strconv.Itoa(height) +
		"px;mso-line-height-rule:exactly;color:" + color
}

// ThemeNames returns the names of the built-in themes, the default first.
func ThemeNames() []string {
	names := make([]string, len(themes))
	for i := range themes {
		names[i] = themes[i].Name
	}
	return names
}

// BuiltInTheme returns a built-in theme. An empty name means the first. For an unknown name it returns an error of
// kind Invalid that lists the names.
func BuiltInTheme(name string) (*Theme, error) {
	for i := range themes {
		if name == "" || themes[i].Name == name {
			t := themes[i]
			return &t, nil
		}
	}
	return nil, core.Invalidf("theme", "Unknown theme %q. Built-in themes: "+
		"%s.", name, strings.Join(ThemeNames(), ", "))
}
