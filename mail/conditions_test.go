package mail

import (
	"slices"
	"testing"
)

// TestConditionals checks that each branch of the subject, the preheader, the bodies and the layouts is listed with its
// condition, even if no subscriber gets it.
func TestConditionals(t *testing.T) {
	b, err := CompileBulk(&BulkSpec{
		From:      Address{Email: "news@acme.example"},
		Subject:   `News{% if preferences.vip %} for you{% endif %}`,
		Preheader: `{% unless preferences.vip %}Join us{% endunless %}`,
		HTML: `<p>Hello</p>{% if preferences.city == "Bonn" %}<p>See you in <a href="https://bonn.example/">Bonn</a>` +
			`{% if preferences.vip %}, {{ preferences.name | default: "dear" }}{% endif %}</p>{% elsif email contains "@" %}` +
			`<p><span style="display:none">Buy</span>Come</p>{% else %}<img src="https://acme.example/a.png" alt="A">{% endif %}` +
			`{% if email %}{% endif %}<a href="https://acme.example/{% if preferences.vip %}vip{% endif %}">us</a>`,
		HTMLLayout: `<html><body>{% if "a" == "b" %}<p>Send money</p>{% endif %}{{content}}</body></html>`,
		Text:       `{% if preferences.vip %}Dear{% endif %} all {{unsubscribe_url}}`,
		TextLayout: `{% unless email %}x{% else %}{{ "y" }}{% endunless %}{{content}}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Conditionals()
	want := []Conditional{
		{`if preferences.vip`, `for you`},
		{`unless preferences.vip`, `Join us`},
		{`if "a" == "b"`, `Send money`},
		{
			`if preferences.city == "Bonn"`,
			"See you in Bonn (https://bonn.example/){% if preferences.vip %}, {{ preferences.name | default: \"dear\" }}{% endif %}",
		},
		{`if preferences.city == "Bonn" … elsif email contains "@"`, `<p><span style="display:none">Buy</span>Come</p>`},
		{`if preferences.city == "Bonn" … elsif email contains "@" … else`, `<img src="https://acme.example/a.png" alt="A">`},
		{`if preferences.vip`, `vip`},
		{`unless email`, `x`},
		{`unless email … else`, `{{ "y" }}`},
		{`if preferences.vip`, `Dear`},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%q\nnot\n%q", err, got, want)
	}
}
