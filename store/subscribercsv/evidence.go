package subscribercsv

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"newsletterd/core"
)

// Mapping names for evidence columns. The name for a time can have a suffix for the order of day and month, as in
// "subscribed_at:dmy".
const (
	BecomesSubscribedAt = "subscribed_at"
	BecomesSubscribedIP = "subscribed_ip"
	BecomesConfirmedAt  = "confirmed_at"
	BecomesConfirmedIP  = "confirmed_ip"
)

// happenings lists the events in the other system, in the order in which evidence lists them.
var happenings = [...]string{"subscribed", "opted in", "confirmed", "created"}

// evidenceColumn is a column with the time or the IP address of a consent that was given in another system.
type evidenceColumn struct {
	what    string // event in the other system
	address bool   // whether the column contains IP addresses instead of times
	index   int
	order   DateOrder
	mapped  bool // whether a mapping declares the column; an invalid cell is then an error of its line
}

// evidenceColumns maps column names, folded by foldWord, to the evidence in these columns. Programs use these names for
// the time and the IP address of a subscriber's consent.
var evidenceColumns = map[string]evidenceColumn{}

// datedColumns is like evidenceColumns, for names that mean evidence only if the column contains times. Such a column
// can also contain yes and no, or anything else.
var datedColumns = map[string]evidenceColumn{}

func init() {
	for _, kind := range []struct {
		in    map[string]evidenceColumn
		as    evidenceColumn
		names string
	}{
		// Mailchimp, Brevo, Klaviyo
		{evidenceColumns, evidenceColumn{what: "opted in"}, "optin time, optin date, optin at, optin timestamp, " +
			"optin datetime, " +
			"opted in at, opted in on, consent timestamp, consent date, consent time, consented at, " +
			"consent given at, " +
			"email consent timestamp, email marketing consent timestamp, email consent date, gdpr consent date, " +
			"einwilligung am, datum der einwilligung, date de consentement, fecha de consentimiento"},
		{evidenceColumns, evidenceColumn{what: "opted in", address: true}, "optin ip, optin ip address, " +
			"consent ip, opted in ip"},
		// Mailchimp, MailPoet
		{evidenceColumns, evidenceColumn{what: "confirmed"}, "confirm time, confirmation time, confirmed at, " +
			"confirmed on, " +
			"confirm date, confirmation date, confirmed time, confirmed date, double optin date, " +
			"double optin time, " +
			"double optin at, bestätigt am, bestätigungsdatum, confirmé le, date de confirmation, " +
			"fecha de confirmación, " +
			"data di conferma, bevestigd op, data de confirmação"},
		{evidenceColumns, evidenceColumn{what: "confirmed", address: true}, "confirm ip, confirmation ip, " +
			"confirmed ip, " +
			"confirm ip address, double optin ip"},
		// MailPoet, Campaign Monitor, AWeber, Constant Contact
		{evidenceColumns, evidenceColumn{what: "subscribed"}, "subscribed at, subscribed on, subscribe time, " +
			"subscribe date, " +
			"subscribed date, subscribed time, subscription date, subscription time, subscription created at, " +
			"date subscribed, " +
			"subscribed since, signup date, signup time, signup at, sign up date, signed up at, signed up on, " +
			"joined at, " +
			"joined on, join date, date joined, anmeldedatum, angemeldet am, angemeldet seit, abonniert am, " +
			"eintragungsdatum, " +
			"eingetragen am, date d'inscription, inscrit le, date d’abonnement, fecha de suscripción, " +
			"fecha de alta, " +
			"fecha de inscripción, data di iscrizione, iscritto il, aanmelddatum, aangemeld op, ingeschreven op, " +
			"inschrijfdatum, data de inscrição, data de subscrição, inscrito em"},
		{evidenceColumns, evidenceColumn{what: "subscribed", address: true}, "subscribed ip, subscribe ip, " +
			"subscription ip, " +
			"signup ip, sign up ip, signup ip address, ip address, ip-adresse, adresse ip, dirección ip, " +
			"indirizzo ip, ip-adres"},
		// Substack, Ghost, Kit, listmonk, beehiiv, Buttondown, HubSpot
		{evidenceColumns, evidenceColumn{what: "created"}, "created at, created on, creation date, create date, " +
			"created date, " +
			"date created, creation time, created time, date added, added at, added on, added time, add time, " +
			"added date, " +
			"profile created on, profile created at, contact created, erstellt am, angelegt am, hinzugefügt am, " +
			"erstellungsdatum, créé le, ajouté le, date de création, date d'ajout, creado el, fecha de creación, " +
			"fecha de creacion, creato il, data di creazione, aangemaakt op, criado em, data de criação"},
		// MailerLite, Google Forms
		{datedColumns, evidenceColumn{what: "subscribed"}, "subscribed, subscription, subscribed to emails, " +
			"signup, sign up, " +
			"joined, registered, timestamp, zeitstempel, horodateur, marca temporal, informazioni cronologiche, " +
			"tijdstempel, " +
			"carimbo de data/hora, anmeldung, angemeldet, abonniert, eingetragen, inscription, inscrit, " +
			"inscrito, iscritto, " +
			"suscrito, alta, since, seit, depuis"},
		{datedColumns, evidenceColumn{what: "opted in"}, "optin, opted in, consent, consented, einwilligung, " +
			"consentement, " +
			"consentimiento"},
		{datedColumns, evidenceColumn{what: "confirmed"}, "confirmed, is confirmed, confirmation, double optin, " +
			"bestätigt, " +
			"bestätigung, confirmé, confirmado, confermato, bevestigd"},
		{datedColumns, evidenceColumn{what: "created"}, "created, added, date, datum, fecha, data, erstellt, " +
			"hinzugefügt, créé, " +
			"ajouté, creado, creato, aangemaakt, criado"},
	} {
		for name := range foldedNames(kind.names) {
			kind.in[name] = kind.as
		}
	}
}

