package subscribercsv

import (
	"net/netip"
	"strings"
	"time"

	"newsletterd/core"
)

// evidenceColumns are the columns, by foldWord, in which Mailchimp keeps when and from which address a subscriber
// consented. They are evidence in any file.
var evidenceColumns = map[string]evidenceColumn{
	"optintime":   {what: "opted in"},
	"optinip":     {what: "opted in", address: true},
	"confirmtime": {what: "confirmed"},
	"confirmip":   {what: "confirmed", address: true},
}

// evidenceColumn is a column with a time or an address of a consent that was given to another system.
type evidenceColumn struct {
	what    string // what happened there
	address bool   // the column holds an IP address; else a time
	index   int
}

// noteEvidence notes a column with evidence of a consent, and reports whether it is one.
func (c *Reader) noteEvidence(i int, name string) bool {
	col, ok := evidenceColumns[foldWord(name)]
	if !ok && name == c.form.created {
		col, ok = evidenceColumn{what: "created"}, true
	}
	if !ok {
		return false
	}
	for _, other := range c.proof {
		if other.what == col.what && other.address == col.address {
			return false
		}
	}
	col.index = i
	c.proof = append(c.proof, col)
	return true
}

// evidence returns what a record says of the consent that was given to another system, for example "opted in 2019-05-01
// 09:58:00 from 203.0.113.9; confirmed 2019-05-01T10:00:00Z". Cells that are empty say nothing. A record with a cell of
// something else than a time or an address, or of a time to come, is counted; its other cells are evidence all the
// same.
func (c *Reader) evidence(record []string) string {
	fault := readable
	var parts []string
	for _, what := range [...]string{"opted in", "confirmed", "created"} {
		part := what
		for _, address := range [...]bool{false, true} {
			for _, col := range c.proof {
				if col.what != what || col.address != address {
					continue
				}
				cell, f := evidenceCell(record[col.index], address, c.Now)
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
	return strings.Join(parts, "; ")
}

// cellFault says why a cell is no evidence. A line counts by the last of these that one of its cells has.
type cellFault uint8

const (
	readable cellFault = iota
	future
	unreadable
)

// evidenceCell returns " TIME" or " from ADDRESS", or nothing for a cell that is empty or faulty.
func evidenceCell(cell string, address bool, now core.Instant) (string, cellFault) {
	cell = strings.TrimSpace(plainCell(cell))
	if byTime(foldWord(cell)) == core.SubscriptionActive { // empty, NULL, 0000-00-00
		return "", readable
	}
	if address {
		ip, err := netip.ParseAddr(cell)
		if err != nil || ip.Zone() != "" {
			return "", unreadable
		}
		return " from " + ip.Unmap().String(), readable
	}
	text, at := evidenceTime(cell)
	switch {
	case text == "":
		return "", unreadable
	case now > 0 && at.After(now.Time()):
		return "", future
	}
	return " " + text, readable
}

// Forms of the times that programs export. Day and month of 1/2/2019 cannot be told apart, so it is none of them.
var (
	zonedTimes = [...]string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 -0700 MST",
		"2006-01-02 15:04:05Z07",
	}
	plainTimes = [...]string{time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly}
)

const (
	clockSkew   = 5 * time.Minute // of the clocks of two programs
	easternmost = 14 * time.Hour  // how far the clocks of a zone can be ahead of UTC
)

// evidenceTime returns a time with a zone in UTC, and one without a zone as it stands: it is no moment that is known.
// Empty: the cell is no time, or one before 1990 or after 2100. earliest is the earliest moment that it can mean.
func evidenceTime(cell string) (text string, earliest time.Time) {
	if len(cell) > len(time.DateTime) { // no shorter cell has a zone, and each layout that is tried costs
		for _, layout := range zonedTimes {
			if t, err := time.Parse(layout, cell); err == nil {
				return inOurTime(t.UTC(), time.RFC3339), t.Add(-clockSkew)
			}
		}
	}
	for _, layout := range plainTimes {
		t, err := time.Parse(layout, cell)
		if err != nil {
			continue
		}
		if layout == "2006-01-02T15:04:05" {
			layout = time.DateTime
		}
		return inOurTime(t, layout), t.Add(-clockSkew - easternmost)
	}
	return "", time.Time{}
}

func inOurTime(t time.Time, layout string) string {
	if t.Year() < 1990 || t.Year() > 2100 {
		return ""
	}
	return t.Format(layout)
}
