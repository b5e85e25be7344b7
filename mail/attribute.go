package mail

import (
	"strings"

	"golang.org/x/net/html"
)

// AttributeText returns what the value of an HTML attribute means: its character references are decoded as the HTML
// standard says for attributes (13.2.5.73, named character reference state). Without a semicolon, a name before "=" or
// a letter or digit is literal text: "?a=1&region=2" has no "®" in it. value is what stands between the quotes.
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
