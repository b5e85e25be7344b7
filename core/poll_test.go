package core

import (
	"fmt"
	"strings"
	"testing"
)

func TestPollLimits(t *testing.T) {
	long := strings.Repeat("ä", MaxPollQuestion)
	for _, c := range []struct {
		poll  Poll
		field string // empty: valid
	}{
		{Poll{Question: " Which? ", Options: Strings{" a", "b "}}, ""},
		{Poll{Question: long, Options: Strings{"a", "b"}, Field: "fruit"}, ""},
		{Poll{Question: long + "x", Options: Strings{"a", "b"}}, "polls[0].question"},
		{Poll{Question: "  ", Options: Strings{"a", "b"}}, "polls[0].question"},
		{Poll{Question: "a\nb", Options: Strings{"a", "b"}}, "polls[0].question"},
		{Poll{Question: "{{ email }}", Options: Strings{"a", "b"}}, "polls[0].question"},
		{Poll{Question: "?", Options: Strings{"a"}}, "polls[0].options"},
		{Poll{Question: "?", Options: make(Strings, 11)}, "polls[0].options"},
		{Poll{Question: "?", Options: Strings{"a", ""}}, "polls[0].options[1]"},
		{Poll{Question: "?", Options: Strings{"a", " A"}}, "polls[0].options[1]"},
		{Poll{Question: "?", Options: Strings{"a", "{% if"}}, "polls[0].options[1]"},
		{Poll{Question: "?", Options: Strings{"a", strings.Repeat("b", 101)}}, "polls[0].options[1]"},
		{Poll{Question: "?", Options: Strings{"a", "b"}, Field: "_tracking"}, "polls[0].field"},
		{Poll{Question: "?", Options: Strings{"a", "b"}, Field: "email"}, "polls[0].field"},
	} {
		polls := []Poll{c.poll}
		err, _ := checkPolls(polls).(*Error)
		if err == nil && c.field != "" || err != nil && err.Field != c.field {
			t.Errorf("%+v: %v, want a fault on %q", c.poll, err, c.field)
		}
		if c.field == "" && (polls[0].Question != strings.TrimSpace(c.poll.Question) || polls[0].Options[1] != "b") {
			t.Errorf("%+v is not trimmed", polls[0])
		}
	}
	if checkPolls(make([]Poll, MaxPolls+1)) == nil {
		t.Error("too many polls are accepted")
	}
}

func TestPollFindings(t *testing.T) {
	lists := []List{{Name: "L", Fields: Fields{
		{Name: "text", Type: FieldText},
		{Name: "yes", Type: FieldBoolean},
		{Name: "few", Type: FieldChoice, Options: Strings{"a"}},
		{Name: "all", Type: FieldChoice, Options: Strings{"b", "a"}},
	}}}
	for field, want := range map[string]string{
		"": "", "text": "", "all": "", "yes": "poll_field", "few": "poll_field", "none": "poll_field",
	} {
		f := CampaignFields{Polls: []Poll{{Question: "?", Options: Strings{"a", "b"}, Field: field, ClosesAt: 10}}}
		f.Content.Source = "{{ poll.1 }}"
		got := ""
		for _, one := range f.PollFindings(lists, false, 5) {
			got += one.Code
		}
		if got != want {
			t.Errorf("field %q: %q, want %q", field, got, want)
		}
		found := f.PollFindings(lists, true, 5)
		if (len(found) == 1 && found[0].Code == "poll_field") != (field != "") {
			t.Errorf("field %q of another service: %+v", field, found)
		}
		if found := f.PollFindings(nil, false, 10); len(found) != 1 || found[0].Code != "poll_closed" {
			t.Errorf("closed: %+v", found)
		}
		f.Content.Source = "{{ poll_url.1.2 }}"
		if found := f.PollFindings(nil, false, 5); len(found) != 0 {
			t.Errorf("own links: %+v", found)
		}
		f.Content.Source = "no poll"
		if found := f.PollFindings(nil, false, 5); len(found) != 1 || found[0].Code != "poll_unused" {
			t.Errorf("unused: %+v", found)
		}
	}
}

func TestFewAnswersAreNotBrokenDown(t *testing.T) {
	for n := range int64(FewAnswers + 2) {
		r := PollResult{Answers: n, Options: []PollOption{{"a", new(n)}, {"b", new(int64(0))}}}
		if r.BreakDown(); (r.Options[0].Answers != nil) != (n >= FewAnswers) || (r.Options[1].Answers != nil) != (n >= FewAnswers) {
			t.Errorf("%d answers: %+v", n, r)
		}
	}
}

func TestPollNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"{{ poll.1 }} {{poll.2}}{{- poll.1 -}}": "[1 2]", "{{ poll.01 }}{{ poll.0 }}{{ poll.-1 }}{{ poll.+1 }}": "[]",
		"{{ poll }}{{ poll. }}{{ poll.a }}{{ poll.1.2 }}{{ poll_url.1.2 }}": "[]", "{{ poll.3": "[]", "{{ x }} }} {{ poll.3 }}": "[3]",
	} {
		if got := fmt.Sprint(PollNumbers(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
