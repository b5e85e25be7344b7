package subscribercsv

import (
	"strings"
	"time"
)

// DateOrder is the order of day and month in a date such as 3/5/2023.
type DateOrder string

// The orders of day and month. Only all rows of a column together can show the order, because a single 3/5/2023 is
// ambiguous.
const (
	DayMonth  DateOrder = "dmy"
	MonthDay  DateOrder = "mdy"
	Ambiguous DateOrder = "ambiguous"
)

// DateCount holds the numbers of dates in a column by what they show about the order of day and month.
type DateCount struct {
	Plain    int64  `json:"plain,omitempty"`     // dates that are the same in both orders, or name the month
	DayMonth int64  `json:"day_month,omitempty"` // dates that are valid only if the day comes first
	MonthDay int64  `json:"month_day,omitempty"`
	Either   int64  `json:"either,omitempty"` // dates that differ between the two orders
	Sample   string `json:"sample,omitempty"` // first date counted in Either
}

func (d *DateCount) any() bool { return d.Dates() > 0 }

// Dates returns the number of cells that are dates.
func (d *DateCount) Dates() int64 { return d.Plain + d.DayMonth + d.MonthDay + d.Either }

// Order derives the order of day and month in a column from the dates that are valid in only one order. A column with
// dates of both kinds is ambiguous.
func (d *DateCount) Order() DateOrder {
	switch {
	case d.DayMonth > 0 && d.MonthDay == 0:
		return DayMonth
	case d.MonthDay > 0 && d.DayMonth == 0:
		return MonthDay
	case d.DayMonth+d.MonthDay+d.Either > 0:
		return Ambiguous
	}
	return DayMonth // no date requires an order
}

func (d *DateCount) add(cell string) {
	a, dm := readTime(cell, DayMonth)
	b, md := readTime(cell, MonthDay)
	switch {
	case dm && md && a.at.Equal(b.at):
		d.Plain++
	case dm && md:
		if d.Either++; d.Sample == "" {
			d.Sample = strings.Clone(strings.TrimSpace(cell))
		}
	case dm:
		d.DayMonth++
	case md:
		d.MonthDay++
	}
}

// readDate is a time read from a cell.
type readDate struct {
	at    time.Time // in UTC; a time without a zone is read as UTC
	zoned bool
}

// maxDateBytes is the maximum length of a time in bytes. The longest form is "Wednesday, September 13, 2023 at
// 10:11:12.123456 AM +0000 UTC".
const maxDateBytes = 64

// readTime reads a time in the forms that programs and spreadsheets write, such as 2023-05-03T10:11:12.000Z, 2023-05-03
// 10:11:12 +0200, 03.05.2023 10:11, 5/3/23 10:11 AM, May 3, 2023, 3 mai 2023, Wed, 03 May 2023 10:11:12 +0000. It
// accepts only times from 1990 to 2100, because 0000-00-00 and 1970-01-01 mean no time.
func readTime(cell string, order DateOrder) (d readDate, ok bool) {
	s := dateScan{text: strings.TrimSpace(cell)}
	if len(s.text) < len("1/1/23") || len(s.text) > maxDateBytes {
		return d, false
	}
	year, month, day, ok := s.date(order)
	if !ok {
		return d, false
	}
	hour, minute, second, nano, ok := s.clock()
	if !ok {
		return d, false
	}
	offset, zoned, ok := s.zone()
	if !ok || !s.end() {
		return d, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nano, time.UTC)
	if t.Day() != day || t.Year() < 1990 || t.Year() > 2100 {
		return d, false
	}
	return readDate{t.Add(-offset), zoned}, true
}

// dateScan reads a time from left to right.
type dateScan struct{ text string }

func (s *dateScan) end() bool { return s.text == "" }

// number reads up to limit digits. It returns the number and the count of digits.
func (s *dateScan) number(limit int) (n, digits int) {
	for digits < len(s.text) && digits < limit && s.text[digits] >= '0' && s.text[digits] <= '9' {
		n = 10*n + int(s.text[digits]-'0')
		digits++
	}
	s.text = s.text[digits:]
	return n, digits
}

// word reads letters and a period after them.
func (s *dateScan) word() string {
	i := strings.IndexFunc(s.text, func(r rune) bool { return r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x80 })
	if i < 0 {
		i = len(s.text)
	}
	w := s.text[:i]
	s.text = strings.TrimPrefix(s.text[i:], ".")
	return w
}

