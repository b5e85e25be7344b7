package markup

import "newsletterd/core"

const (
	fontSans  = "Helvetica Neue, Helvetica, Arial, sans-serif"
	fontUI    = "-apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
	fontSerif = "Georgia, Times New Roman, serif"
	fontOld   = "Palatino, Palatino Linotype, Book Antiqua, Georgia, serif"
	fontMono  = "Menlo, Consolas, Courier New, monospace"
)

// themes are the built-in themes, the default first. No color is pure black or white: email clients that invert colors
// for dark mode either don't change those or make them glaring.
var themes = [...]Theme{
	{
		Name: "letter", Body: fontUI, Heading: fontUI, Fallback: "Arial",
		Size: 17, Radius: 8, Width: 600, Padding: 24, Masthead: MastheadLeft, Weight: 700,
		Light: Palette(core.LetterLight), Dark: Palette(core.LetterDark),
	},
	{
		Name: "journal", Body: fontSerif, Heading: fontOld, Fallback: "Georgia",
		Size: 18, Radius: 0, Width: 620, Padding: 32, Masthead: MastheadCenter, Weight: 400,
		Light: Palette{
			Page: "#f4f0e8", Card: "#fbf8f1", Text: "#33302a", Title: "#1f1c17", Muted: "#6b655a", Link: "#8c2f1b",
			Accent: "#8c2f1b", On: "#fdf8f2", Tint: "#f2ecdf", Line: "#d9d0be",
		},
		Dark: Palette{
			Page: "#171512", Card: "#1e1b17", Text: "#ddd6c9", Title: "#f3ede1", Muted: "#b8af9f", Link: "#f0a28c",
			Accent: "#f0a28c", On: "#241410", Tint: "#29251f", Line: "#423c32",
		},
	},
	{
		Name: "studio", Body: fontSans, Heading: fontSans, Fallback: "Arial",
		Size: 16, Radius: 4, Width: 640, Padding: 40, Masthead: MastheadBar, Weight: 800,
		Light: Palette{
			Page: "#eceef1", Card: "#fcfcfd", Text: "#2b2e34", Title: "#121418", Muted: "#5f646d", Link: "#0b6e5f",
			Accent: "#0b6e5f", On: "#f4fffc", Tint: "#e9f4f1", Line: "#d8dce1",
		},
		Dark: Palette{
			Page: "#101214", Card: "#191c1f", Text: "#d7dade", Title: "#f0f2f4", Muted: "#9aa1aa", Link: "#9fe8da",
			Accent: "#9fe8da", On: "#06221d", Tint: "#1f2a2a", Line: "#353b41",
		},
	},
	{
		Name: "lantern", Body: "Verdana, Geneva, sans-serif", Heading: "Trebuchet MS, Verdana, sans-serif",
		Fallback: "Verdana",
		Size:     15, Radius: 16, Width: 600, Padding: 36, Masthead: MastheadLeft, Weight: 700,
		Light: Palette{
			Page: "#fbeee2", Card: "#fffdfb", Text: "#3b2f3a", Title: "#2a1c2b", Muted: "#75616f", Link: "#a3195b",
			Accent: "#a3195b", On: "#fff6fa", Tint: "#fcf1e6", Line: "#ecd9cc",
		},
		Dark: Palette{
			Page: "#1a1319", Card: "#231b22", Text: "#e3d8e0", Title: "#f7edf4", Muted: "#b3a0ae", Link: "#ff9cc8",
			Accent: "#ff9cc8", On: "#2e0b1c", Tint: "#2f242d", Line: "#493a45",
		},
	},
}
