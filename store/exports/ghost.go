package exports

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"

	"newsletterd/core"
)

// isGhost reports whether a file that starts with head is a Ghost content export.
func isGhost(head []byte) bool {
	head = bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head[:min(len(head), 200)], []byte(`"db"`))
}

// ghostPost holds the columns that ghostPosts reads from a row of the table posts.
type ghostPost struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Slug        string `json:"slug"`
	HTML        string `json:"html"`
	Status      string `json:"status"`
	Visibility  string `json:"visibility"`
	Type        string `json:"type"`
	PublishedAt string `json:"published_at"`
	CreatedAt   string `json:"created_at"`
	Excerpt     string `json:"custom_excerpt"`
	Feature     string `json:"feature_image"`
}

// page returns the content that Ghost shows to everyone, with the feature image above it. alt is the description of the
// image.
func (p *ghostPost) page(alt string) string {
	page := gated.ReplaceAllStringFunc(p.HTML, forVisitors)
	if p.Feature != "" && strings.TrimSpace(page) != "" {
		page = `<figure><img src="` + html.EscapeString(p.Feature) + `" alt="` + html.EscapeString(alt) +
			`"></figure>` + page
	}
	return siteRelative.Replace(page)
}

// Limits on the data that is kept in memory while the posts of a Ghost export are read. Data beyond a limit is ignored,
// but deeper nesting is an error.
const (
	maxGhostUsers   = 10_000
	maxGhostAuthors = 50_000 // number of posts whose author and image description are kept
	maxGhostID      = 100    // bytes of an id
	maxGhostDepth   = 100
)

// siteRelative makes addresses relative. In an export, __GHOST_URL__ replaces the site's own address, which the export
// doesn't contain.
var siteRelative = strings.NewReplacer("__GHOST_URL__/", "/", "__GHOST_URL__", "/")

// gated matches a part of a post with its own audience. Its first group holds the audience, the second one the part.
var gated = regexp.MustCompile(`(?s)<!--\s*kg-gated-block:begin\s([^\n]*?)-->(.*?)<!--\s*kg-gated-block:end\s*-->`)

// forVisitors returns a block that gated matches without its markers, or an empty string if only members can see it.
func forVisitors(block string) string {
	m := gated.FindStringSubmatch(block)
	if slices.Contains(strings.Fields(m[1]), "nonMember:true") {
		return m[2]
	}
	return ""
}

// ghostPosts reads the posts of a content export. It reads the file twice and holds one post at a time, because the
// file may name the authors after the posts.
func ghostPosts(open opener, each func(Post) error) error {
	users, authors, alts := map[string]string{}, map[string]string{}, map[string]string{}
	err := ghostRows(open, map[string]func(*rowDecoder) error{
		"users": func(d *rowDecoder) error {
			var u struct{ ID, Name string }
			err := d.Decode(&u)
			if len(users) < maxGhostUsers && len(u.ID) <= maxGhostID {
				users[u.ID] = strings.Clone(oneLine(u.Name, 200))
			}
			return err
		},
		"posts_authors": func(d *rowDecoder) error {
			var a struct {
				Post   string `json:"post_id"`
				Author string `json:"author_id"`
			}
			err := d.Decode(&a)
			if len(authors) < maxGhostAuthors && len(a.Post)+len(a.Author) <= 2*maxGhostID && authors[a.Post] == "" {
				authors[a.Post] = a.Author
			}
			return err
		},
		"posts_meta": func(d *rowDecoder) error {
			var m struct {
				Post string `json:"post_id"`
				Alt  string `json:"feature_image_alt"`
			}
			err := d.Decode(&m)
			if m.Alt != "" && len(alts) < maxGhostAuthors && len(m.Post) <= maxGhostID {
				alts[m.Post] = oneLine(m.Alt, 200)
			}
			return err
		},
	})
	if err != nil {
		return err
	}
	return ghostRows(open, map[string]func(*rowDecoder) error{"posts": func(d *rowDecoder) error {
		var p ghostPost
		if err := d.Decode(&p); err != nil {
			return err
		}
		at := timeOf(p.PublishedAt)
		if at == 0 {
			at = timeOf(p.CreatedAt)
		}
		return each(Post{HTML: p.page(alts[p.ID]), ImportedPost: core.ImportedPost{
			Title: p.Title, Summary: p.Excerpt, Slug: core.Slug(p.Slug), Author: users[authors[p.ID]], Kind: p.Type,
			PostedAt: at, Draft: !slices.Contains([]string{"published", "sent"}, p.Status),
			Paid: p.Visibility != "" && p.Visibility != "public",
		}})
	}})
}

// rowDecoder is a JSON decoder that limits the memory for a token or value.
type rowDecoder struct {
	*json.Decoder
	in *allowance
}

func (d *rowDecoder) Token() (json.Token, error) {
	d.in.n = 0
	return d.Decoder.Token()
}

func (d *rowDecoder) Decode(v any) error {
	d.in.n = 0
	return d.Decoder.Decode(v)
}

var errNotGhost = errors.New("not the form of a Ghost export")

// ghostRows reads {"db": [{"data": {table: [row, …]}}]} and calls the function in tables for each row of a table.
func ghostRows(open opener, tables map[string]func(*rowDecoder) error) error {
	f, err := open()
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 3)
	n, err := io.ReadFull(f, head)
	if err != nil {
		return unreadable(err)
	}
	in := &allowance{Reader: io.MultiReader(bytes.NewReader(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf"))), f)}
	d := &rowDecoder{json.NewDecoder(in), in}
	err = ghostObject(d, func(key string) error {
		if key != "db" {
			return skipValue(d)
		}
		return ghostArray(d, func() error {
			return ghostObject(d, func(key string) error {
				if key != "data" {
					return skipValue(d)
				}
				return ghostObject(d, func(table string) error {
					row := tables[table]
					if row == nil {
						return skipValue(d)
					}
					return ghostArray(d, func() error { return row(d) })
				})
			})
		})
	})
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, errNotGhost) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) {
		return unreadable(err)
	}
	return err
}

// ghostObject calls field for each key of the next value, which must be an object. field must read the key's value.
func ghostObject(d *rowDecoder, field func(key string) error) error {
	return ghostNested(d, '{', func() error {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		return field(name)
	})
}

// ghostArray calls element for each element of the next value, which must be an array. element must read it.
func ghostArray(d *rowDecoder, element func() error) error { return ghostNested(d, '[', element) }

func ghostNested(d *rowDecoder, kind json.Delim, each func() error) error {
	begin, err := d.Token()
	if err != nil {
		return err
	}
	if begin != kind {
		return errNotGhost
	}
	for d.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// skipValue skips a value token by token, in bounded memory.
func skipValue(d *rowDecoder) error {
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		switch {
		case depth == 0:
			return nil
		case depth > maxGhostDepth:
			return errNotGhost
		}
	}
}
