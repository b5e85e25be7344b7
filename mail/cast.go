package mail

import (
	"crypto/rand"
	"maps"
	"strings"
	"sync/atomic"
)

// cast is a notice rendered but for the two things that differ from mail to mail: whom it goes to, and its link.
type cast struct{ subject, text, html mould }

// mould is a text with gaps: pieces[i] is followed by gaps[i].
type mould struct {
	pieces []string
	gaps   []gap
	size   int // of the pieces
}

type gap uint8

const (
	gapTo gap = iota
	gapURL
)

// Stand-ins that no tenant can have guessed, of characters that every template leaves as they are.
var (
	castTo  = strings.ToLower(rand.Text()) + "@example.invalid"
	castURL = "https://example.invalid/" + strings.ToLower(rand.Text())
)

// castKey is all that a cast depends on.
type castKey struct {
	notice Notice
	data   NoticeData // without To and URL
}

// maxCasts bounds the memory; a tenant's list needs a few.
const maxCasts = 512

var casts atomic.Pointer[map[castKey]*cast]

// fills tells whether the address and the link may be put into gaps: of their characters the templates change none, but for
// those in entities. The others (an address with an apostrophe) take the long way.
func (d *NoticeData) fills() bool {
	return d.To != "" && (strings.HasPrefix(d.URL, "https://") || strings.HasPrefix(d.URL, "http://")) && plainLink(d.To) && plainLink(d.URL)
}

func plainLink(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("-._~@/:?=+&", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// entities is what html/template writes, in text and in quoted attributes alike.
var entities = strings.NewReplacer("&", "&amp;", "+", "&#43;")

// cast renders a notice with stand-ins, once.
func (n Notice) cast(d NoticeData) (*cast, error) {
	d.To, d.URL = "", ""
	key := castKey{n, d}
	old := casts.Load()
	if old != nil {
		if c := (*old)[key]; c != nil {
			return c, nil
		}
	}
	d.To, d.URL = castTo, castURL
	subject, text, html, err := n.execute(d)
	if err != nil {
		return nil, err
	}
	c := &cast{newMould(subject), newMould(text), newMould(html)}
	all := map[castKey]*cast{}
	if old != nil && len(*old) < maxCasts {
		maps.Copy(all, *old)
	}
	all[key] = c
	casts.Store(&all) // one that another mail made meanwhile may be lost, and is made again
	return c, nil
}

func newMould(s string) (m mould) {
	for {
		to, url := strings.Index(s, castTo), strings.Index(s, castURL)
		switch {
		case to >= 0 && (url < 0 || to < url):
			m.pieces, m.gaps = append(m.pieces, s[:to]), append(m.gaps, gapTo)
			s = s[to+len(castTo):]
		case url >= 0:
			m.pieces, m.gaps = append(m.pieces, s[:url]), append(m.gaps, gapURL)
			s = s[url+len(castURL):]
		default:
			m.pieces = append(m.pieces, s)
			for _, p := range m.pieces {
				m.size += len(p)
			}
			return m
		}
	}
}

func (m *mould) fill(to, url string) string {
	if len(m.gaps) == 0 {
		return m.pieces[0]
	}
	var b strings.Builder
	b.Grow(m.size + len(m.gaps)*max(len(to), len(url)))
	for i, g := range m.gaps {
		b.WriteString(m.pieces[i])
		if g == gapTo {
			b.WriteString(to)
		} else {
			b.WriteString(url)
		}
	}
	b.WriteString(m.pieces[len(m.gaps)])
	return b.String()
}
