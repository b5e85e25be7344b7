package frontmatter

import (
	"strings"
	"testing"
)

// FuzzRead checks that the front matter of any file is read, or refused with an error that names the file. The body
// must be the end of the file.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "Hello", "+++\nsubject = \"a\"\n+++\nHello", "---\nsubject: a\nid: 3\n---\n", "---\n",
		"+++\nsubject = 1979-05-27\n+++",
		"---\n- a\n---\n", "---\n? [a]\n: b\n---\n", "+++\r\nid = \"x\"\r\n+++\r\nbody", "---\na: &a [*a]\n---\n",
		"+++\nlists = [\"a\", \"b\"]\ntest_addresses = \"a\"\n+++\n", "---\nlists: [a, 3]\nlist: b\n---\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		m, err := Read("issue.md", source)
		switch plain := strings.ReplaceAll(source, "\r\n", "\n"); {
		case err != nil && !strings.HasPrefix(err.Error(), "issue.md:"):
			t.Errorf("%q: %v", source, err)
		case err == nil && !strings.HasSuffix(plain, m.Body):
			t.Errorf("%q: %q", source, m.Body)
		case err == nil && strings.Count(plain, "\n") != m.Before+strings.Count(m.Body, "\n") && m.Body != "":
			t.Errorf("%q: %d lines before %q", source, m.Before, m.Body)
		}
	})
}

func TestALongHeadIsRefused(t *testing.T) {
	for _, fence := range []string{"+++", "---"} {
		source := fence + "\n# " + strings.Repeat("a", maxHead) + "\n" + fence + "\nHello"
		if _, err := Read("issue.md", source); err == nil || !strings.HasPrefix(err.Error(),
			"issue.md:1: the front matter has") {
			t.Errorf("%s: %v", fence, err)
		}
	}
}
