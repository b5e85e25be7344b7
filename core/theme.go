package core

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// BuiltInThemes lists the names of the themes that every tenant has. The first is the default.
var BuiltInThemes = []string{"letter", "journal", "studio", "lantern"}

// The shapes of an email's header.
const (
	MastheadBar    = "bar"    // name on the accent color
	MastheadCenter = "center" // name centered between two lines
	MastheadLeft   = "left"   // plain name on the left
)

// ThemeFonts lists font stacks whose fonts are installed on most computers.
var ThemeFonts = []string{
	"system", "helvetica", "verdana", "trebuchet", "tahoma", "georgia", "palatino", "times", "courier",
}

// Limits of a theme and of a tenant's themes.
const (
	MaxThemes     = 50   // per tenant
	MaxFooterText = 1000 // characters
	MaxSocial     = 10   // links
)

// ThemeColors holds a theme's colors for light or dark mode, each in the form #rrggbb.
type ThemeColors struct {
	Page   string `json:"page" about:"Background of the email"`
	Card   string `json:"card" about:"Background of the text"`
	Text   string `json:"text" about:"Color of paragraphs"`
	Title  string `json:"title" about:"Color of headings"`
	Muted  string `json:"muted" about:"Color of footer and captions"`
	Link   string `json:"link" about:"Color of links"`
	Accent string `json:"accent" about:"Color of buttons and bars"`
	On     string `json:"on" about:"Color of text on the accent color"`
	Tint   string `json:"tint" about:"Background of boxes and code"`
	Line   string `json:"line" about:"Color of dividers and tables"`
}

// Column returns the value to store in the database column.
func (c ThemeColors) Column() string { return jsonColumn(c, false, "") }

// Scan implements sql.Scanner.
func (c *ThemeColors) Scan(src any) error { return scanJSON(src, c) }

// SocialLink links to the sender's profile on another site.
type SocialLink struct {
	Name string `json:"name" like:"social_name" min:"1" max:"60" about:"Name of the site, such as Mastodon"`
	URL  string `json:"url" like:"social_url" min:"1" max:"2000" about:"URL of your profile"`
}

// SocialLinks lists the links in a theme's footer.
type SocialLinks []SocialLink

// Column returns the value to store in the database column.
func (l SocialLinks) Column() string { return jsonColumn([]SocialLink(l), len(l) == 0, "[]") }

// Scan implements sql.Scanner.
func (l *SocialLinks) Scan(src any) error { return scanJSON(src, (*[]SocialLink)(l)) }

// MarshalJSON returns a JSON array, even if l is nil.
func (l SocialLinks) MarshalJSON() ([]byte, error) { return []byte(l.Column()), nil }

// Theme is a tenant's own design for emails. It doesn't depend on the theme that it was created from.
type Theme struct {
	ID            string      `json:"id" db:"id"`
	TenantID      string      `json:"tenant_id" db:"tenant_id"`
	Name          string      `json:"name" db:"name"`
	Base          string      `json:"base" db:"base" enum:"letter|journal|studio|lantern"`
	Light         ThemeColors `json:"light" db:"light"`
	Dark          ThemeColors `json:"dark" db:"dark"`
	Font          string      `json:"font" db:"font"`
	HeadingFont   string      `json:"heading_font" db:"heading_font"`
	Size          int         `json:"size" db:"size" about:"Font size in pixels"`
	HeadingWeight int         `json:"heading_weight" db:"heading_weight"` // 400 to 800, in hundreds
	Width         int         `json:"width" db:"width" about:"Column width in pixels"`
	Padding       int         `json:"padding" db:"padding"`
	Radius        int         `json:"radius" db:"radius"`
	Masthead      string      `json:"masthead" db:"masthead" enum:"bar|center|left"`
	LogoURL       string      `json:"logo_url" db:"logo_url"`
	LogoWidth     int         `json:"logo_width" db:"logo_width"`
	FooterText    string      `json:"footer_text" db:"footer_text"`
	PostalAddress string      `json:"postal_address" db:"postal_address" about:"Postal address in the footer; empty: the tenant's"`
	Social        SocialLinks `json:"social" db:"social"`
	CreatedAt     Instant     `json:"created_at" db:"created_at"`
	UpdatedAt     Instant     `json:"updated_at" db:"updated_at"`
}

