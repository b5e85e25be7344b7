package markup

import (
	"errors"
	"testing"

	"newsletterd/core"
	"newsletterd/mail"
)

// TestErrorsNameTheSource checks that an error in a compiled email names its position in the source.
func TestErrorsNameTheSource(t *testing.T) {
	for _, tt := range []struct {
		name, kind, source string
		line, block        int
		said               string
	}{
		{
			"a field without a name", KindMarkdown, "Hello\n\nHi *{{ preferences. }}*\n", 3, 0,
			"line 3, column 5: expected a name after the dot",
		},
		{
			"quotes", KindMarkdown, "Hello\n\nHi {{ preferences.first_name | default: “you” }}", 3, 0,
			"line 3, column 4: use straight " +
				`quotes: {{ preferences.first_name | default: "you" }}`,
		},
		{"not closed", KindMarkdown, "# A\n\n- a\n- {{ email\n", 4, 0, `line 4, column 3: "{{" has no closing "}}"`},
		{
			"the second of two", KindMarkdown, "{% if email %}\n\na\n\n{% endif %}\n\n{% if email %}\n\nb\n", 7, 0,
			"line 7, column 1: {% if %} has no end tag; add one, or remove this tag",
		},
		{
			"in a block", KindBlocks, "{\"version\": 1, \"blocks\": [\n{\"type\": \"divider\"},\n\n" +
				"{\"type\": \"text\", \"text\": \"a\\nb {{ email | shout }}\"}\n]}", 4, 2, "",
		},
		{
			"quotes in a column", KindBlocks, "{\"version\": 1, \"blocks\": [\n{\"type\": \"columns\", \"columns\": [[" +
				"{\"type\": \"text\", \"text\": \"a\"}], [{\"type\": \"text\", \"text\": \"{{ preferences.a | default: \\u201cyou\\u201d }}\"}]]}\n]}",
			2, 1, `block 1: use straight quotes: {{ preferences.a | default: "you" }}`,
		},
		{
			"not closed in a block", KindBlocks, "{\"version\": 1, \"blocks\": [\n{\"type\": \"divider\"},\n" +
				"{\"type\": \"text\", \"text\": \"{{ email\"}\n]}", 3, 2, `blocks[1]: line 1, column 1: "{{" has no closing "}}"`,
		},
		{
			"what a block may not have", KindBlocks, "{\"blocks\": [\n{\"type\": \"divider\"},\n{\"type\": \"spacer\", " +
				"\"height\": 1}], \"version\": 1}", 3, 2, "blocks[1]: height must be from 4 to 120.",
		},
		{
			"behind columns", KindBlocks, "{\"blocks\": [{\"type\": \"columns\", \"columns\": [[], []]},\n\n{\"type\": \"what\"}], " +
				"\"version\": 1}", 3, 2, "",
		},
		{
			"no JSON", KindBlocks, "{\"version\": 1,\n\"blocks\": [}", 2, 0,
			"line 2: this is not valid JSON. Use an object with the key blocks.",
		},
	} {
		r, err := Compile(tt.kind, tt.source, Options{Title: "{{ preferences.first_name | default: 'you' }}"})
		if err == nil {
			_, err = mail.CompileBulk(&mail.BulkSpec{
				Subject: "a", HTML: r.HTML, Text: r.Text, From: mail.Address{Email: "a@news.example"},
			})
			err = Placed(tt.kind, tt.source, err)
		}
		var fault *core.Error
		if !errors.As(err, &fault) || fault.Field != "content.source" || fault.Line != tt.line || fault.Block != tt.block ||
			tt.said != "" && fault.Message != tt.said {
			t.Errorf("%s: %v, %+v", tt.name, err, fault)
		}
	}
}
