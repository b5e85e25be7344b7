package core

import (
	"bytes"
	"slices"
)

// The values of Field.SetBy: who can set a field.
const (
	SetBySubscriber = "subscriber" // subscribers, and the team
	SetByTeam       = "team"       // only the team; its values don't come from forms and preference pages
)

// Open returns the fields that subscribers can set.
func (f Fields) Open() Fields {
	if !f.ofTeam() {
		return f
	}
	return slices.DeleteFunc(slices.Clone(f), func(one Field) bool { return one.SetBy == SetByTeam })
}

func (f Fields) ofTeam() bool {
	return slices.ContainsFunc(f, func(one Field) bool { return one.SetBy == SetByTeam })
}

// Guarded returns the preferences that result when a person outside the team replaces p with by. Fields that only the
// team can edit keep their values from p. If the result would exceed MaxPreferences, it contains only those fields.
func (f Fields) Guarded(p, by Preferences) Preferences {
	if !f.ofTeam() {
		return by
	}
	have, said, values := p.Values(), by.Values(), map[string]any{}
	for i := range f {
		name := f[i].Name
		switch v, ok := have[name]; {
		case f[i].SetBy != SetByTeam || bytes.Equal(v, said[name]):
		case ok:
			values[name] = v
		default:
			values[name] = nil
		}
	}
	if len(values) == 0 {
		return by
	}
	guarded := by.With(values)
	if len(guarded) > MaxPreferences {
		return NoPreferences.With(values)
	}
	return guarded
}

// keepSetBy sets each missing SetBy in f to the value in before for the same field name, so that an API client that
// doesn't know SetBy can't open a field to subscribers.
func (f Fields) keepSetBy(before Fields) {
	for i := range f {
		at := slices.IndexFunc(before, func(b Field) bool { return b.Name == f[i].Name })
		if f[i].SetBy == "" && at >= 0 {
			f[i].SetBy = before[at].SetBy
		}
	}
}
