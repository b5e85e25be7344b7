package handlers

import (
	"fmt"
	"html/template"
	"strings"

	"newsletterd/core"
)

// explain is a message of an error in the language of the page, where it is one that people meet; else it is answered as it stands.
func (c *Call) explain(message string) string {
	w := c.words()
	if text := w.explanations()[message]; text != "" {
		return text
	}
	switch {
	case strings.HasPrefix(message, "Too many failed logins"):
		return w.LoginsText
	case strings.HasPrefix(message, "The name may have"):
		return w.FaultName
	}
	return message
}

// explanations are the messages of core, auth and this package in the words of a language.
func (w *pageWords) explanations() map[string]string {
	return map[string]string{
		errNoRoute.Message:                                             w.MissingText,
		errNotFound.Message:                                            w.RecordText,
		core.ErrListNotFound.Message:                                   w.ListText,
		errBusy.Message:                                                w.BusyText,
		errRateLimited.Message:                                         w.ManyText,
		errSession.Message:                                             w.UnavailableText,
		kinds[core.TooMany].message:                                    w.ManyText,
		kinds[core.Unavailable].message:                                w.UnavailableText,
		kinds[core.Internal].message:                                   w.InternalText,
		core.ErrInvalidEmail.Message:                                   w.FaultEmail,
		"This form was sent from another site.":                        w.SiteText,
		"The parameters are not well-formed.":                          w.MalformedText,
		"The request is not well-formed.":                              w.MalformedText,
		"Too many passwords are being checked; try again in a moment.": w.BusyText,
		"The e-mail address or the password is wrong.":                 w.FaultCredentials,
		"The password needs at least 8 characters.":                    w.FaultShort,
		"The password is longer than 256 characters.":                  w.FaultLong,
		"The password is one of the most common ones; choose another.": w.FaultCommon,
		"Registration is closed.":                                      w.FaultClosed,
	}
}

// Fill puts values in the place of the names in a text: name, value, name, value …
func (v view) Fill(text string, pairs ...any) string { return fillIn(text, pairs...) }

// Strong is Fill as HTML, with the values emphasised.
func (v view) Strong(text string, pairs ...any) template.HTML { return strong(text, pairs...) }

func strong(text string, pairs ...any) template.HTML {
	for i := 1; i < len(pairs); i += 2 {
		pairs[i] = "<strong>" + template.HTMLEscapeString(fmt.Sprint(pairs[i])) + "</strong>"
	}
	return template.HTML(fillIn(template.HTMLEscapeString(text), pairs...)) //nolint:gosec // escaped
}

func fillIn(text string, pairs ...any) string {
	names := make([]string, len(pairs))
	for i, p := range pairs {
		if names[i] = fmt.Sprint(p); i%2 == 0 {
			names[i] = "{{" + names[i] + "}}"
		}
	}
	return strings.NewReplacer(names...).Replace(text)
}
