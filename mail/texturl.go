package mail

import (
	"regexp"
	"strings"
)

// textAddress is where in an address of the web a piece of a text part stands, if in one.
type textAddress struct {
	inside bool   // past the host
	open   int    // brackets, inside
	word   string // what stands since the last blank, while it may yet become an address
}

// addressHost is the beginning of an address, as far as it leads to a place within a host.
var addressHost = regexp.MustCompile(`https?://[^/?#]+[/?#]`)

// maxHost bounds what is kept of a word: no host is longer.
const maxHost = 300

// advance returns where the text after a piece of the template stands. An address ends with a blank, or with a bracket
// that closes none of its own.
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

// join returns where the text after a block stands: in an address if both branches end in one.
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
