package mail

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/idna"

	"newsletterd/core"
)

// links checks the URLs of links in an HTML part, except those with placeholders.
func (i *inspector) links(tokens []token) {
	f := linkFinder{all: true}
	for n := range tokens {
		f.token(n, &tokens[n])
	}
	for _, p := range f.found {
		i.link(strings.TrimSpace(AttributeText(tokens[p.token].body[p.from:p.to])))
	}
}

// textURL matches a URL in text.
var textURL = regexp.MustCompile(`https?://[^\s<>"'()\[\]]+`)

// textLinks checks the URLs in a text part. It skips URLs that continue with a placeholder.
func (i *inspector) textLinks(tokens []token) {
	for n, t := range tokens {
		if t.kind != tokenText {
			continue
		}
		for _, at := range textURL.FindAllStringIndex(t.body, -1) {
			if at[1] == len(t.body) && n+1 < len(tokens) {
				continue
			}
			i.link(strings.TrimRight(t.body[at[0]:at[1]], ".,;:!?"))
		}
	}
}

// link checks one URL.
func (i *inspector) link(address string) {
	u, err := url.Parse(address)
	switch {
	case address == "":
		i.malformed(address, "A link has no URL.")
	case strings.HasPrefix(address, "#"):
		i.malformed(address, "The link %s points inside the email. Many email programs don't support that.",
			clip(address))
	case err != nil:
		i.malformed(address, "The URL %s is malformed.", clip(address))
	case u.Scheme == "":
		i.malformed(address, "The URL %s is incomplete.", clip(address))
	case u.Scheme == "mailto" || u.Scheme == "tel" || u.Scheme == "sms":
	case u.Scheme != "http" && u.Scheme != "https":
		i.malformed(address, "Email programs don't open URLs that start with %s:", clip(u.Scheme))
	case u.Hostname() == "" || strings.ContainsAny(address, " \t\r\n"):
		i.malformed(address, "The URL %s is malformed.", clip(address))
	default:
		i.address(address, u)
	}
}

// malformed adds a finding about an unusable URL, except in Markdown and blocks, for which the compiler has already
// reported it.
func (i *inspector) malformed(address, format string, args ...any) {
	if i.in.Written {
		i.at(address, "link_malformed", "Write the full URL, starting with https://.", format, args...)
	}
}

// address records a usable URL.
func (i *inspector) address(address string, u *url.URL) {
	if mixed := mixedScripts(u); mixed != "" {
		i.at(address, "link_mixed_scripts", "Type the URL, or copy it from the page.", "%s", mixed)
	}
	if !i.seen[address] {
		i.seen[address] = true
		i.addresses = append(i.addresses, address)
	}
}

// MixedScripts returns a warning if the host of a URL may imitate another host by mixing letters of different scripts.
// Otherwise it returns an empty string.
func MixedScripts(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return mixedScripts(u)
}

func mixedScripts(u *url.URL) string {
	label := mixedLabel(u.Hostname())
	if label == "" {
		return ""
	}
	return strconv.Quote(label) +
		" in a link mixes look-alike letters from several scripts, as in phishing links."
}

// mixedLabel returns the first label of a host that mixes Latin letters with Cyrillic or Greek ones, or an empty
// string.
func mixedLabel(host string) string {
	if shown, err := idna.ToUnicode(host); err == nil {
		host = shown
	}
	for label := range strings.SplitSeq(host, ".") {
		in := func(table *unicode.RangeTable) bool {
			return strings.ContainsFunc(label, func(r rune) bool { return unicode.Is(table, r) })
		}
		if in(unicode.Latin) && (in(unicode.Cyrillic) || in(unicode.Greek)) {
			return label
		}
	}
	return ""
}

// pictures checks the images of a rendered HTML part.
func (i *inspector) pictures(page string) {
	column := i.in.Column
	var images []html.Token
	z := html.NewTokenizer(strings.NewReader(page))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		switch t := z.Token(); t.DataAtom {
		case atom.Img:
			images = append(images, t)
		case atom.Table:
			if i.in.Column == 0 {
				column = max(column, widthOf(&t))
			}
		}
	}
	if column == 0 || column > 2*usualColumn {
		column = usualColumn
	}
	for n := range images {
		i.picture(&images[n], column)
	}
}

// LocalPicture returns a warning if the URL of an image names a file on the author's computer, for example after
// pasting from Word. name is the image's alt text or file name. For any other image, both results are empty.
func LocalPicture(src, alt string) (name, warning string) {
	src = strings.TrimSpace(src)
	if len(src) < 5 || !strings.EqualFold(src[:5], "file:") {
		return "", ""
	}
	name = clip(squeeze(alt))
	if name == "" {
		name = clip(src[strings.LastIndexAny(src, `/\:`)+1:])
	}
	if name == "" {
		return "", "An image is only on your computer. Upload it."
	}
	return name, "The image “" + name + "” is only on your computer. Upload it."
}

// LocalPictureCode and LocalPictureHint are the code and hint for a finding about an image on the author's computer.
const (
	LocalPictureCode = "image_local"
	LocalPictureHint = "Upload it, or remove it."
)

func (i *inspector) picture(t *html.Token, column int) {
	src := strings.TrimSpace(attribute(t, "src"))
	if name, stayed := LocalPicture(src, attribute(t, "alt")); stayed != "" {
		i.add(core.CampaignFinding{
			Severity: core.SeverityError, Code: LocalPictureCode, Message: stayed, Where: i.in.Place(src),
			Hint: LocalPictureHint, Name: name,
		})
		return
	}
	if !slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "alt" }) {
		i.at(src, "image_without_alt", `Describe what it shows: alt="…", or alt="" for a decorative image.`,
			"The image %s has no alt text.", clip(src))
	}
	if w := widthOf(t); w > column {
		i.at(src, "image_too_wide", "Use an image that is no wider than the column.",
			"The image %s is %d pixels wide, but the column only %d.", clip(src), w, column)
	}
	u, err := url.Parse(src)
	switch {
	case strings.HasPrefix(strings.ToLower(src), embedded):
		i.at(embedded, "image_embedded", "Upload the image and link to it.",
			"An image is embedded in the email (data:). Gmail and Outlook remove it.")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		i.malformed(src, "The image URL %s is incomplete.", clip(src))
	default:
		i.address(src, u)
	}
}

var pixels = regexp.MustCompile(`(?i)(?:^|;)\s*(max-)?width\s*:\s*(\d{1,5})px`)

// widthOf returns an element's width in pixels from its attribute or style, or 0 if it has none.
func widthOf(t *html.Token) int {
	if n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(attribute(t, "width")), "px")); err == nil {
		return n
	}
	least := 0
	for _, m := range pixels.FindAllStringSubmatch(attribute(t, "style"), -1) {
		if n, _ := strconv.Atoi(m[2]); least == 0 || n < least {
			least = n
		}
	}
	return least
}

// wordsOf returns the set of words in a text, without URLs. In scripts without spaces, each character is a word.
func wordsOf(text string) map[string]bool {
	found := map[string]bool{}
	text = textURL.ReplaceAllString(strings.ToLower(text), " ")
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !strings.ContainsFunc(word, withoutBlanks) {
			found[word] = true
			continue
		}
		for _, r := range word {
			found[string(r)] = true
		}
	}
	return found
}

func withoutBlanks(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// shareOf returns the share of words, from 0 to 1, that also occur in others.
func shareOf(words, others map[string]bool) float64 {
	if len(words) == 0 {
		return 1
	}
	n := 0
	for w := range words {
		if others[w] {
			n++
		}
	}
	return float64(n) / float64(len(words))
}
