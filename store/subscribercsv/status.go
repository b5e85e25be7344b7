package subscribercsv

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"newsletterd/core"
	"newsletterd/store/imports"
)

// ErrLeft is returned for the line of a person who is not a subscriber because they unsubscribed, bounced, marked an
// email as spam or never joined.
var ErrLeft = errors.New("unsubscribed")

// ErrPending is returned for the line of a subscriber who never confirmed.
var ErrPending = errors.New("never confirmed")

// statusColumn is a column that shows whether a person is a subscriber.
type statusColumn struct {
	index int
	name  string
	mean  meaning
	dated bool // whether a time means yes, because it is when the person subscribed
	about subject
}

// meaning interprets a cell that foldCell has folded. The result unknown means that the cell is not understood, and
// never counts as consent.
type meaning func(cell string) standing

// statusColumns maps column names, folded by foldWord, to the meaning of their cells.
var statusColumns = map[string]meaning{}

func init() {
	for _, kind := range []struct {
		mean  meaning
		names string
	}{
		{byWord, `status subscriptionstatus subscriberstatus memberstatus emailstatus marketingstatus
			emailmarketingstatus emailsubscriptionstatus emailsubscriberstatus emailpermissionstatus
			emailmarketingconsent liststatus globalstatus marketingcontactstatus contactstatus filestatus`},
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

// exportStatus lists columns that are a status only in the files of one program. A file is from that program if it has
// all columns in marks. Names are folded by foldWord.
var exportStatus = []struct {
	column string
	marks  []string
	mean   meaning
}{
	{"type", []string{"email", "notes", "tags", "creationdate"}, byWord}, // Buttondown
	{"type", []string{"metadata", "creationdate"}, byWord},
	{"state", []string{"createdat", "emailaddress"}, byWord}, // Kit
	{"state", []string{"firstname", "createdat", "email"}, byWord},
}

// statusOf returns the meaning of a column by its name, in a file with the given column names. If the name has no known
// meaning, it returns nil.
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

// meaningOf returns the meaning of a column that is declared as a status column. The column's name determines the
// meaning of yes, no and times. If it doesn't, yes and no are not understood.
func meaningOf(name string, names []string) meaning {
	if mean := statusOf(name, names); mean != nil {
		return mean
	}
	if kind := kindOf(name); kind != nil && !negated(name) {
		return byAnswer(kind.yes, kind.no)
	}
	return byWord
}

// byWord is the meaning of columns that contain status words.
func byWord(cell string) standing { return statusWords[cell] }

// byAnswer returns the meaning of a yes-or-no column, where a time means yes. If yes means that a person is not a
// subscriber, an empty cell means no, as in exports of checkboxes.
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

// answers maps words and checkbox symbols, folded by foldCell, to yes and no.
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

// byTime returns the meaning of a column with the time when a person stopped being a subscriber. Words that programs
// write for a missing time mean a subscriber. Other cells without a time are not understood.
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

// neverTime reports whether a cell, folded by foldCell, is a time or word that programs write for something that never
// happened.
func neverTime(cell string) bool {
	switch cell {
	case "", "0", "null", `\n`, "false", "no", "never":
		return true
	}
	if cell[0] == '0' && strings.Trim(cell, "0/tz+") == "" { // foldWord has removed the hyphens of a date
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

// zeroDates lists the beginnings of times, folded by foldCell, that programs write for 0. They come from Unix (also in
// American time zones), Go, .NET and spreadsheets.
var zeroDates = []string{
	"00000000", "00010101", "01010001", "1/1/0001", "01/01/0001", "19700101", "01011970", "1/1/1970", "01/01/1970",
	"19691231", "12/31/1969", "18991230", "18991231", "19000100", "19000101", "1/0/1900", "1/1/1900", "01011900",
}

// nothings lists cells, folded by foldCell, that mean "no value".
var nothings = map[string]bool{}

func init() {
	for word := range strings.FieldsSeq(`n/a na none nan nat nil undefined empty blank leer keine kein nichts nie jamais nunca
		vide aucun vacio ninguno invaliddate notunsubscribed neverunsubscribed notset nigdy aldrig nikdy brak ingen yok
		никогда`) {
		nothings[word] = true
	}
}

// isNothing reports whether a cell, folded by foldCell, in a column about leaving, means that the person has not left.
func isNothing(cell string) bool { return nothings[cell] || neverTime(cell) }

// hasYear reports whether a cell contains a year from 1990 to 2100.
func hasYear(cell string) bool {
	for i := range len(cell) - 3 {
		if year := cell[i : i+4]; year >= "1990" && year <= "2100" && strings.Trim(year, "0123456789") == "" {
			return true
		}
	}
	return false
}

// isDate reports whether a cell, folded by foldWord, looks like a date because at least half of its characters are
// digits.
func isDate(cell string) bool {
	digits := 0
	for i := range len(cell) {
		if cell[i] >= '0' && cell[i] <= '9' {
			digits++
		}
	}
	return digits >= 4 && 2*digits >= len(cell)
}

// foldWord returns a canonical form of a word. The form is the same for "Subscription Status" and subscription_status,
// and for words with and without accents.
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

// plainLetters maps accented letters of both cases to letters without accents.
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

// part is the result of reading a line's status columns.
type part struct {
	err  error // ErrLeft, a LineError or ErrPending; nil means a subscriber
	left imports.Departure
}

// takesPart reads the status columns of a line. The strictest result wins. If any column says that the person left, the
// error is ErrLeft. Otherwise, if a cell is not understood, it is a LineError, even if another column means ErrPending.
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
				fault = LineError{Line: line, Text: fmt.Sprintf("unknown %s %q", col.name, cell)}
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
			p.left.Block, gone = max(p.left.Block, said.block()), true // alphabetical order is the order of strictness
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

// suppressed returns the part for the same line in a file of addresses that must not be emailed.
func (p part) suppressed() part {
	p.err = ErrLeft
	if p.left.Block == core.NotBlocked {
		p.left.Block = core.StatusSuppressed
	}
	p.left.Unsubscribed = false
	return p
}
