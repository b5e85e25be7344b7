package core

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Strings is a list of strings, stored as a JSON array in one column. Nil is written as [].
type Strings []string

// With returns s with others appended. It leaves out duplicates and empty strings.
func (s Strings) With(others ...string) Strings {
	all := slices.Clone(s)
	for _, other := range others {
		if other != "" && !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	return all
}

// Column returns the value to store in the database column.
func (s Strings) Column() string {
	if len(s) == 0 {
		return "[]"
	}
	b, err := json.Marshal([]string(s))
	if err != nil {
		panic(err) // strings always encode
	}
	return string(b)
}

// Scan implements sql.Scanner.
func (s *Strings) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return json.Unmarshal([]byte(v), (*[]string)(s))
	case []byte:
		return json.Unmarshal(v, (*[]string)(s))
	}
	return fmt.Errorf("strings: column has the unexpected type %T", src)
}

// MarshalJSON returns a JSON array, even if s is nil.
func (s Strings) MarshalJSON() ([]byte, error) {
	if s == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]string(s))
}
