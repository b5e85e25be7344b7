package subscribercsv

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"newsletterd/core"
	"newsletterd/store/imports"
)

// ErrLeft is returned for the line of someone who is no subscriber: they have left, bounced, complained or never
// joined.
var ErrLeft = errors.New("unsubscribed")

// ErrPending is returned for the line of a subscriber who never confirmed.
var ErrPending = errors.New("never confirmed")

// statusColumn is a column that says in any file whether a subscriber takes part.
type statusColumn struct {
	index int
	name  string
	mean  meaning
	dated bool // a cell with a time is a yes: when the subscriber has joined
	about subject
}

// meaning returns what a cell says by foldCell. Unknown: the cell is not understood, which is never taken for consent.
type meaning func(cell string) standing

// statusColumns has the meaning of the cells of each column, by foldWord.
var statusColumns = map[string]meaning{}

func init() {
	for _, kind := range []struct {
		mean  meaning
		names string
	}{
		{byWord, `status subscriptionstatus subscriberstatus memberstatus emailstatus marketingstatus
			emailmarketingstatus emailsubscriptionstatus emailsubscriberstatus emailpermissionstatus
			emailmarketingconsent liststatus globalstatus marketingcontactstatus contactstatus`},
		// Substack, Salesforce, HubSpot and common names
		{byAnswer(unsubscribed, joined), `unsubscribed isunsubscribed unsubscribe optout optedout emailoptout emailoptedout
			hasoptedoutofemail unsubscribedfromallemail donotemail donotmail emaildisabled disabled deleted isdeleted`},
		{byAnswer(suppressed, joined), `donotcontact blocklisted blacklisted emailblocklisted emailblacklisted blocked
			suppressed issuppressed`},
		{byAnswer(bounced, joined), "bounced hasbounced hardbounced cleaned"},
		{byAnswer(complained, joined), "complained markedasspam"},
		// Ghost and Shopify
		{byAnswer(joined, unsubscribed), `subscribed issubscribed subscribedtoemails optin optedin emailoptin acceptsmarketing
			acceptsemailmarketing active isactive`},
		{byAnswer(joined, pending), "confirmed isconfirmed"},
		// Mailchimp and Ghost
		{byTime(unsubscribed), `unsubtime unsubscribedat unsubscribedon unsubscribetime unsubscribedate unsubscribeddate
			optedoutat optouttime optoutdate deletedat`},
		{byTime(bounced), "cleantime cleanedat bouncedat"},
		{byTime(complained), "complainedat"},
	} {
		for name := range strings.FieldsSeq(kind.names) {
			statusColumns[name] = kind.mean
		}
	}
}

// exportStatus are columns that only say who takes part in the files of one program: there, all of its marks stand next
// to it. Names are by foldWord.
var exportStatus = []struct {
	column string
	marks  []string
	mean   meaning
}{
	{"type", []string{"email", "notes", "tags", "creationdate"}, byWord},  // Buttondown
	{"state", []string{"firstname", "createdat", "emailaddress"}, byWord}, // Kit
	{"state", []string{"firstname", "createdat", "email"}, byWord},
}

// statusOf returns the meaning of a column by its name, in a file of these names; nil: it has none that is known.
func statusOf(name string, names []string) meaning {
	folded := foldWord(name)
	if mean := statusColumns[folded]; mean != nil {
		return mean
	}
	for _, export := range exportStatus {
		if export.column != folded {
			continue
		}
		found := 0
		for _, mark := range export.marks {
			for _, other := range names {
				if foldWord(other) == mark {
					found++
					break
				}
			}
		}
		if found == len(export.marks) {
			return export.mean
		}
	}
	return nil
}

// meaningOf returns the meaning of a column that is declared to say who takes part: of its words, and of yes, no and
// times as its name says. In a column whose name says nothing of the kind, yes and no are not understood.
func meaningOf(name string, names []string) meaning {
	if mean := statusOf(name, names); mean != nil {
		return mean
	}
	if kind := kindOf(name); kind != nil && !negated(name) {
		return byAnswer(kind.yes, kind.no)
	}
	return byWord
}

