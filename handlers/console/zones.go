package console

import (
	_ "embed"
	"strings"
	"sync"
)

// zoneNames are the names of time zones that are offered, one a line: those of zone.tab of the IANA database, where
// each country has one at least, and UTC. Others of that database are taken, too.
//
//go:embed zones.txt
var zoneNames string

var zones = sync.OnceValue(func() []string { return strings.Fields(zoneNames) })
