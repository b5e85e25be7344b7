package console

import (
	"slices"

	"newsletterd/core"
)

// knownName returns the field that an import column's name matches. If another column is already mapped to that field,
// it returns an empty string.
func (d *importData) knownName(c *importColumn) string {
	name := core.KnownField(c.Name)
	if use := c.ByName.Use; name == "" || use != "preference" && use != "none" {
		return ""
	}
	for i := range d.Columns {
		other := &d.Columns[i]
		if other == c {
			break
		}
		if core.KnownField(other.Name) == name {
			return ""
		}
	}
	for i := range d.Columns {
		if other := &d.Columns[i]; other != c && (other.ByName.Becomes == name || other.Name == name) {
			return ""
		}
	}
	if name == "name" && !slices.ContainsFunc(d.Columns, func(other importColumn) bool {
		known := core.KnownField(other.Name)
		return known == "first_name" || known == "last_name"
	}) && !slices.ContainsFunc(d.List.Fields, func(f core.Field) bool { return f.Name == name }) {
		return fullName
	}
	return name
}

// fullName is the mapping of a column with full names, which the import splits into first and last names.
const fullName = "full_name"

// knownLabel returns the label of a field with a known name.
func (p *Page) knownLabel(name string) string {
	switch name {
	case "first_name":
		return p.T("First name")
	case "last_name":
		return p.T("Last name")
	case "name":
		return p.T("Full name")
	case fullName:
		return p.T("First and last name")
	case "salutation":
		return p.T("Salutation")
	case "title":
		return p.T("Title")
	case "company":
		return p.T("Company")
	case "phone":
		return p.T("Phone number")
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

// withNames returns a list's fields. If the list has no field for the full name, it adds the first name and the last
// name unless the list has them.
func (p *Page) withNames(fields core.Fields) core.Fields {
	at := func(name string) int {
		return slices.IndexFunc(fields, func(f core.Field) bool { return core.KnownField(f.Name) == name })
	}
	named := func(name string) core.Field {
		return core.Field{Name: name, Label: p.knownLabel(name), Type: core.FieldText}
	}
	if at("name") >= 0 {
		return fields
	}
	fields = slices.Clone(fields)
	if at("first_name") < 0 {
		fields = slices.Insert(fields, max(0, at("last_name")), named("first_name"))
	}
	if at("last_name") < 0 {
		fields = slices.Insert(fields, at("first_name")+1, named("last_name"))
	}
	return fields
}
