package web

import (
	"net/url"
	"reflect"
	"slices"
	"strings"

	"newsletterd/core"
)

// bindParams sets the fields that come from the path, the query and headers.
func (c *Call) bindParams(p *plan, in reflect.Value) error {
	for i := range p.path {
		f := &p.path[i]
		if err := f.setText(in, c.Param(f.name)); err != nil {
			return c.notFound()
		}
	}
	for i := range p.header {
		f := &p.header[i]
		values := c.Request.Header.Values(f.name)
		switch {
		case len(values) == 0:
			continue
		case len(values) > 1:
			return core.Invalidf(f.name, "%s is sent more than once. Send it only once.", f.name)
		}
		if err := f.setText(in, values[0]); err != nil {
			return err
		}
	}
	if len(p.query) == 0 {
		return nil
	}
	return bindValues(c.Request.URL.RawQuery, p.query, in, false)
}

// bindValues reads name=value pairs from a query or a form and ignores unknown names. A repeated name is refused in a
// query if it is known, and always in a form (RFC 6749 section 3.2: parameters must not be included more than once). A
// parameter without a value counts as left out (RFC 6749 section 3.1).
func bindValues(s string, fields []field, in reflect.Value, form bool) error {
	var seen, filled uint64
	var names map[string]bool
	for s != "" {
		var pair string
		pair, s, _ = strings.Cut(s, "&")
		if pair == "" {
			continue
		}
		name, value, err := unescapePair(pair)
		if err != nil {
			return err
		}
		if form {
			if names[name] && !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
				return core.Invalidf("", "%s is sent more than once. Send it only once.",
					core.ShownKey(name)) // the error doesn't concern a known field
			}
			if names == nil {
				names = map[string]bool{}
			}
			names[name] = true
		}
		for i := range fields {
			f := &fields[i]
			if f.name != name {
				continue
			}
			if seen&(1<<i) != 0 {
				return core.Invalidf(name, "%s is sent more than once. Send it only once.", name)
			}
			seen |= 1 << i
			if value == "" {
				break
			}
			if err := f.setText(in, value); err != nil {
				return err
			}
			filled |= 1 << i
			break
		}
	}
	for i := range fields {
		if f := &fields[i]; f.required && filled&(1<<i) == 0 {
			return core.Invalidf(f.name, "%s is missing.", f.name)
		}
	}
	return nil
}

// formValues reads a form with unknown field names, as strictly as bindValues.
func formValues(s string) (map[string]string, error) {
	form := map[string]string{}
	for pair := range strings.SplitSeq(s, "&") {
		if pair == "" {
			continue
		}
		name, value, err := unescapePair(pair)
		if err != nil {
			return nil, err
		}
		if _, ok := form[name]; ok {
			return nil, core.Invalidf(name, "%s is sent more than once. Send it only once.", core.ShownKey(name))
		}
		form[name] = value
	}
	return form, nil
}

func unescapePair(pair string) (name, value string, err error) {
	name, value, _ = strings.Cut(pair, "=")
	if strings.Contains(pair, ";") {
		return "", "", core.Invalidf("", "The parameters are malformed. Encode semicolons as %%3B.")
	}
	if strings.ContainsAny(pair, "%+") {
		if name, err = url.QueryUnescape(name); err == nil {
			value, err = url.QueryUnescape(value)
		}
		if err != nil {
			return "", "", core.Invalidf("", "The parameters are malformed. Check the URL encoding.").With(err)
		}
	}
	if !core.CleanText(name) || !core.CleanText(value) {
		return "", "", core.Invalidf("", "The parameters must be UTF-8 without NUL.")
	}
	return name, value, nil
}
