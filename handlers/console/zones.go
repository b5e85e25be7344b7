package console

import (
	_ "embed"
	"strings"
	"sync"
)

// zoneNames holds the time zones that pages offer, one per line: UTC and the zones in zone.tab of the IANA database,
// which has at least one per country. Other names in that database are accepted, too.
//
//go:embed zones.txt
var zoneNames string

var zones = sync.OnceValue(func() []string { return strings.Fields(zoneNames) })
