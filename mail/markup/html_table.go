package markup

import (
	"strconv"
	"strings"
	"unicode"
)

// breakWords is a style that breaks long words and URLs, so that the email doesn't get wider than a phone's screen.
// Cells inherit it.
const breakWords = "word-break:break-word;overflow-wrap:break-word"

// keepWords is the style that reverts breakWords.
const keepWords = "word-break:normal;overflow-wrap:normal"

// Screen widths of phones in pixels: the smallest one, and the one that nearly all phones have at least.
const smallScreen, usualScreen = 320, 360

// tableLook describes how a table is fitted to a small screen.
type tableLook struct {
	size  int // text size in pixels
	space int // space between two columns
	// wide is set if the longest words of all columns don't fit side by side. Email clients that support rowStyles then
	// show each row as a paragraph. All others break words in some columns.
	wide         bool
	heads, cells []bool // columns whose words are broken
	font         string // font of the table's text
}

// lookOf determines how to fit a table to the smallest screen. It breaks the words of more and more columns until the
// table fits.
func (w *htmlWriter) lookOf(t *table) *tableLook {
	look := &tableLook{
		size: w.t.Size, space: 8, heads: make([]bool, len(t.head)), cells: make([]bool, len(t.head)),
	}
	heads, cells := make([]float64, len(t.head)), make([]float64, len(t.head))
	for i := range t.head {
		heads[i] = longestWord(t.head[i]) * bold
		for _, row := range t.rows {
			if i < len(row) {
				cells[i] = max(cells[i], longestWord(row[i]))
			}
		}
	}
	screen := smallScreen
	fits := func() bool {
		room := min(w.width, screen-2*w.t.Padding-w.inset) // the style blocks leave more room where they are supported
		sum := float64(look.space * len(cells))
		for i := range cells {
			sum += max(heads[i], cells[i]) * float64(look.size)
		}
		return sum <= float64(room)
	}
	if fits() {
		return look
	}
	look.size, look.space = 14, 6
	if look.wide = !fits(); look.wide {
		screen, look.space = usualScreen, 4
	}
	for !fits() {
		if i := longest(heads, cells); i < 0 {
			for i := range cells {
				look.heads[i], look.cells[i] = true, true
			}
			break
		} else if heads[i] > cells[i] {
			look.heads[i], heads[i] = true, broken
		} else {
			look.cells[i], cells[i] = true, broken
		}
	}
	return look
}

// longest returns the column with the longest word, or -1 if no word is longer than a number.
func longest(heads, cells []float64) (found int) {
	found, most := -1, 0.0
	for i := range cells {
		if need := max(heads[i], cells[i]); need > most && (need > number || heads[i] > max(cells[i], broken)) {
			found, most = i, need
		}
	}
	return found
}

// Letter widths relative to the text size. They are large enough for the widest font in any theme.
const (
	narrow, usual, wide, broad = 0.4, 0.66, 0.8, 1.1
	unknown                    = 100  // assumed width of a subscriber's value
	bold                       = 1.08 // factor for bold text
	broken                     = 2.4  // width of a column with broken words
	number                     = 4.5  // width up to which a column is not broken
)

// longestWord returns the width of a cell's longest word. Spaces and hyphens end a word.
func longestWord(spans []span) (longest float64) {
	word := 0.0
	for _, r := range plain(spans) {
		switch {
		case r == markOpen:
			word += unknown
		case r >= '\uFDD0' && r <= '\uFDEF':
		case r != '\u00a0' && r != '\u202f' && unicode.IsSpace(r):
			word = 0
			continue
		case strings.ContainsRune("iljftrI.,:;'|!()[]", r):
			word += narrow
		case strings.ContainsRune("mwMW@%&…—→←↑↓", r), r > '\u2e80':
			word += broad
		case unicode.IsUpper(r):
			word += wide
		case unicode.Is(unicode.Mn, r):
		default:
			word += usual
		}
		longest = max(longest, word)
		if r == '-' {
			word = 0
		}
	}
	return longest
}

func (w *htmlWriter) table(t *table) {
	look := w.lookOf(t)
	look.font = font(w.t.Body, look.size, lineHeight(look.size), w.c.Text)
	class := ""
	if look.wide {
		class = ` class="rows"`
	}
	w.printf(`<table%s width="100%%" cellpadding="0" cellspacing="0" border="0" style="%s;width:100%%"><tr>`, class, tableStyle)
	for i, c := range t.head {
		w.cell(t, look, "th", i, c)
	}
	w.WriteString("</tr>")
	for _, row := range t.rows {
		w.WriteString("<tr>")
		for i, c := range row {
			w.cell(t, look, "td", i, c)
		}
		w.WriteString("</tr>")
	}
	w.WriteString("</table>")
}

// cell writes a table cell. In a wide table, the cell also contains the name of its column, for email clients that show
// each row as a paragraph.
func (w *htmlWriter) cell(t *table, look *tableLook, tag string, col int, spans []span) {
	align, class, right := "left", "c-text l-line", look.space
	if col < len(t.align) && t.align[col] != "" {
		align = t.align[col]
	}
	if col == len(t.head)-1 {
		right = 0
	}
	style, breaks, label := "", look.cells, ""
	switch {
	case tag == "th":
		style, breaks = ";font-weight:700", look.heads
	case look.wide && col == 0:
		class += " key"
	case look.wide && strings.TrimSpace(plain(t.head[col])) != "":
		label = ` data-label="` + w.text(plain(t.head[col])) + `"`
	}
	if !breaks[col] {
		style += ";" + keepWords
	}
	w.write("<", tag, ` class="`, class, `" align="`, align, `" valign="top" style="padding:8px `, strconv.Itoa(right),
		"px 8px 0;text-align:", align, ";border-bottom:1px solid ", w.c.Line, ";", look.font, style, `"`, label, ">")
	w.spans(spans)
	w.write("</", tag, ">")
}

// rowStyles returns style blocks that turn each row of a wide table into a paragraph. They apply on small screens in
// Apple's and Samsung's email clients, which show text added by styles. The second condition prevents others from
// applying only some of the styles.
func (w *htmlWriter) rowStyles() string {
	const small = "<style>@media (max-width:599px) and (-webkit-min-device-pixel-ratio:0)"
	return small + `{.rows,.rows tbody,.rows tr{display:block !important;line-height:22px !important}` +
		`.rows th{display:none !important}` +
		`.rows td{display:inline-block !important;border:0 !important;padding:0 12px 0 0 !important;` +
		`text-align:left !important}` +
		`.rows td[data-label]:before{content:attr(data-label) " ";color:` + w.c.Muted + `}` +
		`.rows .key{display:block !important;font-weight:700 !important;padding:10px 0 0 0 !important}}</style>` + "\n" +
		small + ` and (prefers-color-scheme:dark){.rows td:before{color:` + w.t.Dark.Muted + ` !important}}</style>` + "\n"
}
