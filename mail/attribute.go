package mail

import (
	"strings"

	"golang.org/x/net/html"
)

// AttributeText decodes the character references in an HTML attribute value, according to the attribute rules of the
// HTML standard (13.2.5.73, named character reference state). A name without a semicolon before "=", a letter or a
// digit is literal text: "?a=1&region=2" contains no "®". value is the text between the quotes.
func AttributeText(value string) string {
	if !strings.Contains(value, "&") {
		return value
	}
	z := html.NewTokenizer(strings.NewReader(`<a x="` + strings.ReplaceAll(value, `"`, "&#34;") + `">`))
	z.Next()
	z.TagName()
	_, text, _ := z.TagAttr()
	return string(text)
}