// byWord reads a status.
func byWord(cell string) standing { return statusWords[cell] }

// byAnswer reads yes or no, or a time for yes. Where yes means that someone is no subscriber, an empty cell is a no:
// exports of check boxes have such.
func byAnswer(yes, no standing) meaning {
	return func(cell string) standing {
		switch answers[cell] {
		case 'y':
			return yes
		case 'n':
			return no
		}
		switch {
		case yes.leaves() && isNothing(cell), cell != "" && neverTime(cell):
			return no
		case isDate(cell):
			return yes
		}
		return statusWords[cell]
	}
}

// answers are yes and no in the words and the signs of check boxes, by foldCell.
var answers = map[string]byte{
	"true": 'y', "t": 'y', "yes": 'y', "y": 'y', "1": 'y', "x": 'y', "on": 'y', "ja": 'y', "j": 'y', "wahr": 'y',
	"oui":    'y',
	"\u2713": 'y', "\u2714": 'y', "\u2611": 'y', "\u2705": 'y',
	"vrai": 'y', "si": 'y', "verdadero": 'y',
	"tak": 'y', "evet": 'y', "ano": 'y', "sim": 'y', "да": 'y',
	"nie": 'n', "hayir": 'n', "ne": 'n', "nej": 'n', "nei": 'n', "nee": 'n', "nao": 'n', "нет": 'n',
	"false": 'n', "f": 'n', "no": 'n', "n": 'n', "0": 'n', "off": 'n', "nein": 'n', "falsch": 'n', "non": 'n', "faux": 'n',
	"falso": 'n',
}

// byTime reads the time at which someone left. What programs write for no such time means active; what is neither is
// not understood.
func byTime(then standing) meaning {
	return func(cell string) standing {
		switch {
		case isNothing(cell), answers[cell] == 'n':
			return joined
		case answers[cell] == 'y', isDate(cell), hasYear(cell):
			return then
		}
		return statusWords[cell]
	}
}

// neverTime reports whether a cell says by foldCell that something never happened.
func neverTime(cell string) bool {
	switch cell {
	case "", "0", "null", `\n`, "false", "no", "never":
		return true
	}
	if cell[0] == '0' && strings.Trim(cell, "0/tz+") == "" { // foldWord has taken the - of a date
		return true
	}
	if n := len(cell); (n == 10 || n == 13) && strings.Trim(cell, "0123456789") == "" {
		return false // seconds or milliseconds since 1970
	}
	for _, zero := range zeroDates {
		if strings.HasPrefix(cell, zero) {
			return true
		}
	}
	return false
}

// zeroDates begin the times, by foldCell, that programs write for 0: those of Unix, also in America, of Go, of .NET and
// of spreadsheets.
var zeroDates = []string{
	"00000000", "00010101", "01010001", "1/1/0001", "01/01/0001", "19700101", "01011970", "1/1/1970", "01/01/1970",
	"19691231", "12/31/1969", "18991230", "18991231", "19000100", "19000101", "1/0/1900", "1/1/1900", "01011900",
}

// nothings are cells, by foldCell, that say that there is nothing to say.
var nothings = map[string]bool{}

func init() {
	for word := range strings.FieldsSeq(`n/a na none nan nat nil undefined empty blank leer keine kein nichts nie jamais nunca
		vide aucun vacio ninguno invaliddate notunsubscribed neverunsubscribed notset nigdy aldrig nikdy brak ingen yok
		никогда`) {
		nothings[word] = true
	}
}

// isNothing reports whether a cell, by foldCell, says that someone hasn't left in a column of those who have.
func isNothing(cell string) bool { return nothings[cell] || neverTime(cell) }

// hasYear reports whether a year of our time stands in a cell.
func hasYear(cell string) bool {
	for i := range len(cell) - 3 {
		if year := cell[i : i+4]; year >= "1990" && year <= "2100" && strings.Trim(year, "0123456789") == "" {
			return true
		}
	}
	return false
}