// ThemeColorsInput holds the colors that a caller sets. A nil color is left unchanged.
type ThemeColorsInput struct {
	Page   *string `json:"page" like:"color" about:"Background of the email"`
	Card   *string `json:"card" like:"color" about:"Background of the text"`
	Text   *string `json:"text" like:"color" about:"Color of paragraphs"`
	Title  *string `json:"title" like:"color" about:"Color of headings"`
	Muted  *string `json:"muted" like:"color" about:"Color of footer and captions"`
	Link   *string `json:"link" like:"color" about:"Color of links"`
	Accent *string `json:"accent" like:"color" about:"Color of buttons and bars"`
	On     *string `json:"on" like:"color" about:"Color of text on the accent color"`
	Tint   *string `json:"tint" like:"color" about:"Background of boxes and code"`
	Line   *string `json:"line" like:"color" about:"Color of dividers and tables"`
}

// ThemeInput holds the fields of a theme that a caller sets. A nil field is left unchanged.
type ThemeInput struct {
	Name          *string           `json:"name" like:"name" max:"200"`
	Base          *string           `json:"base" enum:"letter|journal|studio|lantern"`
	Light         *ThemeColorsInput `json:"light"`
	Dark          *ThemeColorsInput `json:"dark"`
	Font          *string           `json:"font" like:"font"`
	HeadingFont   *string           `json:"heading_font" like:"font"`
	Size          *int              `json:"size" min:"14" max:"20" about:"Font size in pixels"`
	HeadingWeight *int              `json:"heading_weight" like:"weight"`
	Width         *int              `json:"width" min:"480" max:"680" about:"Column width in pixels"`
	Padding       *int              `json:"padding" min:"0" max:"48"`
	Radius        *int              `json:"radius" min:"0" max:"24"`
	Masthead      *string           `json:"masthead" enum:"bar|center|left"`
	LogoURL       *string           `json:"logo_url" like:"picture_url" max:"2000"`
	LogoWidth     *int              `json:"logo_width" min:"24" max:"600"`
	FooterText    *string           `json:"footer_text" like:"footer" max:"1000"`
	PostalAddress *string           `json:"postal_address" like:"footer" max:"500" about:"Postal address in the footer; empty: the tenant's"`
	Social        *[]SocialLink     `json:"social" max:"10"`
}

// AdjustedColor is a theme color on which text is not readable, and the color that emails use instead.
type AdjustedColor struct {
	Palette string `json:"palette" enum:"light|dark" about:"Colors of light or of dark mode"`
	Color   string `json:"color" about:"Field of the palette, for example link"`
	Chosen  string `json:"chosen" about:"Color of the theme"`
	Used    string `json:"used" about:"Color in emails"`
}

// String returns a warning about the color.
func (c AdjustedColor) String() string {
	return c.Palette + "." + c.Color + ": " + c.Chosen + " isn't readable everywhere, so emails use " + c.Used + "."
}

// NewTheme returns a new theme for a tenant with the values of base, changed by in.
func NewTheme(tenantID string, base Theme, in ThemeInput, now Instant) (Theme, error) {
	t := base
	t.ID, t.TenantID, t.CreatedAt = NewID(), tenantID, now
	return t, t.Change(in, now)
}

