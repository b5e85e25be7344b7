package console

import (
	_ "embed"
	"strings"
	"sync"
)

// zoneNames holds the names of the offered time zones, one per line. They are UTC and the zones in zone.tab of the IANA
// database, which has at least one per country. Other names in that database are accepted, too.
//
//go:embed zones.txt
var zoneNames string

var zones = sync.OnceValue(func() []string { return strings.Fields(zoneNames) })
