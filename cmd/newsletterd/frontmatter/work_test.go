package frontmatter

import (
	"fmt"
	"strings"
	"testing"

	"newsletterd/core/coretest"
)

func TestWorkOfFrontMatter(t *testing.T) {
	rep := func(p string) func(int) string { return func(n int) string { return strings.Repeat(p, n/len(p)) } }
	numbered := func(f string) func(int) string {
		return func(n int) string {
			var b strings.Builder
			for i := 0; b.Len() < n; i++ {
				fmt.Fprintf(&b, f, i)
			}
			return b.String()
		}
	}
	for name, make := range map[string]func(int) string{
		"--- keys":     numbered("a%d: b\n"),
		"--- brackets": rep("["),
		"--- braces":   rep("{"),
		"--- list":     rep("- a\n"),
		"--- lists":    rep("- "),
		"--- maps":     rep("? "),
		"--- quoted":   rep(`"`),
		"--- long":     func(n int) string { return "a: " + strings.Repeat("b", n) },
		"--- flow":     func(n int) string { return "a: [" + strings.Repeat("b,", n/2) + "]" },
		"--- comments": rep("# a\n"),
		"--- anchors":  numbered("a%d: &a b\n"),
		"--- colons":   rep("a: "),
		"--- text":     rep("a\n"),
		"--- folded":   func(n int) string { return "a: >\n" + strings.Repeat(" b\n", n/3) },
		"--- bomb": func(n int) string {
			s := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
			for i := 1; len(s) < min(n, 2000); i++ {
				s += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9))
			}
			return s
		},
		"--- merge":    func(n int) string { return "a0: &a0 {b: c}\n" + strings.Repeat("<<: *a0\n", n/8) },
		"+++ keys":     numbered("a%d = 1\n"),
		"+++ tables":   numbered("[a%d]\n"),
		"+++ arrays":   numbered("[[a]]\nb=%d\n"),
		"+++ brackets": func(n int) string { return "a = " + strings.Repeat("[", n) },
		"+++ dots":     func(n int) string { return strings.Repeat("a.", n/2) + "b = 1" },
		"+++ list":     func(n int) string { return "a = [" + strings.Repeat("1,", n/2) + "]" },
		"+++ text":     func(n int) string { return `a = "` + strings.Repeat(`\u0041`, n/6) + `"` },
		"+++ comments": rep("# a\n"),
		"+++ inline":   func(n int) string { return "a = {" + numbered("b%d=1,")(n) + "c=1}" },
	} {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "front matter: "+name, func(part float64) (string, int) {
				s := name[:3] + "\n" + make(int((maxHead-100)*part)) + "\n" + name[:3] + "\n"
				return s, len(s)
			}, func(s string) {
				_, _ = Read("a", s)
			})
		})
	}
}
