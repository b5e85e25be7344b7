package mail

import (
	"encoding/json"
	"strconv"
	"strings"
)

// kind is the JSON type of a value; kindNone is a missing value or null.
type kind uint8

const (
	kindNone kind = iota
	kindString
	kindNumber
	kindBool
	kindList
	kindObject
)

// value is the value of a path or literal. A string is stored decoded, any other value as JSON.
type value struct {
	kind kind
	s    string
}

func textValue(s string) value { return value{kindString, s} }

// truthy reports whether v counts as true in a condition. Missing, null, false, the empty string and the empty list
// don't. (In Liquid, "" is true, but a subscriber without a name should get the else branch.)
func (v value) truthy() bool {
	switch v.kind {
	case kindString:
		return v.s != ""
	case kindBool:
		return v.s == "true"
	case kindNumber, kindObject:
		return true
	case kindList:
		_, ok := jsonItem(v.s, 0)
		return ok
	}
	return false
}

// text returns the printed form of the value. Lists are joined by commas, and objects print nothing.
func (v value) text() string {
	switch v.kind {
	case kindString, kindNumber, kindBool:
		return v.s
	case kindList:
		var parts []string
		eachItem(v.s, func(item value) bool {
			if item.kind == kindString || item.kind == kindNumber || item.kind == kindBool {
				parts = append(parts, item.s)
			}
			return true
		})
		return strings.Join(parts, ", ")
	}
	return ""
}

// equal reports whether v equals o. Strings are compared as strings and numbers as numbers. A string that parses as a
// number equals that number, because imported columns are strings. A missing value equals nil and the empty string.
func (v value) equal(o value) bool {
	switch {
	case v.kind == kindNone || o.kind == kindNone:
		return v.kind == o.kind || v.s == "" && o.s == ""
	case v.kind == kindNumber || o.kind == kindNumber:
		a, err1 := strconv.ParseFloat(v.s, 64)
		b, err2 := strconv.ParseFloat(o.s, 64)
		return err1 == nil && err2 == nil && a == b
	}
	return v.kind == o.kind && v.s == o.s
}

// contains reports whether o is an item of the list v or part of the string v.
func (v value) contains(o value) bool {
	switch v.kind {
	case kindString:
		return o.kind != kindNone && strings.Contains(v.s, o.text())
	case kindList:
		found := false
		eachItem(v.s, func(item value) bool {
			found = item.equal(o)
			return !found
		})
		return found
	}
	return false
}

// jsonLookup returns the value at a path in raw JSON. If there is no such value or raw is not JSON, it returns the
// missing value. It parses raw only up to the value.
func jsonLookup(raw string, path []string) value {
	raw = trimJSON(raw)
	for _, key := range path {
		var ok bool
		if raw, ok = jsonChild(raw, key); !ok {
			return value{}
		}
	}
	return jsonValue(raw)
}

func jsonValue(raw string) value {
	if raw == "" {
		return value{}
	}
	switch raw[0] {
	case '"':
		s, ok := jsonString(raw)
		if !ok {
			return value{}
		}
		return textValue(s)
	case '{':
		return value{kindObject, raw}
	case '[':
		return value{kindList, raw}
	case 't', 'f':
		if raw == "true" || raw == "false" {
			return value{kindBool, raw}
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return value{kindNumber, raw}
	}
	return value{}
}

func jsonString(raw string) (string, bool) {
	if len(raw) < 2 || raw[len(raw)-1] != '"' {
		return "", false
	}
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], true
	}
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return "", false
	}
	return s, true
}

// jsonChild returns a member of an object by name, or an item of a list by index.
func jsonChild(raw, key string) (string, bool) {
	if raw == "" {
		return "", false
	}
	if raw[0] == '[' {
		n, err := strconv.Atoi(key)
		if err != nil || n < 0 {
			return "", false
		}
		return jsonItem(raw, n)
	}
	if raw[0] != '{' {
		return "", false
	}
	for i := skipSpace(raw, 1); i < len(raw) && raw[i] == '"'; {
		end := jsonEnd(raw, i)
		name, ok := jsonString(raw[i:end])
		i = skipSpace(raw, end)
		if !ok || i >= len(raw) || raw[i] != ':' {
			return "", false
		}
		i = skipSpace(raw, i+1)
		if end = jsonEnd(raw, i); end == i {
			return "", false
		}
		if name == key {
			return raw[i:end], true
		}
		if i = skipSpace(raw, end); i >= len(raw) || raw[i] != ',' {
			return "", false
		}
		i = skipSpace(raw, i+1)
	}
	return "", false
}

func jsonItem(raw string, n int) (item string, ok bool) {
	walkItems(raw, func(s string) bool {
		item, ok = s, n == 0
		n--
		return !ok
	})
	return item, ok
}

// eachItem calls f with the items of a list until f returns false.
func eachItem(raw string, f func(value) bool) {
	walkItems(raw, func(s string) bool { return f(jsonValue(s)) })
}

func walkItems(raw string, f func(string) bool) {
	for i := skipSpace(raw, 1); i < len(raw); {
		end := jsonEnd(raw, i)
		if end == i || !f(raw[i:end]) {
			return
		}
		if i = skipSpace(raw, end); i >= len(raw) || raw[i] != ',' {
			return
		}
		i = skipSpace(raw, i+1)
	}
}

// jsonEnd returns the index after the JSON value that starts at i. It doesn't recurse. If no value starts at i, it
// returns i.
func jsonEnd(s string, i int) int {
	depth := 0
	for j := i; j < len(s); {
		switch s[j] {
		case '"':
			if j = stringEnd(s, j); j < 0 {
				return i
			}
			if depth == 0 {
				return j
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return j
			}
			if depth--; depth == 0 {
				return j + 1
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return j
			}
		}
		j++
	}
	if depth > 0 {
		return i
	}
	return len(s)
}

func stringEnd(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return -1
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

func trimJSON(s string) string { return strings.Trim(s, " \t\r\n") }
