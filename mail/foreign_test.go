package mail

import (
	"strings"
	"testing"
)

// TestForeignTags checks that merge tags of other programs are found, with the placeholder to write instead.
func TestForeignTags(t *testing.T) {
	own := func(name string) string {
		if strings.EqualFold(name, "size") {
			return "ShoeSize"
		}
		return ""
	}
	for text, want := range map[string]string{
		"Hi *|FNAME|*":                                   `{{ preferences.first_name | default: "…" }}`,
		"*|EMAIL|*":                                      `{{ email }}`,
		"<a href=\"*|UNSUB|*\">":                         `{{ unsubscribe_url }}`,
		"*|ARCHIVE|* *|UPDATE_PROFILE|*":                 `{{ view_url }} {{ preferences_url }}`,
		"*|IF:FNAME|*a*|ELSE:|*b*|END:IF|*":              `{% if preferences.first_name %} {% else %} {% endif %}`,
		"*|MC:SUBJECT|* *|LIST:NAME|*":                   `{{ job.subject }} {{ list.name }}`,
		"*|MMERGE5|*":                                    `{{ preferences.mmerge5 | default: "…" }}`,
		"*|SIZE|*":                                       `{{ preferences.ShoeSize | default: "…" }}`,
		"[Name,fallback=]":                               `{{ preferences.name | default: "…" }}`,
		"[firstname,fallback=dear \"friend\"]":           `{{ preferences.first_name | default: "dear 'friend'" }}`,
		"[subscriber:firstname | default:reader]":        `{{ preferences.first_name | default: "reader" }}`,
		"[link:subscription_unsubscribe_url]":            `{{ unsubscribe_url }}`,
		"Hi {first_name}, hi {name, \"there\"}":          `{{ preferences.first_name | default: "…" }} {{ preferences.name | default: "there" }}`,
		"Hallo {VORNAME}":                                `{{ preferences.first_name | default: "…" }}`,
		"{$name} {$unsubscribe}":                         `{{ preferences.name | default: "…" }} {{ unsubscribe_url }}`,
		"{!firstname_fix}":                               `{{ preferences.firstname_fix | default: "…" }}`,
		"$[FNAME|friend|]$":                              `{{ preferences.first_name | default: "friend" }}`,
		"{contactfield=firstname}":                       `{{ preferences.first_name | default: "…" }}`,
		"%%first_name%% %%unsub_center_url%%":            `{{ preferences.first_name | default: "…" }} {{ unsubscribe_url }}`,
		"%recipient.name% %recipient_email%":             `{{ preferences.name | default: "…" }} {{ email }}`,
		"%FIRSTNAME% %UNSUBSCRIBELINK%":                  `{{ preferences.first_name | default: "…" }} {{ unsubscribe_url }}`,
		"[[firstname]]":                                  `{{ preferences.first_name | default: "…" }}`,
		"[[FIRSTNAME OR \"friend\"]]":                    `{{ preferences.first_name | default: "friend" }}`,
		"[[data:firstname:\"you\"]] [[UNSUB_LINK_EN]]":   `{{ preferences.first_name | default: "you" }} {{ unsubscribe_url }}`,
		"[[contact.first_name]]":                         `{{ preferences.first_name | default: "…" }}`,
		"[FIRST NAME] [UNSUBSCRIBEURL]":                  `{{ preferences.first_name | default: "…" }} {{ unsubscribe_url }}`,
		"<unsubscribe>Leave</unsubscribe>":               `{{ unsubscribe_url }}`,
		"<a href=\"<%asm_group_unsubscribe_raw_url%>\">": `{{ unsubscribe_url }}`,
		"Liebe «Vorname»":                                `{{ preferences.first_name | default: "…" }}`,

		"{{ preferences.first_name }} {% if email %}{% raw %}*|FNAME|*{% endraw %}{% endif %}":          "",
		"{% comment %}*|FNAME|*{% endcomment %}":                                                        "",
		"[Name](https://x.example/) [email][1] ![Name](x.png) [E-Mail]\n\n[e-mail]: mailto:a@b.example": "",
		"input[name] { color: red } a[title]{}":                                                         "",
		"20%off 50% to 60%, %20name%20, https://x.example/?q=%C3%BCber%20name":                          "",
		"[x] {color} ${name} {{{name}}} 100%% 50%% [1] [sic] {see note} «Bonjour» [Berlin]":             "",
	} {
		var got []string
		for _, tag := range ForeignTags(text, own) {
			if !strings.HasPrefix(text[tag.At:], tag.Text) {
				t.Errorf("%q: not at %d", tag.Text, tag.At)
			}
			got = append(got, tag.Write)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q\n got %s\nwant %s", text, s, want)
		}
	}
}

// TestForeignExpressions checks that expressions of other programs between braces cause an error that says what to
// write instead.
func TestForeignExpressions(t *testing.T) {
	for text, want := range map[string]string{
		"{{ contact.FIRSTNAME }}":                        `write {{ preferences.first_name | default: "…" }}`,
		"{{ contact.FIRSTNAME | default : \"you\" }}":    `write {{ preferences.first_name | default: "you" }}`,
		"{{ contact.shoe_size }}":                        `write {{ preferences.shoe_size | default: "…" }}`,
		"{{ first_name|default:'you' }}":                 `write {{ preferences.first_name | default: "you" }}`,
		"{{ person|lookup:'first_name'|default:'you' }}": `write {{ preferences.first_name | default: "you" }}`,
		"{{var:firstname:\"you\"}}":                      `write {{ preferences.first_name | default: "…" }}`,
		"{{ .Subscriber.FirstName }}":                    `write {{ preferences.first_name | default: "…" }}`,
		"{{ UnsubscribeURL }}":                           `write {{ unsubscribe_url }}`,
		"{{{unsubscribe}}}":                              `write {{ unsubscribe_url }}`,
		"{{ mirror }}":                                   `write {{ view_url }}`,
		"{% unsubscribe %}":                              `write {{ unsubscribe_url }}`,
		"{{ unknown_thing }}":                            "use email",
	} {
		_, err := Compile(PartText, "body_text", text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	tmpl, err := Compile(PartText, "body_text", "{{ subscriber.first_name }}")
	if err != nil || len(tmpl.warnings) != 1 ||
		!strings.HasPrefix(tmpl.warnings[0].write, "{{ preferences.first_name |") {
		t.Errorf("%v %q", err, tmpl.warnings)
	}
}

// BenchmarkForeignTags measures a long text of brackets, whose time must grow only linearly.
func BenchmarkForeignTags(b *testing.B) {
	text := strings.Repeat("*|[[{%«$[<%{first_name} ", 20_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		ForeignTags(text, nil)
	}
}
