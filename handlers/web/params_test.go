package web

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"newsletterd/core"
)

// FuzzFormValues checks that formValues reads every accepted form like net/url, with each name once.
func FuzzFormValues(f *testing.F) {
	for _, s := range []string{
		"email=a%40b.example&first_name=Ada", "a=1&a=2", "a;b=1", "a=%zz", "a=%00", "=x&&a", "=x&=y",
		"a=b=c", "a=%C3%A4+b", "_website=&email=",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		form, err := formValues(s)
		if err != nil {
			if fault, ok := errors.AsType[*core.Error](err); !ok || strings.HasPrefix(fault.Message, " ") {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		want, err := url.ParseQuery(s)
		if err != nil || len(want) != len(form) {
			t.Fatalf("%q: %v, net/url %v %v", s, form, want, err)
		}
		for name, v := range form {
			if len(want[name]) != 1 || want.Get(name) != v || !core.CleanText(name) || !core.CleanText(v) {
				t.Errorf("%q: %q is %q, net/url says %q", s, name, v, want[name])
			}
		}
	})
}
