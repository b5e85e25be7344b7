package core

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
)

// TestSentences checks that an error keeps the values of its message, also after Under.
func TestSentences(t *testing.T) {
	long := Invalidf("name", "%s must have at most %d characters.", "name", 200)
	for _, c := range []struct {
		err                 *Error
		text, field, format string
		args                []any
	}{
		{long, "name must have at most 200 characters.", "name", "%s must have at most %d characters.", []any{"name", 200}},
		{
			long.Under("[2]").Under("fields"), "fields[2].name must have at most 200 characters.", "fields[2].name",
			"%s must have at most %d characters.",
			[]any{"fields[2].name", 200},
		},
		{
			Invalidf("", "must be %s.", "a number").Under("[0]").Under("port"), "port[0] must be a number.", "port[0]",
			"%s must be %s.",
			[]any{"port[0]", "a number"},
		},
		{
			(&Error{Message: "is 100% wrong."}).Under("x"), "x is 100% wrong.", "x", "%s is 100%% wrong.", []any{"x"},
		},
		{
			Invalidf("name", "name is empty. Enter a value.").Under("list"), "list.name is empty. Enter a value.",
			"list.name", "%s is empty. Enter a value.",
			[]any{"list.name"},
		},
		{
			ErrInvalidEmail.Under("to"), "to.email: This is not a valid email address.", "to.email",
			"%s: This is not a valid email address.",
			[]any{"to.email"},
		},
		{
			Invalidf("body", "Unknown field %s. Remove it.", "body").Under("content"),
			"Unknown field content.body. Remove it.", "content.body",
			"Unknown field %s. Remove it.",
			[]any{"content.body"},
		},
		{ErrScope, ErrScope.Message, "", "", nil},
		{Forbiddenf("no").With(errors.New("cause")), "no", "", "no", nil},
		{
			Invalidf("text", "%s: %s", "block 2", long.Sentence()), "block 2: name must have at most 200 characters.", "text",
			"%s: %s", nil,
		},
	} {
		s := c.err.Sentence()
		if s.Text != c.text || c.err.Message != c.text || c.err.Field != c.field || s.Format != c.format ||
			c.args != nil && !slices.Equal(s.Args, c.args) {
			t.Errorf("%q on %q, %q with %q, not %q", c.err.Message, c.err.Field, s.Format, s.Args, c.text)
		}
	}
	if long.Message != "name must have at most 200 characters." || long.Field != "name" {
		t.Errorf("a copy has changed the error: %v", long)
	}
	set := *long
	if set.Message = "Other words."; set.Sentence().Format != "" {
		t.Error("values of a message that was said before")
	}
	if b, err := json.Marshal(FindingOf(long)); err != nil ||
		string(b) != `{"severity":"error","code":"does_not_compile","message":"name must have at most 200 characters.",`+
			`"where":{"field":"name"}}` {
		t.Errorf("%s, %v", b, err)
	}
}

// TestNotReadyKeepsValues checks that the error for a campaign that is not ready has the message of the first finding,
// with its values.
func TestNotReadyKeepsValues(t *testing.T) {
	fault := Invalidf("list_ids", "list_ids: list %s not found. Leave it out.", "x")
	err, _ := errors.AsType[*Error](NotReady([]CampaignFinding{FindingOf(fault)}))
	if err == nil || err.Sentence().Format != fault.format || !slices.Equal(err.args, fault.args) ||
		err.Code != "invalid_request" || err.Field != "list_ids" || len(err.Findings) != 1 {
		t.Errorf("%+v", err)
	}
	again := FindingOf(fault)
	again.Message = "In the subject, it is wrong."
	err, _ = errors.AsType[*Error](NotReady([]CampaignFinding{again}))
	if err == nil || err.Message != again.Message || err.Sentence().Format != "" {
		t.Errorf("%+v", err)
	}
}
