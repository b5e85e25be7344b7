package web

import (
	"maps"
	"slices"
)

// Limits in schemas that tags can't express. They contain no alternatives, because client generators can't express
// those.
var (
	OnlyKnown = Object{"additionalProperties": false} // refuses unknown properties
	Filled    = Object{"minLength": 1}                // a string that isn't empty
	Positive  = Object{"minimum": 1}                  // a number above 0
)

// Never returns the limits of an object that matches none of the given schemas.
func Never(those ...Object) Object { return Object{"not": Object{"anyOf": those}} }

// Where returns the schema of objects that have all these properties.
func Where(props Object) Object {
	return Object{"required": slices.Sorted(maps.Keys(props)), "properties": props}
}

// Without returns the schema of those objects that lack one of these properties.
func Without(those, props Object) Object {
	those["not"] = Where(props)
	return those
}

// Word returns the schema of a string that is one of these.
func Word(these ...string) Object { return Object{"enum": these} }