// skip skips all leading characters that are in any.
func (s *dateScan) skip(any string) { s.text = strings.TrimLeft(s.text, any) }

func (s *dateScan) byte(any string) (b byte, ok bool) {
	if s.text == "" || strings.IndexByte(any, s.text[0]) < 0 {
		return 0, false
	}
	b, s.text = s.text[0], s.text[1:]
	return b, true
}

func (s *dateScan) date(order DateOrder) (year, month, day int, ok bool) {
	if c := s.text[0]; c < '0' || c > '9' {
		return s.named()
	}
	first, digits := s.number(4)
	sep, found := s.byte("-/. ")
	switch {
	case !found, digits == 3:
		return 0, 0, 0, false
	case digits == 4:
		month, m := s.number(2)
		if _, same := s.byte(string(sep)); !same || m == 0 || sep == ' ' {
			return 0, 0, 0, false
		}
		day, d := s.number(2)
		return first, month, day, d > 0 && month > 0 && month <= 12 && day > 0
	case sep == ' ' || sep == '.' && strings.HasPrefix(s.text, " ") || !s.digit():
		s.skip(" -")
		if month = months[strings.ToLower(s.skipOf().word())]; month == 0 {
			return 0, 0, 0, false
		}
		s.skip(" ,-/")
		s.skipOf()
		year, ok = s.year()
		return year, month, first, ok
	}
	second, d := s.number(2)
	if _, same := s.byte(string(sep)); !same || d == 0 {
		return 0, 0, 0, false
	}
	day, month = first, second
	if order == MonthDay && sep != '.' { // a period separates only dates that begin with the day
		day, month = second, first
	}
	year, ok = s.year()
	return year, month, day, ok && month > 0 && month <= 12 && day > 0
}

func (s *dateScan) digit() bool { return s.text != "" && s.text[0] >= '0' && s.text[0] <= '9' }

// skipOf skips the word "de", which is between day, month and year in Spanish and Portuguese dates.
func (s *dateScan) skipOf() *dateScan {
	if len(s.text) > 3 && strings.EqualFold(s.text[:3], "de ") {
		s.text = s.text[3:]
	}
	return s
}

// year reads a year of four digits, or of two digits, which it completes as spreadsheets do.
func (s *dateScan) year() (int, bool) {
	n, digits := s.number(4)
	if digits == 2 {
		n += 2000
	}
	return n, digits == 4 || digits == 2
}

// named reads a date that begins with the name of a month or of a weekday. The weekday is ignored.
func (s *dateScan) named() (year, month, day int, ok bool) {
	w := strings.ToLower(s.word())
	if w == "" {
		return 0, 0, 0, false
	}
	if month = months[w]; month == 0 {
		if comma := strings.HasPrefix(s.text, ","); !comma && !weekdays[w] {
			return 0, 0, 0, false
		}
		s.skip(", ")
		if s.text == "" {
			return 0, 0, 0, false
		}
		if s.digit() {
			return s.date(DayMonth)
		}
		month = months[strings.ToLower(s.word())]
	}
	s.skip(" -")
	day, digits := s.number(2)
	for _, suffix := range [...]string{"st", "nd", "rd", "th"} {
		s.text = strings.TrimPrefix(s.text, suffix)
	}
	if month == 0 || digits == 0 {
		return 0, 0, 0, false
	}
	rest := *s
	s.skip(", -")
	if year, ok = s.year(); ok && !strings.HasPrefix(s.text, ":") {
		return year, month, day, day > 0
	}
	*s = rest // for example "Mon Jan 2 15:04:05 2006", with the year at the end
	return s.yearLast(month, day)
}

// yearLast reads the rest of a date in the C library's format, where the time of day comes before the year. The scan
// then continues at the time of day.
func (s *dateScan) yearLast(month, day int) (int, int, int, bool) {
	text := strings.TrimRight(s.text, " ")
	i := strings.LastIndexByte(text, ' ')
	if i < 0 {
		return 0, 0, 0, false
	}
	last := dateScan{text[i+1:]}
	year, ok := last.year()
	s.text = text[:i]
	return year, month, day, ok && last.end() && day > 0
}