// isDate reports whether a cell looks, by foldWord, like a date: it has digits, and little else.
func isDate(cell string) bool {
	digits := 0
	for i := range len(cell) {
		if cell[i] >= '0' && cell[i] <= '9' {
			digits++
		}
	}
	return digits >= 4 && 2*digits >= len(cell)
}

// foldWord returns a word in a form that is the same for "Subscription Status" and subscription_status, and for words
// with and without accents.
func foldWord(s string) string {
	plain := true
	for i := 0; plain && i < len(s); i++ {
		c := s[i]
		plain = c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
	}
	if plain {
		return s
	}
	b := make([]byte, 0, len(s))
	for _, r := range s {
		switch {
		case r >= 'A' && r <= 'Z':
			b = append(b, byte(r)+'a'-'A')
		case strings.ContainsRune(" _-?.!:'()\u2019"+unseen, r), r >= 0x300 && r <= 0x36f:
		case r < 0x80:
			b = append(b, byte(r))
		default:
			b = append(b, foldLetter(r)...)
		}
	}
	return string(b)
}

// foldLetter returns a letter in lower case without its accent.
func foldLetter(r rune) string {
	if plain, ok := plainLetters[r]; ok {
		return plain
	}
	return strings.ToLower(string(r))
}

// plainLetters are letters without their accents, by letters of both cases.
var plainLetters = func() map[rune]string {
	letters := map[rune]string{}
	for plain, accented := range map[string]string{
		"a": "àáâãäåąă", "ae": "æ", "c": "çćč", "d": "ďđ", "e": "èéêëęě", "g": "ğ", "i": "ìíîïıİ", "l": "łľĺ", "n": "ñńň",
		"o": "òóôõöőø", "r": "řŕ", "s": "śšşș", "ss": "ß", "t": "ťţț", "u": "ùúûüůű", "y": "ýÿ", "z": "źżž", "е": "ё",
	} {
		for _, r := range accented {
			letters[r] = plain
			if upper := unicode.ToUpper(r); upper >= 0x80 {
				letters[upper] = plain
			}
		}
	}
	return letters
}()

// part is what the columns of status say of a line.
type part struct {
	err  error // ErrLeft, a LineError, or ErrPending; nil: a subscriber
	left imports.Departure
}

// takesPart reads the columns of status. The strictest counts: a person who has left by one of them is no subscriber,
// whatever the others say; then comes a LineError if one is not understood, then ErrPending.
func (c *Reader) takesPart(line int, record []string) (p part) {
	var fault error
	gone := false
	for _, col := range c.status {
		cell := record[col.index]
		if _, ok := evidenceTime(cell, DayMonth); ok && col.dated {
			continue
		}
		said := col.mean(foldCell(cell))
		if said == unknown {
			said = listed(cell, col.about)
		}
		switch said {
		case unknown:
			if fault == nil {
				fault = LineError{line, fmt.Sprintf("unknown %s %q", col.name, cell)}
			}
		case joined:
		case pending:
			if !c.AskAgain {
				p.err = ErrPending
			}
		case never:
			gone = true
		case unsubscribed:
			p.left.Unsubscribed, gone = true, true
			if left, ok := readTime(plainCell(cell), DayMonth); ok {
				p.left.LeftAt = max(p.left.LeftAt, core.At(left.at))
			}
		default:
			p.left.Block, gone = max(p.left.Block, said.block()), true // in the order of words
		}
	}
	switch {
	case gone:
		p.err = ErrLeft
	case fault != nil:
		p.err = fault
	}
	return p
}

// suppressed is the part of a line in a file of addresses that must not be emailed.
func (p part) suppressed() part {
	p.err = ErrLeft
	if p.left.Block == core.NotBlocked {
		p.left.Block = core.StatusSuppressed
	}
	p.left.Unsubscribed = false
	return p
}
