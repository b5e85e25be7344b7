package console

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// ZoneCookie is the name of the cookie in which a script stores the browser's time zone (an IANA name).
const ZoneCookie = "newsletterd-zone"

// zoneOf returns the browser's time zone, by default UTC.
func zoneOf(c *web.Call) *time.Location {
	k, err := c.Request.Cookie(ZoneCookie)
	if err != nil || len(k.Value) > 60 {
		return time.UTC
	}
	zone, err := time.LoadLocation(strings.ReplaceAll(k.Value, "%2F", "/"))
	if err != nil || k.Value == "Local" || k.Value == "" {
		return time.UTC
	}
	return zone
}

// browserZone returns the name of the browser's time zone, or an empty string if it is unknown.
func (p *Page) browserZone() string {
	zone := zoneOf(p.Call).String()
	if k, err := p.Request.Cookie(ZoneCookie); zone == "UTC" && (err != nil || k.Value != zone) { // unknown
		return ""
	}
	return zone
}

// format holds the number and date formats of a language.
type format struct {
	thousands, decimal string
	percent            string // suffix of a number
	months, days       []string
	date               string // D day, M month, Y year, W weekday
}

var formats = map[string]format{
	"en": {
		",", ".", "%",
		strings.Fields("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"), strings.Fields("Sun Mon Tue Wed Thu Fri Sat"),
		"W D M Y",
	},
	"de": {
		".", ",", "\u00a0%",
		strings.Fields("Jan. Feb. März April Mai Juni Juli Aug. Sept. Okt. Nov. Dez."), strings.Fields("So. Mo. Di. Mi. Do. Fr. Sa."),
		"W, D.\u00a0M Y",
	},
}

// Number formats a number with thousands separators.
func (p *Page) Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + formats[p.Lang].thousands + digits[i:]
	}
	return sign + digits
}

// Percent formats part as a percentage of whole with one decimal, or as "–" if whole is 0. Only an exact 100% is shown
// as 100%.
func (p *Page) Percent(part, whole int64) string {
	if whole <= 0 {
		return "–"
	}
	s := strconv.FormatFloat(float64(part)/float64(whole)*100, 'f', 1, 64)
	if part < whole && s == "100.0" {
		s = "99.9"
	}
	return strings.Replace(s, ".", formats[p.Lang].decimal, 1) + formats[p.Lang].percent
}

// Date formats an instant as a date in the page's time zone. It returns "–" for 0.
func (p *Page) Date(at core.Instant) string {
	if at == 0 {
		return "–"
	}
	t, f := at.Time().In(p.Zone), formats[p.Lang]
	return strings.NewReplacer("W", f.days[t.Weekday()], "D", strconv.Itoa(t.Day()), "M", f.months[t.Month()-1], "Y",
		strconv.Itoa(t.Year())).Replace(f.date)
}

// Day formats the date of an instant, without the year.
func (p *Page) Day(at core.Instant) string {
	return strings.TrimSuffix(p.Date(at), " "+strconv.Itoa(at.Time().In(p.Zone).Year()))
}

// DayForm returns the date format that Day uses, for scripts.
func (p *Page) DayForm() string { return strings.TrimSuffix(formats[p.Lang].date, " Y") }

// DayNames returns the names of the weekdays for scripts, starting with Sunday.
func (p *Page) DayNames() string { return strings.Join(formats[p.Lang].days, " ") }

// MonthNames returns the names of the months for scripts.
func (p *Page) MonthNames() string { return strings.Join(formats[p.Lang].months, " ") }

// Clock formats the hour and minute of an instant in the page's time zone.
func (p *Page) Clock(at core.Instant) string { return at.Time().In(p.Zone).Format("15:04") }

// When formats an instant in the page's time zone, using today and yesterday for recent ones.
func (p *Page) When(at core.Instant) string {
	if at == 0 {
		return "–"
	}
	day := func(t time.Time) int { t = t.In(p.Zone); return t.Year()*1000 + t.YearDay() }
	now, t := p.Now.Time(), at.Time()
	name := p.Date(at)
	switch day(t) {
	case day(now):
		name = p.T("today")
	case day(now.AddDate(0, 0, -1)):
		name = p.T("yesterday")
	case day(now.AddDate(0, 0, 1)):
		name = p.T("tomorrow")
	}
	return name + ", " + p.Clock(at)
}

// ZoneName returns an everyday name for the page's time zone.
func (p *Page) ZoneName() string { return core.ZoneLabel(p.Zone) }

// ClockIn formats the hour and minute of an instant, with the name of the page's time zone.
func (p *Page) ClockIn(at core.Instant) string {
	return p.T("{{time}} {{zone}}", "time", p.Clock(at), "zone", p.ZoneName())
}

// Machine formats an instant for the datetime attribute of a time element.
func (p *Page) Machine(at core.Instant) string { return at.Time().UTC().Format(time.RFC3339) }

// byteSize formats a size limit.
func (p *Page) byteSize(n core.ByteSize) string {
	number, unit := n.Unit()
	if unit == "bytes" {
		return p.T("{{n}} bytes", "n", p.Number(int64(n)))
	}
	return strings.Replace(number, ".", cmp.Or(formats[p.Lang].decimal, ","), 1) + " " + unit
}

// Size formats a number of bytes.
func (p *Page) Size(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	size, unit := float64(n), 0
	for size >= 1000 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}
	decimals := 0
	if unit > 0 && size < 100 {
		decimals = 1
	}
	s := strconv.FormatFloat(size, 'f', decimals, 64)
	return strings.Replace(s, ".", cmp.Or(formats[p.Lang].decimal, ","), 1) + " " + units[unit]
}
