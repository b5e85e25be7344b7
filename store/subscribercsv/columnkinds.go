package subscribercsv

import (
	"slices"
	"strings"
	"unicode"
)

// nameKind describes columns whose names contain one of the strings in parts, and what yes and no mean in such a
// column.
type nameKind struct {
	parts    []string
	yes, no  standing
	text     bool // any text means that the person unsubscribed, for example a reason or an unreadable time
	dateless bool // only yes and no have this meaning; dates in such a column mean something else
}

// nameKinds are tried in order; the first match wins. Their parts are folded by foldWord; for how they match, see
// partOf.
var nameKinds = []nameKind{
	{parts: strings.Fields("bounce rebond rebot rucklauf"), yes: bounced, no: joined, text: true},
	{parts: strings.Fields("cleaned"), yes: bounced, no: joined},
	{parts: strings.Fields("complain plainte queja beschwerde"), yes: complained, no: joined, text: true},
	{parts: strings.Fields("spam markedasspam reportedspam"), yes: complained, no: joined},
	{
		parts: strings.Fields(`suppress block$ blocked blocklist blockliert blockiert blacklist exclu gesperrt sperr
			sperre sperru bloqu listenoire listanegra`), yes: suppressed, no: joined,
	},
	{
		parts: strings.Fields(`unsub abgemeldet abmeld abbestell widerruf widerspruch ausgetragen austrag austritt
			desabon desinscri desuscri removed gekundigt kundigung optout optedout withdraw revoke deleted geloscht
			cancelled canceled inactive inaktiv inactif deactivat deaktiviert resili
			wypisan rezygnac odsubskryb avprenum avregistr avanmal afmeld avmeld frameld odhlas abonelikten abonelikiptal
			отпис відпис`),
		yes: unsubscribed, no: joined, text: true,
	},
	{parts: strings.Fields("donot dont stop baja debaja dadodebaja cancel"), yes: unsubscribed, no: joined},
	{parts: strings.Fields("pending unconfirmed unverified awaiting unbestatigt enattente"), yes: pending, no: joined},
	{parts: strings.Fields("verified verifiziert"), yes: joined, no: pending},
	{parts: strings.Fields("optin optedin opted doubleopt consent einwillig"), yes: joined, no: unsubscribed},
	{
		parts: strings.Fields(`subscri accept permission zustimm erlaubnis angemeldet abonn inscri suscri confirm
			bestatig newsletter marketing werbung werbe mailing infomail
			zgoda zapisan subskryb prenumer samtyck samtykke tilmeld pameld souhlas prihlas odebir odber izin abone
			подпис согласи рассыл`),
		yes: joined, no: unsubscribed, dateless: true,
	},
}

// longPart is the minimum number of letters of a part that matches anywhere in a name. A shorter part matches only at
// the beginning of a word.
const longPart = 6

// kindOf returns the kind of a column by its name, or nil if the name shows none.
func kindOf(name string) *nameKind {
	words := nameWords(name)
	if otherSubject(words) {
		return nil
	}
	for i := range nameKinds {
		if slices.ContainsFunc(nameKinds[i].parts, func(part string) bool { return partOf(words, part) }) {
			return &nameKinds[i]
		}
	}
	return nil
}

// partOf reports whether a part begins a word of a name. A part can span several words: optin matches Opt-In Date, but
// not Options or Adopting. Because German joins words, a part of at least longPart letters also matches inside a word.
// A part that ends in $ matches only a whole word.
func partOf(words []string, part string) bool {
	if whole, ok := strings.CutSuffix(part, "$"); ok {
		return slices.Contains(words, whole)
	}
	for i := range words {
		rest := strings.Join(words[i:], "")
		if strings.HasPrefix(rest, part) {
			return true
		}
		for _, begin := range beginnings {
			if after, ok := strings.CutPrefix(rest, begin); ok && strings.HasPrefix(after, part) {
				return true
			}
		}
	}
	return len(part) >= longPart && strings.Contains(strings.Join(words, ""), part)
}

// beginnings lists prefixes that can precede a part within a word, such as is in isunsubscribed.
var beginnings = [...]string{
	"is", "has", "was", "email", "mail", "newsletter", "marketing", "double", "user",
	"contact",
}

// nameWords splits a name into words and folds them with foldWord. A word ends before a capital letter and at a
// character that is not a letter.
func nameWords(name string) (words []string) {
	var word []rune
	end := func() {
		if folded := foldWord(string(word)); folded != "" {
			words = append(words, folded)
		}
		word = word[:0]
	}
	small := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsMark(r):
			end()
			small = false
			continue
		case small && unicode.IsUpper(r):
			end()
		}
		small = unicode.IsLower(r)
		word = append(word, r)
	}
	end()
	return words
}

// negated reports whether a column's name begins with a word that can reverse the meaning of a yes.
func negated(name string) bool {
	words := nameWords(name)
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "no", "not", "nicht", "nie", "sin", "sans", "pas", "ohne", "without", "never", "non",
		"не", "нет", "без", "ikke", "inte", "ej", "bez", "brak":
		return true
	}
	return strings.HasPrefix(words[0], "kein")
}

// subjects lists words, folded by foldWord, that occur in the names of columns about something other than email to a
// person.
var subjects = map[string]bool{}

func init() {
	for word := range strings.FieldsSeq(`order orders payment payments shipping shipment fulfillment invoice refund
		transaction financial booking bestellung bestellstatus zahlung zahlungsstatus rechnung buchung commande paiement
		facture pedido pago factura sms phone call whatsapp telefon anruf
		city town ort stadt wohnort ville ciudad localidad billingcity shippingcity`) {
		subjects[word] = true
	}
}

// otherSubject reports whether a column is only about something other than email.
func otherSubject(words []string) bool {
	for _, word := range words {
		if strings.Contains(word, "mail") || strings.HasPrefix(word, "newsletter") {
			return false
		}
	}
	return slices.ContainsFunc(words, func(word string) bool { return subjects[word] })
}

// ofEmail lists parts of status words that always mean email, regardless of the column's topic.
var ofEmail = []string{
	"subscri", "abgemeldet", "abbestellt", "desabon", "desinscri", "desuscri", "nosuscri", "optedout", "optout", "bounc",
	"spam", "complain", "email", "blacklist", "blocklist", "donotcontact", "dnc", "disiscri", "descadastr",
	"uitgeschreven",
	"afgemeld", "wypis", "odsubskryb", "avprenum", "avregistr", "afmeld", "avmeld", "frameld", "odhlas", "abonelik",
	"отпис", "відпис",
}

func isOfEmail(word string) bool {
	return slices.ContainsFunc(ofEmail, func(part string) bool { return strings.Contains(word, part) })
}
