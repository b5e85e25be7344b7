package mail

import (
	"strings"
	"testing"
)

// TestAnEmptySubjectIsReplaced checks that an empty subject is replaced by the job's name, or else the list's, and that
// the author is warned.
func TestAnEmptySubjectIsReplaced(t *testing.T) {
	for _, test := range []struct{ subject, name, list, preferences, want string }{
		{"{{ preferences.title }}", "May issue", "Weekly", `{}`, "May issue"},
		{"{{ preferences.title }}", "May issue", "Weekly", `{"title": "Hello"}`, "Hello"},
		{"{{ preferences.title }}", "May issue", "Weekly", `{"title": " \t "}`, "May issue"},
		{"{% if preferences.title %}{{ preferences.title }}{% endif %}", "", "Weekly", `{}`, "Weekly"},
		{"{{ preferences.title }}", " ", "", `{}`, "Newsletter"},
		{"{{ job.name }}", "", "Weekly", `{}`, "Weekly"},
	} {
		spec := testSpec()
		spec.Subject, spec.ListName, spec.Text = test.subject, test.list, "About {{ job.subject }}.\n"
		spec.Shared.Job = map[string]string{"name": test.name, "subject": test.subject}
		b, err := CompileBulk(spec)
		if err != nil {
			t.Fatal(err)
		}
		r := testRecipient()
		r.Preferences = test.preferences
		msg, err := b.Append(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		if want := "\r\nSubject: " + test.want + "\r\n"; !strings.Contains(string(msg), want) {
			t.Errorf("%+v: %.400s", test, msg)
		}
		if subject, text, _, err := b.Parts(r); err != nil || subject != test.want ||
			!strings.Contains(text, "About "+test.want+".") {
			t.Errorf("%+v: previewed as %q: %v", test, subject, err)
		}
		if told := strings.Join(b.Warnings(), "\n"); !strings.Contains(told,
			"The subject is empty for subscribers with no details") {
			t.Errorf("%+v: %s", test, told)
		}
	}
	b, err := CompileBulk(testSpec())
	if err != nil || strings.Contains(strings.Join(b.Warnings(), ""), "The subject is empty") {
		t.Errorf("%v %q", err, b.Warnings())
	}
}

func TestTheSubjectsPrefixStandsInNoBody(t *testing.T) {
	for _, subject := range []string{"Plain", "{{ preferences.none }}Plain"} {
		spec := testSpec()
		spec.Subject, spec.SubjectPrefix, spec.Text = subject, "[Test] ", "About {{ job.subject }}.\n"
		spec.Shared.Job = map[string]string{"subject": subject}
		b, err := CompileBulk(spec)
		if err != nil {
			t.Fatal(err)
		}
		msg, err := b.Append(nil, testRecipient())
		if err != nil || !strings.Contains(string(msg), "\r\nSubject: [Test] Plain\r\n") ||
			!strings.Contains(string(msg), "About=20Plain=") {
			t.Errorf("%v %s", err, msg)
		}
	}
}
