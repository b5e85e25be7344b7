package console

import (
	_ "embed"
	"strings"
	"sync"
)

// zoneNames holds the names of the offered time zones, one per line: those of zone.tab in the IANA database, which
// has at least one per country, and UTC. Other names in that database are accepted, too.
//
//go:embed zones.txt
var zoneNames string

var zones = sync.OnceValue(func() []string { return strings.Fields(zoneNames) })
