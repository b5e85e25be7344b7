package console

import (
	"slices"
	"time"

	"newsletterd/core"
)

// Values of sendTime that are not instants.
const sendNow, sendOther = "now", "other"

// sendTime is an option for when to start sending. Button is the button's label for it.
type sendTime struct{ Value, Title, Text, Button string }

// timeChoice is one of two instants with the same local time.
type timeChoice struct{ Offset, Text string }

// offerTimes sets the send times that the page offers. If the selected time is no longer offered, it becomes the custom
// time, so that a page that was open for long doesn't send immediately.
func (p *Page) offerTimes(d *sendData) {
	now := sendTime{sendNow, p.T("Now"), p.T("You can undo this for 60 seconds"), p.T("Send now")}
	if n := d.Readers.Recipients; !d.Readers.AtLeast {
		now.Button = p.N("Send now to 1 recipient|Send now to {{n}} recipients", n)
	}
	d.Times = []sendTime{now}
	here := p.Now.Time().In(p.Zone)
	tuesday := 1 + (int(time.Tuesday)-int(here.Weekday())+6)%7 // starting tomorrow
	for _, at := range []struct{ days, hour int }{{1, 8}, {tuesday, 10}} {
		wall := time.Date(here.Year(), here.Month(), here.Day()+at.days, at.hour, 0, 0, 0, time.UTC)
		if found := core.WallTimes(wall, p.Zone); len(found) == 1 {
			d.offer(p, core.At(found[0]), "")
		}
	}
	if at := d.Readers.BestAt; at > p.Now {
		d.offer(p, at, p.T("when your subscribers open the most emails"))
	}
	d.Times = append(d.Times, sendTime{sendOther, p.T("Another time"), "", p.T("Schedule")})
	if d.Date == "" {
		d.Date, d.Time = here.AddDate(0, 0, 1).Format(time.DateOnly), "08:00"
	}
	if slices.ContainsFunc(d.Times, func(t sendTime) bool { return t.Value == d.When }) {
		return
	}
	was, err := core.ParseInstant(d.When)
	if d.When = sendNow; err == nil && was != 0 {
		at := was.Time().In(p.Zone)
		d.When, d.Date, d.Time = sendOther, at.Format(time.DateOnly), at.Format("15:04")
	}
}

// offer adds a time if it isn't offered yet.
func (d *sendData) offer(p *Page, at core.Instant, why string) {
	value := p.Machine(at)
	if i := slices.IndexFunc(d.Times, func(t sendTime) bool { return t.Value == value }); i >= 0 {
		d.Times[i].Text = joinedBy(d.Times[i].Text, why)
		return
	}
	moment := p.Day(at) + ", " + p.Clock(at)
	t := sendTime{value, moment, joinedBy(p.Away(at), why), p.T("Schedule for {{at}}", "at", moment)}
	if tomorrow := p.Now.Time().In(p.Zone).AddDate(0, 0, 1); p.Date(core.At(tomorrow)) == p.Date(at) {
		t.Title, t.Text = p.T("Tomorrow, {{time}}", "time", p.Clock(at)), joinedBy(p.Day(at), why)
	}
	d.Times = append(d.Times, t)
}

// joinedBy joins two remarks, of which the second may be empty.
func joinedBy(text, more string) string {
	if more == "" {
		return text
	}
	return text + " · " + more
}

// Moment formats a full date with the zone and the time until then: Fri 27 Nov 2026, 08:00 Berlin, in 4 days.
func (p *Page) Moment(at core.Instant) string {
	text := p.Date(at) + ", " + p.ClockIn(at)
	if away := p.Away(at); away != "" {
		text += ", " + away
	}
	return text
}

// Away describes how far in the future an instant is. For a past instant, it returns an empty string.
func (p *Page) Away(at core.Instant) string {
	switch d := at.Sub(p.Now); {
	case d <= 0:
		return ""
	case d < 2*time.Minute:
		return p.N("in 1 second|in {{n}} seconds", int64((d+time.Second-1)/time.Second))
	case d < 2*time.Hour:
		return p.N("in 1 minute|in {{n}} minutes", int64(d.Round(time.Minute)/time.Minute))
	case d < 2*24*time.Hour:
		return p.N("in 1 hour|in {{n}} hours", int64(d.Round(time.Hour)/time.Hour))
	default:
		const day = 24 * time.Hour
		return p.N("in 1 day|in {{n}} days", int64(d.Round(day)/day))
	}
}

// readTime parses the form's date and time in the page's time zone. offset selects one of two possible instants. If the
// time is invalid, it returns 0, and the page explains why.
func (p *Page) readTime(d *sendData, offset string) (at core.Instant) {
	wall, err := time.Parse("2006-01-02 15:04", d.Date+" "+d.Time)
	if err != nil {
		fault := &d.TimeFault
		if _, err := time.Parse(time.DateOnly, d.Date); err != nil {
			fault = &d.DateFault
		}
		*fault = p.T("Enter a date and time.")
		return 0
	}
	found := core.WallTimes(wall, p.Zone)
	if len(found) == 0 {
		d.TimeFault = p.T("{{time}} doesn't exist that day in {{zone}}: the clocks go forward. Choose another time.",
			"time", d.Time, "zone", p.ZoneName())
		return 0
	}
	for _, t := range found {
		if len(found) == 1 || t.Format("-07:00") == offset {
			at = core.At(t)
		}
	}
	switch {
	case at == 0:
		for i, t := range found {
			text := p.T("{{time}} before the clocks change (UTC{{offset}})", "time", d.Time, "offset", t.Format("-07:00"))
			if i > 0 {
				text = p.T("{{time}} after the clocks change (UTC{{offset}})", "time", d.Time, "offset", t.Format("-07:00"))
			}
			d.Choices = append(d.Choices, timeChoice{t.Format("-07:00"), text})
		}
		d.TimeFault = p.T("The clocks go back that night, so {{time}} happens twice in {{zone}}. Which one do you "+
			"mean?",
			"time", d.Time, "zone", p.ZoneName())
	case at <= p.Now:
		at, d.TimeFault = 0, p.T("Choose a time in the future.")
	}
	return at
}