// noteEvidence notes a column with evidence of a consent. It reports whether the column has evidence. It uses only the
// first column of each kind.
func (c *Reader) noteEvidence(i int, name string) bool {
	col, ok := evidenceColumns[foldWord(name)]
	if !ok && c.isDated(i) {
		col, ok = datedColumns[foldWord(name)]
	}
	return ok && c.addEvidence(i, col)
}

func (c *Reader) addEvidence(i int, col evidenceColumn) bool {
	for _, other := range c.proof {
		if other.what == col.what && other.address == col.address {
			return false
		}
	}
	col.index = i
	if col.order == "" {
		col.order = c.dateOrder(i)
	}
	c.proof = append(c.proof, col)
	return true
}

// isDated reports whether most non-empty cells of a column are times.
func (c *Reader) isDated(i int) bool {
	s := c.surveyOf(i)
	return s != nil && 2*s.Dates.Dates() > s.Filled
}

func (c *Reader) surveyOf(i int) *ColumnSurvey {
	if s := c.options.Survey; s != nil && i < len(s.Columns) {
		return &s.Columns[i]
	}
	return nil
}

func (c *Reader) dateOrder(i int) DateOrder {
	if s := c.surveyOf(i); s != nil {
		return s.Dates.Order()
	}
	return Ambiguous
}

// mapEvidence applies a mapping to a column and reports whether the column becomes evidence. If the column's dates are
// ambiguous, or the mapping is wrong, the error is a MappingError.
func (c *Reader) mapEvidence(i int, name, to string) (bool, error) {
	what, order, _ := strings.Cut(to, ":")
	col := evidenceColumn{mapped: true, order: DateOrder(order)}
	switch what {
	case BecomesSubscribedAt, BecomesSubscribedIP:
		col.what = "subscribed"
	case BecomesConfirmedAt, BecomesConfirmedIP:
		col.what = "confirmed"
	default:
		return false, nil
	}
	col.address = strings.HasSuffix(what, "_ip")
	if order != "" && (col.address || col.order != DayMonth && col.order != MonthDay) {
		return true, MappingError{fmt.Sprintf("%q is unknown. Use dmy or mdy after the colon", to), " (--map)"}
	}
	if !c.addEvidence(i, col) {
		return true, MappingError{fmt.Sprintf("two columns are mapped to %s", what), " (--map)"}
	}
	if s := c.surveyOf(i); order == "" && !col.address && s != nil && s.Dates.Order() == Ambiguous && s.Dates.Either > 0 {
		return true, MappingError{
			fmt.Sprintf("dates in column %q are ambiguous, for example %s", name, s.Dates.Sample),
			fmt.Sprintf(` (--map "%[1]s=%[2]s:dmy" if the day comes first, --map "%[1]s=%[2]s:mdy" if the month does)`,
				name, what),
		}
	}
	return true, nil
}

// becomes returns the name that declares a column of this kind in a mapping.
func (col *evidenceColumn) becomes() string {
	switch {
	case col.what == "confirmed" && col.address:
		return BecomesConfirmedIP
	case col.what == "confirmed":
		return BecomesConfirmedAt
	case col.address:
		return BecomesSubscribedIP
	}
	return BecomesSubscribedAt
}

// TwoDays describes an evidence column with dates that can mean two different days. Such dates are stored as written.
type TwoDays struct{ Column, Sample, Becomes string }

