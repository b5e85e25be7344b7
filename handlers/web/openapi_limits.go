package web

import (
	"maps"
	"slices"
)

// Limits for schemas that tags can't express. They contain no alternatives, because client generators don't support
// those.
var (
	OnlyKnown = Object{"additionalProperties": false} // refuses unknown properties
	Filled    = Object{"minLength": 1}                // a string that isn't empty
	Positive  = Object{"minimum": 1}                  // a number above 0
)

// Never returns the schema of an object that matches none of the given schemas.
func Never(those ...Object) Object { return Object{"not": Object{"anyOf": those}} }

// Where returns the schema of objects that have all of the given properties.
func Where(props Object) Object {
	return Object{"required": slices.Sorted(maps.Keys(props)), "properties": props}
}

// Without changes the schema those to reject objects that have all of the given properties, and returns it.
func Without(those, props Object) Object {
	those["not"] = Where(props)
	return those
}

// Word returns the schema of a string that is one of the given words.
func Word(these ...string) Object { return Object{"enum": these} }
