package subscribercsv

import (
	"slices"
	"strings"

	"newsletterd/core"
)

// emailNames lists the names of the address column, folded by foldWord. They are in English, German, French, Spanish,
// Italian, Dutch and Portuguese, and include those of Google's and Outlook's contacts.
var emailNames = foldedNames(
	"email, mail, email address, mail address, e-mail 1 - value, e-mail-adresse, mail-adresse, email adressen, " +
		"adresse e-mail, adresse mail, adresse de messagerie, adresse électronique, courriel, adresse courriel, " +
		"correo electrónico, correo, dirección de correo electrónico, dirección de correo, dirección de email, " +
		"dirección e-mail, correo-e, indirizzo e-mail, indirizzo mail, indirizzo di posta elettronica, " +
		"indirizzo posta elettronica, posta elettronica, e-mailadres, mailadres, endereço de e-mail, endereço e-mail, " +
		"endereço de correio eletrónico, endereço de correio eletrônico, correio eletrónico, correio eletrônico")

// otherEmailNames lists names that mean the address column only if no column has one of emailNames.
var otherEmailNames = foldedNames("user email, subscriber email, contact email, customer email, billing email, " +
	"billing email address, member email, recipient, primary email, primary email address, email id, e-mail1, " +
	"subscriber, email1, your email, your email address, kunden-e-mail, e-mail (required)")

// furtherEmailNames lists the names of the columns with further addresses of a contact.
var furtherEmailNames = foldedNames("e-mail 2 - value, e-mail 3 - value, e-mail 4 - value, e-mail 2 address, " +
	"e-mail 3 address, e-mail 2: adresse, e-mail 3: adresse, e-mail-adresse 2, e-mail-adresse 3, " +
	"adresse de messagerie 2, adresse de messagerie 3, adresse e-mail 2, adresse e-mail 3, " +
	"dirección de correo electrónico 2, dirección de correo electrónico 3, indirizzo posta elettronica 2, " +
	"indirizzo posta elettronica 3, e-mailadres 2, e-mailadres 3")

// mappedEmail lists the words that mean the address column in a mapping.
var mappedEmail = []string{"email", "e-mail", "email address", "e-mail address", "mail"}

func foldedNames(names string) map[string]bool {
	out := map[string]bool{}
	for name := range strings.SplitSeq(names, ", ") {
		out[foldWord(name)] = true
	}
	return out
}

// isEmailColumn reports whether a column's name is that of an address column.
func isEmailColumn(name string) bool { return emailNames[foldWord(cleanCell(name))] }

// names returns the names of the columns without spaces and invisible characters around them.
func (t *table) names() []string {
	names := make([]string, len(t.header))
	for i, name := range t.header {
		names[i] = cleanCell(name)
	}
	return names
}

// findContacts records the columns with further addresses if the file is an address book. A line of an address book
// needs no address.
func (c *Reader) findContacts(names []string, rename map[string]string) {
	for i, name := range names {
		if _, renamed := rename[name]; !renamed && furtherEmailNames[foldWord(name)] {
			c.further = append(c.further, i)
		}
		c.contacts = c.contacts || foldWord(name) == "email1value"
	}
	c.contacts = c.contacts || len(c.further) > 0
}

// otherEmail makes a column in otherEmailNames the address column, if the file has no other.
func (c *Reader) otherEmail(names []string, rename map[string]string) {
	for i, name := range names {
		_, renamed := rename[name]
		if c.email < 0 && !renamed && otherEmailNames[foldWord(name)] {
			c.email, c.keys[i] = i, ""
		}
	}
}

// ownKey returns the name of the preference that a column becomes, or an empty string if there is none. This is a field
// of the list with the column's name, the preference that the file's form defines, or first_name or last_name in any
// language. With Options.KnownOnly, unknown columns have none.
func (c *Reader) ownKey(name string, names []string) string {
	for _, f := range c.options.Fields {
		if f.Name == name {
			return name
		}
	}
	key := c.form.key(name)
	if isEmailColumn(name) && key != "" {
		return name
	}
	known := core.KnownField(name)
	switch {
	case key == "":
		return ""
	case known == "first_name", known == "last_name" && !c.isWholeName(name, names), c.options.KnownOnly && known != "":
		if c.isFree(known, names) {
			return known
		}
	}
	if !c.options.KnownOnly || c.form.rename[name] != "" || name == c.form.quoted {
		return key
	}
	for _, f := range c.options.Fields {
		if strings.EqualFold(f.Name, key) || strings.EqualFold(f.Label, name) {
			return f.Name
		}
	}
	if known != "" && key == known {
		return key
	}
	return ""
}

// isWholeName reports whether a column named nom contains whole names. It does if no other column contains first names.
func (c *Reader) isWholeName(name string, names []string) bool {
	return foldWord(name) == "nom" && !slices.ContainsFunc(names, func(n string) bool {
		return core.KnownField(n) == "first_name"
	})
}

// isFree reports whether no column has this name or preference yet, so another column can become it.
func (c *Reader) isFree(key string, names []string) bool {
	for _, to := range c.options.Map {
		if to == key {
			return false
		}
	}
	return !slices.Contains(names, key) && !slices.Contains(c.keys, string(appendJSONString(nil, key))+":")
}

// appendNames appends the names in the column fullName, unless another column has the same preference in this record.
func (c *Reader) appendNames(b []byte, record []string) []byte {
	if c.fullName < 0 {
		return b
	}
	first, last := core.SplitName(plainCell(cleanCell(record[c.fullName])))
	for _, name := range [][2]string{{"first_name", first}, {"last_name", last}} {
		key := string(appendJSONString(nil, name[0])) + ":"
		own := slices.Index(c.keys, key)
		if name[1] == "" || !core.CleanText(name[1]) || own >= 0 && strings.Trim(record[own], unseen) != "" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendJSONString(append(b, key...), name[1])
	}
	return b
}

// hasField reports whether the list has a field with this name.
func (c *Reader) hasField(name string) bool {
	return slices.ContainsFunc(c.options.Fields, func(f core.Field) bool { return f.Name == name })
}
