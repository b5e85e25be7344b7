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

// editorMode matches the comment with which Buttondown begins an email.
var editorMode = regexp.MustCompile(`^\s*<!--\s*buttondown-editor-mode:\s*(\w+)\s*-->`)

// isMatter reports whether a Markdown file with this beginning describes a post as Buttondown does.
func isMatter(head string) bool {
	values, _, _ := matterOf(head)
	return values["subject"] != "" && (values["slug"] != "" || values["publishdate"] != "" || values["emailtype"] != "")
}

// matterOf returns the values at the beginning of an email of Buttondown by their folded keys, and the email itself.
// The values are between lines of ---. It reads the forms of YAML that Buttondown writes: plain and quoted values, and
// folded ones that continue on indented lines. Other values are ignored.
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

func readMatter(values map[string]string, head string) {
	key := ""
	for line := range strings.SplitSeq(head, "\n") {
		if strings.HasPrefix(line, " ") {
			if key != "" {
				values[key] = strings.TrimSpace(values[key] + " " + strings.TrimSpace(line))
			}
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if key = ""; !ok {
			continue
		}
		if value = strings.TrimSpace(value); slices.Contains([]string{">", ">-", "|", "|-"}, value) {
			key, value = fold(name), ""
		}
		values[fold(name)] = unquoted(value)
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
func (e *Export) matterPosts(each func(Post) error) error {
	for _, file := range e.matters {
		text, err := textOf(file)
		if err != nil {
			return err
		}
		v, body, markdown := matterOf(text)
		name := path.Base(file.Name)
		p := Post{HTML: body, Markdown: markdown, ImportedPost: core.ImportedPost{
			Title: v["subject"], Summary: v["description"], PostedAt: timeOf(v["publishdate"]), Kind: "email",
			Slug: core.Slug(cmp.Or(v["slug"], strings.TrimSuffix(name, path.Ext(name)))),
			Paid: !forEveryone(v["emailtype"]),
		}}
		p.Draft = p.PostedAt == 0 || v["status"] != "" && !slices.Contains(publicStates, fold(v["status"]))
		if err := each(p); err != nil {
			return err
		}
	}
	return nil
}
