package mail

import (
	"fmt"
	"strings"
	"testing"

	"newsletterd/core"
)

func ExamplePlaceholders() {
	found, err := Placeholders("subject", `Hi {{ email }}{% if x %}{% raw %}{{ y }}{% endraw %}{% comment %}-{% endcomment %}`)
	for _, p := range found {
		fmt.Printf("%d %s %q\n", p.Kind, p.Text, p.Inner)
	}
	fmt.Println(err)
	// Output:
	// 0 {{ email }} ""
	// 1 {% if x %} ""
	// 2 {% raw %}{{ y }}{% endraw %} "{{ y }}"
	// 3 {% comment %}-{% endcomment %} ""
	// <nil>
}

func TestPlaceholdersRefuses(t *testing.T) {
	for source, want := range map[string]string{
		"a\n{{ b":                           "line 2, column 1",
		"{% raw %}":                         "endraw",
		strings.Repeat("x", maxTemplate+1):  "at most 1048576 bytes",
		strings.Repeat("{{x}}", maxNodes+1): "at most 10000 parts",
	} {
		_, err := Placeholders("subject", source)
		if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", source, err)
		}
	}
}
