package ruletest

import (
	"database/sql/driver"
	"math/big"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"modernc.org/sqlite"
)

// SQLite folds only ASCII, compares numbers as floats, and doesn't support time zones.
func init() {
	register := func(name string, args int32, f func(args []string) driver.Value) {
		sqlite.MustRegisterDeterministicScalarFunction(name, args,
			func(_ *sqlite.FunctionContext, given []driver.Value) (driver.Value, error) {
				texts := make([]string, len(given))
				for i, v := range given {
					text, ok := v.(string)
					if !ok {
						return nil, nil
					}
					texts[i] = text
				}
				return f(texts), nil
			})
	}
	register("rule_same", 2, func(s []string) driver.Value { return same(s[0], s[1]) })
	register("rule_has", 2, func(s []string) driver.Value {
		for i := range s[0] {
			if starts(s[0][i:], s[1]) {
				return true
			}
		}
		return false
	})
	register("rule_starts", 2, func(s []string) driver.Value { return starts(s[0], s[1]) })
	register("rule_number", 1, func(s []string) driver.Value { return decimal.MatchString(s[0]) })
	register("rule_compare", 2, func(s []string) driver.Value { return int64(exact(s[0]).Cmp(exact(s[1]))) })
	register("rule_plain", 1, func(s []string) driver.Value { return plain(s[0]) })
	register("rule_day", 2, func(s []string) driver.Value {
		if _, err := time.Parse(time.DateOnly, s[0]); err == nil {
			return s[0]
		}
		if at, err := time.Parse(time.RFC3339, s[0]); err == nil {
			return dayIn(at, s[1])
		}
		return nil
	})
	sqlite.MustRegisterDeterministicScalarFunction("rule_day_of", 2,
		func(_ *sqlite.FunctionContext, given []driver.Value) (driver.Value, error) {
			ms, ok := given[0].(int64)
			if !ok {
				return nil, nil
			}
			return dayIn(time.UnixMilli(ms), given[1].(string)), nil
		})
}

func dayIn(at time.Time, zone string) string {
	in, err := time.LoadLocation(zone)
	if err != nil {
		panic(err)
	}
	return at.In(in).Format(time.DateOnly)
}

var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

func exact(number string) *big.Rat {
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		panic(number + " is no number")
	}
	return r
}

// plain writes a JSON number without an exponent.
func plain(number string) string {
	if decimal.MatchString(number) {
		return number
	}
	text := exact(number).FloatString(450)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// same reports whether strings differ only in case, or are the same number. İ is the capital of i.
func same(a, b string) bool {
	dotless := func(s string) string { return strings.ReplaceAll(s, "İ", "i") }
	return strings.EqualFold(dotless(a), dotless(b)) ||
		decimal.MatchString(a) && decimal.MatchString(b) && exact(a).Cmp(exact(b)) == 0
}

func starts(s, start string) bool {
	n := utf8.RuneCountInString(start)
	runes := []rune(s)
	return len(runes) >= n && strings.EqualFold(strings.ReplaceAll(string(runes[:n]), "İ", "i"),
		strings.ReplaceAll(start, "İ", "i"))
}