// Change sets the theme's fields from in.
func (t *Theme) Change(in ThemeInput, now Instant) error {
	if in.Base != nil && *in.Base != t.Base {
		return Invalidf("base",
			"base can't be changed: this theme is based on %s. Create a new theme for another base.", t.Base)
	}
	for _, f := range []struct{ to, from *string }{
		{&t.Name, in.Name},
		{&t.Font, in.Font},
		{&t.HeadingFont, in.HeadingFont},
		{&t.Masthead, in.Masthead},
		{&t.LogoURL, in.LogoURL},
		{&t.FooterText, in.FooterText},
		{&t.PostalAddress, in.PostalAddress},
	} {
		take(f.to, f.from)
	}
	for _, f := range t.sizes(&in) {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if in.Social != nil {
		t.Social = slices.Clone(*in.Social)
	}
	t.UpdatedAt = now
	for _, side := range []struct {
		name string
		of   *ThemeColors
		in   *ThemeColorsInput
	}{{"light", &t.Light, in.Light}, {"dark", &t.Dark, in.Dark}} {
		if err := side.of.change(side.name, side.in); err != nil {
			return err
		}
	}
	return t.validate()
}

// themeSize is a numeric field of a theme with its limits.
type themeSize struct {
	name        string
	to, from    *int
	least, most int
}

func (t *Theme) sizes(in *ThemeInput) []themeSize {
	return []themeSize{
		{"size", &t.Size, in.Size, 14, 20},
		{"heading_weight", &t.HeadingWeight, in.HeadingWeight, 400, 800},
		{"width", &t.Width, in.Width, 480, 680},
		{"padding", &t.Padding, in.Padding, 0, 48},
		{"radius", &t.Radius, in.Radius, 0, 24},
		{"logo_width", &t.LogoWidth, in.LogoWidth, 24, 600},
	}
}

// change sets the colors from in.
func (c *ThemeColors) change(side string, in *ThemeColorsInput) error {
	if in == nil {
		return nil
	}
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(in).Elem()
	for i := range to.NumField() {
		given := from.FieldByName(to.Type().Field(i).Name).Interface().(*string)
		if given == nil {
			continue
		}
		color, ok := ParseColor(strings.ToLower(*given))
		if !ok {
			field := side + "." + to.Type().Field(i).Tag.Get("json")
			return Invalidf(field, "%s must be a hex color such as #1d6b52.", field)
		}
		to.Field(i).SetString(color.String())
	}
	return nil
}

func (t *Theme) validate() error {
	if err := checkName(&t.Name, "name"); err != nil {
		return err
	}
	if _, isID := ParseID(t.Name); isID || slices.Contains(BuiltInThemes, t.Name) {
		return Invalidf("name", "name is reserved. Choose a name that is neither a built-in theme (%s) nor a UUID.",
			strings.Join(BuiltInThemes, ", "))
	}
	for _, f := range []struct{ field, word string }{{"font", t.Font}, {"heading_font", t.HeadingFont}} {
		if !slices.Contains(ThemeFonts, f.word) {
			return Invalidf(f.field, "%s must be one of %s.", f.field, strings.Join(ThemeFonts, ", "))
		}
	}
	for _, f := range t.sizes(&ThemeInput{}) {
		if *f.to < f.least || *f.to > f.most {
			return Invalidf(f.name, "%s must be from %d to %d.", f.name, f.least, f.most)
		}
	}
	if t.HeadingWeight%100 != 0 {
		return Invalidf("heading_weight", "heading_weight must be 400, 500, 600, 700 or 800.")
	}
	if t.Masthead != MastheadBar && t.Masthead != MastheadCenter && t.Masthead != MastheadLeft {
		return Invalidf("masthead", "masthead must be bar, center or left.")
	}
	if t.LogoURL != "" && (!isSecureURL(t.LogoURL) || hasPlaceholder(t.LogoURL)) {
		return Invalidf("logo_url",
			"logo_url must be an absolute https URL without placeholders. http is only allowed for localhost.")
	}
	return t.validateFooter()
}

// validateFooter checks the footer's text and links, which must not contain placeholders.
func (t *Theme) validateFooter() error {
	for _, f := range []struct {
		text *string
		name string
		most int
	}{{&t.FooterText, "footer_text", MaxFooterText}, {&t.PostalAddress, "postal_address", 500}} {
		if err := checkText(f.text, f.name, f.most, true); err != nil {
			return err
		}
		if hasPlaceholder(*f.text) {
			return Invalidf(f.name, "%s contains placeholders. Remove {{ and {%%.", f.name)
		}
	}
	if len(t.Social) > MaxSocial {
		return Invalidf("social", "social must have at most %d links.", MaxSocial)
	}
	for i := range t.Social {
		field := "social[" + strconv.Itoa(i) + "]"
		l := &t.Social[i]
		if err := checkText(&l.Name, field+".name", 60, false); err != nil {
			return err
		}
		if l.Name == "" || hasPlaceholder(l.Name) {
			return Invalidf(field+".name", "%s.name is empty or contains placeholders. Enter a plain name.", field)
		}
		if !isWebURL(l.URL) || hasPlaceholder(l.URL) {
			return Invalidf(field+".url", "%s.url must be an absolute http or https URL.", field)
		}
	}
	return nil
}

func hasPlaceholder(s string) bool { return strings.Contains(s, "{{") || strings.Contains(s, "{%") }

// IsBuiltInTheme reports whether name is a built-in theme. An empty name means the default theme.
func IsBuiltInTheme(name string) bool { return name == "" || slices.Contains(BuiltInThemes, name) }

// NoTheme returns the error for a campaign with an unknown theme.
func NoTheme(name string) *Error {
	return Invalidf("theme", "Unknown theme %q. Use a built-in theme (%s) or one of the tenant's themes.",
		name, strings.Join(BuiltInThemes, ", "))
}

// ErrThemeInUse is returned if a theme can't be deleted because unsent campaigns use it.
var ErrThemeInUse = Conflictf("theme_in_use",
	"An unsent campaign uses this theme. Choose another theme for that campaign first.")
