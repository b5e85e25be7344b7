package mail

import (
	"regexp"
	"strings"
)

// textAddress is a position in a text part, relative to the URLs in it. The zero value is outside of any URL.
type textAddress struct {
	inside bool   // after the host
	open   int    // open brackets inside
	word   string // text since the last space, while it can still become a URL
}

// addressHost matches the start of a URL up to the path, query or fragment after its host.
var addressHost = regexp.MustCompile(`https?://[^/?#]+[/?#]`)

// maxHost is the maximum length of the stored part of a word. No host is longer.
const maxHost = 300

// advance returns the position after a piece of the template. A URL ends at a space, or at a closing bracket without an
// opening one in the URL.
func (a textAddress) advance(text string) textAddress {
	if i := strings.LastIndexAny(text, " \t\r\n<>\""); i >= 0 {
		a, text = textAddress{}, text[i+1:]
	}
	for text != "" {
		if !a.inside {
			a.word += text
			at := addressHost.FindStringIndex(a.word)
			if at == nil {
				a.word = a.word[max(0, len(a.word)-maxHost):]
				return a
			}
			a, text = textAddress{inside: true}, a.word[at[1]:]
		}
		i := strings.IndexAny(text, "()")
		if i < 0 {
			return a
		}
		if text[i] == '(' {
			a.open++
		} else if a.open--; a.open < 0 {
			a = textAddress{}
		}
		text = text[i+1:]
	}
	return a
}

// join returns the position after a block with two branches. It is in a URL only if both branches end in one.
func (a textAddress) join(b textAddress) textAddress {
	if a.inside && b.inside {
		a.open = min(a.open, b.open)
		return a
	}
	if a == b {
		return a
	}
	return textAddress{}
}
