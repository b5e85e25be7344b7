package exports

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
)

// editorMode matches the comment that Buttondown puts at the start of an email.
var editorMode = regexp.MustCompile(`^\s*<!--\s*buttondown-editor-mode:\s*(\w+)\s*-->`)

// isMatter reports whether a Markdown file that starts with head describes a post as Buttondown does.
func isMatter(head string) bool {
	values, _, _ := matterOf(head)
	return values["subject"] != "" && (values["slug"] != "" || values["publishdate"] != "" || values["emailtype"] != "")
}

// matterOf returns the front matter values of a Buttondown email by their folded keys, and the email itself. The values
// are between lines of ---. It reads the YAML that Buttondown writes: plain and quoted values, and folded ones that
// continue on indented lines. Other values are ignored.
func matterOf(text string) (values map[string]string, body string, markdown bool) {
	body = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	values = map[string]string{}
	if rest, ok := strings.CutPrefix(body, "---\n"); ok {
		if head, after, ok := strings.Cut("\n"+rest, "\n---\n"); ok {
			readMatter(values, head)
			body = after
		}
	}
	mode := editorMode.FindStringSubmatch(body)
	if mode != nil {
		body = body[len(mode[0]):]
	}
	return values, body, mode == nil || mode[1] != "fancy"
}

// maxMatter is the maximum size of a value in front matter, in bytes. The rest of a value is ignored.
const maxMatter = 1000

func readMatter(values map[string]string, head string) {
	var key string // key of the folded value that is being read
	var value []byte
	keep := func(key, value string) { values[key] = strings.Clone(value[:min(len(value), maxMatter)]) }
	for line := range strings.SplitSeq(head+"\nend", "\n") {
		if strings.HasPrefix(line, " ") {
			if part := strings.TrimSpace(line); key != "" && part != "" && len(value) < maxMatter {
				if len(value) > 0 {
					value = append(value, ' ')
				}
				value = append(value, part[:min(len(part), maxMatter)]...)
			}
			continue
		}
		if key != "" {
			keep(key, string(value))
		}
		name, plain, ok := strings.Cut(line, ":")
		if key = ""; !ok {
			continue
		}
		if plain = strings.TrimSpace(plain); slices.Contains([]string{">", ">-", "|", "|-"}, plain) {
			key, value = fold(name), value[:0]
			continue
		}
		keep(fold(name), unquoted(plain))
	}
}

func unquoted(s string) string {
	if t, ok := strings.CutPrefix(s, "'"); ok {
		return strings.ReplaceAll(strings.TrimSuffix(t, "'"), "''", "'")
	}
	if t, err := strconv.Unquote(s); err == nil {
		return t
	}
	return s
}

// matterPosts reads posts that are Markdown files with front matter.
func (e *Export) matterPosts(r *postReader) error {
	for _, file := range e.matters {
		text, err := r.text(file)
		if err != nil {
			return err
		}
		v, body, markdown := matterOf(text)
		name := path.Base(file.Name)
		p := Post{HTML: body, Markdown: markdown, ImportedPost: core.ImportedPost{
			Title: v["subject"], Summary: v["description"], PostedAt: timeOf(v["publishdate"]), Kind: "email",
			Slug: core.Slug(cmp.Or(v["slug"], strings.TrimSuffix(name, path.Ext(name)))),
		}}
		p.Draft = p.PostedAt == 0
		p.restrict(v)
		if err := r.each(p); err != nil {
			return err
		}
	}
	return nil
}

// restrict makes a post a draft or a paid post if its front matter requires that. It never makes a post public.
func (p *Post) restrict(matter map[string]string) {
	status := fold(matter["status"])
	p.Draft = p.Draft || status != "" && !slices.Contains(publicStates, status)
	p.Paid = p.Paid || !forEveryone(matter["emailtype"])
}