// clock reads the time of day. Without one, it returns midnight.
func (s *dateScan) clock() (hour, minute, second, nano int, ok bool) {
	before := s.text
	if s.skip(" ,"); strings.HasPrefix(s.text, "at ") {
		s.text = s.text[3:]
	} else if t, found := strings.CutPrefix(s.text, "T"); found && s.text == before {
		s.text = t
	} else if s.text == before {
		return 0, 0, 0, 0, s.text == "" || s.text == "Z"
	}
	if !s.digit() {
		return 0, 0, 0, 0, true
	}
	hour, _ = s.number(2)
	if _, colon := s.byte(":"); !colon {
		return 0, 0, 0, 0, false
	}
	minute, digits := s.number(2)
	if ok = digits == 2; !ok {
		return 0, 0, 0, 0, false
	}
	if _, colon := s.byte(":"); colon {
		if second, digits = s.number(2); digits != 2 {
			return 0, 0, 0, 0, false
		}
		if _, point := s.byte(".,"); point {
			n, digits := s.number(9)
			for ; digits < 9; digits++ {
				n *= 10
			}
			nano = n
		}
	}
	hour, ok = s.half(hour)
	return hour, minute, second, nano, ok && hour < 24 && minute < 60 && second < 61
}

// half reads AM or PM and returns the hour on a 24-hour clock.
func (s *dateScan) half(hour int) (int, bool) {
	text := strings.TrimLeft(s.text, " \u00a0\u202f")
	if len(text) < 2 {
		return hour, true
	}
	switch half := strings.ToUpper(strings.ReplaceAll(text, ".", "")); {
	case strings.HasPrefix(half, "AM"), strings.HasPrefix(half, "PM"):
		if hour < 1 || hour > 12 {
			return 0, false
		}
		if hour %= 12; half[0] == 'P' {
			hour += 12
		}
		if s.text = text[2:]; text[1] == '.' {
			s.text = strings.TrimPrefix(text[3:], ".")
		}
	}
	return hour, true
}

// zone reads Z, UTC, +02:00, +0200, "+0000 UTC" or nothing. It rejects the names of other zones, because they mean
// different offsets in different countries.
func (s *dateScan) zone() (offset time.Duration, zoned, ok bool) {
	s.skip(" ")
	if s.text == "" {
		return 0, false, true
	}
	sign, signed := s.byte("+-")
	if signed {
		hour, digits := s.number(2)
		if digits != 2 {
			return 0, false, false
		}
		_, colon := s.byte(":")
		minute, digits := s.number(2)
		if digits == 1 || colon && digits == 0 || hour > 14 || minute > 59 {
			return 0, false, false
		}
		offset = time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute
		if sign == '-' {
			offset = -offset
		}
		if s.skip(" "); s.text != "" { // Go and Ruby also write the zone's name
			s.word()
		}
		return offset, true, true
	}
	switch strings.ToUpper(s.word()) {
	case "Z", "UTC", "GMT":
		if s.text != "" { // JavaScript writes GMT+0200
			return s.zone()
		}
		return 0, true, true
	}
	return 0, false, false
}

var weekdays = map[string]bool{}

// months maps the names of months, in lower case, to their numbers. The names are in the languages of the console and
// of neighboring countries.
var months = map[string]int{}

func init() {
	for _, names := range []string{
		"january february march april may june july august september october november december",
		"jan feb mar apr may jun jul aug sep oct nov dec",
		"januar februar märz april mai juni juli august september oktober november dezember",
		"jän feb mär apr mai jun jul aug sept okt nov dez", "jänner feber mrz apr mai jun jul aug sep okt nov dez",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"janv févr mars avr mai juin juil août sept oct nov déc",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"ene feb mar abr may jun jul ago sept oct nov dic",
		"gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
		"gen feb mar apr mag giu lug ago set ott nov dic",
		"januari februari maart april mei juni juli augustus september oktober november december",
		"jan feb mrt apr mei jun jul aug sep okt nov dec",
		"janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
		"jan fev mar abr mai jun jul ago set out nov dez",
	} {
		for i, name := range strings.Fields(names) {
			months[name] = i + 1
		}
	}
	for _, name := range strings.Fields(
		"monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun montag dienstag " +
			"mittwoch " +
			"donnerstag freitag samstag sonntag mo di mi do fr sa so") {
		weekdays[name] = true
	}
}
