package console

import (
	"strings"

	"newsletterd/core"
)

// knownColumns are fields of people by the names that columns for them have in exports of mailing programs, shops and
// address books, in English, German and, for names, French and Spanish. Names are in small letters, without what stands
// between their words.
var knownColumns = columnsOf(map[string]string{
	"first_name": "firstname fname givenname forename vorname rufname prenom prénom nombre billingfirstname",
	"last_name": "lastname lname surname familyname nachname familienname zuname nom nomdefamille apellido apellidos " +
		"billinglastname",
	"name":        "name fullname displayname contactname subscribername vollername vollständigername kontaktname",
	"salutation":  "salutation anrede civilité",
	"title":       "title titel",
	"company":     "company companyname organization organisation firma firmenname unternehmen billingcompany",
	"phone":       "phone phonenumber telephone mobile telefon telefonnummer mobil handy billingphone",
	"street":      "street streetaddress addressline1 straße strasse straßeundhausnummer",
	"postal_code": "postalcode postcode zip zipcode plz postleitzahl billingpostcode",
	"city":        "city town stadt ort wohnort billingcity",
	"country":     "country land billingcountry",
	"birthday":    "birthday birthdate dateofbirth geburtstag geburtsdatum",
})

func columnsOf(fields map[string]string) map[string]string {
	out := map[string]string{}
	for field, names := range fields {
		for _, name := range strings.Fields(names) {
			out[name] = field
		}
	}
	return out
}

// knownColumn returns the field that a column of this name holds; empty: it is not known.
func knownColumn(name string) string {
	return knownColumns[strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t_-.:/*()\u00a0", r) {
			return -1
		}
		return r
	}, name))]
}

// knownName returns the field that a column of an import holds by its name, unless another column becomes that field.
func (d *importData) knownName(c *importColumn) string {
	name := knownColumn(c.Name)
	if use := c.ByName.Use; name == "" || use != "preference" && use != "none" {
		return ""
	}
	for i := range d.Columns {
		other := &d.Columns[i]
		if other == c {
			break
		}
		if knownColumn(other.Name) == name {
			return ""
		}
	}
	for i := range d.Columns {
		if other := &d.Columns[i]; other != c && (other.ByName.Becomes == name || other.Name == name) {
			return ""
		}
	}
	return name
}

// knownLabel is what pages call a field that is known by its name.
func (p *Page) knownLabel(name string) string {
	switch name {
	case "first_name":
		return p.T("First name")
	case "last_name":
		return p.T("Last name")
	case "name":
		return p.T("Whole name")
	case "salutation":
		return p.T("Salutation")
	case "title":
		return p.T("Title before the name")
	case "company":
		return p.T("Company")
	case "phone":
		return p.T("Telephone")
	case "street":
		return p.T("Street")
	case "postal_code":
		return p.T("Postal code")
	case "city":
		return p.T("City")
	case "country":
		return p.T("Country")
	case "birthday":
		return p.T("Birthday")
	}
	return name
}

// withNames returns the fields of a list, after first and last name where the list does not ask for names itself.
func (p *Page) withNames(fields core.Fields) core.Fields {
	for i := range fields {
		switch knownColumn(fields[i].Name) {
		case "first_name", "last_name", "name":
			return fields
		}
	}
	return append(core.Fields{
		{Name: "first_name", Label: p.knownLabel("first_name"), Type: core.FieldText},
		{Name: "last_name", Label: p.knownLabel("last_name"), Type: core.FieldText},
	}, fields...)
}
