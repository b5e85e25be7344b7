package core

import "strings"

// knownFields maps column names to subscriber fields. The names come from exports of newsletter services, shops and
// address books, in English and German. Names and places are also included in French, Spanish, Italian, Dutch and
// Portuguese. All column names are in lower case, without separators between words.
var knownFields = fieldsByName(map[string]string{
	"first_name": "firstname fname givenname forename vorname rufname prenom prénom nombre billingfirstname nome " +
		"primeironome voornaam roepnaam primernombre nombredepila",
	"last_name": "lastname lname surname familyname nachname familienname zuname nom nomdefamille apellido apellidos " +
		"billinglastname cognome achternaam familienaam sobrenome apelido ultimonome últimonome",
	"name": "name fullname displayname contactname subscribername vollername vollständigername kontaktname nomcomplet " +
		"nombrecompleto nomecompleto volledigenaam naam",
	"salutation": "salutation anrede civilité civilite aanhef tratamiento",
	"title":      "title titel",
	"company": "company companyname organization organisation organizationname firma firmenname unternehmen " +
		"billingcompany société societe entreprise empresa azienda società bedrijf bedrijfsnaam",
	"phone": "phone phonenumber telephone mobile telefon telefonnummer mobil handy billingphone téléphone telephone " +
		"teléfono telefono telefoon telefone phone1value mobilephone",
	"street":      "street streetaddress addressline1 straße strasse straßeundhausnummer",
	"postal_code": "postalcode postcode zip zipcode plz postleitzahl billingpostcode codepostal códigopostal codigopostal cap",
	"city":        "city town stadt ort wohnort billingcity ville ciudad città citta plaats woonplaats cidade",
	"country":     "country land billingcountry pays país pais paese",
	"birthday":    "birthday birthdate dateofbirth geburtstag geburtsdatum datedenaissance fechadenacimiento",
})

func fieldsByName(fields map[string]string) map[string]string {
	out := map[string]string{}
	for field, names := range fields {
		for _, name := range strings.Fields(names) {
			out[name] = field
		}
	}
	return out
}

// KnownField returns the subscriber field for a column name in a file, or "" if the name is unknown.
func KnownField(column string) string {
	return knownFields[strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t_-.:/*()\u00a0\u200b\ufeff", r) {
			return -1
		}
		return r
	}, column))]
}
