package core

import (
	"slices"
	"strings"
	"time"
)

// ParseZone returns the IANA time zone with the given name, or nil for an empty name. If there is no such zone, it
// returns an Invalid error on time_zone.
func ParseZone(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" || len(name) > MaxZone {
		return nil, Invalidf("time_zone", "time_zone: unknown time zone %q. Use a name such as Europe/Berlin.", name)
	}
	return zone, nil
}

// ZoneLabel returns a time zone's display name, such as Berlin for Europe/Berlin. For nil, it returns UTC.
func ZoneLabel(zone *time.Location) string {
	name := zone.String()
	return strings.ReplaceAll(name[strings.LastIndexByte(name, '/')+1:], "_", " ")
}

// MaxZone is the maximum length of a time zone's name, in bytes.
const MaxZone = 64

// localLayouts lists the accepted forms of a time without an offset.
var localLayouts = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}

// ParseTime parses the value of a field: an RFC 3339 time, or a local time in zone without an offset. For an empty
// text, it returns 0. It returns an Invalid error on the field if text has neither form. It does the same for a local
// time if zone is nil, or if the time doesn't exist or occurs twice in zone.
func ParseTime(field, text string, zone *time.Location) (Instant, error) {
	if text == "" {
		return 0, nil
	}
	for _, layout := range localLayouts {
		wall, err := time.Parse(layout, text)
		if err != nil || len(text) != len(layout) { // Parse also accepts one-digit hours and fractions
			continue
		}
		if zone == nil {
			return 0, Invalidf(field,
				"%s has no time zone. Add an offset, as in 2026-01-31T08:00:00+01:00, or set time_zone.",
				field)
		}
		return atWall(field, text, wall, zone)
	}
	at, err := ParseInstant(text)
	if err != nil {
		return 0, Invalidf(field, "%s must be an RFC 3339 date and time, for example 2026-01-31T08:00:00Z. The "+
			"offset may be left out if time_zone is set.", field)
	}
	return at, nil
}

// atWall returns the instant of a local time in a zone. wall is the local time, expressed as UTC.
func atWall(field, text string, wall time.Time, zone *time.Location) (Instant, error) {
	found := WallTimes(wall, zone)
	switch len(found) {
	case 0:
		return 0, Invalidf(field, "%s: %s does not exist in %s, because the clocks go forward. Choose another time.",
			field, text, zone)
	case 1:
		return ParseInstant(found[0].Format(time.RFC3339))
	}
	offsets := make([]string, len(found))
	for i, at := range found {
		offsets[i] = at.Format("-07:00")
	}
	return 0, Invalidf(field, "%s: %s happens twice in %s, because the clocks go back. Add the offset: %s.",
		field, text,
		zone, strings.Join(offsets, " or "))
}

// WallTimes returns the instants at which clocks in a zone show a local time. wall is the local time, expressed as UTC.
// There is no instant if the clocks skip that time, and there are two if they show it twice.
func WallTimes(wall time.Time, zone *time.Location) (found []time.Time) {
	near := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	before, after := near.ZoneBounds()
	for _, other := range []time.Time{before.Add(-1), near, after} { // the last one is zero if no change follows
		_, offset := other.In(zone).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if at.Format(time.DateTime) == wall.Format(time.DateTime) && !slices.ContainsFunc(found, at.Equal) {
			found = append(found, at)
		}
	}
	return found
}

// ZoneOf returns the time zone for the times in a request: the one that the request names or, if named is empty, the
// tenant's. It returns nil if neither is set.
func (t *Tenant) ZoneOf(named string) (*time.Location, error) {
	if named == "" {
		named = t.TimeZone
	}
	return ParseZone(named)
}
