package mail

import (
	"slices"
	"testing"
)

func TestUsedFields(t *testing.T) {
	b, err := CompileBulk(&BulkSpec{
		From: Address{Email: "letter@example.org"}, ListID: "l", JobID: "j", TenantID: "t", Language: "en",
		Subject:   `{{ preferences.first_name | default: "Hello" }}`,
		Preheader: `{{ email }} {{ preferences.city | upcase }}`,
		HTML: `<p>{{ preferences.first_name | default: "friend" }} {% if preferences.shoe %}{{ preferences.shoe }}{% endif %}` +
			`{{ preferences.address.zip | default: preferences.zip }}</p>`,
		Text: `{{ preferences.tea }} {{ preferences.city }}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	used, err := b.UsedFields()
	want := []UsedField{
		{"preferences.first_name", "Hello", "subject"},
		{"preferences.city", "", "preheader"},
		{"preferences.address.zip", "{{ … }}", "content.source"},
		{"preferences.tea", "", "content.source"},
	}
	if err != nil || !slices.Equal(used, want) {
		t.Errorf("%+v, %v", used, err)
	}
}
