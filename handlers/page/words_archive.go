package page

import (
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
)

// archiveWords holds the strings of public archives in one language.
type archiveWords struct {
	ArchiveNone    string `json:"archive_none"`
	ArchiveAll     string `json:"archive_all"`
	ArchiveOlder   string `json:"archive_older"`
	ArchiveNewest  string `json:"archive_newest"`
	ArchiveEarlier string `json:"archive_earlier"`
	ArchiveLater   string `json:"archive_later"`
	ArchiveFeed    string `json:"archive_feed"`
	ArchiveRead    string `json:"archive_read"`
	ArchiveMended  string `json:"archive_mended"` // {{day}} is the date
	ArchiveSearch  string `json:"archive_search"`
	ArchiveFind    string `json:"archive_find"`
	ArchiveFound   string `json:"archive_found"` // {{query}} is the search text
	ArchiveNothing string `json:"archive_nothing"`
	ArchiveMinutes string `json:"archive_minutes"` // {{n}} is the number of minutes
	ArchiveSkip    string `json:"archive_skip"`
	Months         string `json:"months"` // names of the months, separated by spaces
	Day            string `json:"day"`    // format of a date, with {{day}}, {{month}} and {{year}}
	Moment         string `json:"moment"` // format of a time, with {{date}}, {{time}} and {{zone}}
}

// CorrectedAt returns the note that says when an issue was corrected, or an empty string for 0.
func (w *archiveWords) CorrectedAt(at core.Instant) string {
	if at == 0 {
		return ""
	}
	return strings.Replace(w.ArchiveMended, "{{day}}", w.DayOf(at.Time()), 1)
}

// DayOf formats a time's UTC date.
func (w *archiveWords) DayOf(t time.Time) string { return w.date(t.UTC()) }

// When formats an instant in a time zone. A nil zone means UTC.
func (w *archiveWords) When(i core.Instant, zone *time.Location) string {
	t := i.Time().UTC()
	if zone != nil {
		t = t.In(zone)
	}
	return strings.NewReplacer("{{date}}", w.date(t), "{{time}}", t.Format("15:04"), "{{zone}}",
		core.ZoneLabel(zone)).Replace(w.Moment)
}

func (w *archiveWords) date(t time.Time) string {
	return strings.NewReplacer("{{day}}", strconv.Itoa(t.Day()), "{{month}}", strings.Fields(w.Months)[t.Month()-1],
		"{{year}}", strconv.Itoa(t.Year())).Replace(w.Day)
}

// MinutesFor describes the reading time for the given number of words.
func (w *archiveWords) MinutesFor(words int) string {
	const perMinute = 220
	return strings.Replace(w.ArchiveMinutes, "{{n}}", strconv.Itoa(max(1, (words+perMinute/2)/perMinute)), 1)
}