// TwoDays returns the evidence columns with ambiguous dates. For each, someone should state whether the day or the
// month comes first.
func (c *Reader) TwoDays() (columns []TwoDays) {
	for _, col := range c.proof {
		if s := c.surveyOf(col.index); s != nil && col.order == Ambiguous && s.Dates.Either > 0 {
			columns = append(columns, TwoDays{cleanCell(c.header[col.index]), s.Dates.Sample, col.becomes()})
		}
	}
	return columns
}

// evidence returns a record's evidence of a consent that was given in another system, for example "opted in
// 2019-05-01T09:58:00Z from 203.0.113.9; confirmed 2019-05-01T10:00:00Z". Empty cells are ignored. Unreadable times are
// stored as written, in quotes. The Reader counts records with unreadable or future times. If a mapping declares the
// column as evidence, such a cell is an error.
func (c *Reader) evidence(record []string) (string, error) {
	fault := readable
	var parts []string
	for _, what := range happenings {
		part := what
		for _, address := range [...]bool{false, true} {
			for _, col := range c.proof {
				if col.what != what || col.address != address {
					continue
				}
				cell, f := evidenceCell(record[col.index], &col, c.Now)
				if f != readable && col.mapped {
					cell, name := cleanCell(record[col.index]), c.header[col.index]
					if address {
						return "", core.Invalidf("", "%q in column %s is not an IP address.", cell, name)
					}
					return "", core.Invalidf("", "%q in column %s is not a date.", cell, name)
				}
				fault = max(fault, f)
				part += cell
			}
		}
		if part != what {
			parts = append(parts, part)
		}
	}
	switch fault {
	case future:
		c.Future++
	case unreadable:
		c.Unreadable++
	}
	return strings.Join(parts, "; "), nil
}

// cellFault is the reason why a cell is not evidence. A line is counted once, under the greatest value among its cells.
type cellFault uint8

const (
	readable cellFault = iota
	future
	unreadable
)

// maxKeptCell is the maximum number of bytes of a cell that is kept if the cell is not a time.
const maxKeptCell = 40

// evidenceCell returns the part of the evidence that comes from a cell: " TIME", " from ADDRESS", ` "CELL"` for an
// unreadable time, or an empty string.
func evidenceCell(cell string, col *evidenceColumn, now core.Instant) (string, cellFault) {
	cell = cleanCell(plainCell(cell))
	switch foldWord(cell) {
	case "", "0", "null", `\n`, "false", "no", "never", "none", "na", "n/a":
		return "", readable
	}
	if strings.HasPrefix(cell, "0000-00-00") {
		return "", readable
	}
	if col.address {
		ip, err := netip.ParseAddr(cell)
		if err != nil || ip.Zone() != "" {
			return "", unreadable
		}
		return " from " + ip.Unmap().String(), readable
	}
	d, ok := evidenceTime(cell, col.order)
	switch {
	case !ok:
		if len(cell) > maxKeptCell {
			cell = strings.ToValidUTF8(cell[:maxKeptCell], "")
		}
		if !core.CleanText(cell) || !utf8.ValidString(cell) {
			return "", unreadable
		}
		return " " + strconv.Quote(cell), unreadable
	case now > 0 && d.earliest().After(now.Time()):
		return "", future
	}
	return " " + d.at.Format(time.RFC3339), readable
}

const (
	clockSkew   = 5 * time.Minute // allowed difference between the clocks of two programs
	easternmost = 14 * time.Hour  // largest offset of a time zone from UTC
)

// earliest returns the earliest instant that d can mean. It allows for clock skew and, if d has no zone, for any zone.
func (d readDate) earliest() time.Time {
	if d.zoned {
		return d.at.Add(-clockSkew)
	}
	return d.at.Add(-clockSkew - easternmost)
}

// evidenceTime reads a time in one of the forms that readTime accepts, or in seconds or milliseconds since 1970. If
// order is ambiguous, it rejects dates that can mean two days.
func evidenceTime(cell string, order DateOrder) (d readDate, ok bool) {
	if n, err := strconv.ParseInt(cell, 10, 64); err == nil {
		switch len(cell) {
		case 10:
			return readDate{time.Unix(n, 0).UTC(), true}, n > 631152000 // n is the year 1990 or later
		case 13:
			return readDate{time.UnixMilli(n).UTC(), true}, n > 631152000_000
		}
		return d, false
	}
	if order != Ambiguous {
		return readTime(cell, order)
	}
	a, dm := readTime(cell, DayMonth)
	b, md := readTime(cell, MonthDay)
	switch {
	case !md:
		return a, dm
	case !dm:
		return b, md
	}
	return a, a.at.Equal(b.at)
}
